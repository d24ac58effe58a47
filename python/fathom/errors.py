"""The errors that people see: what happened, where, and what to do; one class per exit code.

The command line prints `screen()` and ends with `exit_code`; nothing else in the package decides either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class FathomError(Exception):
    """Something a person can put right.

    Args:
        what: what happened and where, one sentence.
        remedy: what to do, one sentence; None where there is nothing to say.
    """

    exit_code: ClassVar[int] = 4

    def __init__(self, what: str, remedy: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy

    def screen(self) -> str:
        """The error as plain text, without colour."""
        return f"error: {self.what}" + (f"\n  help: {self.remedy}" if self.remedy else "")


class UsageError(FathomError):
    """A command was asked for something that it cannot mean."""

    exit_code = 2


class CampaignError(FathomError):
    """A campaign directory cannot be written, locked or resumed."""


class ResultsError(FathomError):
    """A campaign directory cannot be read: damaged, or written by a newer Fathom."""


class NotComparableError(FathomError):
    """Two campaigns may not be set side by side."""

    exit_code = 3


class StudyError(FathomError):
    """A study that cannot be meant.

    Args:
        screen: every mistake, the first under their lines, as the engine shows them.
        diagnostics: the same as data: file, line, column, length, path, message, help.
    """

    exit_code = 2

    def __init__(self, screen: str, diagnostics: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(screen)
        self.diagnostics = tuple(diagnostics)

    def screen(self) -> str:
        """The mistakes, each with its line and a caret."""
        return self.what.rstrip()
