"""Numbers and effects in plain words, for headlines, reasons and advice."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence

from fathom.analysis.model import Estimate
from fathom.lateness import Late
from fathom.metrics import metric
from fathom.tail import Few
from fathom.unanswered import LeftOut

_PERCENTILE = re.compile(r"(\w+_)?latency_p(\d+)_ms")

_DENYING = ("no", "none", "neither", "nothing", "without")

_LARGE = 1.5
"""From this ratio on people say "1.5 ×", below it "50 %"."""
_SMALL = 1.01
"""Below it even a factor is told as per cent: "1.00 × worse" says nothing."""
_MOST_DECIMALS = 5
_FOLD = 2.0
"""From this relative change on people say "3-fold", below it "by 190 %"."""


def number(value: float) -> str:
    """Three significant digits, all digits of a whole part, thousands separators."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    text = _significant(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _significant(value: float) -> str:
    """Three significant digits with their zeros: what is measured as 2.00 is not 2."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    return f"{value:,.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def quantity(value: float, unit: str) -> str:
    """A number and its unit; latencies as everywhere else: `1.90 ms`, `12.7 s`."""
    if unit == "ms":
        return milliseconds(value)
    return f"{number(value)} {unit}".rstrip()


def milliseconds(value: float) -> str:
    """A latency in ms, from a second on in s: `0.425 ms`, `7.26 s`."""
    return f"{_significant(value)} ms" if value < 1000 else f"{_significant(value / 1000)} s"


def rounds(count: int) -> str:
    """`1 round`, `5 rounds`."""
    return f"{count:,} round{'' if count == 1 else 's'}"


def fluctuating(count: int, runs: int) -> str:
    """`1 of 6 runs was still fluctuating`, `the run was still fluctuating`."""
    which = "the run" if runs == 1 else f"{count} of {runs} runs"
    return f"{which} {'was' if count == 1 else 'were'} still fluctuating"


def percent(fraction: float) -> str:
    """A fraction as per cent: whole from 10 % on, one decimal below where it says something, two digits below 0.1 %."""
    value = fraction * 100
    if value == 0 or abs(value) >= 10:
        text = f"{value:.0f} %"
    else:
        text = f"{value:.1f} %".replace(".0 %", " %") if abs(value) >= 0.1 else f"{value:.2g} %"
    return text.replace("-", "−")


def left_out(found: LeftOut) -> str:
    """What a latency leaves out: `34% of the arrivals got no answer`, `nothing was answered for 29.4 s`."""
    if found.standstill_s is None:
        return f"{percent(found.share)} of the arrivals got no answer"
    return f"nothing was answered for {milliseconds(found.standstill_s * 1e3)}"


def too_few(found: Few) -> str:
    """Why a percentile cannot be told: `rests on 462 requests, and it takes 10,000`."""
    return f"rests on {found.requests:,} request{'' if found.requests == 1 else 's'}, and it takes {found.needed:,}"


def lateness(found: Late, up_to: str = "") -> str:
    """How late the load generator was: `the load generator was late by 4.07 ms in the mean, 97 % of the latency`."""
    late, share = milliseconds(found.late_ms), percent(found.share)
    return f"the load generator was late by {up_to}{late} in the mean, {share} of the latency"


def by(fraction: float) -> str:
    """A change: "by 16 %", from three times on "191-fold"."""
    return f"{number(1 + fraction)}-fold" if fraction >= _FOLD else f"by {percent(fraction)}"


def _is_factor(size: float, wanted: bool) -> bool:
    return size >= (_SMALL if wanted else _LARGE)


def effect(ratio: float, *, factor: bool = False) -> str:
    """The size of an improvement or loss without its direction: `61 ×`, `3.1 %`; a `factor` from 1.01 × on.

    In per cent of the other side: 800 are 20 % less than 1,000.
    """
    size = max(ratio, 1 / ratio)
    return f"{_times(size)} ×" if _is_factor(size, factor) else percent(abs(ratio - 1))


def effect_of(estimate: Estimate, *, factor: bool = False) -> str:
    """The effect of an estimate, with as many decimals as `effect_interval` gives its bounds."""
    size = max(estimate.value, 1 / estimate.value)
    if not _is_factor(size, factor) or not estimate.has_interval:
        return effect(estimate.value, factor=factor)
    return f"{size:,.{_digits(estimate)}f} ×"


_BOUNDLESS = 1e4
"""An end of an interval so many times away from its ratio says nothing: a few rounds that differ much give such."""


_USELESS = 100
"""An interval around 1 of which both ends are so many times away from its ratio says nothing."""


def boundless(end: float, value: float) -> str | None:
    """What stands for an end of a ratio's interval that is none; None for all others."""
    if end * _BOUNDLESS < value:
        return "0"
    return "∞" if end > value * _BOUNDLESS else None


def tells_nothing(estimate: Estimate) -> str | None:
    """`2 rounds tell nothing`, of rounds that differ so much that neither end of their interval says anything."""
    wide = estimate.low * _USELESS < estimate.value and estimate.high > estimate.value * _USELESS
    useless = wide and estimate.low < 1 < estimate.high
    return f"{rounds(estimate.n)} tell nothing" if estimate.has_interval and useless else None


def effect_interval(estimate: Estimate, *, factor: bool = False) -> str:
    """The interval of a ratio in the terms of `effect`, in the direction of its point: `58 to 64`, `2.1 % to 4 %`."""
    if not _is_factor(max(estimate.value, 1 / estimate.value), factor):
        worse = estimate.value < 1
        least, most = (1 - estimate.high, 1 - estimate.low) if worse else (estimate.low - 1, estimate.high - 1)
        return " to ".join(_told_apart(least, most))
    low, high = (estimate.low, estimate.high) if estimate.value >= 1 else (1 / estimate.high, 1 / estimate.low)
    digits = _digits(estimate)
    more = digits - _decimals(max(estimate.value, 1 / estimate.value))
    # No more than its own size asks for: 0.18 to 42, not 41.98.
    value = max(estimate.value, 1 / estimate.value)
    ends = (boundless(end, value) or f"{end:,.{min(digits, _decimals(end) + more)}f}" for end in (low, high))
    return " to ".join(ends)


def _told_apart(low: float, high: float) -> tuple[str, str]:
    """Two shares as per cent, with more decimals where they would read alike: `10 % to 10 %` says no width."""
    ends = percent(low), percent(high)
    for digits in range(1, _MOST_DECIMALS):
        if ends[0] != ends[1]:
            break
        first, last = (f"{100 * end:.{digits}f} %".replace("-", "−") for end in (low, high))
        ends = first, last
    return ends


def capital(text: str, names: Collection[str] = ()) -> str:
    """The text with its first letter as a capital, unless it begins with a name: one of `names`, which people gave, or
    a word with a digit or an underscore (`gp3`, `p99`, `synchronous_commit`).
    """
    first = text.split(" ", 1)[0]
    named = any(text.startswith(name) and not text[len(name) : len(name) + 1].isalnum() for name in names)
    return text if named or any(letter.isdigit() or letter == "_" for letter in first) else text[:1].upper() + text[1:]


def subject(name: str) -> str:
    """A variant's name as the subject of a sentence: in quotes where it would deny what is said of it ("no cache")."""
    return f"“{name}”" if name.lower().split(" ", 1)[0] in _DENYING else name


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`; nothing of none."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def pair(one: float, other: float, unit: str) -> str:
    """Two values of one unit as people compare them: `2.41 against 0.69 ms`, `12.7 s against 2.41 ms`."""
    if unit == "ms":
        first, second = milliseconds(one), milliseconds(other)
        return f"{first.removesuffix(' ms') if second.endswith(' ms') else first} against {second}"
    return f"{number(one)} against {quantity(other, unit)}"


def time(seconds: float) -> str:
    """A length of time to plan with: `40 s`, `12 min`, `4.5 h`, `3 days`."""
    for limit, size, unit in ((90.0, 1.0, "s"), (5400.0, 60.0, "min"), (172_800.0, 3600.0, "h")):
        if seconds < limit:
            return f"{seconds / size:.2g} {unit}" if seconds / size < 10 else f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86_400:.0f} days"


def short(name: str) -> str:
    """A metric in the words of a headline: `p99 latency`, `read p99.9 latency`, else its label."""
    found = _PERCENTILE.fullmatch(name)
    if found is None:
        return metric(name).label
    kind, digits = found.group(1) or "", found.group(2)
    exact = digits if len(digits) == 2 else f"{digits[:2]}.{digits[2:]}"
    return f"{kind.replace('_', '-').removesuffix('-')} p{exact} latency".strip()


def level(value: float) -> str:
    """`95 %`, or `98.4 %` where looks or several variants were paid for."""
    return f"{100 * value:.3g} %"


def evidence(estimate: Estimate, *, factor: bool = False) -> str:
    """What stands behind a ratio, in brackets after a claim."""
    if not estimate.has_interval:
        return "one round, no interval"
    if estimate.low == estimate.high:
        return f"{estimate.method}, {rounds(estimate.n)}"
    if (nothing := tells_nothing(estimate)) is not None:
        return nothing
    return f"{level(estimate.level)} interval {effect_interval(estimate, factor=factor)}, {rounds(estimate.n)}"


def _times(size: float) -> str:
    return f"{size:,.{_decimals(size)}f}"


def _digits(estimate: Estimate) -> int:
    """As many decimals as the point needs; more until the bounds differ: "61 to 61" would say less than is known."""
    low, high = (estimate.low, estimate.high) if estimate.value >= 1 else (1 / estimate.high, 1 / estimate.low)
    point = _decimals(max(estimate.value, 1 / estimate.value))
    return next((d for d in range(point, point + 3) if f"{low:.{d}f}" != f"{high:.{d}f}"), point)


def _decimals(size: float) -> int:
    return 0 if size >= 20 else 1 if size >= 3 else 2
