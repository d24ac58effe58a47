"""Logs as they are posted in forums and mails: wrapped, of several machines, of idle disks, of caches that are cold."""

from __future__ import annotations

import io
import textwrap
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from make_iostat import Disk, disk, iostat
from make_pdh import pdh
from rich.console import Console
from test_linux_logs import facts, reports, values
from test_surroundings import diagnosed

from fathom.cli.diagnosis_view import print_diagnosis
from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import Diagnosis, Outcome

COUNT = 120
PLACES = np.arange(COUNT)


def noise(seed: int, spread: float = 0.02) -> np.ndarray:
    return np.random.default_rng(seed).normal(1, spread, COUNT)


def skipped(path: Path) -> list[str]:
    with reader.read([path]) as log:
        return [skip.why for skip in log.notes[0].skipped]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.mark.parametrize("width", [30, 40, 47])
def test_a_table_that_a_mail_program_wrapped_is_put_together_again(log: Path, width: int) -> None:
    log.write_text(reports())
    whole = {metric: values(log, "sda", metric) for metric in ("read_iops", "write_latency_s", "busy_percent")}
    wrapped = (textwrap.wrap(line, width, break_on_hyphens=False) for line in reports().splitlines())
    log.write_text("\n".join(part for line in wrapped for part in line or [""]))
    assert {metric: values(log, "sda", metric) for metric in whole} == whole
    with reader.read([log]) as found:
        assert set(found.series["device"].drop_nulls().cast(str)) == {"sda"}


def test_what_never_becomes_a_whole_row_is_noted(log: Path) -> None:
    log.write_text(reports() + "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\nsda 1.00 2.00\nsdb\n")
    assert "not as many numbers as the table's head" in skipped(log)
    log.write_text(reports().replace("sda 3.00", "99.83 3.00"))
    assert "no name of a device" in skipped(log)
    assert len(values(log, "sda", "read_iops")) == 4


def test_columns_of_a_table_without_its_devices_make_no_device(log: Path) -> None:
    log.write_text(
        "Device: r/s w/s rMB/s wMB/s\nsdb 283.12 47.35 4.86 2.19\nawait svctm aqu-sz %util\n14.76 3.02 4.89 99.83\n"
    )
    with reader.read([log]) as found:
        assert set(found.series["device"].cast(str)) == {"sdb"}
    assert "a table without names of devices" in skipped(log)


def stamped(first: float, heading: str = "22:00:00") -> str:
    """Reports every 15 s with a stamp before each line, of which the first has that many reads per second."""
    lines = [f"2026-03-02 {heading} Linux 2.6.16 (db1) \t03/02/2026"]
    for place, rate in enumerate((first, *(np.random.default_rng(3).integers(900, 4000, 20) / 15 + 0.003))):
        at = f"2026-03-02 22:0{place // 4}:{place % 4 * 15:02d} "
        lines += [f"{at}Device: r/s w/s rsec/s wsec/s await %util", f"{at}sda {rate:.2f} 0.00 9.00 0.00 4.40 5.00"]
    return "\n".join(lines) + "\n"


def test_a_report_that_follows_its_heading_at_once_is_the_mean_since_the_start(log: Path) -> None:
    log.write_text(stamped(1520.1))
    assert values(log, "sda", "read_iops")[0] != 1520.1
    log.write_text(stamped(1520.1, "21:59:45"))
    assert values(log, "sda", "read_iops")[0] == 1520.1


def test_less_than_one_request_per_interval_is_a_mean_over_more(log: Path) -> None:
    log.write_text(stamped(0.02, "21:59:45"))
    assert 0.02 not in values(log, "sda", "read_iops")


def test_each_thread_of_pgbench_is_told_apart(tmp_path: Path) -> None:
    paths = [tmp_path / "pgbench_log.4711", tmp_path / "pgbench_log.4711.1"]
    for path in paths:
        path.write_text(
            "".join(f"{1777884530 + 10 * place} 7000 79190474 1009873467778 4213 153958\n" for place in range(9))
        )
    with reader.read(paths) as found:
        rates = dict(
            found.series.select("device", "mean").filter(found.series["metric"] == "transactions_per_s").iter_rows()
        )
    assert rates == {"pgbench": 700, "pgbench, thread 1": 700}
    assert facts(paths[0], "note") == ["the log of one thread of several (pgbench -j): its transactions are not all"]


def test_a_disk_with_little_to_do_clears_none_with_too_few_samples(log: Path) -> None:
    """The busy one was added near the end of the log."""
    idle = disk(np.where(PLACES % 20 == 0, 3.0, 0.0), np.full(COUNT, 0.5), percent=0.1)
    lines = iostat(log, {"vda": idle, "vdb": disk(600 * noise(1), 12 * noise(2))}).read_text().splitlines()
    late = [line for place, line in enumerate(lines) if not (line.startswith("vdb") and place < len(lines) - 28)]
    log.write_text("\n".join(late))
    assert len(values(log, "vdb", "write_iops")) < 8
    assert diagnosed(log).verdict.outcome is Outcome.UNKNOWN


def one_writer(latency_ms: float) -> Disk:
    return disk(950 / (latency_ms * noise(4)), latency_ms * noise(4), writes=1.0, percent=98.0)


def test_one_writer_that_waits_for_each_request_has_a_slow_disk(log: Path) -> None:
    found = diagnosed(iostat(log, {"sda": one_writer(12.0)}))
    assert "Likeliest: sda is slow, 1" in found.verdict.sentence
    assert diagnosed(iostat(log, {"sda": one_writer(0.4)})).verdict.outcome is Outcome.HEALTHY


def shown(found: Diagnosis) -> str:
    out = io.StringIO()
    print_diagnosis(found, Console(file=out, width=400))
    return " ".join(out.getvalue().split())


def test_what_disks_did_is_told_where_nothing_else_can_be(log: Path) -> None:
    now_and_then = disk(240 * noise(18, 0.3), np.where(PLACES % 14 == 0, 30.0, 3.0) * noise(5))
    text = shown(diagnosed(iostat(log, {"sda": now_and_then})))
    assert text.startswith("CANNOT TELL")
    assert "What the disks did - sda: 2" in text
    assert "longer than the 5.00 ms that a disk of unknown kind should keep in 8 % of the time" in text
    assert "What the disks did" not in shown(diagnosed(iostat(log, {"sda": one_writer(0.4)})))


def test_large_requests_that_queue_wait_for_the_transfer_of_others(log: Path) -> None:
    found = diagnosed(iostat(log, {"sdb": disk(100 * noise(6), 1500 * noise(7), writes=1.0)}, kib=512.0))
    (large,) = (each for each in found.findings if each.rule == "D14")
    assert "512 KiB per request, 150 at once: latency is their transfer time" in large.what.replace("149", "150")
    assert "one alone takes" in large.evidence[0].sentence
    assert "Send fewer of them at once" in large.remedies[0].action


WARM = PLACES >= 70
COLD = np.where(WARM, 0.0, 1.0)


def cached() -> dict[str, Disk]:
    """Caches on a disk each, of which one is never warm; the disks do what they can all the time."""
    misses = 560 * noise(8)
    rate, latency = np.where(WARM, 90_000 * noise(9), misses), np.where(WARM, 0.7, 105.0) * noise(10)
    return {
        "bcache0": disk(misses, 105 * noise(11), writes=0.0), "bcache1": disk(rate, latency, writes=0.0),
        "bcache2": disk(rate * noise(15), latency, writes=0.0),
        "sdb": disk(misses, 106 * noise(12), writes=0.0), "sdc": disk(565 * noise(13), 106 * noise(14), writes=0.0),
    }  # fmt: skip


def test_a_cache_that_is_cold_is_told_from_a_neighbour_and_from_a_broken_member(log: Path) -> None:
    found = diagnosed(iostat(log, cached()))
    assert "D27" not in {each.rule for each in found.findings}
    cold = [each for each in found.findings if each.rule == "D20"]
    assert {each.subject for each in cold} >= {"bcache1"}
    served = "serves it then, as where a cache is cold or misses"
    assert all(f"sdb {served}" in each.what or f"sdc {served}" in each.what for each in cold)
    assert "as many) otherwise" in cold[0].evidence[1].sentence
    assert "a cache was cold or missed" in cold[0].remedies[0].action


def test_logs_that_share_no_moment_are_said_to(tmp_path: Path) -> None:
    made = {"sda": disk(300 * noise(16), noise(17))}
    first = iostat(tmp_path / "first", made)
    other = tmp_path / "other"
    other.write_text(
        first.read_text().replace("(db1)", "(db2)").replace("2026-03-02T", "2020-03-02T").replace("\t2026", "\t2020")
    )
    later = tmp_path / "later"
    later.write_text(first.read_text().replace("2026-03-02T", "2026-03-05T"))
    text = shown(diagnosed(first, other))
    assert (
        "first (2026-03-02 22:00 to 2026-03-02 22:09 UTC) and other (2020-03-02 22:00 to 2020-03-02 22:09 UTC)" in text
    )
    assert "share no moment" not in shown(diagnosed(first, later)), "parts of one recording"


@pytest.mark.parametrize("sign", ["> ", ">", ">> "])
def test_a_quote_of_a_mail_is_read_as_what_it_quotes(tmp_path: Path, sign: str) -> None:
    text = (Path(__file__).parent / "samples" / "iostat.txt").read_text(encoding="utf-8")
    (tmp_path / "plain").write_text(text)
    (tmp_path / "quoted").write_text("".join(f"{sign}{line}\n" for line in text.splitlines()))
    with reader.read([tmp_path / "plain"]) as plain, reader.read([tmp_path / "quoted"]) as quoted:
        assert plain.series.equals(quoted.series)


@pytest.mark.parametrize(("pause_s", "words"), [(20, "up to 25 s, 2 times"), (2, None), (7200, None)])
def test_a_machine_that_stood_still_is_told(tmp_path: Path, pause_s: int, words: str | None) -> None:
    log = iostat(tmp_path / "log", {"sda": disk(600 * noise(1), 0.4 * noise(2))})
    lines, late, place = log.read_text().splitlines(), 0, 0
    for at, line in enumerate(lines):
        if line.endswith("+0000"):
            late, place = late + pause_s * (place in {40, 80}), place + 1
            lines[at] = (datetime.fromisoformat(line) + timedelta(seconds=late)).isoformat()
    log.write_text("\n".join(lines))
    found = [each.what for each in diagnosed(log).checks if each.rule == "Q8"]
    assert [True] * bool(words) == [bool(words) and words in each for each in found], found


def test_pauses_within_long_intervals_are_no_healthy_disk(tmp_path: Path) -> None:
    """As means over intervals show them: at as many requests as usual. Of more requests they are a job."""
    held = PLACES % 15 == 7
    iops, latency = 600 * noise(3), np.where(held, 190.0, 0.8) * noise(4)
    found = diagnosed(iostat(tmp_path / "log", {"sda": disk(np.where(held, 0.9, 1.0) * iops, latency)}))
    assert found.verdict.rule == "D24", found.verdict
    assert "for a part of an interval of 5.0 s" in found.verdict.sentence
    job = diagnosed(iostat(tmp_path / "job", {"sda": disk(np.where(held, 4.0, 1.0) * iops, latency)}))
    assert job.verdict.rule != "D24"


def test_a_processor_that_nobody_counted_is_not_full(tmp_path: Path) -> None:
    counters = (r"\\SQL01\PhysicalDisk(1 E:)\Avg. Disk Queue Length", r"\\SQL01\Memory\Available MBytes")
    log = tmp_path / "log"
    log.write_text(pdh([[str(40 + at % 5), "900"] for at in range(COUNT)], counters))
    assert diagnosed(log).verdict.outcome is Outcome.UNKNOWN
