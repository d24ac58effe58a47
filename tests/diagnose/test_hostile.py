"""Damaged logs: an error with its place, or fewer samples, with a note; never a crash, never another type.

Every file of the folder `samples` is mutated: a new format is tested by adding its sample.
"""

from __future__ import annotations

import os
import random
import re
import tarfile
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fathom.diagnose import log as reader
from fathom.diagnose.importer import Importer, importers, recognised
from fathom.diagnose.log import blocks
from fathom.diagnose.source import LogError, Source
from fathom.diagnose.table import SCHEMA, Series, rows
from fathom.errors import FathomError

SAMPLES = sorted(path for path in (Path(__file__).parent / "samples").iterdir() if path.is_file())
CUTS = 40
"""Lengths that each sample is cut to."""
NASTY = (
    b"\x00", b"\xff\xfe", b'"', b"'", b",", b";", b"\n", b"\r\n", b"{", b"}", b"[", b"\\", b"=cmd|'/C calc'!A0", b"-1",
    b"1e999", b"nan", b"99999999999999999999", b"<script>", b"\x1b[2J", "ﷺ".encode(), b"13/45/2026", b"25:61:61", b"#",
)  # fmt: skip


PLACE = re.compile(r", (line|byte|entry) \S|: byte 0x")
"""Where an error is, in its first line."""


def read(path: Path, importer: Importer | None = None) -> int:
    """Samples of a log; every block fits the table."""
    count = 0
    for block in blocks(Source(path), importer):
        table = rows([block])
        assert table.schema == SCHEMA
        assert table.height == block.samples
        count += block.samples
    return count


def survives(log: Path, importer: Importer) -> None:
    """Reads a damaged log; an error names the log and is safe to print."""
    try:
        assert 0 <= importer.recognise(Source(log).head()) <= 1
        read(log, importer)
    except FathomError as error:
        problem = error
    else:
        return
    assert str(log) in problem.what
    # Neither a directory nor the decompressor has places to name.
    placeless = "no campaign directory" in problem.what or "the compressed file is damaged" in problem.what
    assert placeless or PLACE.search(problem.what), problem.what
    assert problem.screen().replace("\n  help: ", "").isprintable()


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_every_sample_is_recognised_by_its_own_importer_only(path: Path, tmp_path: Path) -> None:
    # Under another name: the content alone decides.
    copy = tmp_path / "log"
    copy.write_bytes(path.read_bytes())
    head = Source(copy).head()
    sure = {each.name: each.recognise(head) for each in importers()}
    best = max(sure.values())
    assert [name for name, certainty in sure.items() if certainty == best] == [recognised(Source(copy)).name], sure
    with reader.read([copy]) as log:
        assert log.rows == read(path)
        facts_only = recognised(Source(copy)).facts_only
        assert (log.samples.collect()["value"].drop_nulls().len() == 0) == facts_only
        assert log.notes[0].facts or not facts_only


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
@given(data=st.data())
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_damage_is_an_error_with_its_place_or_told(path: Path, data: st.DataObject) -> None:
    good = path.read_bytes()
    importer = recognised(Source(path))
    broken = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, max(0, len(broken) - 1)))
        match data.draw(st.sampled_from(("cut", "flip", "insert", "delete", "repeat", "fill"))):
            case "cut":
                del broken[place:]
            case "flip" if broken:
                broken[place] ^= 1 << data.draw(st.integers(0, 7))
            case "insert":
                broken[place:place] = data.draw(st.sampled_from(NASTY))
            case "delete":
                del broken[place : place + data.draw(st.integers(1, 200))]
            case "repeat":
                broken[place:place] = broken[place : place + data.draw(st.integers(1, 500))]
            case _:
                end = min(len(broken), place + data.draw(st.integers(1, 60)))
                broken[place:end] = data.draw(st.sampled_from((b"9", b" ", b"\x00"))) * (end - place)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        log.write_bytes(bytes(broken))
        survives(log, importer)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_cut_log_is_an_error_with_its_place_or_told_or_the_same_but_shorter(path: Path, tmp_path: Path) -> None:
    """Of a log cut at the end of a line nothing shows; its last interval may then lack requests that came later."""
    good, importer = path.read_bytes(), recognised(Source(path))
    whole, notes = samples_of(path, importer)
    copy = tmp_path / "log"
    for length in sorted(random.Random(7).sample(range(1, len(good)), min(CUTS, len(good) - 1))):
        copy.write_bytes(good[:length])
        try:
            found, now = samples_of(copy, importer)
        except LogError as problem:
            placeless = not PLACE.search(problem.what)
            if placeless:
                pytest.fail(f"cut to {length} bytes: {problem.what}")
            continue
        last = max((time for _, time in found), default=0)
        differing = [key for key, value in found.items() if not (np.isnan(value) or whole.get(key) == value)]
        assert now - notes or all(time == last for _, time in differing), (length, good[max(0, length - 40) : length])


def samples_of(path: Path, importer: Importer) -> tuple[dict[tuple[Series, int], float], set[tuple[str, str]]]:
    """Every sample of a log, and the notes on what is not read."""
    source = Source(path)
    found = {
        (series, int(time)): float(value)
        for block in blocks(source, importer)
        for place, series in enumerate(block.series)
        for time, value in zip(block.times_ns, block.values[:, place], strict=True)
    }
    return found, {(each.what, each.why) for each in source.notes.skipped}


@pytest.mark.parametrize("importer", importers(), ids=lambda importer: importer.name)
@given(data=st.binary(max_size=400))
@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_any_bytes_at_all(importer: Importer, data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        log.write_bytes(data)
        survives(log, importer)


def test_a_log_that_is_not_there_or_empty_or_of_no_format(tmp_path: Path) -> None:
    for name, content, expected in (
        ("gone", None, "cannot read: No such file"),
        ("empty", b"", "the file is empty"),
        ("mark", "\ufeff\r\n".encode(), "the file holds no text"),
        ("other", b"\x1b]0;hello\n", r"no known format; it begins with \"\ufffd\]0;hello"),
    ):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(FathomError, match=expected.replace("\\ufffd", "\ufffd")):
            reader.read([path])
    with pytest.raises(FathomError, match="this directory is no campaign"):
        reader.read([tmp_path])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Linux 6.1 (h) \t03/02/2026 \t_x86_64_\t(1 CPU)\n\n10:00:00 PM UID PID kB_rd/s Command\n", "pidstat"),
        ("Variable_name\tValue\nInnodb_data_fsyncs\t998877\n", "MySQL or MariaDB"),
        ("| Variable_name | Value |\n", "MySQL or MariaDB"),
        ("=====\n2026-03-02 22:00:00 0x7f INNODB MONITOR OUTPUT\n", "MySQL or MariaDB"),
        ("2026-03-02 22:00:00.123 UTC [123] LOG:  checkpoint starting: wal\n", "PostgreSQL's log"),
        ("TIME(s)     COMM           PID    DISK    T SECTOR     BYTES   LAT(ms)\n", "biosnoop"),
        ("System configuration: lcpu=8 drives=3 paths=4 vdisks=2\n\nhdisk0  xfer:  %tm_act\n", "AIX"),
    ],
)  # fmt: skip
def test_what_is_no_log_is_told_with_what_to_record(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(LogError, match=expected) as raised:
        reader.read([path])
    assert "record" in str(raised.value.remedy) or expected == "AIX"


@pytest.mark.parametrize("name", ["sql_server.csv", "postgresql.csv", "diskstats.txt"])
def test_one_look_at_counters_is_told_as_that(tmp_path: Path, samples: Path, name: str) -> None:
    text = (samples / name).read_text(encoding="utf-8")
    end = {"sql_server.csv": 2, "postgresql.csv": 2, "diskstats.txt": 3}[name]
    path = tmp_path / "log"
    path.write_text("\n".join(text.splitlines()[:end]) + "\n", encoding="utf-8")
    with pytest.raises(LogError, match="holds no sample") as raised:
        reader.read([path])
    assert "two looks make one sample" in str(raised.value.remedy)


def test_a_log_of_other_counters_is_not_to_be_longer(tmp_path: Path) -> None:
    path = tmp_path / "log"
    rows = "".join(f'"03/02/2026 22:00:{second:02}.000","{second}"\n' for second in range(20))
    path.write_text(f'"(PDH-CSV 4.0) (UTC)(0)","\\\\SQL01\\Print Queue(_Total)\\Jobs"\n{rows}')
    with pytest.raises(LogError, match="holds no sample") as raised:
        reader.read([path])
    assert "record the counters of disks; more of these do not help" in str(raised.value.remedy)


@pytest.mark.parametrize("kind", ["tar", "tgz", "zip"])
def test_several_logs_in_one_archive_are_not_read_as_one(tmp_path: Path, samples: Path, kind: str) -> None:
    """Without compression their text stands in the archive as it is."""
    path, names = tmp_path / "log", ("iostat.txt", "sar.txt")
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as packed:
            for name in names:
                packed.write(samples / name, name)
    else:
        with tarfile.open(path, "w:gz" if kind == "tgz" else "w") as packed:
            for name in names:
                packed.add(samples / name, name)
    with pytest.raises(LogError, match="archive"):
        reader.read([path])


@pytest.mark.parametrize("module", ["gzip", "bz2", "lzma"])
def test_compressed_logs_are_unpacked_and_cut_ones_are_errors(tmp_path: Path, samples: Path, module: str) -> None:
    import importlib

    good = (samples / "perfmon.csv").read_bytes()
    packed = importlib.import_module(module).compress(good)
    path = tmp_path / "log"
    path.write_bytes(packed)
    assert read(path) == read(samples / "perfmon.csv")
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(FathomError, match="compressed file ends too early"):
        read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_an_error_before_it_is_read(tmp_path: Path) -> None:
    """`fathom diagnose <(zcat log.gz)`: opened twice, it would lose its beginning, or wait for ever."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(LogError, match="no file but a pipe") as raised:
        reader.read([pipe])
    assert "write it to a file" in str(raised.value.remedy)
