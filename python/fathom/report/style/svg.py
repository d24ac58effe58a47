"""A drawing as SVG, in a page or as a file, and as PNG."""

from __future__ import annotations

from html import escape
from itertools import pairwise

from fathom.errors import FathomError
from fathom.report.style.drawing import Drawing
from fathom.report.style.palette import COLOURS

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
_TALL = 480
"""CSS pixels; a printed page holds about 1,300 of them."""
_SPACE = "http://www.w3.org/2000/svg"


def inline_svg(drawing: Drawing, *, prefix: str, label: str) -> str:
    """An `<svg>` element for a page: coloured by its variables, ids start with `prefix`, `label` is read aloud.

    One that is tall and may be cut has its parts beside it, for paper: a picture is never broken between sheets, and
    would leave much of one empty.
    """
    body = drawing.body(prefix)
    if not drawing.cuts or drawing.height <= _TALL:
        return f'<svg {_size(drawing)} class="chart" {_role(label)}>{body}</svg>'
    whole = f'<svg {_size(drawing)} class="chart" {_role(label)}><g id="{prefix}-all">{body}</g></svg>'
    parts = "".join(
        f'<svg {_size(drawing, top, bottom)}><use href="#{prefix}-all"/></svg>'
        for top, bottom in pairwise([0.0, *drawing.cuts, drawing.height])
    )
    return f'<div class="whole">{whole}</div><div class="parts" {_role(label)}>{parts}</div>'


def svg_file(drawing: Drawing, *, label: str) -> bytes:
    """A file of its own, in light colours on white."""
    ground = f'<rect width="100%" height="100%" fill="{COLOURS["paper"][0]}"/>'
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<svg {_size(drawing)} {_role(label)} font-family="{_FONT}">{ground}{drawing.body("c")}</svg>'
    ).encode()


def png_file(drawing: Drawing, *, scale: float = 2.0) -> bytes:
    """The same picture as pixels, `scale` per CSS pixel.

    Raises:
        FathomError: this machine has no font to draw the text with.
    """
    from resvg_py import svg_to_bytes

    _check_fonts()
    return svg_to_bytes(svg_string=svg_file(drawing, label="").decode(), zoom=scale)


def _check_fonts() -> None:
    """Without any of the fonts asked for, text would be left out of the pixels without a word."""
    from resvg_py import svg_to_bytes

    tiny = f'<svg xmlns="{_SPACE}" width="8" height="8"><text y="8" font-family="{_FONT}" font-size="8">'
    letter, nothing = (svg_to_bytes(svg_string=f"{tiny}{said}</text></svg>") for said in ("H", ""))
    if letter == nothing:
        raise FathomError(
            "charts cannot be written as PNG: no font is installed",
            "install one, such as Debian's fonts-dejavu-core",
        )


def _size(drawing: Drawing, top: float = 0.0, bottom: float | None = None) -> str:
    """The attributes of a picture of the drawing, whole or from `top` to `bottom`."""
    width, height = f"{drawing.width:g}", f"{(drawing.height if bottom is None else bottom) - top:g}"
    place = f'width="{width}" height="{height}" viewBox="0 {top:g} {width} {height}"'
    return f'xmlns="{_SPACE}" {place} stroke-linejoin="round"'


def _role(label: str) -> str:
    return f'role="img" aria-label="{escape(label)}"'
