"""Numbers read as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.conftest import make_campaign
from fathom.analysis.analyse import _warnings, analyse
from fathom.analysis.beside import doubt_words, guard_words
from fathom.analysis.guard import Guard
from fathom.analysis.model import Estimate, SteadyState
from fathom.analysis.words import (
    by,
    effect,
    effect_interval,
    effect_of,
    evidence,
    milliseconds,
    number,
    pair,
    percent,
    quantity,
    subject,
)
from fathom.report.verdicts import name


@pytest.mark.parametrize(
    ("value", "text"),
    [(206778.4, "206,778"), (1.25, "1.25"), (0.0312, "0.0312"), (40.0, "40"), (12.34, "12.3"), (0.0, "0")],
)
def test_number_keeps_three_digits(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(("ratio", "text"), [(61.2, "61 ×"), (1.031, "3.1 %"), (0.5, "2.00 ×"), (1 / 1.02, "2 %")])
def test_effect_is_a_factor_where_large_and_per_cent_where_small(ratio: float, text: str) -> None:
    assert effect(ratio) == text


def test_interval_of_a_loss_reads_from_small_to_large() -> None:
    assert effect_interval(Estimate(0.25, 0.2, 0.5, 0.95, 5, "t")) == "2.0 to 5.0"
    assert effect_interval(Estimate(27.0, 18.4, 39.8, 0.95, 4, "t")) == "18 to 40", "as many decimals as the point has"
    assert effect_interval(Estimate(2.71, 0.18, 41.98, 0.95, 2, "t")) == "0.18 to 42"
    assert effect_interval(Estimate(61.0, 58.1, 64.2, 0.95, 5, "t")) == "58 to 64"


def test_the_ends_of_an_interval_do_not_read_alike() -> None:
    narrow = Estimate(1.1001, 1.0998, 1.1004, 0.95, 2, "t")
    assert effect_interval(narrow).replace("\u00a0", " ") == "9.98 % to 10.04 %"
    assert effect_interval(Estimate(1.05, 1.04, 1.06, 0.95, 5, "t")).replace("\u00a0", " ") == "4 % to 6 %"


def test_a_point_is_as_exact_as_its_bounds() -> None:
    narrow = Estimate(7.914, 7.89, 7.94, 0.95, 3, "t")
    assert (effect_of(narrow), effect_interval(narrow)) == ("7.91 ×", "7.89 to 7.94")


@pytest.mark.parametrize(("ratio", "text"), [(2.7, "2.70 ×"), (1.2, "1.20 ×"), (1.001, "0.1 %"), (0.999, "0.1 %")])
def test_a_factor_too_near_to_one_is_per_cent(ratio: float, text: str) -> None:
    assert effect(ratio, factor=True) == text


@given(st.floats(1e-3, 1e3))
def test_effect_does_not_depend_on_direction(ratio: float) -> None:
    assert effect(ratio) == effect(1 / ratio) or abs(ratio - 1) > 0


def test_evidence_says_what_there_is() -> None:
    assert evidence(Estimate(1.2, 1.1, 1.3, 0.95, 5, "Student's t")) == "95 % interval 10 % to 30 %, 5 rounds"
    assert evidence(Estimate(1.2, 1.2, 1.2, 0.0, 1, "single")) == "one round, no interval"
    exact = Estimate(1.2, 1.2, 1.2, 0.95, 3, "deterministic simulation")
    assert evidence(exact) == "deterministic simulation, 3 rounds"


def test_a_name_that_denies_is_quoted_as_a_subject() -> None:
    assert subject("no cache") == "“no cache”"
    assert subject("nothing") == "“nothing”"
    assert subject("node 1") == "node 1"


def test_units_follow_their_number() -> None:
    assert quantity(1.25, "ms") == "1.25 ms"
    assert (milliseconds(2.0), quantity(12_667.0, "ms")) == ("2.00 ms", "12.7 s")
    assert pair(1.9, 2.46, "ms") == "1.90 against 2.46 ms"
    assert pair(12_667.0, 2.46, "ms") == "12.7 s against 2.46 ms"
    assert quantity(3.0, "") == "3"
    assert percent(0.0004) == "0.04 %"
    assert percent(0.123) == "12 %"


def test_a_change_beyond_belief_in_per_cent_is_a_multiple() -> None:
    assert by(0.16) == "by 16 %"
    assert by(190.84) == "192-fold"


def test_a_guard_on_a_latency_has_the_scale_of_a_headline() -> None:
    """`1.20 × higher` beside `29 % worse` were two scales for one thing."""
    tail = Guard("latency_p99_ms", 1.29, 12.9, 10.0, worse=True, most=1.4)
    assert guard_words(tail) == "p99 latency is 1.29 × worse (12.9 against 10.0 ms)"
    assert "so far 1.29 × higher (12.9 against 10.0 ms), and may be up to 1.40 × worse" in doubt_words(tail)
    assert guard_words(Guard("iops", 1.29, 1000.0, 1290.0, worse=True)).startswith("I/O rate is 29 % worse")


def test_a_count_is_lower_and_not_faster() -> None:
    found = analyse(
        make_campaign(
            {"old": [40.0, 42.0, 41.0, 40.0, 43.0], "new": [20.0, 20.0, 21.0, 20.0, 21.0]}, metric="backlog_max"
        )
    )
    assert "lower than that of old" in found.headline
    assert "faster" not in found.headline
    assert name(found.comparisons[0]) == "lower"


def test_one_run_is_told_in_the_singular() -> None:
    whole = make_campaign({"old": [1000.0], "new": [1100.0]})
    early = SteadyState(whole.runs[0].id, 2.0, True, (), (), warm_up_bias=0.5)
    said = _warnings(whole, None, [early], frozenset(), [], [])
    assert any(text.startswith("1 run still warmed up while measured") for text in said)
