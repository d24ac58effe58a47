"""Units that a publication may use, and what a figure in one of them is in another."""

from __future__ import annotations

IN_BASE: dict[str, tuple[str, float]] = {
    "MB/s": ("B/s", 1e6),
    "MiB/s": ("B/s", 2.0**20),
    "GB/s": ("B/s", 1e9),
    "us": ("s", 1e-6),
    "ms": ("s", 1e-3),
    "s": ("s", 1.0),
    "min": ("s", 60.0),
    "": ("1", 1.0),
    "x": ("1", 1.0),
    "%": ("1", 0.01),
    "rows": ("rows", 1.0),
    "IOPS": ("1/s", 1.0),
    "1/s": ("1/s", 1.0),
    "rows/s": ("1/s", 1.0),
    "B": ("B", 1.0),
    "KiB": ("B", 1024.0),
    "kB": ("B", 1e3),
}
"""Each as a base unit and a factor; figures are compared in the publication's own unit."""


def factor(own: str, wanted: str) -> float | None:
    """What to multiply a number in `own` with to have it in `wanted`; None where they measure different things."""
    if own not in IN_BASE or wanted not in IN_BASE or IN_BASE[own][0] != IN_BASE[wanted][0]:
        return None
    return IN_BASE[own][1] / IN_BASE[wanted][1]


def fitting(own: str) -> list[str]:
    """The units in which a figure in `own` can be written."""
    return [unit for unit in IN_BASE if unit and factor(own, unit) is not None]
