"""Values, operators and conversions of PowerShell under `Set-StrictMode -Version 3.0`."""

from __future__ import annotations

import datetime
import fnmatch
import math
from collections.abc import Callable, Iterator
from typing import Any


class PowerShellError(Exception):
    """A terminating error: of `throw`, of a cmdlet, or of the language."""

    def __str__(self) -> str:
        return str(self.args[0])


class Table:
    """A hashtable, whose keys know no case; also any object with properties."""

    def __init__(self, items: dict[str, Any] | None = None) -> None:
        self.items = {key.lower(): (key, value) for key, value in (items or {}).items()}

    def __contains__(self, key: str) -> bool:
        return key.lower() in self.items

    def __getitem__(self, key: str) -> Any:
        found = self.items.get(key.lower())
        return None if found is None else found[1]

    def __setitem__(self, key: str, value: Any) -> None:
        self.items[key.lower()] = (key, value)

    def pairs(self) -> Iterator[tuple[str, Any]]:
        return iter(self.items.values())


def enumerated(value: Any) -> list[Any]:
    """What a value sends down a pipeline."""
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def collapsed(outputs: list[Any]) -> Any:
    """What a pipeline's outputs are worth as a value."""
    if not outputs:
        return None
    return outputs[0] if len(outputs) == 1 else list(outputs)


def truth(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and (len(value) > 1 or truth(value[0]))
    if isinstance(value, (bool, int, float, str)):
        return bool(value)
    return value is not None


def text(value: Any) -> str:
    """As within double quotes."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "True" if value else "False"
    if isinstance(value, list):
        return " ".join(text(one) for one in value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def number(value: Any) -> int | float:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)):
        return value
    if value is None:
        return 0
    try:
        return int(value)
    except (TypeError, ValueError):
        raise PowerShellError(f'cannot convert "{value}" to a number') from None


def integer(value: Any) -> int:
    """`[int]`: rounds half to even; refuses what 32 bits do not hold."""
    found = round(number(value))
    if not -(2**31) <= found < 2**31:
        raise PowerShellError(f"{found} does not fit into [int]")
    return found


def member(value: Any, name: str) -> Any:
    """A property; one that is not there is an error in strict mode."""
    key = name.lower()
    if isinstance(value, Table):
        if key in value.items:
            return value[name]
        if key == "values":
            return [one for _, one in value.pairs()]
        if key == "count":
            return len(value.items)
    elif isinstance(value, list) and key in {"count", "length"}:
        return len(value)
    elif isinstance(value, datetime.timedelta) and key == "totalseconds":
        return value.total_seconds()
    elif isinstance(value, str) and key == "length":
        return len(value)
    elif value is not None:
        for attribute in dir(value):
            if attribute.lower() == key and attribute[0].isupper():
                return getattr(value, attribute)
    raise PowerShellError(f"the property '{name}' is not there on {type(value).__name__} {text(value)!r}")


def assign_member(value: Any, name: str, new: Any) -> None:
    if not isinstance(value, Table):
        raise PowerShellError(f"cannot set {name}")
    value[name] = new


def call(value: Any, name: str, arguments: list[Any]) -> Any:
    """A method."""
    key = name.lower()
    if isinstance(value, Table) and key == "clone":
        return Table(dict(value.pairs()))
    if isinstance(value, datetime.datetime) and key == "addseconds":
        return value + datetime.timedelta(seconds=number(arguments[0]))
    if isinstance(value, str):
        methods: dict[str, Callable[..., Any]] = {
            "trim": value.strip,
            "substring": lambda start: value[start:],
            "startswith": lambda head, how=None: (
                value.lower().startswith(head.lower()) if how == "OrdinalIgnoreCase" else value.startswith(head)
            ),
        }
        if key in methods:
            return methods[key](*arguments)
    if value is not None and callable(getattr(value, name, None)):
        return getattr(value, name)(*arguments)
    raise PowerShellError(f"no method {name} on {text(value)!r}")


STATIC: dict[tuple[str, str], Any] = {("stringcomparison", "ordinalignorecase"): "OrdinalIgnoreCase"}


def same(left: Any, right: Any) -> bool:
    if isinstance(left, str) or isinstance(right, str):
        return text(left).lower() == text(right).lower() if left is not None and right is not None else False
    return bool(left == right)


def compare(operator: str, left: Any, right: Any) -> Any:
    """`-eq` and its like; an array on the left is filtered."""
    scalar: dict[str, Callable[[Any, Any], bool]] = {
        "-eq": same,
        "-ne": lambda one, other: not same(one, other),
        "-lt": lambda one, other: ordered(one, other) < 0,
        "-le": lambda one, other: ordered(one, other) <= 0,
        "-gt": lambda one, other: ordered(one, other) > 0,
        "-ge": lambda one, other: ordered(one, other) >= 0,
        "-like": lambda one, other: fnmatch.fnmatchcase(text(one).lower(), text(other).lower()),
    }
    if operator in scalar:
        if isinstance(left, list):
            return [one for one in left if scalar[operator](one, right)]
        return scalar[operator](left, right)
    if operator == "-join":
        return text(right).join(text(one) for one in enumerated(left))
    if operator in {"-in", "-notin"}:
        return any(same(left, one) for one in enumerated(right)) is (operator == "-in")
    if operator in {"-contains", "-notcontains"}:
        return any(same(one, right) for one in enumerated(left)) is (operator == "-contains")
    raise PowerShellError(f"operator {operator} is not known")


def ordered(left: Any, right: Any) -> float:
    if isinstance(left, datetime.datetime):
        return (left - right).total_seconds()
    return number(left) - number(right)


def arithmetic(operator: str, left: Any, right: Any) -> Any:
    if operator == "+" and isinstance(left, list):
        return [*left, *enumerated(right)]
    if operator == "+" and isinstance(left, str):
        return left + text(right)
    if operator == "-" and isinstance(left, datetime.datetime):
        return left - right
    one, other = number(left), number(right)
    if operator == "/":
        if other == 0:
            raise PowerShellError("attempted to divide by zero")
        found = one / other
        return int(found) if found.is_integer() else found
    results: dict[str, Callable[[], Any]] = {
        "+": lambda: one + other,
        "-": lambda: one - other,
        "*": lambda: one * other,
        "%": lambda: math.fmod(one, other),
    }
    return results[operator]()


def formatted(pattern: str, values: list[Any]) -> str:
    """`-f`, for the few formats that are used."""
    result = pattern
    for place, value in enumerate(values):
        result = result.replace(f"{{{place}:u}}", text(value)).replace(f"{{{place}}}", text(value))
    if "{" in result.replace("{{", ""):
        raise PowerShellError(f"the format {pattern!r} is not known")
    return result
