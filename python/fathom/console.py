"""A rich console whose reader may go (`fathom ... | head`): rich would end the program as if a run had failed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def console(*, stderr: bool = False, highlight: bool = True) -> Console:
    """The console; a pipe that was closed is a `BrokenPipeError`, as of any other output."""
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            # Rich sends what is still to be flushed nowhere and exits with 1; the first is wanted.
            try:
                super().on_broken_pipe()
            except SystemExit:
                raise BrokenPipeError from None

    return Piped(file=None if stderr else sys.stdout, stderr=stderr, highlight=highlight)
