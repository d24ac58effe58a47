"""What each metric of a run is called, its unit, and which direction is better.

A metric is one number per run (`metrics.json` of a run directory). Missing is null, never zero.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib.resources import files


@dataclass(frozen=True)
class Metric:
    """One number a run can yield.

    Attributes:
        name: key in `metrics.json`, the unit as its last word.
        label: words for people.
        unit: unit for people; empty for pure counts.
        higher_is_better: None where neither direction is better (a description, not a result).
    """

    name: str
    label: str
    unit: str
    higher_is_better: bool | None


def _read() -> dict[str, Metric]:
    text = (files("fathom") / "metrics.json").read_text(encoding="utf-8")
    return {entry["name"]: Metric(**entry) for entry in json.loads(text)}


METRICS = _read()
"""By name. Workloads declare them in Rust; `make docs` writes the table, so that a report needs no engine."""


def metric(name: str) -> Metric:
    """The metric of that name. `WHOSE_NAME` is that of a phase or database; one that is not listed is taken as
    higher-is-better without a unit.
    """
    if found := METRICS.get(name):
        return found
    words = name.split("_")
    for index in range(1, len(words)):
        if of_phase := METRICS.get("_".join(words[index:])):
            phase = " ".join(words[:index])
            return replace(of_phase, name=name, label=f"{of_phase.label}, {phase}")
    return Metric(name, name.replace("_", " "), "", True)
