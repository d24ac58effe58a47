"""DVD Store 2 and 3: the driver's line every ten seconds, with totals since the start.

`et=   10.0 n_overall=1234 opm=7404 rt_tot_lastn_max=45 rt_tot_avg=12 ...`: seconds since the start, orders, orders per
minute since the start, and ms. What the table holds is the growth between lines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from fathom.diagnose.clock import NS, start_of
from fathom.diagnose.importer import Importer
from fathom.diagnose.metrics import Layer
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows, Series

_LINE = re.compile(
    r"^(?:Final:? *\(?[^)]*\)?:? *)?\s*et=\s*([\d.]{1,12})\s+n_overall=\s*(\d{1,15})\s+opm=\s*(\d{1,15})\s+(.*)$"
)
_FIELD = re.compile(r"(\w+)\s*=\s*([\d.]{1,15})")


def recognise(head: Head) -> float:
    """The driver's lines."""
    return 0.95 if any(_LINE.match(line) for line in head.lines) else 0.0


def read(source: Source) -> Iterator[Block]:
    """Orders and rollbacks per second, response times."""
    rows = Rows()
    before: tuple[float, float, float, float] | None = None
    for number, text in source.lines():
        found = _LINE.match(text)
        if not found or text.lstrip().startswith("Final"):
            continue
        try:
            at = float(found[1])
            fields = {name: float(value) for name, value in _FIELD.findall(found[4])}
        except ValueError:
            raise source.error("no number in the driver's line", "record again", line=number) from None
        orders = float(found[2])
        # NaN where the line has none.
        mean = fields.get("rt_tot_avg", math.nan) / 1000
        now = (at, orders, orders * mean, fields.get("n_rollbacks_overall", 0.0))
        _interval(source, rows, before or (0.0, 0.0, 0.0, 0.0), now, fields)
        before = now
    yield from rows.take()


def _interval(
    source: Source,
    rows: Rows,
    before: tuple[float, float, float, float],
    now: tuple[float, float, float, float],
    fields: dict[str, float],
) -> None:
    seconds = now[0] - before[0]
    orders, waited, rolled_back = (after - earlier for after, earlier in zip(now[1:], before[1:], strict=True))
    if seconds <= 0 or orders < 0:
        return
    time = start_of(source) + round(now[0] * NS)

    def add(metric: str, value: float | None, interval: float | None = seconds) -> None:
        rows.add(time, interval, Series(None, "DVD Store", Layer.BENCHMARK, metric), value)

    add("transactions_per_s", orders / seconds)
    # The mean is in whole ms since the start: its growth is no number where few orders were added.
    add("response_s", max(0.0, waited / orders) if orders and not math.isnan(waited) else None)
    if "rt_tot_lastn_max" in fields:
        add("response_max_s", fields["rt_tot_lastn_max"] / 1000)
    add("rollbacks_per_s", rolled_back / seconds if rolled_back >= 0 else None)


IMPORTER = Importer("dvdstore", "DVD Store driver's output", recognise, read)
