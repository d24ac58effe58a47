"""What `fathom diagnose` prints and returns: verdict first, at most three actions, exit codes by severity."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from make_pdh import pdh
from typer.testing import CliRunner

from fathom.cli import codes
from fathom.cli.app import build
from fathom.cli.diagnosis_view import _when
from fathom.diagnose.evidence import limits
from fathom.diagnose.report.clock import LogClock
from fathom.errors import UsageError
from fathom.finding import Evidence

DISK = r"\\SQL01\PhysicalDisk(1 [red]D:)"
WAIT = r"\\SQL01\SQLServer:Wait Statistics(Cumulative wait time (ms) per second)\Page IO latch waits"
COUNTERS = ("Disk Reads/sec", "Disk Read Bytes/sec", "Avg. Disk sec/Read", "Current Disk Queue Length")


def log(path: Path, count: int, sessions: float | None = None) -> Path:
    """A queue that is full half of the time; `sessions` wait for reads."""
    queue = np.where(np.arange(count) % 2 == 0, 64.0, 20.0 + np.arange(count) % 9)
    # Fewer outstanding complete less: the depth, not the device, is what holds the rate.
    latency = np.where(queue == 64, queue / 3200, 0.01)
    columns = [queue / latency, queue / latency * 8192, latency, queue]
    paths = [rf"{DISK}\{counter}" for counter in COUNTERS]
    if sessions is not None:
        columns.append(np.full(count, 1000 * sessions))
        paths.append(WAIT)
    path.write_text(pdh([[f"{value:.6f}" for value in row] for row in zip(*columns, strict=True)], paths))
    return path


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(build(), ["diagnose", *arguments], env={"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"})
    return done.exit_code, done.stdout


@pytest.mark.parametrize(
    ("sessions", "code", "word"),
    [
        (None, codes.OK, "NOTE"),
        (0.4, codes.OK, "NOTE"),
        (0.6, codes.WARNING, "WARNING"),
        (8.0, codes.CRITICAL, "CRITICAL"),
    ],
)
def test_the_exit_code_is_the_harm(tmp_path: Path, sessions: float | None, code: int, word: str) -> None:
    found, text = run(str(log(tmp_path / "log", 120, sessions)))
    assert found == code
    assert text.startswith(f"{word}: ")
    # A name from a log is text, never markup.
    assert "1 [red]D:" in text.splitlines()[0]
    assert "MaxQueueDepth=254" in text
    assert 1 <= sum(text.count(f"\n{number}. ") for number in range(1, 9)) <= 3


def test_lines_fit_the_terminal_except_commands(tmp_path: Path) -> None:
    _, text = run(str(log(tmp_path / "log", 120)))
    assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith("     "))


def test_too_short_a_log_has_a_code_of_its_own(tmp_path: Path) -> None:
    found, text = run(str(log(tmp_path / "log", 3)))
    assert found == codes.CANNOT_TELL
    assert text.startswith("CANNOT TELL: The logs are too short")


def test_json_has_verdict_findings_and_missing_counters(tmp_path: Path) -> None:
    found, text = run(str(log(tmp_path / "log", 120, 8.0)), "--json")
    document = json.loads(text)
    assert found == codes.CRITICAL
    assert document["verdict"]["rule"] == document["findings"][0]["rule"] == "D1"
    assert document["missing"]
    assert document["episodes"]


def test_limits_of_the_user_count_and_mistakes_in_them_are_told(tmp_path: Path) -> None:
    path = log(tmp_path / "log", 120)
    bad = tmp_path / "limits.toml"
    bad.write_text("[[volumes]]\niops = 3\n")
    found, _ = run(str(path), "--limits", str(bad))
    assert found == codes.USAGE
    good = tmp_path / "good.toml"
    good.write_text('[[volume]]\nname = "gold"\niops = 3200\nsource = "contract"\n')
    _, text = run(str(path), "--limits", str(good))
    assert "gold" in text


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ('name = "x"\niops = -20000\nsource = "s"', "own.toml:4: `iops` = -20000 is not a number above 0"),
        ('name = "x"\niops = "3k"\nsource = "s"', "own.toml:4: `iops` = '3k' is not"),
        ('name = "x"\niops = 3000', "own.toml:2: [[volume]] lacks `source`"),
        ('nmae = "x"', "own.toml:3: [[volume]] has no key `nmae`"),
    ],
)
def test_mistakes_in_limits_are_told_with_their_line(tmp_path: Path, row: str, words: str) -> None:
    own = tmp_path / "own.toml"
    own.write_text(f"# mine\n[[volume]]\n{row}\n")
    with pytest.raises(UsageError) as error:
        limits.load(own)
    assert words in error.value.what
    assert "keys of [[volume]]: name (a text)" in str(error.value.remedy)


def test_limits_have_units_as_elsewhere(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        '[[volume]]\nname = "gold"\niops = "3000/s"\nbytes_per_s = "25MB/s"\nsource = "s"\n'
        '[[tier]]\nname = "array"\ntarget_s = "9ms"\nsource = "s"\n'
    )
    known = limits.load(own)
    assert (known.caps[0].iops, known.caps[0].bytes_per_s, known.tiers[0].target_s) == (3000, 25e6, 0.009)


def test_one_log_is_named_once(tmp_path: Path) -> None:
    path = log(tmp_path / "log", 120)
    link = tmp_path / "link"
    link.symlink_to(path)
    for other in (path, link):
        found, _ = run(str(path), str(other))
        assert found == codes.USAGE


def test_a_window_over_midnight_has_both_dates() -> None:
    day = 86_400 * 10**9
    begin, utc = 20_514 * day, LogClock([])
    assert _when(Evidence("so", None, begin, begin + day), utc) == " (2026-03-02 00:00:00 to 2026-03-03 00:00:00 UTC)"
    assert _when(Evidence("so", None, begin, begin + day // 2), utc) == " (2026-03-02 00:00:00 to 12:00:00 UTC)"


def test_times_are_those_of_the_log(tmp_path: Path) -> None:
    """As in the file itself, in other records of the same night, and in what `--compare` takes."""
    _, text = run(str(log(tmp_path / "log", 120)))
    words = " ".join(text.split())
    assert "(2026-03-02 21:59:30 to 22:29:15 UTC-05:00)" in words
    assert "because the log names none" not in words


def test_a_zone_that_nobody_stated_is_told(tmp_path: Path) -> None:
    path = log(tmp_path / "log", 120)
    path.write_text(path.read_text().replace("(PDH-CSV 4.0) (Eastern Standard Time)(300)", "(PDH-CSV 4.0)"))
    _, text = run(str(path))
    assert "Times are UTC, because the log names none; --time-zone changes it" in " ".join(text.split())
    _, text = run(str(path), "--time-zone", "Europe/Berlin")
    assert "to 22:29:15 Europe/Berlin)" in " ".join(text.split())
    assert "because the log names none" not in text


def test_a_user_s_file_may_have_every_key_of_the_limits_that_come_with_it(tmp_path: Path) -> None:
    own = tmp_path / "limits.toml"
    own.write_bytes((files("fathom.diagnose") / "data" / "limits.toml").read_bytes())
    once, twice = limits.load(), limits.load(own)
    for table in ("queues", "tiers"):
        assert sorted(map(repr, getattr(twice, table))) == sorted(map(repr, getattr(once, table) * 2))
    stated = [replace(cap, stated=True) for cap in once.caps]
    assert sorted(map(repr, twice.caps)) == sorted(map(repr, [*once.caps, *stated]))
