"""Single requests as files: a table of Windows Performance Analyzer, and blktrace's binary form."""

from __future__ import annotations

import struct
from pathlib import Path

from cases.world import Trace

_RECORD = struct.Struct("<IIQQIIIIIHH")
_MAGIC, _ISSUE, _COMPLETE, _WRITE, _DEVICE = 0x65617407, 7, 8, 1 << 17, 8 << 20 | 16


def wpa(trace: Trace, folder: Path) -> Path:
    """As `wpaexporter` writes the table Disk I/O."""
    lines = ["IO Type,Init Time (s),IO Time (µs),Size (B),Min Offset,Disk"]
    lines += [
        f"{'Write' if write else 'Read'},{start:.7f},{latency * 1e6:.1f},{size:.0f},0x{int(offset):016X},1"
        for start, latency, size, offset, write in _requests(trace)
    ]
    path = folder / "trace.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def blktrace(trace: Trace, folder: Path) -> Path:
    """Issue and completion of every request, in the order of time."""
    events = []
    for start, latency, size, offset, write in _requests(trace):
        kind = _WRITE if write else 0
        events.append((int(start * 1e9), _ISSUE | kind, int(offset) // 512, int(size)))
        events.append((int((start + latency) * 1e9), _COMPLETE | kind, int(offset) // 512, int(size)))
    events.sort()
    records = (
        _RECORD.pack(_MAGIC, number, time, sector, size, action, 0, _DEVICE, 0, 0, 0)
        for number, (time, action, sector, size) in enumerate(events)
    )
    path = folder / "trace.0"
    path.write_bytes(b"".join(records))
    return path


def _requests(trace: Trace) -> zip:
    return zip(trace.start, trace.latency, trace.size, trace.offset, trace.write, strict=True)
