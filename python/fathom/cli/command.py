"""What a command's file declares, and the guard around each command that turns errors into messages and exit codes."""

from __future__ import annotations

import errno
import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from fathom.cli import codes
from fathom.errors import FathomError

Daemon = Annotated[
    Path, typer.Argument(metavar="DAEMON", help="Its settings file, or its status socket.", show_default=False)
]


@dataclass(frozen=True)
class Command:
    """One command of the command line.

    Attributes:
        name: as typed; of two words, the first names a group.
        order: place in `fathom --help`.
        function: a typer function; its docstring is the help text.
        examples: lines for the end of the help text, each a command with a comment.
    """

    name: str
    order: int
    function: Callable[..., None]
    examples: tuple[str, ...]

    @property
    def epilog(self) -> str:
        """The examples as click prints them without rewrapping."""
        return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in self.examples)


def completing(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """What the shell offers for an argument: the names that begin as it does, each once."""

    def offered(incomplete: str) -> list[str]:
        return [name for name in dict.fromkeys(names()) if name.startswith(incomplete)]

    return offered


def guarded(function: Callable[..., None]) -> Callable[..., None]:
    """The function, with errors for people printed to standard error and mapped to exit codes."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            _told(function, *args, **kwargs)
        except BrokenPipeError:
            # The reader of our output has gone (`fathom ... | head`): nobody may take that for goals that are met.
            raise typer.Exit(codes.UNREAD) from None

    return run


def _remedy_of(problem: OSError) -> str:
    if problem.errno in {errno.ENOSPC, errno.EDQUOT}:
        return "free some space, or write to another disk"
    if problem.errno == errno.EBADF:
        return "standard output is closed: send it to a file or a pipe"
    return "check the path and your rights to it"


def _told(function: Callable[..., None], *args: Any, **kwargs: Any) -> None:
    """Calls the function and tells what went wrong; of a reader that has gone there is nobody to tell."""
    try:
        function(*args, **kwargs)
    except FathomError as error:
        typer.echo(error.screen(), err=True)
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
        raise typer.Exit(codes.STOPPED) from None
    except BrokenPipeError:
        raise
    except OSError as problem:
        # A path that a person gave and nobody looked at more closely: no right to it, too long, a dead mount.
        where = f"{problem.filename}: " if problem.filename else ""
        told = FathomError(f"{where}{problem.strerror or problem}", _remedy_of(problem))
        typer.echo(told.screen(), err=True)
        raise typer.Exit(told.exit_code) from None
