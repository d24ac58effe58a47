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


SERVER_S = 1.5
"""What a private server costs a run on an idle machine beside what is measured: made, loaded at tiny scale, stopped."""


def servers(made: Plan, run: PlannedRun) -> int:
    """Private servers that a run starts."""
    databases = made.entry(run)["wants"]["databases"].values()
    private = [one for one in databases if one["kind"] != "sqlite" and not one["connect"]]
    return len(private) + sum(one["standby"] is not None for one in private)


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
def test_tiny_scale_is_planned_to_take_ten_seconds(path: Path) -> None:
    made = plan(load(path, core(), quick=True))
    if made.study.clock == "virtual":
        assert len(made.runs) <= 80
        assert (made.measured_s or 0.0) <= 65, "virtual seconds"
    elif not needs_a_server_of_yours(made):
        planned = (made.measured_s or 0.0) + SERVER_S * sum(servers(made, run) for run in made.runs)
        assert planned <= 10, f"{planned:.1f} s: leave levels or rounds out in [quick]"


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
