"""Every study of the project is free of mistakes and runs at tiny scale; simulated twice, the digests are the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fathom.attempt import attempt
from fathom.engine import core
from fathom.errors import StudyError
from fathom.host import scratch
from fathom.plan import Plan, PlannedRun, plan
from fathom.study import load

STUDIES = sorted((Path(__file__).parents[2] / "studies").glob("*.toml"))


def needs_a_server_of_yours(made: Plan) -> bool:
    """Whether it connects to servers that run already, which nobody here has."""
    return any(database["connect"] for database in made.entry(made.runs[0])["wants"]["databases"].values())


def first_round(made: Plan) -> list[PlannedRun]:
    """Every variant once; the first and the last where each of them starts servers."""
    written = [variant["levels"] for variant in made.study.resolved["variants"]]
    runs = sorted((run for run in made.runs if run.round == 1), key=lambda run: written.index(run.variant))
    needs = made.entry(runs[0])["wants"]
    return [runs[0], runs[-1]] if needs["databases"] and len(runs) > 2 else runs


def carried_out(made: Plan, run: PlannedRun, place: Path) -> tuple[str | None, dict[str, float | None]]:
    """Digest and metrics of a run."""
    with scratch.directory(place) as own:
        tried = attempt(made.entry(run), core(), own, lambda _share, _words: None, place / "copies")
    if tried.reason == "permission" and os.geteuid() != 0:
        pytest.skip(f"{tried.message}")
    assert tried.outcome is not None, (tried.reason, tried.message)
    return tried.outcome["digest"], tried.outcome["metrics"]


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_it_runs_by_its_own_clock(path: Path, tmp_path: Path) -> None:
    made = plan(load(path, core(), quick=True), rounds=1)
    if needs_a_server_of_yours(made):
        pytest.skip("it connects to servers that run already: see its procedure")
    metric = (made.study.resolved["compare"] or {}).get("metric")
    for run in first_round(made):
        _, metrics = carried_out(made, run, tmp_path)
        assert metric is None or metrics[metric] is not None, run.variant


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_simulated_twice_it_is_the_same(path: Path, tmp_path: Path) -> None:
    try:
        study = load(path, core(), clock="virtual", quick=True)
    except StudyError:
        pytest.skip("a study for the real clock alone")
    made = plan(study, rounds=1)
    for run in first_round(made):
        one, other = carried_out(made, run, tmp_path), carried_out(made, run, tmp_path)
        assert one[0] is not None
        assert one == other, run.variant
