"""Diagnoses generated cases and counts which cause came first."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cases.context import BESIDE, CAUSES
from cases.export import export
from cases.makers import MAKERS
from cases.simulated import SIMULATED
from cases.world import Case, World
from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import Diagnosis, diagnose

GENERATED = {**MAKERS, **CAUSES, **BESIDE}
"""Makers of all cases that no driver runs."""


class Outcome(NamedTuple):
    """One case: its seed, maker, labels, the formats it was exported in, and the rule that came first.

    `among` is the rule that must be among the findings, None for none; `findings` are all of them.
    """

    seed: int
    maker: str
    labels: tuple[str, ...]
    formats: tuple[str, ...]
    first: str
    among: str | None
    findings: frozenset[str]

    @property
    def reported(self) -> bool:
        """Whether the finding that must be there is."""
        return self.among is None or self.among in self.findings

    @property
    def right(self) -> bool:
        return self.first in self.labels and self.reported


class Rates(NamedTuple):
    """Shares: of the sick with the right cause first; of the healthy that are not called sick; of loads and context
    that are among the findings; and of these with no wrong verdict.
    """

    right: float
    well: float
    reported: float
    unharmed: float

    @property
    def met(self) -> bool:
        """Whether all bars are."""
        return self.right >= 0.95 and self.well >= 0.98 and self.reported >= 0.95 and self.unharmed >= 0.98

    def __str__(self) -> str:
        return (
            f"right cause first {self.right:.1%}; healthy not called sick {self.well:.1%}; "
            f"load or context reported {self.reported:.1%}, no wrong verdict beside it {self.unharmed:.1%}"
        )


Makers = Mapping[str, Callable[[World], Case]]


def case_of(seed: int, makers: Makers = GENERATED) -> tuple[str, Diagnosis, Outcome]:
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
            formats = tuple(notes.format for notes in log.notes)
    first = found.verdict.rule or "cannot tell"
    rules = frozenset(finding.rule for finding in found.findings)
    return name, found, Outcome(seed, name, case.labels, formats, first, case.among, rules)


def outcomes(cases: int, seed: int, makers: Makers = GENERATED) -> Iterator[Outcome]:
    """Cases of consecutive seeds from `seed × 1,000,000`."""
    for number in range(cases):
        yield case_of(seed * 1_000_000 + number, makers)[2]


def matrix(found: Sequence[Outcome]) -> str:
    """Two tables. Rows: what was made. Columns: what came first; in the second also what must be there, and was."""
    tables = ([each for each in found if (each.among is not None) is beside] for beside in (False, True))
    return "\n\n".join(_table(part) for part in tables if part)


def _table(found: Sequence[Outcome]) -> str:
    firsts = sorted({each.first for each in found}, key=lambda name: (len(name), name))
    counts = Counter((each.maker, each.first) for each in found)
    beside = found[0].among is not None
    heads = ("made", "must be reported", "cases", "reported") if beside else ("made", "label", "cases")
    lines = [f"| {' | '.join((*heads, *firsts))} |", "| --- " * (len(firsts) + len(heads)) + "|"]
    for maker in (*GENERATED, *SIMULATED):
        mine = [each for each in found if each.maker == maker]
        if mine:
            labels = "/".join(sorted({label for each in mine for label in each.labels}))
            about = (mine[0].among, len(mine), sum(each.reported for each in mine)) if beside else (labels, len(mine))
            cells = (*about, *(counts[maker, first] or "" for first in firsts))
            lines.append(f"| {maker.replace('_', ' ')} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def rates(found: Sequence[Outcome]) -> Rates:
    """Shares over all cases; 1 where there are none of a kind."""
    beside = [each for each in found if each.among is not None]
    alone = [each for each in found if each.among is None]
    sick = [each for each in alone if "D25" not in each.labels]
    well = [each.first in {"D25", "cannot tell"} for each in alone if "D25" in each.labels]
    return Rates(
        _share([each.right for each in sick]),
        _share(well),
        _share([each.reported for each in beside]),
        _share([each.first in each.labels for each in beside]),
    )


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits) if hits else 1.0
