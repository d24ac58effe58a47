"""Scrapes in Prometheus's text format or OpenMetrics, one after the other in a file.

A value may carry its time (ms in the text format, seconds in OpenMetrics); otherwise a comment with the time must come
before each scrape: `# time 1772488785` or an ISO 8601 stamp.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fathom.diagnose.documents import number
from fathom.diagnose.facts import NOT_NEEDED
from fathom.diagnose.importer import Importer
from fathom.diagnose.moments import Moments
from fathom.diagnose.prometheus import KNOWN, Scrapes, moment
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows

_SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+(-?[\d.]+(?:e[+-]?\d+)?))?(?:\s+#.*)?$")
_LABEL = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')
_TIME = re.compile(r"^#\s*(?:time|timestamp|scrape[a-z]*)?[:=\s]*(\d{10}(?:\.\d+)?|\d{13}|\d{4}-\d\d-\d\d[T ]\S+)\s*$")
_REMEDY = 'record with: while sleep 5; do echo "# time $(date +%s.%N)"; curl -s localhost:9100/metrics; done'


def recognise(head: Head) -> float:
    """Lines of samples with names that are understood."""
    named = sum(bool((found := _SAMPLE.match(line)) and found[1] in KNOWN) for line in head.lines)
    typed = any(line.startswith(("# TYPE ", "# HELP ")) for line in head.lines)
    return 0.9 if named and typed else 0.6 if named >= 2 else 0.5 if typed and len(head.lines) > 2 else 0.0


def read(source: Source) -> Iterator[Block]:
    """All series that are in the table, scrape by scrape."""
    reader, moments = _Reader(source), Moments(source)
    for line, text in source.lines():
        found = _TIME.match(text)
        if found:
            reader.at(_stamp(moments, line, found[1]))
            yield from reader.rows.take_if()
        elif text.strip() and not text.startswith("#"):
            reader.sample(line, text)
    reader.at(None)
    source.notes.skip("metrics", NOT_NEEDED, len(reader.unknown), min(reader.unknown, default=None))
    yield from reader.rows.take()


class _Reader:
    """Gathers the samples of one moment after the other."""

    def __init__(self, source: Source) -> None:
        self.rows = Rows()
        self.unknown: set[str] = set()
        self._source = source
        self._scrapes = Scrapes()
        self._samples: list[tuple[str, dict[str, str], float | None]] = []
        self._time: int | None = None
        self._instance: str | None = None

    def at(self, time: int | None) -> None:
        """A scrape begins; None at the end."""
        if self._time is not None and time != self._time:
            # Only now: the host's name may be anywhere in a scrape.
            for name, labels, value in self._samples:
                if self._instance and "instance" not in labels:
                    labels["instance"] = self._instance
                self._scrapes.value(self.rows, self._time, name, labels, value)
            self._scrapes.end(self.rows, self._time)
            self._samples = []
        self._time = time

    def sample(self, line: int, text: str) -> None:
        """One value."""
        found = _SAMPLE.match(text)
        if not found:
            self._source.notes.skip("lines", "no samples of Prometheus", 1, f"line {line}: {text[:60]}")
            return
        name = found[1]
        labels = {key: _unescaped(value) for key, value in _LABEL.findall(found[2] or "")}
        if name == "node_uname_info":
            self._instance = labels.get("nodename") or self._instance
            system = f"{labels.get('sysname', '')} {labels.get('release', '')}".strip()
            self._source.notes.fact("os", system, self._instance)
        own = number(found[4])
        if own is not None and abs(own) < 1e15:
            self.at(moment(own / 1000 if own > 1e11 else own))
        if name not in KNOWN:
            self.unknown.add(name)
            return
        if self._time is None:
            raise self._source.error("no time before the first value", _REMEDY, line=line)
        self._samples.append((name, labels, number(found[3])))


def _stamp(moments: Moments, line: int, text: str) -> int:
    if not re.fullmatch(r"[\d.]+", text):
        return moments.time(line, text)
    seconds = float(text)
    return moment(seconds / 1000 if seconds > 1e11 else seconds)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), text)


IMPORTER = Importer("openmetrics", "Prometheus or OpenMetrics text", recognise, read, _REMEDY)
