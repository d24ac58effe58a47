"""Puts the commands together: every file of the folder `commands` is one."""

from __future__ import annotations

import importlib
import pkgutil
import signal
from typing import Annotated, Any

import typer

from fathom.cli import codes
from fathom.cli import commands as folder
from fathom.cli.command import Command, guarded
from fathom.host.signals import end_at_the_second

# Commands of two words, by the first: what the group is for.
GROUPS = {"volume": "Serve volumes to hosts with the daemon fathomd, and manage it."}


def commands() -> list[Command]:
    """Every command, in the order of the help text.

    A file that cannot be imported or exposes no `COMMAND` stops the program: better than a command silently gone.
    """
    names = [f"{folder.__name__}.{found.name}" for found in pkgutil.iter_modules(folder.__path__)]
    found: list[Command] = [importlib.import_module(name).COMMAND for name in names]
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
    groups = {"": app}
    for command in commands():
        group, _, name = command.name.rpartition(" ")
        if group not in groups:
            groups[group] = typer.Typer(help=GROUPS[group], no_args_is_help=True, rich_markup_mode=None)
            app.add_typer(groups[group], name=group)
        groups[group].command(name, epilog=command.epilog)(guarded(command.function))
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

    A study (one TOML file) asks a question; `run` measures it here, `simulate` simulates it in virtual time, and both
    end in a verdict with its uncertainty. Start with: fathom probe .
    """
    # A polite kill or a closed terminal is treated as Ctrl-C: scratch space is given back and finished runs are kept.
    # Windows has no SIGHUP.
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _interrupt)
    end_at_the_second(codes.STOPPED)


def _interrupt(_number: int, _frame: Any) -> None:
    raise KeyboardInterrupt
