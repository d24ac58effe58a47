"""JSON documents, whole, or cut off at the end like recordings that were killed."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.diagnose.source import Source

_TRIES = 64
CUT = "cut off: the end is missing"
"""Why a document was not read whole."""


def parsed(source: Source, remedy: str) -> Any:
    """The document; one that was cut off is closed after its last complete object, and what is lost is noted.

    Raises:
        LogError: it is no JSON, or goes on behind its end.
    """
    text = source.document()
    found, end = _decoded(source, text, 0, remedy)
    if rest := text[end:].strip():
        line = text.count("\n", 0, text.index(rest, end)) + 1
        raise source.error("no JSON: Extra data", remedy, line=line)
    return found


def several(source: Source, start: str, remedy: str) -> Iterator[tuple[str, Any]]:
    """The documents of a log to which several calls of a program were added, each with the text above it.

    Args:
        source: the log.
        start: what a line with the begin of a document begins with.
        remedy: for errors.

    Raises:
        LogError: what begins so is no JSON.
    """
    text = source.document()
    begins = [each.start() for each in re.finditer(rf"^{re.escape(start)}", text, re.MULTILINE)] or [0]
    above = text[: begins[0]]
    for begin, end in pairwise([*begins, len(text)]):
        found, used = _decoded(source, text[begin:end], text.count("\n", 0, begin), remedy)
        yield above, found
        above = text[begin + used : end]


def _decoded(source: Source, text: str, lines: int, remedy: str) -> tuple[Any, int]:
    """A document that text begins with, and its length; `lines` are above it."""
    begin = len(text) - len(text.lstrip())
    try:
        return json.JSONDecoder().raw_decode(text, begin)
    except (json.JSONDecodeError, RecursionError) as problem:
        if isinstance(problem, RecursionError):
            raise source.error("no JSON: nested too deep", remedy, line=lines + 1) from None
        found = _closed(text) if problem.pos >= len(text.rstrip()) - 1 or "Unterminated" in problem.msg else None
        if found is None:
            raise source.error(f"no JSON: {problem.msg}", remedy, line=lines + problem.lineno) from None
        source.notes.skip("documents", CUT, 1, f"line {lines + problem.lineno}")
        return found, len(text)


def _closed(text: str) -> Any:
    end = len(text)
    for _ in range(_TRIES):
        end = text.rfind("}", 0, end)
        if end < 0:
            return None
        try:
            return json.loads(text[: end + 1] + _brackets(text[: end + 1]))
        except json.JSONDecodeError:
            continue
    return None


def _brackets(text: str) -> str:
    """What closes all that is open."""
    stack, quoted, escaped = [], False, False
    for letter in text:
        if escaped:
            escaped = False
        elif quoted:
            escaped, quoted = letter == "\\", letter != '"'
        elif letter == '"':
            quoted = True
        elif letter in "[{":
            stack.append("]" if letter == "[" else "}")
        elif letter in "]}" and stack:
            stack.pop()
    return "".join(reversed(stack))


def items(value: Any, *path: str) -> list[dict[str, Any]]:
    """The objects of a list at a path of keys; an empty list where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def mapping(value: Any) -> dict[str, Any]:
    """An object of a document; an empty one where there is something else."""
    return value if isinstance(value, dict) else {}


def number(value: Any) -> float | None:
    """A finite number of a document; texts that hold one count, as clouds and Prometheus write them."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if -1e300 < found < 1e300 else None
