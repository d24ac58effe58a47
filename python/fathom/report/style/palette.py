"""The colours of the report, each in a light and a dark version.

Data are drawn in the colours of Okabe and Ito ("Color Universal Design", 2008), which the common kinds of colour
blindness keep apart; F0E442 is too pale for lines and is left out. No colour carries a meaning that a word or a shape
beside it does not carry as well. Text colours reach 4.5:1 on their ground in both versions (a test computes it).
"""

from __future__ import annotations

COLOURS: dict[str, tuple[str, str]] = {
    "paper": ("#ffffff", "#15181b"),
    "raised": ("#f6f7f8", "#1d2125"),
    "ink": ("#1b1f24", "#e7eaed"),
    "muted": ("#57606a", "#a4aeb8"),
    "axis": ("#8c959f", "#737d88"),
    "grid": ("#e5e8eb", "#2b3036"),
    "band": ("#dde1e6", "#363d45"),
    "line": ("#d3d8dd", "#383f46"),
    "link": ("#00588c", "#7cc4f2"),
    "good": ("#00694d", "#52d0a8"),
    "bad": ("#a33b00", "#ff9d66"),
    "warn": ("#775000", "#eebc4e"),
    "goodback": ("#e6f4ef", "#12302a"),
    "badback": ("#fcede4", "#3a2013"),
    "warnback": ("#faf1dc", "#332a12"),
    "heat1": ("#e3eef7", "#1d2a36"),
    "heat2": ("#bdd7ec", "#1f3d54"),
    "heat3": ("#8fbfe0", "#255878"),
    "heat4": ("#5ba3d0", "#3077a3"),
    "heat5": ("#3182b6", "#5a9fcb"),
    "heat6": ("#145f94", "#93c6e6"),
    "heat7": ("#0a3760", "#d5ebf9"),
    "series1": ("#0072b2", "#4ea9e0"),
    "series2": ("#d55e00", "#f08a3c"),
    "series3": ("#009e73", "#2fc39a"),
    "series4": ("#cc79a7", "#df9cc2"),
    "series5": ("#e69f00", "#f3b73e"),
    "series6": ("#56b4e9", "#a5d8f6"),
    "series7": ("#999999", "#b9bec3"),
}
"""Token to (light, dark). Pictures are drawn with the light value; it stays where no style sheet is read."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[tuple[float, ...], ...] = ((), (6, 2), (2, 1.5), (6, 2, 1.5, 2), (9, 2), (1.2, 1.6), (4, 4))
"""Lengths of dashes and gaps in multiples of a line's width."""


HEAT_STEPS = 7
"""Shades of a heat map, from the faintest (`heat1`) to the strongest."""


def light(token: str) -> str:
    """The colour a picture is drawn with.

    Raises:
        KeyError: no such token.
    """
    return COLOURS[token][0]


def series_colour(place: int) -> str:
    """The colour of the variant in that place; from the eighth on they repeat, and marks tell them apart."""
    return light(f"series{place % 7 + 1}")


def series_marker(place: int) -> str:
    """The mark of the variant in that place; the eighth repeats the first mark in another colour."""
    return MARKERS[(place + place // 7) % 7]


def series_dashes(place: int) -> tuple[float, ...]:
    """The dashes of the variant in that place."""
    return DASHES[(place + place // 7) % 7]


def css_variables(dark: bool) -> str:
    """`--ink:#1b1f24;…` for one of the two versions."""
    return "".join(f"--{token}:{pair[dark]};" for token, pair in COLOURS.items())


def css_classes() -> str:
    """Rules that tie the classes put into pictures (`f-ink`, `s-ink`) to the variables."""
    return "".join(
        f".f-{token}{{fill:{pair[0]};fill:var(--{token})}}.s-{token}{{stroke:{pair[0]};stroke:var(--{token})}}"
        for token, pair in COLOURS.items()
    )
