"""The document as one HTML file: no network, no inline style, at most one script, known by its hash.

The policy in the page's head forbids everything but the page's own style sheet and script, so that even text that
slipped through escaping could not act.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from fathom.report.document import Attachment, Block, Chart, Document
from fathom.report.format import percent, plural, size
from fathom.report.style import palette

_UNIT = re.compile(r"(?<=\d) (%|×|(?:ms|us|s|IOPS|MB/s|[KMGT]iB|rows/s)\b)|(?<=[<>=]) (?=\d)")

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def html(document: Document, *, scripted: bool = True) -> str:
    """The page. The same document gives the same bytes.

    Args:
        document: what to show.
        scripted: with the script; the page is whole without, and mail gateways hold back files that have one.
    """
    from markupsafe import Markup

    style, script = _style(), _asset("page.js") if scripted else ""
    allowed = f"script-src '{_hash(script)}'; " if scripted else ""
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; {allowed}img-src data:; base-uri 'none'; form-action 'none'"
    )
    return (
        _environment()
        .get_template("page.html.j2")
        .render(document=document, policy=policy, style=Markup(style), script=Markup(script), picture=_Pictures().draw)
    )


class _Pictures:
    """Draws the charts of one page and numbers them, so that ids stay unique."""

    def __init__(self) -> None:
        self._count = 0

    def draw(self, chart: Chart) -> Markup:
        from markupsafe import Markup

        from fathom.report.style.svg import inline_svg

        wide = Markup(inline_svg(chart.draw(), prefix=self._prefix(), label=chart.alt))
        if chart.narrow is None:
            return wide
        narrow = Markup(inline_svg(chart.narrow(), prefix=self._prefix(), label=chart.alt))
        return Markup('<div class="wide">{}</div><div class="narrow">{}</div>').format(wide, narrow)

    def _prefix(self) -> str:
        self._count += 1
        return f"c{self._count}"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        loader=FileSystemLoader(str(files("fathom.report") / "templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unbroken"] = _unbroken
    environment.globals.update(data_uri=_data_uri, file_size=_file_size, plural=plural, share=percent, unknown=_unknown)
    return environment


def _unbroken(text: str) -> str:
    """The text with numbers, their units and what they are compared by on one line."""
    return _UNIT.sub(lambda found: f"\u00a0{found.group(1) or ''}", text)


def _data_uri(attachment: Attachment) -> str:
    return f"data:{attachment.media_type};base64,{base64.b64encode(attachment.content).decode()}"


def _file_size(attachment: Attachment) -> str:
    return size(len(attachment.content))


def _unknown(block: Block) -> str:
    raise TypeError(f"no template for a block of kind {block.kind!r}: add it to templates/blocks.html.j2")


def _asset(name: str) -> str:
    """A file of `style`, guarded against closing its own element."""
    text = (files("fathom.report") / "style" / name).read_text(encoding="utf-8").strip()
    if "</" in text:
        raise ValueError(f"report/style/{name} holds `</`, which would end the element it is put into")
    return f"\n{text}\n"


def _style() -> str:
    """The variables in both versions, the classes of the pictures, and the page's own rules."""
    light, dark = palette.css_variables(dark=False), palette.css_variables(dark=True)
    return (
        f"\n:root{{color-scheme:light;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n"
        f"{palette.css_classes()}{_asset('page.css')}"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
