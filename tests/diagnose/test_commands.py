"""The commands `diagnose` and `record` from outside: what they print, refuse and never let through."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from make_pdh import pdh

from fathom.diagnose.recipes import RECIPES

HOSTILE = [
    '=HYPERLINK("http://x",1)',
    "@SUM(A1)",
    "+1-1",
    "-2+3",
    "<script>alert(1)</script>",
    "a\x1b[31mred",
    "b\u202egnp",
]


def fathom(*arguments: object, directory: Path) -> subprocess.CompletedProcess[str]:
    """Runs the command line."""
    command = [sys.executable, "-m", "fathom", *map(str, arguments)]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, timeout=120)


def test_names_from_logs_act_nowhere(tmp_path: Path) -> None:
    # Quotes end a cell: they are doubled, as in every CSV.
    paths = [rf"\\H\PhysicalDisk({name})\Disk Reads/sec".replace('"', '""') for name in HOSTILE]
    (tmp_path / "log").write_text(pdh([["1"] * len(HOSTILE)] * 3, paths), encoding="utf-8")
    done = fathom("diagnose", "log", "--list", "--table", "out.csv", directory=tmp_path)
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text(encoding="utf-8"))))
    devices = {row["device"] for row in rows}
    assert len(devices) == len(HOSTILE)
    assert not any(device.startswith(("=", "+", "-", "@")) for device in devices)
    assert not any(letter in device for device in devices for letter in "\x1b\u202e")


def test_data_go_to_standard_output_as_json(tmp_path: Path, samples: Path) -> None:
    done = fathom("diagnose", samples / "perfmon.csv", "--json", directory=tmp_path)
    document = json.loads(done.stdout)
    assert document["logs"][0]["format"] == "perfmon"
    formats = json.loads(fathom("diagnose", "--formats", "--json", directory=tmp_path).stdout)
    assert {"perfmon", "esxtop", "iostat", "record"} <= {each["name"] for each in formats}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["diagnose"], 2, "name at least one log"),
        (["diagnose", "gone"], 4, "cannot read"),
        (["diagnose", "x", "--format", "nothing"], 2, "one of"),
        (["diagnose", "x", "--time-zone", "Mars/Base"], 2, "is no time zone"),
        (["diagnose", "x", "--start", "yesterday"], 2, "is no time"),
        (["record", "--print", "amiga"], 2, "one of windows"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, arguments: list[str], code: int, words: str) -> None:
    done = fathom(*arguments, directory=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert words in done.stderr


@pytest.mark.skipif(not Path("/proc/diskstats").exists(), reason="no Linux")
def test_a_recording_is_made_and_read(tmp_path: Path) -> None:
    done = fathom("record", "--out", "h", "--interval", "0.1", "--seconds", "0.5", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    before = (tmp_path / "h").read_bytes()
    assert before.count(b"\n") >= 4
    again = fathom("record", "--out", "h", "--seconds", "0.1", directory=tmp_path)
    assert again.returncode == 4
    assert "File exists" in again.stderr
    assert (tmp_path / "h").read_bytes() == before
    listed = fathom("diagnose", "h", "--list", directory=tmp_path)
    assert "cpu_percent" in listed.stdout


def test_every_system_has_its_commands(tmp_path: Path) -> None:
    assert set(RECIPES) == {"windows", "esxi", "aws", "azure", "gcp", "postgresql", "sqlserver"}
    done = fathom("record", "--print", "windows", directory=tmp_path)
    assert "logman create counter" in done.stdout
    assert "PhysicalDisk(*)" in done.stdout
    # A grid of Management Studio keeps 100 of the 720 results, and saves one.
    assert "sqlcmd -S SERVER -E -i snapshots.sql" in RECIPES["sqlserver"]
    assert "Results to File" in RECIPES["sqlserver"]
