"""Text from outside (studies, host names, messages) made safe to show anywhere: page, picture, terminal.

Escaping belongs to the renderers. This removes what no escaping can carry: control characters (a terminal would obey
them, XML forbids them), lone surrogates (UTF-8 cannot write them) and direction overrides (they make text lie).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

_Value = TypeVar("_Value")
_KEPT = (float, int, type(None), Enum, Path)
"""What has no strings to change; an enum may be one itself."""

_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """The text without characters that could act instead of being read; line breaks and tabs stay."""
    return _DIRECTION.sub("", _FORBIDDEN.sub("\ufffd", text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    """The text with every run of white space as one space."""
    return " ".join(text.split())


def apart(texts: Sequence[str]) -> list[str]:
    """The texts without the words that all of them begin with: what tells them apart where room is scarce."""
    words = [one_line(text).split(" ") for text in texts]
    least = min((len(own) for own in words), default=0) - 1
    shared = next((at for at in range(least) if len({own[at] for own in words}) > 1), max(least, 0))
    return [f"…{' '.join(own[shared:])}" for own in words] if shared and len(words) > 1 else list(texts)


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters; what is cut is cut in the middle, since names differ at their ends."""
    if len(text) <= limit:
        return text
    head = (limit - 1) * 3 // 5
    return f"{text[:head].rstrip()}…{text[len(text) - (limit - 1 - head) :].lstrip()}"


def map_strings(value: _Value, change: Callable[[str], str]) -> _Value:
    """A copy with `change` applied to every string, keys of mappings included; enums, paths and numbers stay."""
    return _map(value, change)  # type: ignore[no-any-return]


def _map(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, _KEPT):
        return value
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {_map(key, change): _map(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_map(item, change) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: _map(getattr(value, field.name), change) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **fields)
    return value


def flatten(value: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """The leaves of nested mappings and lists with their dotted paths, in order; an empty one is left out."""
    if isinstance(value, dict):
        pairs = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, list | tuple):
        if not any(isinstance(item, dict | list | tuple) for item in value):
            return [(prefix, ", ".join(str(item) for item in value))] if value else []
        pairs = [(str(index), item) for index, item in enumerate(value)]
    else:
        return [(prefix, value)]
    return [leaf for key, item in pairs for leaf in flatten(item, f"{prefix}.{key}" if prefix else key)]
