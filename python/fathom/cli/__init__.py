"""The command line. One file per command in the folder `commands`; `app.py` finds them.

Nothing heavy is imported before a command has been chosen: `fathom --help` costs no more than typer itself.
"""

import io
import os
import sys
from typing import NoReturn


def main() -> None:
    """The entry point of `fathom`; ends the process with one of the exit codes of `codes.py`."""
    from fathom.cli import characters, codes

    # numpy and scipy each load an OpenBLAS whose threads spin from the import on: a quarter of a second of CPU time for
    # matrices of a few rows.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    characters.register()
    _open_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A locale without a character of a table shall not cost the rest of it.
            stream.reconfigure(errors=characters.ERRORS)
    try:
        from fathom.cli.app import build

        output = sys.stdout
        try:
            build()(prog_name="fathom")
        except SystemExit:
            # Where nobody reads a help text, typer ends with the code of a failed run, and leaves another stream here.
            if sys.stdout is not output:
                raise BrokenPipeError from None
            raise
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
    except KeyboardInterrupt:
        _end(codes.STOPPED, "stopped")
    except BrokenPipeError:
        _end(codes.UNREAD)
    except OSError as problem:
        _end(codes.BROKEN, f"error: cannot print what was asked for: {problem.strerror or problem}")


def _open_standard_streams() -> None:
    """Gives the numbers of closed standard streams to nobody else: the next file opened would be written to by prints.

    What is printed to a closed standard output fails, as for any other program; notes on standard error are dropped.
    """
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8")  # noqa: SIM115


def _end(code: int, told: str = "") -> NoReturn:
    """Ends with a code. What is left in the buffers goes nowhere: the interpreter would fail to write it once more."""
    if told:
        sys.stderr.write(f"{told}\n")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())
    sys.exit(code)
