"""Rows of a run's samples and histograms as arrays.

A query of polars costs most of a millisecond whatever it does. A report asks for some hundred lines of a few hundred
rows each: comparing columns and summing arrays takes a tenth of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fathom.analysis.interval import Floats

if TYPE_CHECKING:
    import polars as pl

Rows = NDArray[np.bool_]
"""Which rows of a frame are meant, one value for each."""


def having(frame: pl.DataFrame, name: str, *texts: str) -> Rows:
    """The rows whose column of that name holds one of the texts."""
    column = frame[name]
    found = np.zeros(frame.height, dtype=np.bool_)
    for text in texts:
        found |= (column == text).to_numpy()
    return found


def floats(frame: pl.DataFrame, name: str) -> Floats:
    """A column of numbers, one for each row; NaN where nothing was measured."""
    return frame[name].to_numpy().astype(np.float64)


def ratio(values: Floats, per: Floats) -> Floats:
    """Each value over its divisor, NaN where that is not above 0."""
    found: Floats = np.full(len(values), np.nan)
    return np.divide(values, per, out=found, where=per > 0)


class Intervals:
    """The intervals that some rows of samples belong to, in the order of time.

    What it adds up has one value for each row of the frame.

    Attributes:
        starts, lengths: when each begins and how long it is, s.
    """

    def __init__(self, frame: pl.DataFrame, rows: Rows) -> None:
        self._rows = rows
        self.starts, self._of = np.unique(floats(frame, "t_s")[rows], return_inverse=True)
        self.lengths = self.highest(floats(frame, "seconds"))

    def total(self, values: Floats) -> Floats:
        """The sum of what is known in each interval, NaN where nothing is."""
        mine = values[self._rows]
        known = ~np.isnan(mine)
        count = len(self.starts)
        sums = np.bincount(self._of[known], weights=mine[known], minlength=count)
        return np.where(np.bincount(self._of[known], minlength=count) > 0, sums, np.nan)

    def highest(self, values: Floats) -> Floats:
        """The highest known value in each interval, NaN where none is."""
        found = np.full(len(self.starts), np.nan)
        np.fmax.at(found, self._of, values[self._rows])
        return found
