"""Whether a record that was read from a file holds what its class declares."""

from __future__ import annotations

import math
from dataclasses import fields
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

_WORDS = {float: "number", int: "whole number", str: "text", bool: "bool", dict: "object", tuple: "list"}


def misfit(record: Any) -> tuple[str, str] | None:
    """The first field of a dataclass's instance whose value is not of its annotated type: its name, and what is wrong.

    Knows unions, dictionaries and tuples with their elements, and numbers: a float may be written as an integer, no
    number is a bool, and none is infinite or NaN.
    """
    declared = get_type_hints(type(record))
    for field in fields(record):
        value, hint = getattr(record, field.name), declared[field.name]
        if not _fits(value, hint):
            return field.name, f"{field.name} is {str(value)[:60]!r}, not {_words(hint)}"
    return None


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type."""
    kind, arguments = get_origin(hint) or hint, get_args(hint)
    if kind is Any:
        return True
    if kind is UnionType:
        return any(_fits(value, one) for one in arguments)
    if kind in (int, float):
        number = isinstance(value, int) or (kind is float and isinstance(value, float) and math.isfinite(value))
        return number and not isinstance(value, bool)
    if isinstance(value, dict) and kind is dict and arguments:
        return all(_fits(key, arguments[0]) and _fits(one, arguments[1]) for key, one in value.items())
    if isinstance(value, tuple) and kind is tuple and arguments:
        every = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        return len(every) == len(value) and all(map(_fits, value, every))
    return isinstance(value, kind)


def _words(hint: Any) -> str:
    if isinstance(hint, UnionType):
        return " or ".join(map(_words, get_args(hint)))
    return _WORDS.get(get_origin(hint) or hint, "null")
