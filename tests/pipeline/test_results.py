"""Reading results: what is damaged or newer is refused with its place and a remedy; nothing is guessed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fathom import results
from fathom.errors import ResultsError
from fathom.plan import plan
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
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no campaign": (lambda d: (d / "campaign.json").unlink(), "not a campaign directory"),
    "cut short": (lambda d: (d / "campaign.json").write_text('{"format'), "damaged: line 1"),
    "not an object": (lambda d: (d / "campaign.json").write_text("[1]"), "not a JSON object"),
    "no version": (lambda d: edited(d / "campaign.json", format_version=None), "no format_version"),
    "no seed": (lambda d: edited(d / "campaign.json", seed=None), "'seed'"),
    "newer campaign": (lambda d: edited(d / "campaign.json", format_version=99), "format version 99"),
    "newer run": (lambda d: edited(run_of(d) / "run.json", format_version=99), "format version 99"),
    "no study": (lambda d: (d / "study.toml").unlink(), "study.toml: damaged"),
    "bad study": (lambda d: (d / "study.toml").write_text("a = ["), "study.toml: damaged"),
    "binary": (lambda d: (run_of(d) / "run.json").write_bytes(b"\xff\xfe\x00"), "not UTF-8"),
    "no metrics": (lambda d: (run_of(d) / "metrics.json").unlink(), "metrics.json: damaged"),
    "no status": (lambda d: edited(run_of(d) / "run.json", status=None), "'status'"),
    "wrong round": (lambda d: edited(run_of(d) / "run.json", round="many"), "wrong type"),
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


def test_damaged_samples_are_named_when_they_are_read(copy: Path) -> None:
    (run_of(copy) / "samples.parquet").write_bytes(b"PAR1 and then nothing")
    run = results.read(copy).runs[0]
    with pytest.raises(ResultsError, match=r"samples\.parquet: damaged"):
        run.samples()


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
    assert found.study == study.tree
    assert [run.order for run in found.runs] == [1, 2, 3, 4, 5, 6]
    assert {run.environment["machine"]["cpus"] for run in found.runs} == {found.runs[0].environment["machine"]["cpus"]}
