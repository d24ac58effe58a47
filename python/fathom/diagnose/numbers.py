"""Numbers as tools write them: decimal commas, thousands, percent signs; a text that is no number is missing."""

from __future__ import annotations

import math
import re

import polars as pl

_COMMAS = r"^[+-]?\d{1,3}(,\d{3}){2,}$"
_DOTS = r"^[+-]?\d{1,3}(\.\d{3}){2,}$"
_GROUPS = re.compile(r"-?[1-9]\d{0,2}([.,'\u2019\u00a0\u202f ])\d{3}(?:\1\d{3})*(?:[.,]0+)?")
"""A whole number in groups of thousands."""
_PLAIN = 18
"""Digits of a count that needs no closer look: logs have millions of them."""


def floats(name: str) -> pl.Expr:
    """A column of texts as numbers, null where a text is none.

    With both signs the last is the decimal one; a single comma is a decimal comma; several of one sign group thousands.
    """
    text = pl.col(name).str.strip_chars(" \t\u00a0\u202f").str.replace_all("\u00a0|\u202f| ", "")
    comma, dot = text.str.contains(",", literal=True), text.str.contains(".", literal=True)
    comma_last = text.str.contains(r"\..*,")
    without_dots = text.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    number = (
        pl.when(comma & dot & comma_last)
        .then(without_dots)
        .when((comma & dot) | text.str.contains(_COMMAS))
        .then(text.str.replace_all(",", "", literal=True))
        .when(text.str.contains(_DOTS))
        .then(text.str.replace_all(".", "", literal=True))
        .otherwise(text.str.replace(",", ".", literal=True))
    )
    value = number.cast(pl.Float64, strict=False)
    return pl.when(value.is_finite()).then(value)


def number(text: str) -> float | None:
    """One text as a number by the same rules; None if it is none."""
    found = pl.DataFrame({"x": [text]}).select(floats("x")).item()
    return None if found is None else float(found)


def plain_number(text: str) -> float | None:
    """A number without grouping, with a point or a comma as its decimal sign; None if it is none."""
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def whole_number(text: str) -> float | None:
    """A count, also in groups of thousands: "1.234" is 1234, as a count has no parts. None if it is none."""
    if text.isdecimal() and len(text) <= _PLAIN:
        return float(text)
    grouped = _GROUPS.fullmatch(text)
    value = plain_number(text.replace(grouped[1], "") if grouped else text)
    return value if value is not None and value.is_integer() else None
