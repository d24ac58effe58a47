"""Loads that several variants cannot do, in one sentence: each with its own rate."""

from __future__ import annotations

import pytest

from fathom.analysis.capacity import _together
from fathom.analysis.model import Overload


def over(name: str, done: float) -> Overload:
    return Overload({"storage": name}, 4000.0, done, 0, 0.0, None, f"{name} cannot sustain 4,000/s")


@pytest.mark.parametrize(
    ("done", "words"),
    [
        ([3072.0, 2664.0], "a and b cannot sustain 4,000/s: they do 3,072 and 2,664"),
        ([3000.0, 3000.0], "a and b cannot sustain 4,000/s: they do 3,000"),
        ([3072.0, 2664.0, 2800.0], "a, b and c cannot sustain 4,000/s: they do 2,664 to 3,072"),
        ([3072.0, 2664.0, 2664.0], "a, b and c cannot sustain 4,000/s: they do 2,664 to 3,072"),
    ],
)
def test_rates_stand_in_the_order_of_the_names(done: list[float], words: str) -> None:
    assert _together([over(*one) for one in zip("abc", done, strict=False)], {}, ()) == words
