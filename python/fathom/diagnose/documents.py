"""JSON documents, whole, or cut off at the end like recordings that were killed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fathom.diagnose.source import Source

_TRIES = 64


def parsed(source: Source, remedy: str) -> Any:
    """The document; one that was cut off is closed after its last complete object, and what is lost is noted.

    Raises:
        LogError: it is no JSON.
    """
    text = source.document()
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as problem:
        if isinstance(problem, RecursionError):
            raise source.error("no JSON: nested too deep", remedy, line=1) from None
        found = _closed(text) if problem.pos >= len(text.rstrip()) - 1 or "Unterminated" in problem.msg else None
        if found is None:
            raise source.error(f"no JSON: {problem.msg}", remedy, line=problem.lineno) from None
        source.notes.skip("documents", "cut off: the end is missing", 1, f"line {problem.lineno}")
        return found


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
