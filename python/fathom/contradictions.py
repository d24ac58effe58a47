"""What a study says in two places that cannot both be meant, although each of them can.

The engine checks every value by itself. Here the resolved study is held against itself: a published figure against the
unit of its metric, looks against rounds, a calibration against the cells that there are, levels against each other. The
text is read for the places of the mistakes alone.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from fathom.metrics import metric
from fathom.results import Level
from fathom.units import factor, fitting

_MOST = 8
"""Names of cells that a help gives."""

_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"""\s*("[^"]+"|'[^']+'|[\w.-]+)\s*=\s*""")


@dataclass(frozen=True)
class _Mistake:
    """What is wrong at a key of a table; of a list of tables, of the `index`-th of them, from 0 on."""

    table: str
    key: str
    message: str
    help: str
    index: int | None = None

    @property
    def path(self) -> str:
        return ".".join([self.table, *([] if self.index is None else [str(self.index)]), self.key])


def contradictions(resolved: Mapping[str, Any], text: str, file: str) -> tuple[str, list[dict[str, Any]]]:
    """The mistakes as the engine gives them: one screen for people, and as data; both empty where there is none.

    Args:
        resolved: the study as the engine resolved it.
        text: the study as written.
        file: its path, for messages.
    """
    mistakes = [*_units(resolved), *_fits(resolved, text), *_looks(resolved), *_equal_levels(resolved)]
    places = _places(text) if mistakes else {}
    lines = text.splitlines()
    screens, found = [], []
    for one in mistakes:
        place = places.get((one.table, one.index or 0, one.key))
        screens.append(_screen(one, file, place, lines))
        line, column, length = place if place is not None else (None, None, None)
        found.append(
            {"file": file, "line": line, "column": column, "length": length}
            | {"path": one.path, "message": one.message, "help": one.help}
        )
    return "".join(screens), found


def _units(resolved: Mapping[str, Any]) -> Iterator[_Mistake]:
    """Published figures in a unit in which their metric cannot be written."""
    published, compared = resolved["published"] or {}, (resolved["compare"] or {}).get("metric")
    for index, cell in enumerate(published.get("cells", ())):
        name, unit = cell["metric"] or compared, cell["unit"]
        if name is None or unit is None:
            continue
        relative = published["normalise"] is not None
        own = "" if relative else metric(name).unit
        if factor(own, unit) is None:
            what = "a figure relative to the best variant" if relative else f"`{name}`"
            help_ = f"units of {what}: {', '.join(fitting(own))}"
            yield _Mistake("published.cells", "unit", f'the unit "{unit}" does not fit', help_, index)


def _fits(resolved: Mapping[str, Any], text: str) -> Iterator[_Mistake]:
    """Parameters fitted to a cell that the study has not; one without cells may name a figure of another study."""
    cells = [cell["name"] for cell in (resolved["published"] or {}).get("cells", ())]
    if not cells or not resolved["calibrated_on"]:
        return
    more = f" and {len(cells) - _MOST} more" if len(cells) > _MOST else ""
    known = "; ".join(f'"{name}"' for name in cells[:_MOST])
    for index, fit in enumerate(tomllib.loads(text).get("calibration", ())):
        if fit["fitted_to"] not in cells:
            said = f'there is no published cell "{fit["fitted_to"]}"'
            yield _Mistake("calibration", "fitted_to", said, f"the cells are {known}{more}", index)


def _looks(resolved: Mapping[str, Any]) -> Iterator[_Mistake]:
    """Looks after the last round; at tiny scale there are fewer rounds than were declared."""
    compare = resolved["compare"] or {}
    if resolved["quick"] or not compare.get("looks"):
        return
    last = max(compare["rounds"], compare["max_rounds"] or 0)
    if compare["looks"][-1] > last:
        said = f"the look after {compare['looks'][-1]} rounds is later than the last round ({last})"
        yield _Mistake("compare", "looks", said, "raise rounds, declare max_rounds, or leave that look out")


def _equal_levels(resolved: Mapping[str, Any]) -> Iterator[_Mistake]:
    """Levels of a setting that are the same amount in other words. Sets have names: two alike may be meant."""
    for name, levels in resolved["factors"].items():
        given = zip(levels, resolved["assigns"][name], strict=True)
        values = [level for level, assigned in given if assigned == {name: level}]
        for one, other in combinations(values, 2):
            if _is_same(one, other):
                said = f"the levels {_written(one)} and {_written(other)} are the same"
                yield _Mistake("factors", name, said, "leave one of them out")


def _is_same(one: Level, other: Level) -> bool:
    from fathom import _core

    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    readers = (_core.size_bytes, _core.time_ns, _core.rate_bytes, _core.per_second, _percent)
    amounts = [[_read(reader, str(level)) for reader in readers] for level in (one, other)]
    return any(mine is not None and mine == its for mine, its in zip(*amounts, strict=True))


def _read(reader: Any, text: str) -> float | None:
    from fathom import _core

    try:
        return float(reader(text))
    except (ValueError, _core.BadInput):
        return None


def _percent(text: str) -> float:
    if not text.endswith("%"):
        raise ValueError
    return float(text[:-1])


def _written(level: Level) -> str:
    return f'"{level}"' if isinstance(level, str) else str(level)


Place = tuple[int, int, int]
"""Line and column of a value, from 1 on, and its length."""


def _places(text: str) -> dict[tuple[str, int, str], Place]:
    """Where each value stands that has a line below the header of its table: by table, its number, and key."""
    found: dict[tuple[str, int, str], Place] = {}
    table, seen = "", {"": 0}
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = header[1]
            seen[table] = seen.get(table, -1) + 1
        elif key := _KEY.match(line):
            value = line[key.end() :].split(" #")[0].rstrip()
            found[table, seen[table], key[1].strip("\"'")] = number, key.end() + 1, max(1, len(value))
    return found


def _screen(mistake: _Mistake, file: str, place: Place | None, lines: Sequence[str]) -> str:
    told = f"error: {mistake.path}: {mistake.message}\n"
    if place is None:
        return f"{told}   --> {file}\n    = {mistake.help}\n"
    line, column, length = place
    margin = " " * len(f" {line} ")
    return (
        f"{told}   --> {file}:{line}:{column}\n{margin}|\n {line} | {lines[line - 1]}\n"
        f"{margin}| {' ' * (column - 1)}{'^' * length}\n{margin}= {mistake.help}\n"
    )
