"""Snapshots of SQL Server's views as people export them: with separators of thousands, of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from make_pdh import pdh

from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import diagnose
from fathom.diagnose.moments import Moments
from fathom.diagnose.numbers import whole_number
from fathom.diagnose.source import LogError

SAMPLE = Path(__file__).parent / "samples" / "sql_server.csv"


@pytest.mark.parametrize("sign", [".", ",", "\u00a0", "\u202f", "'"])
def test_thousands_are_read_as_such(tmp_path: Path, sign: str) -> None:
    """A count of five digits has one separator, and looks like a number with parts."""
    log = tmp_path / "grouped.tsv"
    lines = []
    for line in SAMPLE.read_text(encoding="utf-8").splitlines():
        cells = [f"{int(cell):,}".replace(",", sign) if cell.isdigit() else cell for cell in line.split(",")]
        lines.append("\t".join(cells))
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with reader.read([SAMPLE]) as plain, reader.read([log]) as grouped:
        assert grouped.series.equals(plain.series)
        assert grouped.notes[0].skipped == plain.notes[0].skipped


def test_a_cell_without_a_number_is_named(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(SAMPLE.read_text(encoding="utf-8").replace(",54000", ",54.5 s").replace(",4000,", ",NULL,"))
    with reader.read([log]) as found:
        skipped = {each.what: each for each in found.notes[0].skipped}
    assert skipped["numbers"].count == 1
    assert skipped["numbers"].example == 'line 4: io_stall_read_ms "54.5 s"'


@pytest.mark.parametrize(("path", "growth"), [(r"L:\Log\erp.ldf", "64MB"), (r"D:\Data\erp.mdf", "512MB")])
def test_a_file_that_grows_is_named_as_the_statement_needs_it(tmp_path: Path, path: str, growth: str) -> None:
    head = "sample_time,database_name,physical_name,file_name,num_of_reads,num_of_bytes_read,io_stall_read_ms,"
    rows = [head + "num_of_writes,num_of_bytes_written,io_stall_write_ms,size_on_disk_bytes"]
    size = stall = 0.0
    for number in range(40):
        grows = 10 <= number < 25
        size, stall = size + (2**30 if grows else 0), stall + (3000 * (40 if grows else 1))
        time, count = f"2026-03-02 08:{number:02d}:00", 3000 * number
        rows.append(f"{time},o'erp,{path},erp's,0,0,0,{count},{count * 8192},{stall:.0f},{size + 10 * 2**30:.0f}")
    log = tmp_path / "log.csv"
    log.write_text("\n".join(rows) + "\n")
    with reader.read([log]) as opened:
        found = diagnose(opened)
    assert found.verdict.rule == "D29", found.verdict
    (command,) = found.findings[0].remedies[0].commands
    wanted = f"ALTER DATABASE [o'erp] MODIFY FILE (NAME = N'erp''s', SIZE = 32GB, FILEGROWTH = {growth})"
    assert command == wanted


@pytest.mark.parametrize(
    ("counter", "words"),
    [("Data File(s) Size (KB)", "data files of erp grow "), ("Log File(s) Size (KB)", "log of erp grows ")],
)
def test_files_that_grow_are_seen_by_perfmon_alone(tmp_path: Path, counter: str, words: str) -> None:
    paths = [rf"\\SQL01\SQLServer:Databases({name})\{counter}" for name in ("erp", "tempdb")]
    disk = r"\\SQL01\PhysicalDisk(1 D:)\{}"
    paths += [disk.format(name) for name in ("Disk Writes/sec", "Avg. Disk sec/Write")]
    size, rows = 10 * 2**20, []
    for number in range(120):
        grows = number % 12 in {4, 5}
        size += 2**20 if grows else 0
        rows.append([str(size), "8192", "400", "0.045" if grows else "0.002"])
    log = tmp_path / "perfmon.csv"
    log.write_text(pdh(rows, paths))
    with reader.read([log]) as opened:
        found = diagnose(opened)
    assert found.verdict.rule == "D29", found.verdict
    assert words in found.verdict.sentence
    assert "ALTER DATABASE [erp] MODIFY FILE" in found.findings[0].remedies[0].commands[-1]
    growth = "64MB" if "Log" in counter else "512MB"
    assert f"FILEGROWTH = {growth}" in found.findings[0].remedies[0].commands[-1]


@pytest.mark.parametrize(
    ("text", "count"),
    [("1.234.567,00", 1234567), ("1234.000", 1234), ("0.123", None), ("1.23", None), ("1.234,567", None), ("", None)],
)
def test_a_count_has_no_parts(text: str, count: int | None) -> None:
    assert whole_number(text) == count


def test_one_snapshot_is_refused_with_how_to_take_two(tmp_path: Path) -> None:
    rows = SAMPLE.read_text(encoding="utf-8").splitlines()
    untimed = [line.partition(",")[2] for line in rows[:3]]
    for name, text, problem in (("none", untimed, "no column holds the time"), ("one", rows[:3], "no sample")):
        (tmp_path / name).write_text("\n".join(text) + "\n")
        with pytest.raises(LogError, match=problem) as raised:
            reader.read([tmp_path / name])
        remedy = str(raised.value.remedy)
        assert "make one sample" in remedy
        assert "fathom record --print sqlserver" in remedy
    with pytest.raises(LogError) as raised:
        reader.read([tmp_path / "none"])
    assert "take several, 10 s apart" in str(raised.value.remedy)


@pytest.mark.parametrize("name", ["sql_server.csv", "postgresql.csv"])
def test_a_stamp_is_read_once_for_all_rows_of_a_look(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A day of snapshots has a million rows, and reading a stamp takes as long as all else of fifty."""
    parsed: list[str] = []
    whole = Moments.times

    def counting(moments: Moments, stamps: Sequence[tuple[int, str]]) -> list[int]:
        parsed.extend(text for _, text in stamps)
        return whole(moments, stamps)

    monkeypatch.setattr(Moments, "times", counting)
    with reader.read([SAMPLE.with_name(name)]) as log:
        assert log.series.height
    assert all(one != other for one, other in pairwise(parsed))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_results_that_management_studio_saves_with_aligned_columns(tmp_path: Path, encoding: str) -> None:
    """The default of "Results to File": each result has its head, a line of dashes, and a blank line behind it."""
    lines: list[str] = []
    rows = [line.split(",") for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    heads = [place for place, row in enumerate(rows) if row[0] == "sample_time"]
    for head, end in pairwise([*heads, len(rows)]):
        widths = [max(len(row[column]) + 3 for row in rows[head:end]) for column in range(len(rows[head]))]
        table = [rows[head], ["-" * width for width in widths], *rows[head + 1 : end]]
        lines += [" ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
        lines += ["", f"({end - head - 1} rows affected)", ""]
    log = tmp_path / "snapshots.rpt"
    log.write_text("\r\n".join(lines), encoding=encoding)
    with reader.read([SAMPLE]) as plain, reader.read([log]) as aligned:
        assert aligned.series.equals(plain.series)
