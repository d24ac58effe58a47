"""Reading results: what is damaged or newer is refused with its place and a remedy; nothing is guessed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fathom import results
from fathom.analysis.analyse import analyse
from fathom.errors import CampaignError, ResultsError
from fathom.plan import plan
from fathom.report import Report
from fathom.run import Options, execute
from fathom.study import Study


@pytest.fixture(scope="module")
def finished(make_engine: Any, make_notes: Any, study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished campaign, not to be changed."""
    directory = tmp_path_factory.mktemp("finished") / "c"
    execute(plan(study, rounds=1), Options(directory), make_engine(), make_notes())
    return directory


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def run_of(directory: Path) -> Path:
    """The first run's directory."""
    return results.run_directories(directory)[0]


def edited(path: Path, **changes: Any) -> None:
    """Changes keys of a JSON file; None removes one."""
    content = {**json.loads(path.read_text()), **changes}
    removed = {key for key, value in changes.items() if value is None}
    path.write_text(json.dumps({key: value for key, value in content.items() if key not in removed}))


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no campaign": (lambda d: (d / "campaign.json").unlink(), "not a campaign directory"),
    "cut short": (lambda d: (d / "campaign.json").write_text('{"format'), "damaged: line 1"),
    "not an object": (lambda d: (d / "campaign.json").write_text("[1]"), "not a JSON object"),
    "no version": (lambda d: edited(d / "campaign.json", format_version=None), "no format_version"),
    "no seed": (lambda d: edited(d / "campaign.json", seed=None), "'seed'"),
    "newer campaign": (lambda d: edited(d / "campaign.json", format_version=99), "format version 99"),
    "newer run": (lambda d: edited(run_of(d) / "run.json", format_version=99), "format version 99"),
    "no study": (lambda d: (d / "study.toml").unlink(), "study.toml: damaged"),
    "no plan": (lambda d: (d / "plan.json").unlink(), "plan.json: damaged"),
    "no resolved study": (lambda d: edited(d / "plan.json", study=None), "plan.json: damaged: no study"),
    "binary": (lambda d: (run_of(d) / "run.json").write_bytes(b"\xff\xfe\x00"), "not UTF-8"),
    "no metrics": (lambda d: (run_of(d) / "metrics.json").unlink(), "metrics.json: damaged"),
    "no samples": (lambda d: (run_of(d) / "samples.parquet").unlink(), "samples.parquet: damaged: the run left it"),
    "no histograms": (lambda d: (run_of(d) / "histograms.parquet").unlink(), "histograms.parquet: damaged"),
    "words for a metric": (
        lambda d: (run_of(d) / "metrics.json").write_text('{"iops": "abc"}'),
        "metrics.json: damaged: iops is no number",
    ),
    "infinite metric": (
        lambda d: (run_of(d) / "metrics.json").write_text('{"iops": 1e400}'),
        "metrics.json: damaged: iops is no number",
    ),
    "no status": (lambda d: edited(run_of(d) / "run.json", status=None), "'status'"),
    "words for seconds": (
        lambda d: edited(run_of(d) / "run.json", seconds="long"),
        "damaged: seconds is 'long'",
    ),
    "a list for a time": (lambda d: edited(run_of(d) / "run.json", measured_s=[1]), "measured_s is '[1]'"),
    "a number for a day": (
        lambda d: edited(d / "campaign.json", created=-1),
        "damaged: created is '-1'",
    ),
    "words for the machine": (
        lambda d: edited(run_of(d) / "environment.json", machine="big"),
        "environment.json: damaged: environment is",
    ),
    "a number for the disk": (
        lambda d: edited(run_of(d) / "environment.json", disk={"device": 7}),
        "environment.json: damaged: disk.device",
    ),
    "a run twice": (
        lambda d: shutil.copytree(run_of(d), run_of(d).with_name("copy")),
        "run 1 of the campaign, as",
    ),
    "wrong round": (lambda d: edited(run_of(d) / "run.json", round="many"), "wrong type"),
    "another round": (lambda d: edited(run_of(d) / "run.json", round=2), "round is not what plan.json says"),
    "another variant": (lambda d: edited(run_of(d) / "run.json", variant={"a": 1}), "variant is not what plan.json"),
    "another order": (lambda d: edited(run_of(d) / "run.json", order=99), "order is not what plan.json says"),
    "another seed": (lambda d: edited(run_of(d) / "run.json", seed=5), "seed is not what plan.json says"),
    "a plan without runs": (lambda d: edited(d / "plan.json", runs=None), "plan.json: damaged: no list of runs"),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_named_with_its_file_and_a_remedy(kind: str, copy: Path) -> None:
    damage, words = DAMAGES[kind]
    damage(copy)
    with pytest.raises(ResultsError) as refused:
        results.read(copy)
    screen = refused.value.screen()
    assert words in screen
    assert str(copy) in screen
    assert refused.value.remedy
    assert len(screen.splitlines()) <= 24


def test_runs_of_another_seed_are_none_of_this_campaign(
    make_engine: Any, make_notes: Any, study: Study, copy: Path, tmp_path: Path
) -> None:
    """Copied into it, they would enter its rounds; to go on measuring beside them is refused before anything is run."""
    execute(plan(study, rounds=1, seed=2), Options(tmp_path / "other"), make_engine(), make_notes())
    alien = run_of(tmp_path / "other")
    shutil.rmtree(run_of(copy))
    shutil.copytree(alien, copy / "runs" / alien.name)
    with pytest.raises(ResultsError, match=r"no run of this campaign: plan\.json has no"):
        results.read(copy)
    engine = make_engine()
    with pytest.raises(ResultsError, match="no run of this campaign"):
        execute(plan(study, rounds=1), Options(copy), engine, make_notes())
    assert not engine.calls


def test_damaged_samples_are_named_when_they_are_read(copy: Path) -> None:
    (run_of(copy) / "samples.parquet").write_bytes(b"PAR1 and then nothing")
    run = results.read(copy).runs[0]
    with pytest.raises(ResultsError, match=r"samples\.parquet: damaged"):
        run.samples()


def test_a_run_of_before_files_were_listed_says_what_it_lost(copy: Path) -> None:
    (run_of(copy) / "samples.parquet").unlink()
    edited(run_of(copy) / "run.json", files=None)
    found = results.read(copy)
    assert [run.lost for run in found.runs][:2] == [("samples.parquet",), ()]
    analysis = analyse(found)
    assert any("Files are missing: samples.parquet of 1 run;" in warning for warning in analysis.warnings)
    assert "Read with care: files of 1 run are missing" in Report(analysis, found).markdown()


def test_an_edited_study_is_told_beside_the_answer(copy: Path) -> None:
    with (copy / "study.toml").open("a", encoding="utf-8") as study:
        study.write("# an afterthought\n")
    found = results.read(copy)
    assert "study.toml was edited after the campaign began" in Report(analyse(found), found).markdown()


def test_a_damaged_run_can_be_deleted_and_is_repeated(
    make_engine: Any, make_notes: Any, study: Study, copy: Path
) -> None:
    (run_of(copy) / "run.json").write_text("")
    with pytest.raises(ResultsError) as refused:
        results.read(copy)
    assert f"delete {run_of(copy)}" in str(refused.value.remedy)
    shutil.rmtree(run_of(copy))
    engine = make_engine()
    assert len(execute(plan(study, rounds=1), Options(copy), engine, make_notes()).runs) == 6
    assert len(engine.calls) == 1


def test_what_was_written_is_read_back(finished: Path, study: Study) -> None:
    found = results.read(finished)
    assert (found.seed, found.clock, found.quick, found.planned) == (1, "real", False, 6)
    assert found.study_text == study.text
    assert found.study == study.resolved
    assert [run.order for run in found.runs] == [1, 2, 3, 4, 5, 6]
    assert {run.environment["machine"]["cpus"] for run in found.runs} == {found.runs[0].environment["machine"]["cpus"]}


@pytest.fixture
def old(copy: Path) -> Path:
    """The campaign as format version 1 had it: the plan holds no study, and models stand in a folder."""
    plan_json = json.loads((copy / "plan.json").read_text())
    kept = {key: plan_json[key] for key in ("seed", "rounds", "runs")}
    told = {"title": "t", "clock": "real", "quick": False, "overrides": {}}
    (copy / "plan.json").write_text(json.dumps({"format_version": 1, **told, **kept}))
    edited(copy / "campaign.json", format_version=1, fixed=None)
    for place in results.run_directories(copy):
        facts = json.loads((place / "run.json").read_text())
        (place / "run.json").write_text(json.dumps({**facts, "format_version": 1}))
    return copy


def test_a_campaign_of_format_1_is_reported_as_ever(old: Path, finished: Path) -> None:
    found, kept = results.read(old), results.read(finished)
    without = [{key: value for key, value in v.items() if key != "wants"} for v in found.study["variants"]]
    assert without == [{key: value for key, value in v.items() if key != "wants"} for v in kept.study["variants"]]
    assert found.study | {"variants": ()} == kept.study | {"variants": ()}
    assert [run.id for run in found.runs] == [run.id for run in results.read(finished).runs]
    (old / "study.toml").write_text("title = 1\n")
    with pytest.raises(ResultsError, match="not sound for this Fathom"):
        results.read(old)


def test_a_campaign_of_format_1_takes_no_more_runs(make_engine: Any, make_notes: Any, study: Study, old: Path) -> None:
    with pytest.raises(CampaignError, match="older Fathom"):
        execute(plan(study, rounds=2), Options(old), make_engine(), make_notes())
    assert len(results.read(old).runs) == 6
