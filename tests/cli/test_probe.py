"""The probe: what it finds under a path, what it says about it, and that it leaves nothing behind."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys as sys_module
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fathom.errors import FathomError
from fathom.finding import Finding, Severity
from fathom.host import block, machine
from fathom.host.mounts import FileSystem, Mount, mount_of, parse_mountinfo
from fathom.probe.advice import advise, knee
from fathom.probe.matrix import Cell, Matrix, Step, _cell_of, file_size, steps, study_text
from fathom.probe.storage import Storage, size_words

MOUNTS = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
23 22 0:21 / /proc rw - proc proc rw
24 22 259:2 / /mnt/my\040data rw,noatime shared:7 master:1 - xfs /dev/nvme0n1p2 rw,attr2
25 24 0:40 / /mnt/my\040data/tmp rw - tmpfs tmpfs rw,size=1024k
cut short
"""


def test_a_path_belongs_to_the_nearest_mount_above_it() -> None:
    mounts = parse_mountinfo(MOUNTS)
    assert len(mounts) == 4
    for path, target in (("/", "/"), ("/mnt/other", "/"), ("/mnt/my data/pg", "/mnt/my data"), ("/mnt/my data2", "/")):
        assert mount_of(Path(path), mounts).target == target
    found = mount_of(Path("/mnt/my data/tmp/x"), mounts)
    assert (found.kind, found.device, found.options) == ("tmpfs", "0:40", ("rw", "size=1024k"))


@pytest.fixture
def sys(tmp_path: Path) -> Path:
    """A sysfs with one NVMe disk that has one partition."""
    disk = tmp_path / "devices" / "nvme0n1"
    files = {
        "size": "1000", "queue/logical_block_size": "512", "queue/physical_block_size": "4096",
        "queue/optimal_io_size": "0", "queue/max_sectors_kb": "128", "queue/scheduler": "mq-deadline [none]",
        "queue/write_cache": "write back", "queue/rotational": "0", "queue/nr_requests": "1023",
        "device/model": "SAMSUNG  ", "nvme0n1p2/partition": "2", "nvme0n1p2/start": "2049",
    }  # fmt: skip
    for name, text in files.items():
        (disk / name).parent.mkdir(parents=True, exist_ok=True)
        (disk / name).write_text(f"{text}\n")
    (tmp_path / "dev" / "block").mkdir(parents=True)
    (tmp_path / "dev" / "block" / "259:2").symlink_to(disk / "nvme0n1p2")
    return tmp_path


def test_a_partition_is_described_by_its_disk(sys: Path) -> None:
    found = block.device_of("259:2", sys)
    assert found is not None
    assert (found.name, found.partition, found.partition_offset) == ("nvme0n1", "nvme0n1p2", 2049 * 512)
    assert (found.size, found.logical_sector, found.physical_sector, found.optimal_io) == (512_000, 512, 4096, None)
    assert (found.scheduler, found.rotational, found.model, found.max_transfer) == ("none", False, "SAMSUNG", 131072)
    assert found.queue_depth is None, "what the kernel does not say is unknown, not zero"
    assert block.device_of("0:40", sys) is None


def test_sizes_in_words() -> None:
    assert [size_words(n) for n in (512, 4096, 61440, 1 << 20, 250 << 30, 3 << 39)] == [
        "512 B", "4 KiB", "60 KiB", "1 MiB", "250 GiB", "1.5 TiB",
    ]  # fmt: skip


# --- advice ---------------------------------------------------------------------------------------------------------


def place(**device: Any) -> Storage:
    """A plain ext4 on flash; `device` changes facts of the disk."""
    mount = Mount("8:1", "/", "ext4", "/dev/sda1", ("rw",))
    facts: dict[str, Any] = dict.fromkeys(f.name for f in dataclasses.fields(block.BlockDevice))
    facts |= {"name": "sda", "logical_sector": 512, "physical_sector": 512, "rotational": False, "below": ()}
    return Storage(Path("/"), FileSystem(mount, 4096, 4096, 1 << 40, 1 << 39), block.BlockDevice(**{**facts, **device}))


def matrix(
    floor_ms: float = 0.1,
    ceiling: float = 40_000,
    log_ms: tuple[float, float, float] = (0.5, 0.5, 0.6),
    moved: float = 1.0,
    busy: tuple[float, int] | None = (0.0, 2),
) -> Matrix:
    """A disk with that floor and ceiling, and log writes of 512 B, 4 KiB and 60 KiB that take so long."""

    def cell(step: Step) -> Cell:
        if step.name == "log write":
            latency = dict(zip((512, 4096, 61440), log_ms, strict=True))[step.bytes]
        else:
            latency = max(floor_ms, step.depth / ceiling * 1e3)
        rate = step.depth / latency * 1e3
        return Cell(step, rate, rate * step.bytes / 1e6, latency, latency, (latency, latency, latency * moved))

    return Matrix(1 << 30, True, tuple(cell(step) for step in steps(512)), (), busy)


def words_of(finding: Finding) -> list[str]:
    commands = [command for remedy in finding.remedies for command in remedy.commands]
    actions = [remedy.action for remedy in finding.remedies]
    return [finding.what, *(one.sentence for one in finding.evidence), *actions, *commands]


def said(where: Storage, what: Matrix, severity: Severity, word: str) -> bool:
    """Whether a finding of that mark holds the word."""
    found = (finding for finding in advise(where, what) if finding.severity is severity)
    return any(word in text for finding in found for text in words_of(finding))


def test_the_knee_is_where_the_bounds_meet() -> None:
    bounds = knee(matrix(floor_ms=0.1, ceiling=40_000))
    assert bounds is not None
    assert bounds.n_star == pytest.approx(4, rel=0.05)
    assert bounds.ceiling == pytest.approx(40_000, rel=0.05)
    assert knee(matrix(floor_ms=0.1, ceiling=1e9)) is None


def test_no_ceiling_is_claimed_below_a_rate_that_was_met() -> None:
    flat = matrix(floor_ms=0.1, ceiling=10_000)
    assert said(place(), flat, Severity.NOTE, "at most 10,000 IOPS")
    last = max(number for number, cell in enumerate(flat.cells) if cell.step.name == "random read")
    deepest = dataclasses.replace(flat.cells[last], iops=15_000.0)
    creeping = dataclasses.replace(flat, cells=(*flat.cells[:last], deepest, *flat.cells[last + 1 :]))
    assert said(place(), creeping, Severity.GOOD, "still gain at 64 outstanding (15,000 IOPS")
    assert not said(place(), creeping, Severity.NOTE, "at most")
    slower = dataclasses.replace(flat.cells[last], iops=6_000.0)
    falling = dataclasses.replace(flat, cells=(*flat.cells[:last], slower, *flat.cells[last + 1 :]))
    assert said(place(), falling, Severity.NOTE, "the highest rate measured is 10,000 IOPS")
    assert knee(falling) is None
    # Within the tolerance of the fit, the words name the highest rate of the table.
    higher = dataclasses.replace(flat.cells[last], iops=10_400.0)
    close = dataclasses.replace(flat, cells=(*flat.cells[:last], higher, *flat.cells[last + 1 :]))
    assert said(place(), close, Severity.NOTE, "at most 10,400 IOPS")


def test_logs_are_graded_by_their_flush() -> None:
    assert said(place(), matrix(log_ms=(0.5, 0.5, 0.6)), Severity.GOOD, "suits a busy log")
    assert said(place(), matrix(log_ms=(4, 4, 5)), Severity.NOTE, "users will notice commits")
    assert said(place(), matrix(log_ms=(20, 20, 25)), Severity.WARNING, "slow for a log")


def test_the_slowest_commits_are_told() -> None:
    assert said(place(), matrix(log_ms=(0.5, 0.75, 0.9)), Severity.GOOD, "One in a hundred takes up to 0.75 ms.")


def test_slow_small_log_writes_are_read_modify_write() -> None:
    assert said(
        place(physical_sector=4096), matrix(log_ms=(1.0, 0.5, 0.6)), Severity.WARNING, "mssql-conf traceflag 1800 on"
    )
    assert said(place(physical_sector=4096), matrix(log_ms=(0.5, 0.5, 0.6)), Severity.GOOD, "does not matter")


def logs(**cells: tuple[float, float, tuple[float, ...]]) -> Matrix:
    """The matrix with other log writes: latency, p99, passes of `small` (512 B), `usual` (4 KiB), `large` (60 KiB)."""
    whole = matrix()
    sizes = {512: cells.get("small"), 4096: cells.get("usual"), 61440: cells.get("large")}
    made = []
    for cell in whole.cells:
        other = sizes.get(cell.step.bytes) if cell.step.name == "log write" else None
        told = {} if other is None else dict(zip(("latency_ms", "p99_ms", "passes_ms"), other, strict=True))
        made.append(dataclasses.replace(cell, **told))
    return dataclasses.replace(whole, cells=tuple(made))


@pytest.mark.parametrize(
    ("small", "usual", "sure"),
    [
        ((1.65, 0.93, (1.2, 1.65, 33.0)), (0.33, 4.45, (0.3, 0.33, 0.8)), False),  # the p99s say the opposite
        ((1.65, 2.0, (1.5, 1.65, 33.0)), (0.33, 0.5, (0.3, 0.33, 0.35)), False),
        ((0.33, 0.5, (0.3, 0.33, 0.9)), (0.33, 0.5, (0.3, 0.33, 0.35)), False),
        ((1.65, 2.0, (1.6, 1.65, 1.8)), (0.33, 0.5, (0.3, 0.33, 0.35)), True),
        ((0.33, 0.5, (0.32, 0.33, 0.35)), (0.33, 0.5, (0.3, 0.33, 0.35)), True),
    ],
)
def test_nothing_is_said_of_blocks_that_the_scatter_may_turn_round(
    small: tuple[float, float, tuple[float, ...]], usual: tuple[float, float, tuple[float, ...]], *, sure: bool
) -> None:
    found = next(each for each in advise(place(), logs(small=small, usual=usual)) if each.rule == "log-small-blocks")
    assert ("too much to tell" not in found.what) is sure
    assert (found.confidence > 0.5) is sure


@pytest.mark.parametrize(
    ("passes", "sure"), [((0.3, 0.449, 1.25), False), ((0.3, 0.449, 0.46), False), ((0.44, 0.449, 0.46), True)]
)
def test_what_a_flush_costs_is_not_said_where_the_scatter_may_turn_it_round(
    passes: tuple[float, ...], *, sure: bool
) -> None:
    measured = logs(usual=(0.317, 0.5, (0.31, 0.317, 0.33)), large=(0.449, 0.9, passes))
    found = next(each for each in advise(place(), measured) if each.rule == "log-flush-cost")
    assert ("too much to tell what the size of a flush costs" not in found.what) is sure
    assert (found.what == "A flush costs nearly the same whatever it carries.") is sure
    assert ("Commit many rows" in found.remedies[0].action) is sure


def test_a_log_is_graded_only_where_every_pass_has_that_grade() -> None:
    unsteady = logs(usual=(1.4, 2.0, (0.9, 1.4, 20.0)))
    assert said(place(), unsteady, Severity.NOTE, "0.9 ms to 20 ms in single passes: too unsteady")
    assert not said(place(), unsteady, Severity.GOOD, "suits a busy log")


def test_a_mean_above_its_own_p99_is_explained() -> None:
    late = logs(small=(1.65, 0.928, (1.6, 1.65, 1.7)))
    assert said(place(), late, Severity.WARNING, "after 1.65 ms, though 99 of 100 took at most 0.928 ms")
    assert not said(place(), matrix(), Severity.WARNING, "99 of 100")


def test_a_flush_that_cannot_be_true_is_doubted() -> None:
    quick = matrix(log_ms=(0.01, 0.01, 0.02))
    assert said(place(write_cache="write back"), quick, Severity.WARNING, "ignore flushes")
    assert not said(place(write_cache="write through"), quick, Severity.WARNING, "ignore flushes")


def test_a_round_plateau_is_a_limit() -> None:
    assert said(place(), matrix(floor_ms=1, ceiling=3000), Severity.NOTE, "flat at 3,000 IOPS")
    assert not said(place(), matrix(floor_ms=1, ceiling=3117), Severity.NOTE, "provisioned")


def test_the_place_is_judged_by_what_the_kernel_says() -> None:
    assert said(place(rotational=True), matrix(), Severity.NOTE, "queue/rotational")
    assert said(
        place(partition_offset=2049 * 512, physical_sector=4096), matrix(), Severity.WARNING, "every I/O is split"
    )
    base = place()
    memory = dataclasses.replace(base.system, mount=dataclasses.replace(base.system.mount, kind="tmpfs"))
    assert said(dataclasses.replace(base, system=memory, device=None), matrix(), Severity.WARNING, "in memory")
    assert said(dataclasses.replace(base, system=memory, device=None), matrix(), Severity.WARNING, "survives a restart")
    assert not said(dataclasses.replace(base, system=memory, device=None), matrix(), Severity.GOOD, "suits a busy log")


def test_an_unsteady_disk_is_called_one() -> None:
    assert said(place(), matrix(moved=1.5), Severity.WARNING, "changed by more than 20% between passes")
    assert said(place(), matrix(moved=1.5), Severity.WARNING, "by 50% (0.1 ms to 0.15 ms)")
    assert not said(place(), matrix(moved=1.1), Severity.WARNING, "changed by")


def test_a_busy_machine_is_told() -> None:
    assert said(place(), matrix(busy=(1.2, 2)), Severity.WARNING, "kept 1.2 of 2 processors busy")
    for quiet in ((0.3, 2), None):
        assert not said(place(), matrix(busy=quiet), Severity.WARNING, "busy:")


def test_a_spinning_process_makes_a_processor_busy() -> None:
    with subprocess.Popen([sys_module.executable, "-c", "while True: pass"]) as spinning:
        try:
            busy = machine.busy_processors(1.0)
        finally:
            spinning.kill()
    assert busy is not None
    assert 0.5 < busy <= (os.cpu_count() or 1)


def test_idle_time_between_requests_is_noticed_by_littles_law() -> None:
    slow = matrix()
    first = dataclasses.replace(slow.cells[0], iops=slow.cells[0].iops / 2)
    idle = dataclasses.replace(slow, cells=(first, *slow.cells[1:]))
    assert said(place(), idle, Severity.WARNING, "only 0.50 of 1")
    assert not said(place(), slow, Severity.WARNING, "Little's law")


def test_log_writes_below_a_sector_are_left_out() -> None:
    assert {step.bytes for step in steps(4096) if step.name == "log write"} == {4096, 61440}


def test_the_p99_of_a_log_write_has_its_flush() -> None:
    log, read = Step("log write", 4096, 1, 0.8), Step("random read", 8192, 1, 0.8)
    metrics = {"iops": 500.0, "latency_ms": 0.5, "latency_p99_ms": 1.0}
    requests = {"write": {"latency_p99_ns": 1_000_000}, "flush": {"latency_p99_ns": 7_000_000}}
    assert _cell_of(log, metrics, requests).p99_ms == 8.0
    assert _cell_of(read, metrics, {}).p99_ms == 1.0
    assert _cell_of(log, metrics, {"write": {"latency_p99_ns": None}}).p99_ms is None


def test_a_fifth_of_what_is_free_is_the_most() -> None:
    mount = Mount("8:1", "/", "ext4", "/dev/sda1", ("rw",))
    assert file_size(FileSystem(mount, 4096, 4096, 1 << 40, 1000 << 20), 1 << 30) == 200 << 20
    with pytest.raises(FathomError, match=r"only 100 MiB free; a probe needs 320 MiB: .* at most a fifth"):
        file_size(FileSystem(mount, 4096, 4096, 1 << 40, 100 << 20), 64 << 20)


def test_the_generated_study_is_one_that_people_could_write() -> None:
    from fathom import _core

    for step in steps(512):
        text = study_text(step, Path("/tmp/x"), 1 << 26)
        assert _core.check(text, "probe.toml")["screen"] == ""


# --- for real -------------------------------------------------------------------------------------------------------


def test_it_measures_this_disk_and_leaves_nothing(fathom: Any, tmp_path: Path) -> None:
    done = fathom("probe", ".", "--size", "64", "--seconds", "0.2", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert len(answer["matrix"]["cells"]) >= 11
    assert all(cell["iops"] > 0 and cell["latency_ms"] > 0 for cell in answer["matrix"]["cells"])
    assert all(len(cell["passes_ms"]) == 3 for cell in answer["matrix"]["cells"])
    assert all(cell["p99_ms"] for cell in answer["matrix"]["cells"])
    assert all(sorted(cell["passes_ms"])[1] == cell["latency_ms"] for cell in answer["matrix"]["cells"])
    assert {finding["subject"] for finding in answer["findings"]} == {"log", "data", "place", "measurement"}
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_directory_to_probe(fathom: Any, tmp_path: Path) -> None:
    (tmp_path / "data.db").touch()
    refused = fathom("probe", "data.db", "--look-only")
    assert refused.returncode == 2
    assert f"fathom probe {tmp_path}" in refused.stderr


def test_looking_writes_nothing(fathom: Any, tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o500)  # noqa: PTH101 - what is tested is a directory that cannot be written
    done = fathom("probe", ".", "--look-only")
    assert done.returncode == 0
    assert "file system" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_stopped_in_the_middle_it_leaves_nothing(
    number: signal.Signals, start: Callable[..., Any], tmp_path: Path
) -> None:
    process = start("probe", ".", "--size", "64", "--seconds", "2")
    deadline = time.monotonic() + 120
    while not _holds_unlinked_file(process.pid, tmp_path) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.5)
    process.send_signal(number)
    process.communicate(timeout=120)
    assert process.returncode == (130 if number == signal.SIGINT else -9)
    assert list(tmp_path.iterdir()) == []


def _holds_unlinked_file(process: int, directory: Path) -> bool:
    """Whether the process has an open file of that directory that has no name any more."""
    for entry in Path(f"/proc/{process}/fd").iterdir():
        try:
            target = os.readlink(entry)  # noqa: PTH115 - the target is no path
        except OSError:
            continue
        if target.startswith(str(directory)) and target.endswith("(deleted)"):
            return True
    return False
