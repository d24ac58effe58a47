"""`fathom io`: one line instead of a study, and nothing that is there is overwritten unasked."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

SHORT = ("--for", "200ms", "--ramp", "0s", "--quiet")


def test_a_model_is_measured_in_virtual_time_and_its_study_kept(fathom: Any, tmp_path: Path) -> None:
    done = fathom(
        "io", "--model", "aws/gp3", "--size", "8KiB", "--read", "70%", "--depth", "32", "--for", "5s", "--out", "c"
    )
    assert done.returncode == 0, done.stderr
    assert "gp3: 3,000 IOPS" in done.stdout, "what the model of that name grants without extra charge"
    study = tmp_path / "c" / "study.toml"
    workload = tomllib.loads(study.read_text())["workload"]
    assert (workload["size"], workload["read"], workload["outstanding"]) == ("8KiB", "70%", 32)
    assert fathom("simulate", study, "--rounds", "2", "--out", "again").returncode == 0, "a study like any other"


def test_a_modelled_volume_is_given_what_is_bought_with_it(fathom: Any, tmp_path: Path) -> None:
    fast = ("--depth", "64", "--for", "2s", "--quiet", "--out")
    done = fathom("io", "--model", "aws/io2", "--area", "100GiB", "--set", "iops=12000", *fast, "c")
    assert done.returncode == 0, done.stderr
    assert "12,000 IOPS" in done.stdout
    volume = tomllib.loads((tmp_path / "c" / "study.toml").read_text())["volumes"]["io2"]
    assert volume["iops"] == "12000"


def test_an_instance_lets_no_more_through_than_it_may(fathom: Any, tmp_path: Path) -> None:
    bought = ("--model", "aws/gp3", "--set", "iops=80000", "--set", "throughput=2000MiB/s")
    fast = ("--depth", "256", "--for", "2s", "--quiet", "--out")
    done = fathom("io", *bought, "--instance", "aws/r5b.large", *fast, "c")
    assert done.returncode == 0, done.stderr
    assert "80,000 IOPS" not in done.stdout
    volumes = tomllib.loads((tmp_path / "c" / "study.toml").read_text())["volumes"]
    assert volumes["r5b-large"] == {"kind": "throttle", "model": "aws/r5b.large", "backing": "gp3"}


def test_what_credits_gave_is_no_rate_to_offer(fathom: Any) -> None:
    """30 GiB of gp2 earn 100 IOPS; a burst of three hours says nothing of the fourth."""
    load = ("--area", "30GiB", "--size", "8KiB", "--read", "0%", "--rate", "600", "--for", "4h")
    done = fathom("io", "--model", "aws/gp2", *load, "--quiet", "--out", "c")
    assert "Offer less than 100/s to gp2" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--model", "gp3"), "did you mean aws/gp3"),
        (("--model", "aws/r5b.large"), "give the volume as --model and this as --instance aws/r5b.large"),
        (("--model", "aws/gp3", "--instance", "aws/gp2"), "this is a volume, not an instance"),
        ((".", "--instance", "aws/r5b.large"), "--instance is for a modelled volume"),
        (("--model", "aws/gp3", "--set", "iops"), "not a key and its value"),
        (("--model", "aws/gp3", "--set", "size=1TiB"), "--area the size"),
        (("--model", "aws/gp3", "--set", 'a"b=1'), "is no key of a volume"),
        (("--model", "aws/gp3", "--set", "ipos=9000"), "did you mean `iops`"),
        ((".", "--set", "iops=9000"), "--set is for a modelled volume"),
    ],
)
def test_a_key_that_cannot_be_is_refused(fathom: Any, options: tuple[str, ...], words: str) -> None:
    done = fathom("io", *options, *SHORT)
    assert done.returncode == 2, done.stdout
    assert words in done.stderr


def test_a_directory_gets_a_scratch_file_and_is_left_as_it_was(fathom: Any, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "mine").write_text("kept")
    done = fathom("io", "disk", "--area", "8MiB", "--read", "50%", *SHORT, "--json", "--out", "c")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["clock"], answer["finished"], answer["failed"]) == ("real", 1, [])
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["mine"]
    assert (tmp_path / "disk" / "mine").read_text() == "kept"


def test_the_same_line_measures_again(fathom: Any, tmp_path: Path) -> None:
    for _ in range(2):
        assert fathom("io", "--model", "aws/gp3", *SHORT).returncode == 0
    assert len(list((tmp_path / "results").iterdir())) == 2


def test_a_file_is_read_and_never_written_unasked(fathom: Any, tmp_path: Path) -> None:
    file = tmp_path / "precious.img"
    content = bytes(range(256)) * (1 << 14)
    file.write_bytes(content)
    for load in (("--read", "99%"), ("--preset", "log-writer"), ("--read", "0%", "--size", "8KiB")):
        refused = fathom("io", file, *load, *SHORT)
        assert refused.returncode == 2, load
        assert "--overwrite" in refused.stderr
        assert file.read_bytes() == content, load
    assert fathom("io", file, *SHORT).returncode == 0
    assert file.read_bytes() == content
    assert fathom("io", file, "--read", "0%", "--overwrite", *SHORT).returncode == 0
    assert len(file.read_bytes()) == len(content)
    assert file.read_bytes() != content


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "either PATH or --model"),
        ((".", "--model", "aws/gp3"), "either PATH or --model"),
        (("nowhere",), "nowhere: No such file"),
        (("/dev/null",), "neither a directory nor a file"),
        (("--model", "aws/gp33"), 'no model "aws/gp33"'),
        (("--model", "aws/r5d.4xlarge"), "not a volume"),
        ((".", "--size", "5XB"), "not a size"),
        ((".", "--read", '70%"\n[quick]'), "workload.read"),
        ((".", "--goal", "latency 5ms"), "is no goal"),
        (("--model", "aws/gp3", "--area", "900TiB"), "size"),
    ],
)
def test_mistakes_are_told_and_nothing_is_left(
    arguments: tuple[str, ...], words: str, fathom: Any, tmp_path: Path
) -> None:
    done = fathom("io", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_goal_decides_the_exit_code(fathom: Any) -> None:
    line = ("io", "--model", "aws/gp3", "--depth", "32", "--for", "2s", "--json", "--goal")
    met = fathom(*line, "iops >= 2000")
    assert (met.returncode, json.loads(met.stdout)["goals"][0]["passed"]) == (0, True)
    missed = fathom(*line, "latency_p99_ms < 100us")
    goal = json.loads(missed.stdout)["goals"][0]
    assert (missed.returncode, goal["passed"], goal["met"], goal["runs"]) == (8, False, 0, 1)
    assert goal["goal"]["limit"] == pytest.approx(0.1)
