"""Help: complete, cheap, and the same as docs/CLI.md."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fathom.cli.app import commands

ROOT = Path(__file__).parents[2]
HEAVY = ("rich", "polars", "numpy", "scipy", "statsmodels", "ruptures", "matplotlib", "jinja2", "fathom._core")


@pytest.mark.parametrize("arguments", [["--help"], *([*command.name.split(), "--help"] for command in commands())])
def test_help_imports_only_typer(arguments: list[str]) -> None:
    code = (
        "import sys\nsys.argv = ['fathom', *sys.argv[1:]]\nfrom fathom.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n"
        f"    heavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "    print('HEAVY', heavy, 'EXIT', end.code)\n"
    )
    environment = {"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.endswith("HEAVY [] EXIT 0\n"), done.stdout + done.stderr


def test_commands_have_names_orders_and_examples_of_their_own() -> None:
    found = commands()
    assert len({command.name for command in found}) == len({command.order for command in found}) == len(found) >= 9
    for command in found:
        assert command.function.__doc__
        assert command.examples
        assert all(f"fathom {command.name}" in line for line in command.examples)


def test_the_reference_page_is_up_to_date() -> None:
    script = ROOT / "scripts" / "cli_reference.py"
    made = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout
    assert made == (ROOT / "docs" / "CLI.md").read_text(), "run `make docs`"


def test_commands_that_the_pages_name_exist() -> None:
    names = {command.name for command in commands()} | {"volume"}
    unknown = []
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for words in re.findall(r"(?:^|`)fathom ([a-z]+(?: [a-z]+)?)\b", text, re.MULTILINE):
            name = words if words.startswith("volume ") else words.partition(" ")[0]
            if name not in names:
                unknown.append(f"{page.name}: fathom {name}")
    assert unknown == []


def test_version_names_the_build(fathom: Any) -> None:
    done = fathom("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("fathom 0.")
    assert "profile" in done.stdout


def test_completion_scripts_are_offered() -> None:
    # The shell is found among the parent processes, so there is to be one, whoever runs the tests.
    command = f"'{sys.executable}' -m fathom --show-completion; exit $?"
    environment = {"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "_fathom_completion" in done.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("doc writeb", "writeback"),
        ("catalogue aws/gp", "aws/gp2\naws/gp3"),
        ("new study --from volume-s", "volume-swap"),
        ("new st", "study"),
        ("volume export --to l", "lvm"),
    ],
)
def test_the_shell_completes_names(typed: str, offered: str) -> None:
    environment = {
        "PYTHONPATH": str(ROOT / "python"),
        "PATH": "/usr/bin:/bin",
        "_FATHOM_COMPLETE": "complete_bash",
        "COMP_WORDS": f"fathom {typed}",
        "COMP_CWORD": str(len(typed.split())),
    }
    code = "import sys\nsys.argv = ['fathom']\nfrom fathom.cli import main\nmain()"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == offered, done.stderr
