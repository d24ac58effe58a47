r"""Text logs of Windows' Performance Data Helper (PDH-CSV, PDH-TSV), which esxtop's batch mode writes as well.

The first line is `"(PDH-CSV 4.0) (zone)(minutes to UTC)","\\HOST\Object(instance)\Counter",...`, every further one a
local stamp and numbers. What is met in practice: a zone whose text is cut and unbalanced, or missing (typeperf); any
ANSI or OEM code page; a blank line before and messages after the samples (typeperf); blanks for values that do not
exist yet or any more; files that Excel or PowerShell saved again with semicolons and decimal commas; logs put
behind each other.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, NamedTuple

import numpy as np
import polars as pl

from fathom.diagnose.facts import NOT_NEEDED
from fathom.diagnose.numbers import floats
from fathom.diagnose.pdh_clock import Stamps
from fathom.diagnose.source import HEAD, LONGEST_LINE, Source, encoding_of
from fathom.diagnose.table import Block
from fathom.diagnose.windows import Mapped, Path, mapped, path_of

_AHEAD = 1
CHUNK = 30 << 20
"""Bytes that are parsed at once; memory is a small multiple of it. Below 32 MiB glibc gives the same memory again,
above it every part costs a page fault per page.
"""
_PIECE = 1 << 18
_MARKS = (b"(PDH-", b'"(PDH-')
_PATHS = re.compile(rb'(?:\xef\xbb\xbf)?\s*"?[^"\\,;\t\n]{0,80}"?\s*[,;\t]\s*"?\\\\[^\\\n]+\\[^\\\n]+\\')
"""A header whose first cell was changed: the others are paths of counters."""
_BEFORE = 4
"""Lines that may precede the header: `sep=;` of Excel, a blank line of typeperf."""
_CODE_PAGES = (
    "cp1252", "cp1250", "cp1251", "cp1254", "cp932", "cp936", "cp949", "cp950", "cp1253",
    "cp850", "cp437", "cp852", "cp866", "cp857", "cp737",
)  # fmt: skip
"""Those of Windows, then those of its console, in which `typeperf ... > file` writes (Microsoft, "Code Page
Identifiers").

Tried in this order where the text is no UTF-8; the one that makes most names known is taken."""

Naming = Callable[[Path], Mapped | None]


@dataclass(frozen=True)
class Header:
    """The first line, understood.

    Attributes:
        separator: between cells, one byte.
        cells: how many there are, the stamp included.
        columns: index of each wanted column and what it is.
        zone: text of the zone and minutes to add for UTC; None where not given.
    """

    separator: str
    cells: int
    columns: tuple[tuple[int, Mapped], ...]
    zone: tuple[str, int] | None


def read(source: Source, naming: Naming = mapped) -> Iterator[Block]:
    """The samples of all wanted counters, in parts.

    Args:
        source: the log.
        naming: which counters are wanted, and what they are.

    Raises:
        LogError: it is no such log, or damaged beyond a cut last line.
    """
    section: _Section | None = None
    line = 1
    # Parts are parsed ahead by threads; what depends on the part before (clock, counters) is done here, in order.
    with ThreadPoolExecutor(_AHEAD) as pool:
        ahead: deque[tuple[_Section, bytes, int, Future[_Parsed | None]]] = deque()
        for chunk, begins, lines in _parts(source):
            body, first, after = chunk, line, line + lines
            if begins or (section is None and _PATHS.match(chunk)):
                end = chunk.find(b"\n") + 1 or len(chunk)
                section = _Section(source, _header(source, chunk[:end], naming, line))
                body, first = chunk[end:], line + 1
            elif section is None:
                if lines > _BEFORE:
                    raise source.error("no header of PDH before the samples", "keep the log's first line", line=line)
                text = chunk.decode("utf-8", "replace")
                source.notes.skip("lines", "before the header", lines, text[:60])
            if body and section is not None:
                ahead.append((section, body, first, pool.submit(section.fast, body, after - first)))
            line = after
            while len(ahead) > _AHEAD:
                yield from _finished(*ahead.popleft())
        while ahead:
            yield from _finished(*ahead.popleft())
    if section is None:
        raise source.error('no line begins with "(PDH-CSV 4.0)"', "keep the log's first line", line=1)


def _finished(section: _Section, body: bytes, line: int, parsed: Future[_Parsed | None]) -> Iterator[Block]:
    found = section.block(body, line, parsed.result())
    if found is not None:
        yield found


def _parts(source: Source) -> Iterator[tuple[bytes, bool, int]]:
    """The log in whole lines of about `CHUNK` bytes, whether they begin with a header, and how many they are."""
    encoding = encoding_of(source.head().data[:HEAD])
    with source.open() as file, source.reading():
        kept = b""
        for data in _decoded(file, encoding):
            kept = kept + data if kept else data
            end = kept.rfind(b"\n")
            if end < 0:
                if len(kept) > LONGEST_LINE:
                    raise source.error("a line does not end: this is no text log", offset=0)
                continue
            whole, kept = (kept, b"") if end + 1 == len(kept) else (kept[: end + 1], kept[end + 1 :])
            yield from _split(whole)
        if kept:
            source.unended(None)
            yield from _split(kept)


def _decoded(file: IO[bytes], encoding: str | None) -> Iterator[bytes]:
    """The bytes as UTF-8, or as they are in an eight-bit code page."""
    if encoding in {None, "utf-8"}:
        if isinstance(getattr(file, "raw", None), io.FileIO):
            yield from _whole_lines(file)
            return
        while data := file.read(CHUNK):
            # To the end of the line, so that nothing need be kept for the next part.
            yield data if data.endswith(b"\n") else data + file.readline(LONGEST_LINE)
        return
    decoder = codecs.getincrementaldecoder(str(encoding))("replace")
    while data := file.read(CHUNK):
        yield decoder.decode(data).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _whole_lines(file: IO[bytes]) -> Iterator[bytes]:
    """As `_decoded`, of a file that can be read at any offset: looks first where the line ends, and copies nothing."""
    while True:
        start = file.tell()
        file.seek(CHUNK - 1, os.SEEK_CUR)
        size = CHUNK - 1 + len(file.readline(LONGEST_LINE))
        file.seek(start)
        data = file.read(size)
        if not data:
            return
        yield data


def _places(text: bytes, sign: str) -> np.ndarray:
    """Positions of a character; in pieces that fit the processor's cache."""
    signs, code = np.frombuffer(text, dtype=np.uint8), ord(sign)
    pieces = [np.flatnonzero(signs[at : at + _PIECE] == code) + at for at in range(0, len(signs), _PIECE)]
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)


def _count(text: bytes, sign: str) -> int:
    """How often a character occurs; as `_places`, four times as fast as `bytes.count`."""
    signs, code = np.frombuffer(text, dtype=np.uint8), ord(sign)
    return sum(int(np.count_nonzero(signs[at : at + _PIECE] == code)) for at in range(0, len(signs), _PIECE))


def _split(text: bytes) -> Iterator[tuple[bytes, bool, int]]:
    """At lines that are headers; there are more than one where logs were put behind each other."""
    signs, ends = np.frombuffer(text, dtype=np.uint8), _places(text, "\n")
    starts = np.concatenate(([0], ends + 1))
    starts = starts[starts < len(signs) - 1]
    likely = starts[(signs[starts] == ord("(")) | (signs[starts + 1] == ord("("))]
    cuts = [start for start in likely.tolist() if text.startswith(_MARKS, start)]
    begin, headed = 0, False
    for start in [*cuts, len(text)]:
        # Blank lines may precede the first header.
        if start > begin and (headed or start == len(text) or text[begin:start].strip()):
            lines = np.searchsorted(ends, start) - np.searchsorted(ends, begin)
            yield text[begin:start], headed, int(lines)
        begin, headed = start, True


def _header(source: Source, line: bytes, naming: Naming, number: int) -> Header:
    text, encoding = _header_text(line, naming)
    # The separator precedes the first path: the text of the zone may hold commas of its own.
    found = re.search(r'([,;\t])\s*"?\s*\\', text)
    if not found:
        raise source.error("the header names no counter", "record again with at least one counter", line=number)
    separator = found[1]
    try:
        cells = next(csv.reader([text], delimiter=separator))
    except (csv.Error, StopIteration):
        raise source.error("the header's quotes are not balanced", "record the log again", line=number) from None
    if encoding not in {"utf-8", None}:
        source.notes.fact("note", f"names were read in code page {encoding}")
    wanted, taken, unknown = [], set(), []
    for place, cell in enumerate(cells[1:], 1):
        path = path_of(cell)
        known = None if path is None else naming(path)
        if known is None:
            unknown.append(cell)
        elif known.series in taken:
            source.notes.skip("counters", "the log has them twice", 1, cell)
        else:
            taken.add(known.series)
            wanted.append((place, known))
    if unknown:
        source.notes.skip("counters", NOT_NEEDED, len(unknown), unknown[0][:200])
    return Header(separator, len(cells), tuple(wanted), _zone(text, cells[0]))


def _zone(text: str, first: str) -> tuple[str, int] | None:
    """Zone and minutes of `(PDH-CSV 4.0) (Eastern Daylight Time)(240)`; the text may be cut anywhere."""
    cell = first if "PDH-" in first else text
    match = re.search(r"4\.0\)\s*\((.*)\)\s*\((-?\d{1,4})\)\s*$", cell)
    return (match[1], int(match[2])) if match else None


def _header_text(line: bytes, naming: Naming) -> tuple[str, str | None]:
    """The header decoded, and in what."""
    try:
        return line.decode("utf-8-sig").strip(), "utf-8"
    except UnicodeDecodeError:
        pass

    def known(encoding: str) -> int:
        text = line[:200_000].decode(encoding, "replace")
        cells = (path_of(cell.strip('"')) for cell in re.split(r'"[,;\t]"', text))
        return sum(path is not None and naming(path) is not None for path in cells)

    best = max(_CODE_PAGES, key=known)
    return line.decode(best, "replace").strip(), best


class _Parsed(NamedTuple):
    """Stamps and numbers of some lines."""

    stamps: pl.Series
    values: np.ndarray


def _parsed(table: pl.DataFrame) -> _Parsed:
    numbers = table.drop(table.columns[0])
    return _Parsed(table.to_series(0), numbers.to_numpy(writable=True).astype(np.float64, copy=False))


class _Section:
    """The samples below one header."""

    def __init__(self, source: Source, header: Header) -> None:
        self._source = source
        self._header = header
        self._stamps = Stamps(source, header.zone)
        self._numbers = self._schema(pl.Float64())
        every = len(header.columns) == header.cells - 1
        self._names = None if every else [_name(place) for place in (0, *(place for place, _ in header.columns))]
        """What is read of a line; None for all of it, which takes no selection."""
        self._series = tuple(known.series for _, known in header.columns)
        mappings = [known for _, known in header.columns]
        self._scale = np.array([known.scale for known in mappings])
        self._inverted = np.flatnonzero([known.inverted for known in mappings])
        self._cumulative = np.flatnonzero([known.cumulative for known in mappings])
        self._means = np.flatnonzero([known.zero_is_missing for known in mappings])
        self._before = np.full(len(self._cumulative), np.nan)

    def fast(self, body: bytes, lines: int) -> _Parsed | None:
        """Whole lines as Windows writes them; None where they are anything else. Changes nothing: for any thread."""
        if not self._header.columns or not self._regular(body, lines):
            return None
        try:
            return _parsed(self._read(body, self._numbers))
        except pl.exceptions.PolarsError:
            return None

    def _regular(self, body: bytes, lines: int) -> bool:
        """Whether every line has its end and, all together, as many cells as the header says."""
        return body.endswith(b"\n") and _count(body, self._header.separator) == lines * (self._header.cells - 1)

    def block(self, body: bytes, line: int, parsed: _Parsed | None) -> Block | None:
        """The samples of whole lines.

        Args:
            body: the lines.
            line: number of the first.
            parsed: what `fast` made of them.
        """
        if parsed is None:
            body = body if self._regular(body, _count(body, "\n")) else self._good_lines(body, line)
            if not body or not self._header.columns:
                return None
            parsed = _parsed(self._careful(body, line))
        times, seconds = self._stamps.times(parsed.stamps, line)
        return Block(self._series, times, seconds, self._metrics(parsed.values))

    def _schema(self, kind: pl.DataType) -> dict[str, pl.DataType]:
        wanted = {place for place, _ in self._header.columns}
        return {_name(place): kind if place in wanted else pl.String() for place in range(self._header.cells)}

    def _read(self, body: bytes, schema: dict[str, pl.DataType]) -> pl.DataFrame:
        return pl.read_csv(
            io.BytesIO(body),
            has_header=False,
            separator=self._header.separator,
            schema=schema,
            columns=self._names,
            null_values=[" ", ""],
            encoding="utf8-lossy",
        )

    def _careful(self, body: bytes, line: int) -> pl.DataFrame:
        """Texts first, then numbers however they are written."""
        try:
            texts = self._read(body, self._schema(pl.String()))
        except pl.exceptions.PolarsError as problem:
            what = str(problem).splitlines()[0]
            raise self._source.error(f"no table: {what}", "remove the damaged lines", line=line) from None
        stamps, names = texts.columns[0], texts.columns[1:]
        plain = pl.col(names).str.strip_chars()
        numbers = texts.select(stamps, plain.cast(pl.Float64, strict=False))
        written = texts.select((plain != "").sum()).row(0)
        read = numbers.select(pl.col(names).is_finite().sum()).row(0)
        odd = [name for name, cells, good in zip(names, written, read, strict=True) if cells != good]
        if not odd:
            return numbers
        # All odd columns below each other: one by one, the thousands of a wide log take minutes.
        cells = texts.select(odd).unpivot(value_name="text").with_columns(floats("text").alias("number"))
        bad = cells.filter(pl.col("number").is_null() & (pl.col("text").str.strip_chars() != ""))["text"]
        if len(bad):
            self._source.notes.skip("values", "no numbers, taken as missing", len(bad), f'"{bad[0][:40]}"')
        rows = texts.height
        return numbers.with_columns(
            cells["number"].slice(place * rows, rows).alias(name) for place, name in enumerate(odd)
        )

    def _good_lines(self, body: bytes, line: int) -> bytes:
        """Only the lines that are samples; the cut last one, blank lines and messages of typeperf are noted.

        Raises:
            LogError: a sample has another number of cells than the header.
        """
        header, good = self._header, []
        notes = self._source.notes
        parts = body.split(b"\n")
        for offset, part in enumerate(parts):
            last = offset == len(parts) - 1
            if not part.strip():
                continue
            text = part.decode("utf-8", "replace").rstrip("\r")
            cells = _cells(text, header.separator)
            if not re.match(r'\s*"?\d', text):
                notes.skip("lines", "no samples", 1, f"line {line + offset}: {text[:80]}")
            elif cells == header.cells and not (last and _may_be_cut(text)):
                good.append(part)
            elif last:
                notes.skip("lines", "the log ends within one", 1, f"line {line + offset}")
            else:
                same = sum(
                    _cells(each.decode("utf-8", "replace"), header.separator) == cells for each in parts[offset:]
                )
                raise self._source.error(
                    f"{cells} cells where the header has {header.cells}"
                    + (f", as in {same:,} lines" if same > 1 else ""),
                    "remove the line"
                    if same == 1
                    else f"what is recorded changed here: keep the log up to the line "
                    f"before (head -n {line + offset - 1}), and record the rest with its own header",
                    line=line + offset,
                )
        return b"\n".join(good) + b"\n" if good else b""

    def _metrics(self, values: np.ndarray) -> np.ndarray:
        values *= self._scale
        if len(self._inverted):
            values[:, self._inverted] = np.clip(100.0 - values[:, self._inverted], 0.0, None)
        if len(self._cumulative):
            now = values[:, self._cumulative]
            before = np.vstack([self._before, now[:-1]])
            self._before = now[-1]
            values[:, self._cumulative] = now - before
        if len(self._means):
            means = values[:, self._means]
            means[means == 0] = np.nan
            values[:, self._means] = means
        return np.asarray(values)


def _may_be_cut(text: str) -> bool:
    """Whether a last line without its end may lack digits: only a closing quote shows that it does not."""
    return not text.endswith('"') or text.count('"') % 2 == 1


def _name(place: int) -> str:
    """What polars calls a column of a table without names."""
    return f"column_{place + 1}"


def _cells(text: str, separator: str) -> int:
    if '"' not in text:
        return text.count(separator) + 1
    try:
        return len(next(csv.reader([text], delimiter=separator)))
    except (csv.Error, StopIteration):
        return 0


def looks_like(text: str) -> bool:
    """Whether a head is of such a log."""
    marked = any(re.match(r'\ufeff?"?\(PDH-[CT]SV 4\.0\)', line) for line in text[:4096].splitlines()[:4])
    return marked or _PATHS.match(text[:4096].encode()) is not None


def objects(text: str) -> Sequence[str]:
    """Objects of the counters in a head's first line of paths, in lower case."""
    return [found.lower() for found in re.findall(r'\\\\[^\\"]+\\([^\\("]+)', text)]
