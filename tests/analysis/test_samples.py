"""Samples added up as arrays give what adding them up one by one gives."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from fathom.samples import Intervals, floats, having, ratio

ROWS = st.lists(
    st.tuples(st.integers(-3, 5), st.sampled_from("abc"), st.one_of(st.none(), st.integers(0, 1000))), max_size=40
)


@given(ROWS)
def test_intervals_add_up_what_is_known_of_the_rows_that_are_meant(rows: list[tuple[int, str, int | None]]) -> None:
    kinds = {"t_s": pl.Float64, "op": pl.String, "count": pl.UInt64}
    frame = pl.DataFrame(rows, schema=kinds, orient="row").with_columns(seconds=pl.lit(0.5))
    expected: dict[int, list[int]] = {}
    for start, op, count in sorted(rows, key=lambda row: row[0]):
        if op != "b":
            expected.setdefault(start, []).extend([] if count is None else [count])
    found = Intervals(frame, having(frame, "op", "a", "c"))
    assert found.starts.tolist() == list(expected)
    assert found.lengths.tolist() == [0.5] * len(expected)
    totals, highest = found.total(floats(frame, "count")).tolist(), found.highest(floats(frame, "count")).tolist()
    for total, high, known in zip(totals, highest, expected.values(), strict=True):
        assert (total, high) == (sum(known), max(known)) if known else math.isnan(total) and math.isnan(high)


def test_a_ratio_to_nothing_is_unknown() -> None:
    found = ratio(np.array([4.0, 4.0, 4.0]), np.array([2.0, 0.0, np.nan]))
    assert found[0] == 2.0
    assert np.isnan(found[1:]).all()
