"""The command line. One file per command in the folder `commands`; `app.py` finds them.

Nothing heavy is imported before a command has been chosen: `fathom --help` costs no more than typer itself.
"""

import os


def main() -> None:
    """The entry point of `fathom`; ends the process with one of the exit codes of `codes.py`."""
    # numpy and scipy each load an OpenBLAS whose threads spin from the import on: a quarter of a second of CPU time for
    # matrices of a few rows.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from fathom.cli.app import build

    build()(prog_name="fathom")
