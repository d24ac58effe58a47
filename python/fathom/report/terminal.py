"""The same verdict, actions and tables in the terminal. Signs and words carry the meaning; colour only repeats it.

Charts, folded tables, listings, files and sections of detail stay in the HTML report and the exports.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, assert_never

from fathom.console import console as new_console
from fathom.finding import Finding
from fathom.report.document import (
    Attachment,
    Banner,
    Block,
    BuiltSection,
    Bullets,
    Chart,
    Claim,
    Definitions,
    Document,
    Findings,
    Listing,
    Paragraph,
    Table,
    Tone,
)
from fathom.report.format import percent

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_STYLES = {Tone.PLAIN: "", Tone.GOOD: "green", Tone.BAD: "red", Tone.WARN: "yellow", Tone.MUTED: "dim"}
_MOST_ROWS = 40
_BETWEEN = 3
_LONGEST_WORD = 24
"""Longer words (paths, hashes) may be broken."""


def print_document(document: Document, console: Console | None = None) -> None:
    """Prints the document; text from outside is never read as markup of the terminal."""
    from rich.text import Text

    out = console or new_console()
    out.print(Text(document.title or "Untitled study", style="bold"))
    if document.question:
        out.print(Text(document.question, style="dim"))
    out.print(Text(" · ".join(document.facts), style="dim"))
    for section in document.sections:
        if not section.detail and not section.folded:
            _print_section(section, out)


def _print_section(section: BuiltSection, out: Console) -> None:
    from rich.text import Text

    parts = [part for block in section.blocks for part in _block(block, out)]
    if not parts:
        return
    out.print()
    if section.name != "verdict":
        out.print(Text(section.title, style="bold underline"))
    for part in parts:
        # The terminal breaks a long command where it likes, and copying gives one line all the same.
        out.print(part, soft_wrap=isinstance(part, Text) and part.no_wrap is True)


def _block(block: Block, out: Console) -> Iterator[RenderableType]:  # noqa: PLR0912 - one branch per kind
    from rich.text import Text

    match block:
        case Banner():
            yield _banner(block)
        case Claim():
            yield from _claim(block.finding)
        case Findings():
            for number, finding in enumerate(block.items, 1):
                yield from _finding(number, finding)
        case Paragraph():
            yield Text(block.text, style=_STYLES[block.tone])
        case Bullets():
            for item in block.items:
                yield Text(f"- {item}", style=_STYLES[block.tone])
        case Table():
            if not block.collapsed:
                yield Text()
                yield from _table(block, out)
        case Definitions():
            for term, meaning in block.items:
                yield Text(f"{term}: {meaning}")
        case Chart() | Listing() | Attachment():
            return
        case _:
            assert_never(block)


def _banner(banner: Banner) -> RenderableType:
    from rich.box import ROUNDED
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    style = _STYLES[banner.tone]
    lines = [Text(banner.word, style=f"bold {style}".strip())]
    if banner.subject:
        lines.append(Text(banner.subject, style="dim"))
    lines.append(Text(banner.sentence))
    lines += [Text(f"{label}: {value}") for label, value in banner.facts]
    lines += [Text(text, style="dim") for text in banner.rests_on]
    return Panel(Group(*lines), box=ROUNDED, border_style=style, padding=(0, 2))


def _finding(number: int, finding: Finding) -> Iterator[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    def inner(text: str, style: str = "") -> RenderableType:
        return Padding(Text(text, style=style), (0, 0, 0, 3))

    head = finding.remedies[0].action if finding.remedies else finding.what
    yield Text(f"{number}. {head}", style="bold")
    if finding.remedies and finding.what:
        yield inner(finding.what)
    if finding.harm:
        yield inner(finding.harm)
    for evidence in finding.evidence:
        yield inner(f"- {evidence.sentence}", "dim")
    for place, remedy in enumerate(finding.remedies):
        if place:
            yield inner(f"Or: {remedy.action}")
        for line in remedy.commands:
            yield Text(f"     {line}", no_wrap=True)
        if remedy.risk:
            yield inner(f"Risk: {remedy.risk}", "dim")
        if remedy.verify:
            yield inner(f"To see that it worked: {remedy.verify}", "dim")


def _claim(finding: Finding) -> Iterator[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    yield Text(finding.what, style="bold")
    for sentence in claimed(finding):
        yield Padding(Text(f"- {sentence}"), (0, 0, 0, 3))


def claimed(finding: Finding) -> list[str]:
    """A finding in full as sentences, but for its claim."""
    said = [f"{finding.severity}, {finding.rule}, {finding.subject}, {percent(finding.confidence)} sure"]
    said += [f"Harm: {finding.harm}."] if finding.harm else []
    said += [evidence.sentence for evidence in finding.evidence]
    said += [f"Wrong if {finding.refuted_by}."] if finding.refuted_by else []
    return said + [remedy.action for remedy in finding.remedies]


def _table(table: Table, out: Console) -> Iterator[RenderableType]:
    """The table, or, where the terminal is too narrow for its words, one short list per row."""
    from rich.text import Text

    widths = _widths(table, out.width)
    if widths is not None:
        yield _columns(table, widths)
    else:
        yield Text(table.caption, style="bold")
        for row in table.rows[:_MOST_ROWS]:
            yield Text(row[0].text)
            for column, cell in zip(table.columns[1:], row[1:], strict=True):
                if cell.value is not None:
                    yield Text.assemble(f"  {column.label}: ", (cell.text, _STYLES[cell.tone]))
    left = len(table.rows) - _MOST_ROWS
    if left > 0:
        yield Text(f"… {left} more rows in the report", style="dim")
    if table.note:
        yield Text(table.note, style="dim")


def _widths(table: Table, room: int) -> list[int] | None:
    """The width of each column: as wide as its text, narrowed where words allow until all fit; None if they cannot."""
    from rich.cells import cell_len

    texts = [
        [column.label, *(row[index].text for row in table.rows[:_MOST_ROWS])]
        for index, column in enumerate(table.columns)
    ]
    widths = [max(cell_len(text) for text in column) for column in texts]
    least = [min(_LONGEST_WORD, max(cell_len(word) for text in column for word in text.split(" "))) for column in texts]
    excess = sum(widths) + _BETWEEN * (len(widths) - 1) - room
    if excess > sum(width - low for width, low in zip(widths, least, strict=True)):
        return None
    for _ in range(max(0, excess)):
        widest = max(range(len(widths)), key=lambda index: (widths[index] > least[index], widths[index]))
        widths[widest] -= 1
    return widths


def _columns(table: Table, widths: list[int]) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(
        title=Text(table.caption, style="bold"), title_justify="left", box=SIMPLE_HEAD, pad_edge=False, show_edge=False
    )
    for column, width in zip(table.columns, widths, strict=True):
        drawn.add_column(
            Text(column.label), justify="right" if column.numeric else "left", overflow="fold", width=width
        )
    for row in table.rows[:_MOST_ROWS]:
        drawn.add_row(*(Text(cell.text, style=_STYLES[cell.tone]) for cell in row))
    return drawn
