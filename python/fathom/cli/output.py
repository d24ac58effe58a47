"""Where output goes: data to standard output, everything else to standard error."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console


def print_json(value: Any) -> None:
    """One JSON document on standard output; records become objects, numbers that JSON cannot hold become null."""
    # Where the locale lacks a character, JSON has another spelling of it.
    spelled = not (sys.stdout.encoding or "").lower().startswith("utf")
    typer.echo(json.dumps(plain(value), indent=2, ensure_ascii=spelled, allow_nan=False))


def plain(value: Any) -> Any:
    """The value in JSON's own types."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {entry.name: plain(getattr(value, entry.name)) for entry in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def note(text: str) -> None:
    """A line for people, to standard error."""
    typer.echo(text, err=True)


def console(*, stderr: bool = False) -> Console:
    """A rich console; plain text where no terminal is."""
    from fathom.console import console as new_console

    return new_console(stderr=stderr, highlight=False)
