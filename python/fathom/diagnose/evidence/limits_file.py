"""A user's file of limits: TOML tables as in `data/limits.toml`, every mistake with its line."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fathom.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class _Key:
    """What a key takes: `convert` gives the value, or None for one that it cannot be."""

    takes: str
    convert: Callable[[Any], Any]
    required: bool = True


def read(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows by table, numbers in the unit that their key says.

    Raises:
        UsageError: the file cannot be read, or is no such table.
    """
    try:
        text = path.read_text(encoding="utf-8")
        tables = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: {error}", _SHOWN) from None
    for table, rows in tables.items():
        at = f"{path}:{_line(text, table)}"
        if table not in _KEYS:
            raise UsageError(f"{at}: there is no table {table}", f"tables are [[{']], [['.join(_KEYS)}]]")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise UsageError(f"{at}: {table} is no list of tables", f"write each limit under [[{table}]]")
        tables[table] = [_row(row, table, path, text, index) for index, row in enumerate(rows)]
    return tables


def _row(row: dict[str, Any], table: str, path: Path, text: str, index: int) -> dict[str, Any]:
    keys = _KEYS[table]

    def wrong(what: str, key: str = "") -> UsageError:
        known = (f"{name} ({each.takes}{'' if each.required else ', optional'})" for name, each in keys.items())
        return UsageError(
            f"{path}:{_line(text, table, index, key)}: {what}", f"keys of [[{table}]]: {'; '.join(known)}"
        )

    found = {}
    for key, value in row.items():
        if key not in keys:
            raise wrong(f"[[{table}]] has no key `{key}`", key)
        found[key] = keys[key].convert(value)
        if found[key] is None:
            raise wrong(f"`{key}` = {value!r} is not {keys[key].takes}", key)
    missing = [key for key, each in keys.items() if each.required and key not in row]
    if missing:
        raise wrong(f"[[{table}]] lacks `{missing[0]}`")
    return found


def _line(text: str, table: str, index: int = 0, key: str = "") -> int:
    """The line of a key in the row of that number; the nearest above it that can be found."""
    seen, line = -1, 1
    for number, written in enumerate(text.splitlines(), 1):
        word = written.strip().replace(" ", "")
        if word.startswith((f"[[{table}]]", f"[{table}]", f"{table}=")):
            seen += 1
            line = number if seen == index else line
        elif seen == index and key and word.startswith((f"{key}=", f'"{key}"=')):
            return number
    return line


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _number(unit: str) -> Callable[[Any], float | None]:
    """Reads a number above zero, or a text with a unit as settings write it."""

    def convert(value: Any) -> float | None:
        if isinstance(value, str):
            value = _with_unit(value, unit)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return value if is_number and math.isfinite(value) and value > 0 else None

    return convert


def _with_unit(text: str, unit: str) -> float | None:
    from fathom import _core

    try:
        match unit:
            case "iops":
                return _core.per_second(text)
            case "bytes":
                return float(_core.rate_bytes(text))
            case _:
                return _core.time_ns(text) / 1e9
    except _core.BadInput:
        return None


def _texts(value: Any) -> list[str] | None:
    return value if isinstance(value, list) and value and all(map(_text, value)) else None


def _one_of(*words: str) -> Callable[[Any], str | None]:
    return lambda value: value if value in words else None


_SHOWN = "docs/DIAGNOSE.md shows such a file"
_WORDS = {"name": _Key("a text", _text), "source": _Key("a text", _text)}
_CAP = {
    **_WORDS,
    "iops": _Key('a number above 0, or "3000/s"', _number("iops"), required=False),
    "bytes_per_s": _Key('a number above 0, or "125MiB/s"', _number("bytes"), required=False),
    "most_iops": _Key('a number above 0, or "3000/s"', _number("iops"), required=False),
    "cloud": _Key('"aws", "azure" or "gcp"', _one_of("aws", "azure", "gcp"), required=False),
    "credits": _Key("true or false", lambda value: value if isinstance(value, bool) else None, required=False),
    "types": _Key('a list of texts, as ["gp3"]', _texts, required=False),
}
_KEYS = {
    "queue": {
        **_WORDS,
        "depth": _Key("a whole number above 0", _whole),
        "scope": _Key('"device", "adapter" or "log"', _one_of("device", "adapter", "log")),
    },
    "volume": _CAP,
    "instance": _CAP,
    "link": _CAP,
    "tier": {**_WORDS, "target_s": _Key('seconds above 0, or "9ms"', _number("time"))},
}
"""Every table and its keys."""
