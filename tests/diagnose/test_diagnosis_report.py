"""The page of a diagnosis: what is in it, what may not be, and how windows are named."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from make_pdh import pdh, stamps

from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import Diagnosis, Outcome, diagnose
from fathom.diagnose.report import build, render
from fathom.diagnose.report.clock import LogClock
from fathom.diagnose.report.follows import quantities
from fathom.diagnose.report.windows import chosen, parse, pictured
from fathom.errors import UsageError

COUNTERS = ("Disk Reads/sec", "Disk Read Bytes/sec", "Avg. Disk sec/Read", "Current Disk Queue Length")
PAYLOADS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></style><svg onload=alert(1)>",
    "{{ 7 * 7 }}",
    "=HYPERLINK(1)",
    "a\x1b[31mred",
    "b\u202egnp",
)


def night(path: Path, disk: str = "1 D:", host: str = "SQL01", spread: float = 0.02) -> Path:
    """The published case of a full adapter queue: an hour at 15 s, with queries from 01:45 to 02:15, local time."""
    random = np.random.default_rng(3)
    count = 240
    slow = (np.arange(count) >= 60) & (np.arange(count) < 180)
    iops = np.where(slow, 1600, 2000) * random.normal(1, spread, count)
    load = np.where(slow, random.integers(500, 800, count), random.integers(9, 15, count))
    rows = [
        [f"{each:.6f}" for each in row]
        for row in zip(iops, iops * np.where(slow, 37_500, 150_000), load / iops, load, strict=True)
    ]
    device = rf"\\{host}\PhysicalDisk({disk})".replace('"', '""')
    paths = [f"{device}\\{counter}" for counter in COUNTERS]
    path.write_text(pdh(rows, paths, times=stamps(count, datetime(2026, 3, 2, 1, 30))), encoding="utf-8")
    return path


def diagnosed(path: Path) -> Diagnosis:
    with reader.read([path]) as log:
        return diagnose(log)


def page(path: Path, **options: object) -> str:
    return render(diagnosed(path), path.with_suffix(".html"), **options).read_text(encoding="utf-8")  # type: ignore[arg-type]


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<script>.*?</script>|<[^>]+>", " ", html, flags=re.S))


def test_the_page_says_verdict_actions_evidence_in_this_order(tmp_path: Path) -> None:
    html = page(night(tmp_path / "log"))
    heads = re.findall(r'<section id="([\w-]+)"', html)
    assert heads[:5] == ["verdict", "actions", "evidence", "windows", "findings"]
    assert heads[-2:] == ["method", "data"]
    assert "MaxQueueDepth=254" in html
    assert len(html) < 2_000_000
    # Complete without network and without scripts, which mail gateways hold back: every picture is part of the page.
    assert html.count("<svg ") >= 4
    assert "<script" not in html
    assert "script-src" not in html
    assert not re.search(r'(?:src|href)="(?!data:|#)', html)


def test_rate_and_throughput_are_ruled_out_by_the_backup(tmp_path: Path) -> None:
    diagnosis = diagnosed(night(tmp_path / "log"))
    device = pictured(diagnosis)
    assert device is not None
    found = {each.name: each for each in quantities(device)}
    assert found["IOPS"].ruled_out
    assert found["throughput"].ruled_out
    assert found["outstanding I/O"].ruled_out is None
    assert found["outstanding I/O"].correlation > 0.9


def test_windows_that_were_not_named_are_the_slow_and_the_fast_one(tmp_path: Path) -> None:
    diagnosis = diagnosed(night(tmp_path / "log"))
    device = pictured(diagnosis)
    assert device is not None
    first, second = chosen(diagnosis, device, LogClock(diagnosis.system.notes))
    assert device.mean("latency_s", first.of(device)) > 10 * device.mean("latency_s", second.of(device))
    assert first.label.startswith("2026-03-02 01:44")


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_kind_of_verdict_has_a_page(tmp_path: Path, outcome: Outcome) -> None:
    diagnosis = diagnosed(night(tmp_path / "log"))
    verdict = dataclasses.replace(diagnosis.verdict, outcome=outcome)
    html = render(dataclasses.replace(diagnosis, verdict=verdict), tmp_path / "page.html").read_text(encoding="utf-8")
    assert (outcome is Outcome.LOAD) == ("The load explains the latency" in text_of(html))


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("02:00-02:10", "2026-03-02 02:00 to 02:10"),
        ("2:00-2:10", "2026-03-02 02:00 to 02:10"),
        ("2026-03-02T02:00-02:10", "2026-03-02 02:00 to 02:10"),
        # The log is five hours behind UTC.
        ("2026-03-02T07:00-07:10Z", "2026-03-02 02:00 to 02:10"),
        ("07:00-07:10Z", "2026-03-02 02:00 to 02:10"),
        ("07:00Z-07:10Z", "2026-03-02 02:00 to 02:10"),
        ("01:59:30-02:10:15", "2026-03-02 01:59:30 to 02:10:15"),
    ],
)
def test_windows_are_named_as_people_do(tmp_path: Path, text: str, begin: str) -> None:
    diagnosis = diagnosed(night(tmp_path / "log"))
    device = pictured(diagnosis)
    assert device is not None
    assert parse(text, device, LogClock(diagnosis.system.notes)).label == begin


@pytest.mark.parametrize(
    "text", ["", "now", "02:00", "25:00-26:00", "12:00-12:10", "2026-03-03T02:00-02:10", "02-03", "07:00Z-07:10"]
)
def test_windows_that_cannot_be_are_refused(tmp_path: Path, text: str) -> None:
    diagnosis = diagnosed(night(tmp_path / "log"))
    with pytest.raises(UsageError, match="--compare"):
        build.build(diagnosis, compare=[text, text])


def test_a_window_over_midnight(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    rows = [[f"{each:.6f}" for each in (900, 900 * 8192, 0.001, 1)] for _ in random.normal(size=240)]
    paths = [rf"\\H\PhysicalDisk(0 C:)\{counter}" for counter in COUNTERS]
    log = tmp_path / "log"
    log.write_text(pdh(rows, paths, times=stamps(240, datetime(2026, 3, 2, 23, 30))))
    diagnosis = diagnosed(log)
    device = pictured(diagnosis)
    assert device is not None
    clock = LogClock(diagnosis.system.notes)
    assert parse("23:50-00:10", device, clock).label == "2026-03-02 23:50 to 2026-03-03 00:10"
    assert parse("00:00-00:10", device, clock).label == "2026-03-03 00:00 to 00:10"


def test_no_name_survives_anonymising(tmp_path: Path) -> None:
    log = night(tmp_path / "acme-prod.csv", disk="3 acmevault", host="ACME-SQL-01")
    assert "ACME-SQL-01" in diagnosed(log).system.disks[0].host  # type: ignore[operator]
    open_page, closed = page(log), page(log, anonymise=True)
    assert "acmevault" in open_page
    assert "acme" not in closed.lower()
    assert "disk-1" in text_of(closed)
    assert "MaxQueueDepth=254" in closed


@pytest.mark.parametrize("payload", PAYLOADS)
def test_names_from_logs_change_no_element(tmp_path: Path, payload: str) -> None:
    harmless = page(night(tmp_path / "a", disk="1 " + "x" * len(payload)))
    hostile = page(night(tmp_path / "b", disk="1 " + payload, host="H<b>"))
    tags = [re.findall(r"<(/?\w+)", html) for html in (harmless, hostile)]
    assert tags[0] == tags[1]
    assert "\x1b" not in hostile
    assert "\u202e" not in hostile
    assert "<script>alert" not in hostile


@pytest.mark.parametrize("sample", sorted((Path(__file__).parent / "samples").iterdir()), ids=lambda path: path.name)
def test_every_sample_has_a_page(sample: Path, tmp_path: Path) -> None:
    html = render(diagnosed(sample), tmp_path).read_text(encoding="utf-8")
    assert 'id="verdict"' in html
    assert len(html) < 2_000_000


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    night(tmp_path / "log")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "fathom", "diagnose", "log", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)

    done = run("--html", ".", "--compare", "01:50-02:00", "01:30-01:40")
    assert done.returncode == 0, done.stderr
    assert "A: 2026-03-02 01:50 to 02:00" in (tmp_path / "diagnosis.html").read_text(encoding="utf-8")
    refused = run("--html", "other.html", "--compare", "12:50-13:00", "01:30-01:40")
    assert (refused.returncode, (tmp_path / "other.html").exists()) == (2, False)
    assert "2026-03-02 01:30" in refused.stderr
    assert run("--anonymise").returncode == 2
