"""Writes Windows performance logs, so that the reader is tested without copies of other people's logs.

Both modes: chosen counters (one value, or a value for each instance), and whole objects as blocks of winperf.h. The
layout is the reader's understanding of it (crates/blg); `test_blg.py` also reads real logs where they are at hand.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

BUFFER = 0x10000
PDH = bytes.fromhex("b33b3f933e940d499ced3cbb14c14479")
LOG = bytes(range(16))
PART = 8000
FREQUENCY = 10_000_000

RATE, BULK_RATE = 0x10410400, 0x10410500
MEAN_TIME, MEAN_SIZE = 0x30020400, 0x40020500
MEAN_BASE = 0x40030402
GAUGE, QUEUE, BUSY_INVERSE = 0x00010000, 0x00550500, 0x21510500
MULTI_TIMER = 0x22410500


def filetime(moment: datetime) -> int:
    """100 ns units since 1601 of a moment without zone."""
    return int((moment - datetime(1601, 1, 1)) / timedelta(microseconds=1)) * 10


@dataclass
class Counter:
    """A chosen counter; `instance` "*" for a value of each instance."""

    object: str
    instance: str
    counter: str
    type: int


@dataclass
class Writer:
    """A log being made; `bias` in minutes as Windows states it, with the daylight saving of the United States if 60;
    `buffer` in bytes.
    """

    bias: int = 0
    saving: int = 0
    machine: str = "\\\\SQL01"
    wide: bool = True
    buffer: int = BUFFER
    events: list[tuple[int, int, bytes]] = field(default_factory=list)

    def list_counters(self, counters: Sequence[Counter]) -> None:
        """The list of chosen counters."""
        entries = [self._entry(c.object, c.instance, c.counter, int(c.instance == "*"), c.type) for c in counters]
        self._record(0x20, 0, bytes(8) + b"".join(entries))

    def list_objects(self, objects: Sequence[str]) -> None:
        """The list of whole objects."""
        self._record(0x20, 0, bytes(8) + b"".join(self._entry(name, "*", "*", 0x10, 0x10) for name in objects))

    def names(self, names: dict[int, str]) -> None:
        """Names by index."""
        pairs = "".join(f"{index}\0{name}\0" for index, name in names.items())
        self._record(0x24, 0, f"{self.machine}\0{pairs}\0".encode("utf-16-le"))

    def sample(self, local: datetime, values: Sequence[tuple[int, int] | dict[str, tuple[int, int]] | None]) -> None:
        """One sample of chosen counters: raw values, by instance where there are several; None for no data."""
        stamp = filetime(local)
        blocks = []
        for value in values:
            if isinstance(value, dict):
                heads, names = b"", b""
                start = 24 + 24 * len(value)
                for name, (first, second) in value.items():
                    heads += struct.pack("<IIQQ", start + len(names), 0, first, second)
                    names += f"{name}\0".encode("utf-16-le")
                body = struct.pack("<IIIIq", start + len(names), len(value), 0, 0, stamp) + heads + names
                blocks.append(_block(0x0203, body))
            else:
                status = 0 if value else 0xC0000BBC
                first, second = value or (0, 0)
                blocks.append(_block(0x0103, struct.pack("<IqIQQII", status, stamp, 0, first, second, 1, 0)))
        self._record(0x22, stamp, _block(0x0003, b"".join(blocks)))

    def object_sample(self, local: datetime, utc: datetime, blocks: Sequence[bytes]) -> None:
        """One sample of whole objects, made by `object_block`."""
        wrapped = []
        for block in blocks:
            machine = (self.machine.lstrip("\\") + "\0").encode("utf-16-le")
            header = (88 + len(machine) + 7) // 8 * 8
            ticks = filetime(utc)
            head = "PERF".encode("utf-16-le") + struct.pack("<IIIIIIi", 1, 1, 1, header + len(block), header, 1, -1)
            head += struct.pack(
                "<8H",
                local.year,
                local.month,
                local.isoweekday() % 7,
                local.day,
                local.hour,
                local.minute,
                local.second,
                local.microsecond // 1000,
            )
            head += bytes(4) + struct.pack("<qqqII", ticks, FREQUENCY, ticks, len(machine), 88) + machine
            wrapped.append(_block(0x0503, head.ljust(header, b"\0") + block))
        self._record(0x22, filetime(local), _block(0x0003, b"".join(wrapped)))

    def finish(self) -> bytes:
        """The file."""
        buffers, current = [self._session()], b""
        for kind, stamp, payload in self.events:
            size = 48 + len(payload)
            head = struct.pack("<HBBBBHIIq", size, 0x14 if self.wide else 0x0A, 0xC0, kind, 0, 60, 1, 1, stamp)
            event = (head + PDH + bytes(8) + payload).ljust((size + 7) // 8 * 8, b"\0")
            if 0x48 + len(current) + len(event) > self.buffer:
                buffers.append(self._buffer(len(buffers), current))
                current = b""
            current += event
        buffers.append(self._buffer(len(buffers), current))
        return b"".join(buffers)

    def _record(self, kind: int, stamp: int, data: bytes) -> None:
        # An event of one part, with its headers, fits in a buffer.
        part = min(PART, self.buffer - 0x48 - 48 - 24)
        parts = [data[at : at + part] for at in range(0, len(data), part)]
        for number, each in enumerate(parts, 1):
            self.events.append((kind, stamp, LOG + struct.pack("<II", number, len(parts)) + each))

    def _entry(self, object_: str, instance: str, counter: str, flags: int, code: int) -> bytes:
        texts, offsets = b"", []
        for text in (self.machine, object_, instance, None, 0, counter):
            if text is None or text == "":
                offsets.append(0xFFFFFFFF)
            elif text == 0:
                offsets.append(0)
            else:
                offsets.append(len(texts))
                texts += f"{text}\0".encode("utf-16-le")
        length = (52 + len(texts) + 7) // 8 * 8
        head = struct.pack("<IIIIqi6I", length, flags, 0, code, FREQUENCY, 0, *offsets)
        return (head + texts).ljust(length, b"\0")

    def _session(self) -> bytes:
        names = 16 if self.wide else 8
        about = struct.pack(
            "<IIIIqIIIIIII", self.buffer, 0x05010206, 17763, 4, 0, 156250, 0, 1, 1, 1, 8 if self.wide else 4, 0
        )
        about = about.ljust(0x38, b"\0") + bytes(names)
        switches = (struct.pack("<8H", 0, 11, 0, 1, 2, 0, 0, 0), struct.pack("<8H", 0, 3, 0, 2, 2, 0, 0, 0))
        none = bytes(16)
        standard, daylight = switches if self.saving else (none, none)
        zone = struct.pack("<i", self.bias) + bytes(64) + standard + struct.pack("<i", 0)
        zone += bytes(64) + daylight + struct.pack("<i", -self.saving)
        about += zone + bytes(4) + bytes(8 + 8 + 8 + 4 + 4)
        size = 32 + len(about)
        event = struct.pack("<HBBHHII", 2, 2, 0xC0, size, 0, 1, 1) + bytes(16) + about
        head = struct.pack("<III", self.buffer, 0, 0).ljust(0x30, b"\0") + struct.pack("<IHH", 0x48 + len(event), 1, 4)
        return (head.ljust(0x48, b"\0") + event).ljust(self.buffer, b"\xff")

    def _buffer(self, number: int, events: bytes) -> bytes:
        head = struct.pack("<IIIIqQ", self.buffer, 0, 0, 0, 0, number).ljust(0x30, b"\0")
        head += struct.pack("<IHH", 0x48 + len(events), 0, 0)
        return (head.ljust(0x48, b"\0") + events).ljust(self.buffer, b"\xff")


def object_block(
    index: int, counters: Sequence[tuple[int, int]], instances: dict[str, Sequence[int]] | Sequence[int]
) -> bytes:
    """A PERF_OBJECT_TYPE: counters as (name index, type), values by instance or, without instances, alone."""
    definitions, at = b"", 4
    for name, code in counters:
        size = 8 if code & 0x100 else 4
        definitions += struct.pack("<IIIIIiIIII", 40, name, 0, 0, 0, 0, 100, code, size, at)
        at += size

    def values(row: Sequence[int]) -> bytes:
        packed = b"".join(
            struct.pack("<Q" if code & 0x100 else "<I", value) for (_, code), value in zip(counters, row, strict=True)
        )
        return struct.pack("<I", 4 + len(packed)) + packed

    if isinstance(instances, dict):
        body, count = b"", len(instances)
        for name, row in instances.items():
            text = f"{name}\0".encode("utf-16-le")
            length = (24 + len(text) + 7) // 8 * 8
            body += struct.pack("<IIIiII", length, 0, 0, -1, 24, len(text)).ljust(24, b"\0") + text
            body = body.ljust(len(body) + length - 24 - len(text), b"\0") + values(row)
    else:
        body, count = values(instances), -1
    definition = 64 + len(definitions)
    head = struct.pack(
        "<IIIIIIIIIiiI", definition + len(body), definition, 64, index, 0, 0, 0, 100, len(counters), 0, count, 0
    )
    return head + struct.pack("<qq", 0, FREQUENCY) + definitions + body


def _block(kind: int, body: bytes) -> bytes:
    return struct.pack("<HHI", 0x4C42, kind, 8 + len(body)) + body
