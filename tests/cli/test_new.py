"""`fathom new`: what it writes works as it is."""

from __future__ import annotations

import ast
import json
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from fathom.cli.commands.new import SKELETONS, STUDIES


def test_a_new_study_runs(fathom: Any, tmp_path: Path) -> None:
    assert fathom("new", "study", "my-question").stdout == "my-question.toml\n"
    done = fathom("simulate", "my-question.toml", "--quick", "--json", "--out", "c")
    assert done.returncode in {0, 3}, done.stderr
    assert json.loads(done.stdout)["finished"] == 4


@pytest.mark.parametrize("question", STUDIES)
def test_a_study_from_a_question_is_sound_by_its_clocks(question: str, fathom: Any, tmp_path: Path) -> None:
    written = fathom("new", "study", "mine", "--from", question)
    assert written.returncode == 0
    study = tmp_path / "mine.toml"
    assert tomllib.loads(study.read_text())["title"] == "Mine"
    (then,) = written.stderr.splitlines()
    done = fathom(*then.removeprefix("then: fathom ").split(), "--rounds", "1", "--out", "c")
    assert done.returncode in {0, 3}, done.stderr
    assert "failed" not in done.stderr
    assert fathom("plan", study).returncode == 0


def test_a_question_that_is_none_is_refused(fathom: Any, tmp_path: Path) -> None:
    for arguments in (("study", "mine", "--from", "love"), ("layer", "mine", "--from", "wal")):
        done = fathom("new", *arguments)
        assert done.returncode == 2
        assert "cache|volume-swap|wal|sweep|probe" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_name_of_a_file_is_answered_with_the_name_to_write(fathom: Any) -> None:
    done = fathom("new", "study", "wal.toml", "--from", "wal")
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith("write lower-case words joined by hyphens, as wal")


def test_every_question_has_its_file_and_every_file_its_question() -> None:
    folder = Path(str(files("fathom.cli") / "skeletons"))
    assert {path.stem.removeprefix("study_").replace("_", "-") for path in folder.glob("study_*.toml")} == set(STUDIES)


def test_a_new_model_is_in_the_catalogue_and_in_a_study(fathom: Any, tmp_path: Path) -> None:
    fathom("new", "model", "acme/fast-disk")
    assert "acme/fast-disk" in fathom("catalogue", "--file", "fast_disk.toml").stdout
    assert "400,000 IOPS" in fathom("catalogue", "acme/fast-disk", "--file", "fast_disk.toml").stdout
    fathom("new", "study", "my-question")
    study = tmp_path / "my-question.toml"
    study.write_text(study.read_text().replace("aws/gp3", "acme/fast-disk"))
    assert fathom("plan", study).returncode == 2, "the model is not built in"
    done = fathom("simulate", study, "--models", "fast_disk.toml", "--quick", "--out", "c")
    assert done.returncode in {0, 3}, done.stderr
    (tmp_path / "fast_disk.toml").unlink()
    again = fathom("simulate", study, "--rounds", "3", "--out", "c")
    assert again.returncode in {0, 3}, "the campaign keeps a copy of the model"


@pytest.mark.parametrize("kind", [kind for kind, skeleton in SKELETONS.items() if skeleton.source])
def test_a_plug_in_is_written_into_a_checkout_and_never_over_a_file(kind: str, fathom: Any, tmp_path: Path) -> None:
    refused = fathom("new", kind, "my-idea")
    assert refused.returncode == 2
    assert "checkout" in refused.stderr
    for folder in ("layers/src", "devices/src", "workload/src"):
        (tmp_path / "crates" / folder).mkdir(parents=True)
    for folder in ("report/sections", "cli/commands"):
        (tmp_path / "python" / "fathom" / folder).mkdir(parents=True)
    (tmp_path / "crates" / "layers" / "src" / "lib.rs").write_text("")
    done = fathom("new", kind, "my-idea")
    written = tmp_path / done.stdout.strip()
    text = written.read_text()
    assert "@" not in text.replace("@functools", "")
    assert "skeleton" not in text.lower()
    assert "my-idea" in text or "my_idea" in text
    if written.suffix == ".py":
        ast.parse(text)
    before = text + "// mine"
    written.write_text(before)
    assert fathom("new", kind, "my-idea").returncode == 2
    assert written.read_text() == before
