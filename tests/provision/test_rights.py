"""Who is not root is told so before anything is made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fathom import results
from fathom.engine import core
from fathom.errors import UsageError
from fathom.plan import plan
from fathom.provision import rights
from fathom.run import Options, execute
from fathom.study import parse
from pipeline.fake import Notes

PYTHON = Path(__file__).parents[2] / "python"

STUDY = """\
title = "SQLite on a volume"

[volumes.disk]
kind = "memory"
size = "64MiB"

[places.data]
kind = "volume"
volume = "disk"

[databases.lite]
kind = "sqlite"
place = "data"

[workload]
kind = "insert"
database = "lite"
rows = 10

[compare]
metric = "rows_per_second"
rounds = 1
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory where another account may write."""
    (tmp_path / "lite.toml").write_text(STUDY, encoding="utf-8")
    tmp_path.chmod(0o777)
    return tmp_path


def as_a_user(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`fathom ARGUMENTS...` under an account that is not root's, which may read wherever the tests lie."""
    may_read = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *may_read] if os.geteuid() == 0 else []
    environment = {**os.environ, "PYTHONPATH": str(PYTHON), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(place)}
    return subprocess.run(
        [*other, sys.executable, "-m", "fathom", *arguments],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_place_on_a_volume_is_refused_before_anything_is_made(place: Path) -> None:
    done = as_a_user(place, "run", "lite.toml", "--out", "c")
    assert done.returncode == 2, done.stderr
    assert "places.data: a place on a volume needs root" in done.stderr
    assert "sudo" in done.stderr
    assert 'kind = "directory"' in done.stderr
    assert [path.name for path in place.iterdir()] == ["lite.toml"]


def test_the_plan_says_what_will_need_root(place: Path) -> None:
    done = as_a_user(place, "plan", "lite.toml")
    assert done.returncode == 0, done.stderr
    assert "needs root: data on volumes" in done.stderr


def test_a_directory_needs_no_root(place: Path) -> None:
    text = STUDY.replace('kind = "volume"\nvolume = "disk"', 'kind = "directory"')
    (place / "lite.toml").write_text(text.replace('[volumes.disk]\nkind = "memory"\nsize = "64MiB"\n', ""))
    done = as_a_user(place, "run", "lite.toml", "--out", "c")
    assert done.returncode in {0, 3}, done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="is about root")
def test_the_plan_does_not_send_root_to_sudo(place: Path) -> None:
    command = [sys.executable, "-m", "fathom", "plan", "lite.toml"]
    environment = {**os.environ, "PYTHONPATH": str(PYTHON)}
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=True)
    assert "needs root: data on volumes (FUSE, a loop device, a mount); you are root" in done.stderr
    assert "sudo" not in done.stderr


def test_a_failed_run_that_is_repeated_is_asked_about_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = plan(parse(STUDY, Path("lite.toml"), core()))
    options = Options(tmp_path / "c", retry_failed=True)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with monkeypatch.context() as patch:
        patch.setattr(rights, "check", lambda _plan, _runs: None)
        (failed,) = execute(wanted, options, core(), Notes()).runs
    assert failed.reason in {"permission", "unavailable"}, failed.message
    with pytest.raises(UsageError, match=r"places\.data: a place on a volume needs root"):
        execute(wanted, options, core(), Notes())
    (kept,) = results.read(tmp_path / "c").runs
    assert (kept.id, kept.started) == (failed.id, failed.started)
    assert not (tmp_path / "c" / "retried").exists()
    without = Options(tmp_path / "c")
    assert execute(wanted, without, core(), Notes()).runs[0].id == failed.id, "a finished run asks for nothing"
