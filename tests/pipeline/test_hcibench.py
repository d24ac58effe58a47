"""The study that scripts/hcibench_study.py writes: the shipped one is its output, and its parameters are HCIBench's."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def written(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts/hcibench_study.py"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_shipped_study_is_what_the_script_writes() -> None:
    shipped = (ROOT / "studies/hcibench.toml").read_text(encoding="utf-8")
    assert written().stdout == shipped, "python scripts/hcibench_study.py > studies/hcibench.toml"


def test_every_machine_has_its_disks_and_every_disk_its_threads() -> None:
    made = tomllib.loads(written("--vms", "3", "--disks", "2", "--threads", "5", "--size", "7GiB").stdout)
    assert made["workload"]["volumes"] == [f"vm{vm}-disk{disk}" for vm in (1, 2, 3) for disk in (1, 2)]
    assert (made["workload"]["workers"], made["workload"]["outstanding"]) == (6, 5)
    for name in made["workload"]["volumes"]:
        first, second = (made["volumes"][leg] for leg in made["volumes"][name]["legs"])
        assert first["shared"] != second["shared"], "two copies on two hosts"
        assert made["volumes"][first["backing"]]["size"] == "7GiB"


def test_real_disks_take_the_place_of_the_model() -> None:
    made = tomllib.loads(written("--vms", "2", "--disks", "1", "--path", "/dev/vm{vm}-{disk}").stdout)
    assert made["clock"] == "real"
    assert made["volumes"]["vm2-disk1"] == {"kind": "file", "path": "/dev/vm2-1"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--hosts", "1"), "two hosts"),
        (("--vms", "0"), "at least 1"),
        (("--path", "/dev/sda"), "all disks would be one"),
    ],
)
def test_what_makes_no_study_is_refused(options: tuple[str, ...], told: str) -> None:
    done = written(*options)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stdout == ""
