"""Diagnoses generated cases and counts which cause came first."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from cases.export import export
from cases.makers import MAKERS
from cases.simulated import SIMULATED
from cases.world import Case, World
from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import Diagnosis, diagnose


class Outcome(NamedTuple):
    """One case: its seed, maker, labels, the formats it was exported in, and the rule that came first."""

    seed: int
    maker: str
    labels: tuple[str, ...]
    formats: tuple[str, ...]
    first: str

    @property
    def right(self) -> bool:
        return self.first in self.labels


Makers = Mapping[str, Callable[[World], Case]]


def case_of(seed: int, makers: Makers = MAKERS) -> tuple[str, Diagnosis, Outcome]:
    """The case of a seed, diagnosed."""
    names = list(makers)
    world = World(seed)
    # A quarter of all cases is healthy, the others are equally frequent.
    well = next((name for name in names if name.endswith("healthy")), names[0])
    name = well if world.chance(0.15) else names[int(world.random.integers(len(names)))]
    case = makers[name](world)
    with tempfile.TemporaryDirectory() as folder:
        files = export(case, world, Path(folder))
        with reader.read(files) as log:
            found = diagnose(log)
            formats = tuple(told.format for told in log.told)
    first = found.verdict.rule or "cannot tell"
    return name, found, Outcome(seed, name, case.labels, formats, first)


def outcomes(cases: int, seed: int, makers: Makers = MAKERS) -> Iterator[Outcome]:
    """Cases of consecutive seeds from `seed × 1,000,000`."""
    for number in range(cases):
        yield case_of(seed * 1_000_000 + number, makers)[2]


def matrix(found: list[Outcome]) -> str:
    """Rows: what was made. Columns: what came first."""
    firsts = sorted({each.first for each in found}, key=lambda name: (len(name), name))
    counts = Counter((each.maker, each.first) for each in found)
    lines = ["| made | label | cases | " + " | ".join(firsts) + " |", "| --- " * (len(firsts) + 3) + "|"]
    for maker in (*MAKERS, *SIMULATED):
        mine = [each for each in found if each.maker == maker]
        if mine:
            labels = "/".join(sorted({label for each in mine for label in each.labels}))
            cells = " | ".join(str(counts[maker, first] or "") for first in firsts)
            lines.append(f"| {maker.replace('_', ' ')} | {labels} | {len(mine)} | {cells} |")
    return "\n".join(lines)


def rates(found: list[Outcome]) -> tuple[float, float]:
    """Share of right causes among the sick, and of healthy ones not called sick."""
    sick = [each for each in found if "D25" not in each.labels]
    well = [each for each in found if "D25" in each.labels]
    never = [each for each in well if each.first in {"D25", "cannot tell"}]
    return sum(each.right for each in sick) / max(len(sick), 1), len(never) / max(len(well), 1)
