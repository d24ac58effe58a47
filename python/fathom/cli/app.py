"""Puts the commands together: every module of this folder with a constant `COMMAND` is one."""

from __future__ import annotations

import importlib
import pkgutil
import signal
from typing import Annotated, Any

import typer

import fathom.cli
from fathom.cli import codes
from fathom.cli.command import Command, guarded


def commands() -> list[Command]:
    """Every command, in the order of the help text. A module that cannot be imported stops the program."""
    modules = [
        importlib.import_module(f"fathom.cli.{found.name}") for found in pkgutil.iter_modules(fathom.cli.__path__)
    ]
    found = [module.COMMAND for module in modules if hasattr(module, "COMMAND")]
    return sorted(found, key=lambda command: command.order)


def build() -> typer.Typer:
    """The command line, ready to be called."""
    lines = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in codes.MEANINGS.items())
    app = typer.Typer(
        name="fathom",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        epilog=f"\b\nExit codes:\n{lines}",
    )
    app.callback()(_root)
    for command in commands():
        app.command(command.name, epilog=command.epilog)(guarded(command.function))
    return app


def _version(wanted: bool) -> None:
    if wanted:
        from fathom.engine import core

        facts = core().build_facts()
        typer.echo(f"fathom {facts['version']} ({facts['commit']}, profile {facts['profile']})")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Show the version.")
    ] = False,
) -> None:
    """Fathom measures, models and builds the storage under a relational database.

    A study (one TOML file) asks a question; `run` measures it here, `simulate` computes it in virtual time, and both
    end in a verdict with its uncertainty. Start with: fathom probe .
    """
    # A polite kill is treated as Ctrl-C: scratch space is given back and finished runs are kept.
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_number: int, _frame: Any) -> None:
    raise KeyboardInterrupt
