"""A log as importers read it: decompressed bytes, numbered lines, errors with positions.

Compression (gzip, bzip2, xz, zip of one file), quotes of mails, and encodings (UTF-8, UTF-16 with or without a byte
order mark) are recognised here, so that no importer has to.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fathom.diagnose.facts import LogNotes
from fathom.errors import FathomError

if TYPE_CHECKING:
    from fathom.diagnose.clock import Zone

HEAD = 65_536
"""Bytes of a log that `recognise` gets."""
LARGEST_DOCUMENT = 1 << 30
"""Bytes of a document (JSON) that is read as a whole."""
LONGEST_LINE = 64 << 20
"""Bytes; esxtop's header lines have some 5 MB."""


def _unzipped(path: Path) -> IO[bytes]:
    """The one file of an archive; the archive itself where there are several, a password, or an unknown method."""
    archive = zipfile.ZipFile(path)
    files = [each for each in archive.infolist() if not each.is_dir() and not each.filename.startswith("__MACOSX/")]
    known = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA}
    if len(files) == 1 and files[0].compress_type in known and not files[0].flag_bits & 1:
        return archive.open(files[0])
    archive.close()
    return path.open("rb")


_LONGEST_QUOTE = 16 << 20
"""Bytes; mails and posts are shorter."""
_QUOTE = re.compile(rb"^(?:> ?)+", re.MULTILINE)


def _unquoted(path: Path) -> IO[bytes]:
    """What a mail or a post quotes; the file itself where some line is none of a quote."""
    if path.stat().st_size <= _LONGEST_QUOTE:
        data = path.read_bytes()
        if all(line.startswith(b">") for line in data.splitlines() if line.strip()):
            return io.BytesIO(_QUOTE.sub(b"", data))
    return path.open("rb")


_OPENERS: tuple[tuple[bytes, Callable[[Path], Any]], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
    (b"PK\x03\x04", _unzipped),
    (b">", _unquoted),
)


class LogError(FathomError):
    """A log that cannot be read: where, what was expected there, what to do.

    Args:
        path: the log.
        problem: what is wrong, beginning in lower case.
        remedy: what to do; None where there is nothing to say.
        line: 1-based line, where lines are counted.
        offset: byte offset in the (uncompressed) log.
        entry: which part of a document, in its words: "statistics 3", "virtual-disk:db".
        problem: what is wrong, without the place.
    """

    def __init__(
        self,
        path: object,
        problem: str,
        remedy: str | None = None,
        *,
        line: int | None = None,
        offset: int | None = None,
        entry: str | None = None,
    ) -> None:
        places = (("line", line), ("byte", offset), ("entry", entry))
        place = "".join(f", {name} {printable(str(value))}" for name, value in places if value is not None)
        super().__init__(f"{printable(str(path))}{place}: {printable(problem)}", remedy)
        self.line, self.offset, self.entry = line, offset, entry
        self.problem = printable(problem)


class NoLogError(LogError):
    """A file that holds no log that can be read, whole as it may be: beside other logs it is left out."""


def printable(text: str) -> str:
    """The text on one line without characters that a terminal obeys; texts from logs end up in messages."""
    from fathom.report.plain import one_line, plain

    return one_line(plain(text))


@dataclass(frozen=True)
class Head:
    """What there is to recognise a format by.

    Attributes:
        data: the first `HEAD` bytes, uncompressed; the head of `campaign.json` for a campaign directory.
        text: the same decoded; undecodable bytes replaced.
        whole: whether that is all there is.
        directory: whether the log is a directory.
    """

    data: bytes
    text: str
    whole: bool
    directory: bool = False

    @property
    def lines(self) -> list[str]:
        """The complete lines of the head."""
        lines = self.text.splitlines()
        return lines if self.whole or len(lines) < 2 else lines[:-1]


class Source:
    """One log.

    Attributes:
        path: where it is.
        zone: what to take local times for that name no zone; None if the user said nothing.
        start_ns: when a log began whose times count from its start; None if the user said nothing.
        notes: receives facts and what is skipped.
    """

    def __init__(
        self, path: Path, zone: Zone | None = None, notes: LogNotes | None = None, start_ns: int | None = None
    ) -> None:
        self.path = path
        self.zone = zone
        self.start_ns = start_ns
        self.notes = notes or LogNotes(str(path), "", "")

    def error(
        self,
        problem: str,
        remedy: str | None = None,
        *,
        line: int | None = None,
        offset: int | None = None,
        entry: str | None = None,
    ) -> LogError:
        """An error about this log, to be raised."""
        return LogError(self.path, problem, remedy, line=line, offset=offset, entry=entry)

    def unended(self, line: int | None) -> None:
        """Tells that the last line has no end. It is read: not every program ends its last line."""
        why = "missing at the end of the log: its last line may be cut, and the last number with it"
        if all(each.why != why for each in self.notes.skipped):
            self.notes.skip("line ends", why, 1, f"line {line}" if line else None)

    def head(self) -> Head:
        """The log's beginning.

        Raises:
            LogError: it cannot be read.
        """
        if self.path.is_dir():
            marker = self.path / "campaign.json"
            data = marker.read_bytes()[:HEAD] if marker.is_file() else b""
            return Head(data, data.decode("utf-8", "replace"), whole=True, directory=True)
        with self.open() as file, self.reading():
            data = _read_up_to(file, HEAD)
        return Head(data, uncoloured(data.decode(encoding_of(data) or "utf-8", "replace")), len(data) < HEAD)

    def open(self) -> IO[bytes]:
        """The log's bytes, uncompressed.

        Raises:
            LogError: it cannot be opened.
        """
        with self.reading():
            # A pipe gives its bytes once, and waits for a writer; a log is opened several times.
            mode = self.path.stat().st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                raise self.error("this is no file but a pipe or a device", "write it to a file, and name that one")
            with self.path.open("rb") as file:
                magic = file.read(8)
            for start, opener in _OPENERS:
                if magic.startswith(start):
                    return io.BufferedReader(opener(self.path), 1 << 20)
            return self.path.open("rb", buffering=1 << 20)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turns failures of the system and of decompression into errors of this log."""
        try:
            yield
        except EOFError:
            problem, remedy = "the compressed file ends too early", "copy it again, or unpack what there is"
            raise self.error(problem, remedy, offset=self.path.stat().st_size) from None
        except (lzma.LZMAError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as problem:
            raise self.error(f"the compressed file is damaged: {problem}", "copy it again") from None
        except OSError as problem:
            what = problem.strerror or str(problem)
            raise self.error(f"cannot read: {what}", "check the path and its permissions") from None

    def lines(self, encoding: str | None = None) -> Iterator[tuple[int, str]]:
        """Every line with its 1-based number, without its end; bytes that do not decode are replaced.

        Args:
            encoding: of the text; recognised if None.

        Raises:
            LogError: the log cannot be read, or a line is too long for text.
        """
        encoding = encoding or encoding_of(self.head().data) or "utf-8"
        with self.open() as file, self.reading():
            text = io.TextIOWrapper(file, encoding, errors="replace", newline=None)
            number, ended = 0, True
            while line := text.readline(LONGEST_LINE):
                number += 1
                if len(line) >= LONGEST_LINE:
                    raise self.error("the line does not end: this is no text log", line=number)
                ended = line.endswith("\n")
                yield number, uncoloured(line).rstrip("\n").lstrip("\ufeff")
            if not ended:
                self.unended(number)

    def data(self) -> bytes:
        """The whole log, uncompressed, for formats that are read as one.

        Raises:
            LogError: it cannot be read, or is larger than `LARGEST_DOCUMENT`.
        """
        with self.open() as file, self.reading():
            data = _read_up_to(file, LARGEST_DOCUMENT + 1)
        if len(data) > LARGEST_DOCUMENT:
            problem = f"such a log is read as a whole, and this one is larger than {LARGEST_DOCUMENT >> 20} MiB"
            raise self.error(problem, "export a shorter time range", offset=LARGEST_DOCUMENT)
        return data

    def document(self) -> str:
        """The whole log as text, for formats that are one document.

        Raises:
            LogError: as `data`, or the text is damaged.
        """
        data = self.data()
        encoding = encoding_of(data[:HEAD]) or "utf-8"
        try:
            return data.decode(encoding).lstrip("\ufeff")
        except UnicodeDecodeError as problem:
            raise self.error(f"the text is not {encoding}", "save it as UTF-8", offset=problem.start) from None

    def size(self) -> int:
        """Bytes on disk, for progress."""
        with self.reading():
            return os.stat(self.path).st_size  # noqa: PTH116 - the same call as Path.stat, without a second object


_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def uncoloured(text: str) -> str:
    """Without the colours that sysstat prints to a terminal, and script(1) keeps."""
    return _COLOUR.sub("", text) if "\x1b" in text else text


def encoding_of(head: bytes) -> str | None:
    """UTF-8 or UTF-16 by mark or by structure; None for another eight-bit code page."""
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if head.startswith(mark):
            return name
    even, odd = head[0:512:2], head[1:512:2]
    if len(odd) >= 8 and odd.count(0) > 0.8 * len(odd) and even.count(0) < 0.2 * len(even):
        return "utf-16-le"
    if len(even) >= 8 and even.count(0) > 0.8 * len(even) and odd.count(0) < 0.2 * len(odd):
        return "utf-16-be"
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(head, final=False)
    except UnicodeDecodeError:
        return None
    return "utf-8"


def _read_up_to(file: IO[bytes], size: int) -> bytes:
    parts, left = [], size
    while left and (part := file.read(min(left, 1 << 24))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
