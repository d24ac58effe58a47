"""How numbers are written for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.analysis.model import Estimate
from fathom.report import format as f


def made(value: float, low: float, high: float, level: float = 0.95) -> Estimate:
    return Estimate(value, low, high, level, 5, "t interval")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (206778.4, "IOPS", "206,778\u00a0IOPS"),
        (1.2504, "ms", "1.25\u00a0ms"),
        (12.449, "ms", "12.4\u00a0ms"),
        (9.996, "ms", "10.0\u00a0ms"),
        (1615.4, "MB/s", "1,615\u00a0MB/s"),
        (0.0853, "ms", "0.0853\u00a0ms"),
        (-0.5, "ms", "\u22120.500\u00a0ms"),
        (0.0, "ms", "0\u00a0ms"),
        (31.4, "IOPS", "31.4\u00a0IOPS"),
        (None, "ms", "–"),
        (float("nan"), "ms", "–"),
        (float("inf"), "IOPS", "–"),
        (32.08, "", "32.1"),
    ],
)
def test_quantities(value: float | None, unit: str, text: str) -> None:
    assert f.quantity(value, unit) == text


@pytest.mark.parametrize(
    ("estimate", "value", "interval"),
    [
        (made(1.243, 1.229, 1.257), "1.24\u00a0×", "1.23 to 1.26"),
        (made(1.003, 0.998, 1.009), "1.003\u00a0×", "0.998 to 1.009"),
        (made(61.2, 58.4, 64.1), "61.2\u00a0×", "58.4 to 64.1"),
        (made(1202, 5.5, 263837), "1,202\u00a0×", "5.50 to 263,837"),
        (made(0.11, 5.2e-23, 1e20), "0.11\u00a0×", "5 rounds tell nothing"),
        (made(2.87, 0.000518, 15942.0), "2.87\u00a0×", "5 rounds tell nothing"),
        (made(1.9, 1.9, 1.9, level=0.0), "1.90\u00a0×", "–"),
        (made(1.5, float("-inf"), float("inf")), "1.50\u00a0×", "–"),
    ],
)
def test_ratios_have_the_decimals_their_interval_needs(estimate: Estimate, value: str, interval: str) -> None:
    assert f.ratio_value(estimate) == value
    assert f.ratio_interval(estimate) == interval


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.013, "+1.3\u00a0%"), (-0.1, "\u221210\u00a0%"), (0.0, "0\u00a0%"), (0.02, "+2\u00a0%"), (-0.0001, "0\u00a0%")],
)
def test_signed_percentages(fraction: float, text: str) -> None:
    assert f.percent(fraction, signed=True) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.32, "320\u00a0ms"),
        (4.2, "4.20\u00a0s"),
        (680, "11\u00a0min 20\u00a0s"),
        (60, "1\u00a0min"),
        (7500, "2\u00a0h 5\u00a0min"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert f.duration(seconds) == text


@pytest.mark.parametrize(
    ("length", "text"),
    [(4096, "4\u00a0KiB"), (512, "512\u00a0B"), (1.5 * 2**40, "1.5\u00a0TiB"), (2**60, "1,048,576\u00a0TiB")],
)
def test_sizes_are_binary(length: float, text: str) -> None:
    assert f.size(length) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-11-21T10:00:05+00:00", "2026-11-21 10:00 UTC"),
        ("2026-11-21T10:00:00Z", "2026-11-21 10:00 UTC"),
        ("2026-11-21T10:00:00+05:30", "2026-11-21 10:00 UTC+05:30"),
        ("yesterday", "yesterday"),
    ],
)
def test_moments(text: str, shown: str) -> None:
    assert f.moment(text) == shown


@pytest.mark.parametrize(
    ("value", "text"),
    [(2500, "2,500"), (10_000, "10\u00a0k"), (250_000, "250\u00a0k"), (1.5e6, "1.5\u00a0M"), (0.02, "0.02")],
)
def test_short_ticks(value: float, text: str) -> None:
    assert f.short_tick(value) == text


@given(st.floats(1e-6, 1e15))
def test_three_digits_are_within_half_a_per_cent(value: float) -> None:
    read = float(f.significant(value).replace(",", "").replace("\u2212", "-"))
    assert read == pytest.approx(value, rel=5.01e-3)
