"""Prints docs/CLI.md: the help text of every command and the exit codes, from the command line itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "python"))

from fathom.cli import codes  # noqa: E402 - the path comes first
from fathom.cli.app import commands  # noqa: E402

HEAD = """\
# The command line

Generated from `fathom --help` by `make docs`; do not edit. Data goes to standard output, the rest to standard error, so
that `--json` can be piped. `python -m fathom` is the same as `fathom`; `fathom --install-completion` sets up the shell.

## Exit codes

| code | meaning |
| --- | --- |
"""


def help_of(*arguments: str) -> str:
    """The help text as a terminal of 100 columns shows it."""
    plain = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    environment = {**os.environ, **plain, "PYTHONPATH": str(ROOT / "python")}
    command = [sys.executable, "-m", "fathom", *arguments, "--help"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.rstrip()


def main() -> None:
    """Prints the page."""
    print(HEAD, end="")
    for code, meaning in codes.MEANINGS.items():
        print(f"| {code} | {meaning} |")
    for title, arguments in [("fathom", ()), *((f"fathom {c.name}", tuple(c.name.split())) for c in commands())]:
        print(f"\n## {title}\n\n```\n{help_of(*arguments)}\n```")


if __name__ == "__main__":
    main()
