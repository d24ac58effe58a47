"""Campaigns: whole run directories, failures as results, resume, extension, locks, interruption."""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom import campaign, record, results
from fathom.errors import CampaignError, UsageError
from fathom.plan import plan
from fathom.record import HISTOGRAMS, SAMPLES
from fathom.run import Options, execute
from fathom.study import Study, parse


def files(directory: Path) -> set[str]:
    """Names at the top of a directory."""
    return {place.name for place in directory.iterdir()}


def test_a_campaign_leaves_whole_directories_and_no_scratch(
    engine: Any, notes: Any, study: Study, tmp_path: Path
) -> None:
    found = execute(plan(study), Options(tmp_path / "c"), engine, notes)
    assert (len(found.runs), found.planned, found.complete_rounds) == (18, 18, 3)
    assert files(tmp_path / "c") == {"campaign.json", "plan.json", "study.toml", "runs", ".lock"}
    assert (tmp_path / "c" / "study.toml").read_text() == study.text
    run = found.runs[0]
    assert run.ok
    assert run.directory is not None
    assert run.directory.name == f"0001-{run.id}"
    assert files(run.directory) == {
        "run.json", "metrics.json", "environment.json", "volumes.json", "samples.parquet", "histograms.parquet",
    }  # fmt: skip
    samples, histograms = run.samples(), run.histograms()
    assert samples is not None
    assert histograms is not None
    assert {name: str(kind) for name, kind in samples.schema.items()} == SAMPLES
    assert {name: str(kind) for name, kind in histograms.schema.items()} == HISTOGRAMS
    assert run.metrics["latency_ms"] is None, "not a number is missing, never zero"
    assert run.facts == {"sqlite": "3"}
    assert all(not Path(call["scratch"]).exists() for call in engine.calls)


def test_a_failed_run_is_a_result_and_the_campaign_goes_on(
    make_engine: Any, notes: Any, study: Study, tmp_path: Path
) -> None:
    def fail(overrides: dict[str, Any], _call: int) -> BaseException | None:
        if overrides["workload.page_size"] == 8192:
            return make_engine.failure("no-space", "the volume is full")
        return None

    found = execute(plan(study), Options(tmp_path / "c"), make_engine(fail), notes)
    failed = [run for run in found.runs if not run.ok]
    assert len(found.runs) == 18
    assert len(failed) == 6
    assert {(run.reason, run.message) for run in failed} == {("no-space", "the volume is full")}
    assert all(run.metrics == {} and run.samples() is None and run.reason in results.REASONS for run in failed)
    assert [words for _, words in notes.ended].count("the volume is full") == 6
    assert notes.gave_up == []


def test_where_every_run_of_a_round_fails_the_rest_is_not_tried(
    make_engine: Any, make_notes: Any, study: Study, virtual_study: Study, tmp_path: Path
) -> None:
    full = True

    def fail(_overrides: dict[str, Any], _call: int) -> BaseException | None:
        return make_engine.failure("no-space", "the volume is full") if full else None

    notes, engine = make_notes(), make_engine(fail)
    found = execute(plan(study), Options(tmp_path / "c"), engine, notes)
    assert (len(found.runs), found.planned, notes.gave_up) == (6, 18, [(6, 12)])

    # A person who calls again has one more round tried, and --retry-failed has them all.
    again = execute(plan(study), Options(tmp_path / "c"), engine, make_notes())
    assert len(again.runs) == 12
    full = False
    whole = execute(plan(study), Options(tmp_path / "c", retry_failed=True), engine, make_notes())
    assert len(whole.runs) == 18
    assert all(run.ok for run in whole.runs)

    full = True
    virtual = execute(plan(virtual_study), Options(tmp_path / "v"), engine, make_notes())
    assert len(virtual.runs) == 18, "in virtual time a failure costs nothing"


def test_one_failed_run_of_a_study_without_factors_ends_nothing(make_engine: Any, notes: Any, tmp_path: Path) -> None:
    def fail(_overrides: dict[str, Any], call: int) -> BaseException | None:
        return make_engine.failure("timeout", "no answer") if call != 2 else None

    study = parse('title = "One"\n[workload]\nkind = "insert"\n', Path("one.toml"), make_engine())
    found = execute(plan(study, rounds=5), Options(tmp_path / "c"), make_engine(fail), notes)
    assert [run.ok for run in found.runs] == [False, True, False, False]
    assert notes.gave_up == [(2, 1)]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_interrupted_anywhere_it_resumes_without_repeating(
    make_engine: Any, make_notes: Any, study: Study, stops: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place) / "c"
        begun = 0
        for stop in stops:
            engine = make_engine()
            try:
                execute(plan(study), Options(directory), engine, make_notes(stop_at=stop))
            except KeyboardInterrupt:
                assert len(results.read(directory).runs) == begun + stop - 1
            begun = len(results.read(directory).runs)
            assert not list(directory.glob(".fathom-scratch-*"))
        notes, engine = make_notes(), make_engine()
        found = execute(plan(study), Options(directory), engine, notes)
        assert notes.finished_before == begun
        assert len(engine.calls) == 18 - begun
        assert [run.id for run in found.runs] == [run.id for run in plan(study).runs]


def test_runs_side_by_side_leave_what_runs_in_a_row_leave(
    make_engine: Any, make_notes: Any, virtual_study: Study, tmp_path: Path
) -> None:
    wanted, notes = plan(virtual_study), make_notes()
    row = execute(wanted, Options(tmp_path / "row"), make_engine(), make_notes())
    beside = execute(wanted, Options(tmp_path / "beside", jobs=4), make_engine(), notes)
    assert [(run.id, run.metrics) for run in beside.runs] == [(run.id, run.metrics) for run in row.runs]
    assert sorted(id for id, _ in notes.ended) == sorted(run.id for run in wanted.runs)


def test_real_runs_are_never_side_by_side(
    make_engine: Any, make_notes: Any, study: Study, virtual_study: Study, tmp_path: Path
) -> None:
    inside, most = [], []

    def fail(_overrides: dict[str, Any], _call: int) -> None:
        inside.append(1)
        # Runs side by side see each other, however busy the machine is.
        until = time.monotonic() + wait_s
        while len(inside) < 4 and max(most, default=0) < 4 and time.monotonic() < until:
            time.sleep(0.001)
        most.append(len(inside))
        inside.pop()

    wait_s = 0.01
    execute(plan(study), Options(tmp_path / "c", jobs=4), make_engine(fail), make_notes())
    assert max(most) == 1
    wait_s = 10.0
    execute(plan(virtual_study), Options(tmp_path / "d", jobs=4), make_engine(fail), make_notes())
    assert max(most) == 4


@pytest.mark.parametrize("stop", [1, 5, 11])
def test_stopped_side_by_side_it_resumes_without_repeating(
    make_engine: Any, make_notes: Any, virtual_study: Study, tmp_path: Path, stop: int
) -> None:
    wanted, options = plan(virtual_study), Options(tmp_path / "c", jobs=3)
    with pytest.raises(KeyboardInterrupt):
        execute(wanted, options, make_engine(), make_notes(stop_at=stop))
    done = len(results.read(tmp_path / "c").runs)
    assert done < 18
    assert not list((tmp_path / "c").glob(".fathom-scratch-*"))
    engine = make_engine()
    assert len(execute(wanted, options, engine, make_notes()).runs) == 18
    assert len(engine.calls) == 18 - done


def test_more_rounds_extend_and_fewer_change_nothing(
    make_engine: Any, make_notes: Any, study: Study, tmp_path: Path
) -> None:
    execute(plan(study, rounds=1), Options(tmp_path), make_engine(), make_notes())
    engine = make_engine()
    found = execute(plan(study, rounds=2), Options(tmp_path), engine, make_notes())
    assert (len(found.runs), found.planned, len(engine.calls)) == (12, 12, 6)
    found = execute(plan(study, rounds=1), Options(tmp_path), make_engine(), make_notes())
    assert found.planned == 12
    head = json.loads((tmp_path / "campaign.json").read_text())
    assert [entry["rounds"] for entry in head["extended"]] == [1, 2]


def test_a_campaign_that_was_begun_in_another_order_is_resumed_and_extended_in_it(
    make_engine: Any, make_notes: Any, study: Study, tmp_path: Path
) -> None:
    execute(plan(study, rounds=2), Options(tmp_path), make_engine(), make_notes())
    # As an older Fathom had planned it, which had stopped after the first round.
    kept = json.loads((tmp_path / "plan.json").read_text())
    kept["runs"] = sorted(kept["runs"], key=lambda run: (run["round"], run["id"]))
    for order, run in enumerate(kept["runs"], 1):
        (place,) = (tmp_path / "runs").glob(f"*-{run['id']}")
        facts = json.loads((place / "run.json").read_text()) | {"order": order}
        (place / "run.json").write_text(json.dumps(facts))
        if order > 6:
            shutil.rmtree(place)
        run["order"] = order
    (tmp_path / "plan.json").write_text(json.dumps(kept))
    engine = make_engine()
    found = execute(plan(study, rounds=3), Options(tmp_path), engine, make_notes())
    assert (len(found.runs), len(engine.calls)) == (18, 12)
    assert [run.id for run in found.runs[:12]] == [run["id"] for run in kept["runs"]]
    assert [run.order for run in found.runs] == list(range(1, 19))


def test_looks_are_recorded_once_each(engine: Any, notes: Any, study: Study, tmp_path: Path) -> None:
    execute(plan(study), Options(tmp_path), engine, notes)
    for rounds in (3, 3, 0, 1):
        campaign.note_look(tmp_path, rounds)
    assert results.read(tmp_path).looks == (1, 3)


def test_another_study_seed_or_clock_is_refused(
    make_engine: Any, make_notes: Any, study: Study, virtual_study: Study, tmp_path: Path
) -> None:
    execute(plan(study), Options(tmp_path), make_engine(), make_notes())
    quick = parse(study.text, study.path, make_engine(), quick=True)
    for wanted, words in (
        (plan(study, seed=2), "another seed"),
        (plan(virtual_study), "another study text and another clock"),
        (plan(dataclasses.replace(study, text=study.text + "\n# changed\n")), "another study text"),
        (plan(study.fixing({"workload.rows": 5}, make_engine())), "another value of a setting"),
        (plan(quick), "another scale"),
    ):
        with pytest.raises(CampaignError, match=words):
            execute(wanted, Options(tmp_path), make_engine(), make_notes())


def test_a_study_that_was_edited_in_the_directory_is_another_one(
    make_engine: Any, make_notes: Any, study: Study, tmp_path: Path
) -> None:
    place, changed = tmp_path / "study.toml", study.text.replace("rows = 1000", "rows = 2000")
    assert changed != study.text
    execute(plan(study), Options(tmp_path), make_engine(), make_notes())
    assert not results.read(tmp_path).edited
    place.write_text(changed)
    assert results.read(tmp_path).edited
    other = parse(changed, study.path, make_engine())
    with pytest.raises(CampaignError, match="another study text"):
        execute(plan(other), Options(tmp_path), make_engine(), make_notes())
    found = execute(plan(study), Options(tmp_path), make_engine(), make_notes())
    assert len(found.runs) == found.planned, "the text that it began with is resumed as ever"
    head = json.loads((tmp_path / "campaign.json").read_text())
    del head["study_digest"]
    (tmp_path / "campaign.json").write_text(json.dumps(head))
    with pytest.raises(CampaignError, match="another study text"):
        execute(plan(other), Options(tmp_path), make_engine(), make_notes())


def test_a_directory_with_other_things_in_it_is_left_alone(
    engine: Any, notes: Any, study: Study, tmp_path: Path
) -> None:
    (tmp_path / "thesis.doc").write_text("important")
    with pytest.raises(CampaignError, match="not empty"):
        execute(plan(study), Options(tmp_path), engine, notes)
    assert (tmp_path / "thesis.doc").read_text() == "important"
    assert not (tmp_path / "campaign.json").exists()


@pytest.mark.parametrize("file", ["study.toml", "plan.json", "campaign.json"])
def test_a_disk_that_was_full_at_the_start_does_not_keep_the_campaign_from_beginning(
    make_engine: Any, make_notes: Any, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    written = record.replace

    def full(path: Path, content: Any) -> None:
        if path.name == file:
            raise CampaignError(f"{path.parent}: cannot write: No space left on device")
        written(path, content)

    with monkeypatch.context() as small:
        small.setattr(record, "replace", full)
        with pytest.raises(CampaignError, match="No space"):
            execute(plan(study, rounds=1), Options(tmp_path / "c"), make_engine(), make_notes())
    assert execute(plan(study, rounds=1), Options(tmp_path / "c"), make_engine(), make_notes()).runs


def test_a_study_of_somebody_else_is_no_beginning_of_a_campaign(
    engine: Any, notes: Any, study: Study, tmp_path: Path
) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "study.toml").write_text("title = 'mine'")
    with pytest.raises(CampaignError, match="not empty"):
        execute(plan(study), Options(tmp_path), engine, notes)
    assert (tmp_path / "study.toml").read_text() == "title = 'mine'"


def test_two_campaigns_in_one_directory_are_refused(engine: Any, notes: Any, study: Study, tmp_path: Path) -> None:
    with campaign.locked(tmp_path), pytest.raises(CampaignError, match="another campaign is running"):
        execute(plan(study), Options(tmp_path), engine, notes)


def test_a_real_campaign_stays_on_its_machine(
    make_engine: Any, make_notes: Any, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(plan(study, rounds=1), Options(tmp_path), make_engine(), make_notes())
    monkeypatch.setattr("platform.release", lambda: "9.9.9")
    with pytest.raises(CampaignError, match="another machine"):
        execute(plan(study, rounds=2), Options(tmp_path), make_engine(), make_notes())


def test_scratch_goes_where_it_was_asked_for_and_stays_there(
    make_engine: Any, make_notes: Any, study: Study, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    for options in (Options(tmp_path / "c", scratch=disk), Options(tmp_path / "c")):
        engine = make_engine()
        rounds = 1 + len(list((tmp_path / "c").glob("plan.json")))
        execute(plan(study, rounds=rounds), options, engine, make_notes())
        assert engine.calls
        assert all(Path(call["scratch"]).is_relative_to(disk) for call in engine.calls)
    assert files(disk) == set()


def test_a_disk_that_is_not_mounted_is_not_measured(
    make_engine: Any, make_notes: Any, study: Study, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    with pytest.raises(UsageError, match="disk: this directory does not exist"):
        execute(plan(study, rounds=1), Options(tmp_path / "c", scratch=disk), make_engine(), make_notes())
    assert files(tmp_path) == set()
    disk.mkdir()
    execute(plan(study, rounds=1), Options(tmp_path / "c", scratch=disk), make_engine(), make_notes())
    disk.rmdir()
    with pytest.raises(UsageError, match="does not exist"):
        execute(plan(study, rounds=2), Options(tmp_path / "c"), make_engine(), make_notes())
    assert not disk.exists()


def test_host_names_can_be_left_out(engine: Any, notes: Any, study: Study, tmp_path: Path) -> None:
    found = execute(plan(study, rounds=1), Options(tmp_path, anonymous=True), engine, notes)
    assert found.runs[0].environment["machine"]["host"].startswith("host-")
