"""What stands for a character that the terminal's locale lacks: with `?` for all of them better reads as undecided."""

from __future__ import annotations

import codecs

ERRORS = "fathom-stand-in"
"""The name of the error handler, for `reconfigure(errors=...)`."""

_STAND_INS = {
    **dict.fromkeys("▲△✓", "+"),
    **dict.fromkeys("▼▽✗−–─", "-"),
    **dict.fromkeys("├└", "+"),
    **dict.fromkeys("“”", '"'),
    **dict.fromkeys("\u2018\u2019", "'"),
    **dict.fromkeys("\u00a0\u2009\u202f", " "),
    **dict.fromkeys("µμ", "u"),
    **dict.fromkeys("▅▆", "="),
    **dict.fromkeys("▇█", "#"),
    **dict.fromkeys("▂▃▄░", "."),
    "▁": "_",
    "×": "x",
    "·": "|",
    "│": "|",
    "…": "...",
    "→": "->",
    "≥": ">=",
    "≤": "<=",
    "±": "+-",
    "∞": "inf",
    "²": "2",
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
}


def register() -> None:
    """Makes the handler known under the name `ERRORS`; any other character is a `?`, as with `replace`."""
    codecs.register_error(ERRORS, _stand_in)


def _stand_in(problem: UnicodeError) -> tuple[str, int]:
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    lacking = problem.object[problem.start : problem.end]
    return "".join(_STAND_INS.get(letter, "?") for letter in lacking), problem.end
