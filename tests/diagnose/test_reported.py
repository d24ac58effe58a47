"""What keeps an all-clear away though every sample is fast: message 833 of SQL Server, and answers that were cut."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from test_files_beside_disks import DATA, START, perfmon, subjects, views
from test_surroundings import diagnosed

from fathom.diagnose.diagnose import Outcome
from fathom.diagnose.report.names import cleaned

MINUTE = START + timedelta(minutes=5)


def error_log(path: Path, at: datetime = MINUTE, *, adjusted: bool = True, wrapped: bool = False) -> Path:
    """Twice the message 833, one hour ahead of UTC where the log tells it."""
    local = at + timedelta(hours=1) if adjusted else at
    first = f"{local:%Y-%m-%d} 00:00:01.00 Server      "
    start = f"{local:%Y-%m-%d %H:%M:%S}.12 spid9s      SQL Server has encountered"
    middle = "occurrence(s) of I/O requests taking longer than 15 seconds to complete on file"
    space = "\n" if wrapped else " "
    lines = [f"{first}Microsoft SQL Server 2019", f"{first}UTC adjustment: 1:00" if adjusted else first]
    lines += [f"{start} {count} {middle}{space}[{DATA}] in database [orders] (5)." for count in (1270, 4)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("wrapped", [False, True])
def test_requests_that_hang_on_a_drive_without_samples_keep_others_from_clearing_it(
    tmp_path: Path, *, wrapped: bool
) -> None:
    found = diagnosed(perfmon(tmp_path / "c"), error_log(tmp_path / "log", wrapped=wrapped))
    assert found.verdict.outcome is Outcome.UNKNOWN
    words = (
        f"{DATA}: SQL Server reports 1,274 requests over 15 s (message 833), and no log tells what the disk did then"
    )
    assert f"{words}. Record the disk of this file" in found.verdict.sentence
    (check,) = (each for each in found.checks if each.rule == "Q11")
    assert check.evidence[0].start_ns == int((MINUTE - datetime(1970, 1, 1)).total_seconds()) * 10**9


def test_requests_that_no_sample_of_their_disk_shows_make_it_less_sure(tmp_path: Path) -> None:
    log = error_log(tmp_path / "log", adjusted=False)
    for disk in (perfmon(tmp_path / "e", "1 E:"), *views(tmp_path / "v", data_ms=1.0)):
        found = diagnosed(disk, log)
        assert (found.verdict.outcome, found.verdict.confidence) == (Outcome.HEALTHY, 0.6)
        assert "no sample of the disk shows them" in next(each.what for each in found.checks if each.rule == "Q11")


@pytest.mark.parametrize("minutes", [-30, 30])
def test_samples_of_another_time_do_not_show_what_hung(tmp_path: Path, minutes: int) -> None:
    log = error_log(tmp_path / "log", MINUTE + timedelta(minutes=minutes))
    found = diagnosed(perfmon(tmp_path / "e", "1 E:"), log)
    assert found.verdict.outcome is Outcome.UNKNOWN


def test_a_slow_disk_is_told_as_without_the_message(tmp_path: Path) -> None:
    found = diagnosed(perfmon(tmp_path / "e", "1 E:", ms=1500.0), error_log(tmp_path / "log"))
    assert subjects(found, "L2") == ["1 E:"]
    assert "Q11" not in {each.rule for each in found.checks}


def cloudwatch(path: Path, keep: int | None) -> Path:
    """Four metrics of each of two volumes for an hour; `keep` of the results, and the begin of the next."""
    times = [f"2026-03-02T22:{minute:02}:00+00:00" for minute in range(60)]
    kinds = {
        "VolumeReadOps": 60_000.0,
        "VolumeTotalReadTime": 36.0,
        "VolumeWriteOps": 6000.0,
        "VolumeTotalWriteTime": 4.0,
    }
    results = [
        {"Id": f"m{number}", "Label": f"vol-{volume} {kind}", "Timestamps": times, "Values": [value] * 60}
        for volume in ("0a", "0b") for number, (kind, value) in enumerate(kinds.items())
    ]  # fmt: skip
    text = json.dumps({"MetricDataResults": results}, indent=1)
    path.write_text(text if keep is None else text[: text.index(results[keep]["Label"])])
    return path


def test_an_answer_that_was_cut_clears_no_disk(tmp_path: Path) -> None:
    whole = diagnosed(cloudwatch(tmp_path / "whole", None))
    assert whole.verdict.outcome is Outcome.HEALTHY, whole.verdict
    cut = diagnosed(cloudwatch(tmp_path / "cut", 4))
    assert cut.verdict.outcome is Outcome.UNKNOWN
    assert "cut: it is cut off at line" in cut.verdict.sentence
    assert "whole devices may be missing. Fetch the whole answer again." in cut.verdict.sentence


def test_the_file_of_a_message_is_no_name_that_survives_anonymising(tmp_path: Path) -> None:
    hidden = cleaned(diagnosed(perfmon(tmp_path / "c"), error_log(tmp_path / "log")), anonymise=True)
    said = [hidden.verdict.sentence, *(each.subject for each in hidden.checks)]
    said += [str(fact.subject) for notes in hidden.system.notes for fact in notes.facts]
    assert not any("orders" in each for each in said), said
