"""The command line. One file per command in the folder `commands`; `app.py` finds them.

Nothing heavy is imported before a command has been chosen: `fathom --help` costs no more than typer itself.
"""


def main() -> None:
    """The entry point of `fathom`; ends the process with one of the exit codes of `codes.py`."""
    from fathom.cli.app import build

    build()(prog_name="fathom")
