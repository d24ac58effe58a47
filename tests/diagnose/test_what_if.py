"""`fathom diagnose --to-study`: the study runs, its base case is the log, and names in it are only names."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make_pdh import pdh, stamps

from fathom import _core
from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import diagnose
from fathom.diagnose.study import study, write_study
from fathom.errors import UsageError

COUNTERS = ("Disk Reads/sec", "Disk Read Bytes/sec", "Avg. Disk sec/Read", "Current Disk Queue Length")
COUNT = 200


def study_of(
    folder: Path, iops: np.ndarray, load: np.ndarray, size: float | np.ndarray = 8192, disk: str = "1 D:"
) -> Path:
    rows = [
        [f"{each:.9f}" for each in (rate, rate * length, queue / rate, queue)]
        for rate, queue, length in zip(iops, load, np.broadcast_to(size, iops.shape), strict=True)
    ]
    log = folder / "log"
    device = rf"\\H\PhysicalDisk({disk})".replace('"', '""')
    paths = [f"{device}\\{counter}" for counter in COUNTERS]
    log.write_text(pdh(rows, paths, times=stamps(COUNT)), encoding="utf-8")
    with reader.read([log]) as found:
        return write_study(diagnose(found), folder / "study.toml")


def simulated(path: Path, how: tuple[str, ...] = ("--rounds", "1")) -> dict[str, Any]:
    command = [sys.executable, "-m", "fathom", "simulate", path.name, *how, "-q", "--json"]
    done = subprocess.run(
        [*command, "--no-sensitivity"], cwd=path.parent, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode in (0, 3), done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def loads() -> dict[str, tuple[np.ndarray, ...]]:
    random = np.random.default_rng(5)
    part = np.arange(COUNT) % 50
    noise = random.normal(1, 0.01, COUNT)
    deep, few = random.integers(400, 700, COUNT), random.integers(8, 14, COUNT)
    rising = np.where(part < 25, random.uniform(2, 10, COUNT), random.uniform(30, 90, COUNT))
    return {
        "queue above the counter": (
            np.where(part < 25, 1600, 2000) * noise,
            np.where(part < 25, deep, few),
            np.where(part < 25, 8192, 16384),
        ),
        "limit on IOPS": (np.minimum(3000 * noise**0.2, rising / 0.0012), rising),
        "healthy": (900 * noise, 0.9 * noise),
    }


@pytest.mark.parametrize("name", list(loads()))
def test_the_base_case_is_the_log(tmp_path: Path, name: str) -> None:
    analysis = simulated(study_of(tmp_path, *loads()[name]))["analysis"]
    cells = {cell["metric"]: cell for cell in analysis["predictions"]}
    assert set(cells) == {"iops", "latency_ms"}
    for cell in cells.values():
        assert abs(cell["relative_error"]) < 0.05, cell


@pytest.mark.parametrize("name", list(loads()))
def test_its_quick_form_asks_the_same_with_few_requests(tmp_path: Path, name: str) -> None:
    path = study_of(tmp_path, *loads()[name])
    analysis = simulated(path, ("--quick",))["analysis"]
    written = tomllib.loads(path.read_text(encoding="utf-8"))
    assert len(analysis["comparisons"]) == 1
    assert float(written["quick"]["workload.duration"][:-1]) < float(written["workload"]["duration"][:-1])


def test_a_deeper_queue_lifts_the_rate(tmp_path: Path) -> None:
    path = study_of(tmp_path, *loads()["queue above the counter"])
    written = tomllib.loads(path.read_text(encoding="utf-8"))
    assert written["sets"]["what"]["as recorded"]["volumes.disk.per_device"] == 32
    assert "an assumption" in path.read_text(encoding="utf-8")
    comparison = simulated(path)["analysis"]["comparisons"][0]
    assert comparison["ratio"]["value"] > 4


def test_twice_the_limit_is_asked(tmp_path: Path) -> None:
    written = tomllib.loads(study_of(tmp_path, *loads()["limit on IOPS"]).read_text(encoding="utf-8"))
    levels = written["sets"]["what"]
    assert levels["twice the limit"]["volumes.disk.iops"] == pytest.approx(
        2 * levels["as recorded"]["volumes.disk.iops"], rel=0.01
    )


def test_of_a_device_without_a_limit_more_is_asked_than_the_log_has_seen(tmp_path: Path) -> None:
    steady = np.full(COUNT, 900.0)
    peak = np.where(np.arange(COUNT) == 150, 4000.0, steady)
    for name, iops, most in (("twice the load", steady, 900), ("twice the highest load of the log", peak, 4000)):
        place = tmp_path / name.replace(" ", "-")
        place.mkdir()
        written = tomllib.loads(study_of(place, iops, iops / 1000).read_text(encoding="utf-8"))
        assert written["sets"]["what"][name]["workload.rate"] == pytest.approx(2 * most, rel=0.02), name


def test_every_limit_of_the_log_is_in_the_study(tmp_path: Path) -> None:
    iops, load = loads()["limit on IOPS"]
    # Requests of one size: the log cannot tell which of the two limits binds.
    written = tomllib.loads(study_of(tmp_path, iops, load).read_text(encoding="utf-8"))
    base, more = written["sets"]["what"].values()
    assert set(base) == {"volumes.disk.iops", "volumes.disk.throughput"}
    assert set(more) == set(base)
    assert written["volumes"]["disk"]["iops"] == base["volumes.disk.iops"] == pytest.approx(3000, rel=0.02)
    # Sizes that vary: the rate of bytes has no ceiling. The known limit that goes with 3,000 IOPS stays where it is.
    (tmp_path / "varied").mkdir()
    sizes = np.random.default_rng(1).choice([4096, 65536], COUNT)
    written = tomllib.loads(study_of(tmp_path / "varied", iops, load, sizes).read_text(encoding="utf-8"))
    assert written["volumes"]["disk"]["throughput"] == "131072000B/s"
    assert set(written["sets"]["what"]["twice the limit"]) == {"volumes.disk.iops"}


@pytest.mark.parametrize("disk", ['1 "]\n[workload]\nkind = "x', "1 \\u0000 {{x}} ''' #", "1 \x1b[31m\u202e\x7f"])
def test_a_name_stays_a_name(tmp_path: Path, disk: str) -> None:
    disk = disk.replace("\n", " ") if "\n" in disk else disk
    written = tomllib.loads(study_of(tmp_path, *loads()["healthy"], disk=disk).read_text(encoding="utf-8"))
    assert written["workload"]["kind"] == "io"
    assert set(written) >= {"title", "volumes", "workload", "factors", "sets", "compare"}


def test_an_existing_file_stays(tmp_path: Path) -> None:
    path = study_of(tmp_path, *loads()["healthy"])
    before = path.read_bytes()
    with pytest.raises(UsageError, match="exists"):
        study_of(tmp_path, *loads()["healthy"])
    assert path.read_bytes() == before


def test_a_log_without_volumes_is_refused(samples: Path) -> None:
    with reader.read([samples / "pgbench.txt"]) as log, pytest.raises(UsageError, match="nothing to simulate"):
        study(diagnose(log))


@pytest.mark.parametrize(
    ("kind", "model", "iops", "throughput"),
    [
        ("gp3", "gp3", 3000, 125), ("gp2", "gp2", 3000, None), ("io1", "io1", 3000, None),
        ("io2", "io2-block-express", 3000, None),
        # Twice as much cannot be bought, or only of the larger kind.
        ("gp3", "gp3", 60_000, 1500), ("io1", "io1", 40_000, None), ("io2", "io2-block-express", 50_000, None),
    ],
)  # fmt: skip
def test_a_described_volume_is_the_catalogues(
    tmp_path: Path, kind: str, model: str, iops: int, throughput: int | None
) -> None:
    study_of(tmp_path, *loads()["limit on IOPS"])
    described = {"VolumeId": "vol-1", "VolumeType": kind, "Size": 2000, "Iops": iops, "Throughput": throughput}
    (tmp_path / "volumes.json").write_text(json.dumps({"Volumes": [described]}))
    with reader.read([tmp_path / "log", tmp_path / "volumes.json"]) as found:
        text = study(diagnose(found))
    assert f'model = "aws/{model}"' in text
    assert _core.check(text, "study.toml", "virtual")["screen"] == ""
    # What is tried is more than what was bought.
    base, more = tomllib.loads(text)["sets"]["what"].values()
    assert base != more
