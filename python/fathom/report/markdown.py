"""The same document as Markdown (CommonMark with GitHub's tables), for tickets and wikis.

As in the terminal, charts, folded tables and sections of detail stay in the HTML report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import assert_never

from fathom.finding import Finding
from fathom.report.document import (
    Attachment,
    Banner,
    Block,
    Bullets,
    Chart,
    Claim,
    Definitions,
    Document,
    Findings,
    Listing,
    Paragraph,
    Table,
)
from fathom.report.terminal import claimed

_MARKUP = re.compile(r"([\\`*_\[\]<>|#~&])")
_BLOCK_START = re.compile(r"^(\s*)([-+]|\d+[.)])(?=\s)")


def markdown(document: Document) -> str:
    """The document; text from outside is escaped and never read as markup."""
    parts = [f"# {_text(document.title or 'Untitled study')}"]
    if document.question:
        parts.append(f"*{_text(document.question)}*")
    parts.append(_text(" · ".join(document.facts)))
    for section in document.sections:
        if section.detail or section.folded:
            continue
        blocks = [part for block in section.blocks for part in _block(block)]
        if blocks:
            parts += [f"## {_text(section.title)}", *blocks]
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> Iterator[str]:
    match block:
        case Banner():
            yield f"**{_text(block.word)}**" + (f" ({_text(block.subject)})" if block.subject else "")
            yield _text(block.sentence)
            lines = [f"{label}: {value}" for label, value in block.facts] + list(block.rests_on)
            if lines:
                yield _list(lines)
        case Claim():
            yield f"**{_text(block.finding.what)}**"
            yield _list(claimed(block.finding))
        case Findings():
            yield "\n".join(_finding(number, finding) for number, finding in enumerate(block.items, 1))
        case Paragraph():
            yield _text(block.text)
        case Bullets():
            yield _list(list(block.items))
        case Table():
            if not block.collapsed:
                yield from _table(block)
        case Definitions():
            yield "\n".join(f"- **{_text(term)}**: {_text(meaning)}" for term, meaning in block.items)
        case Chart() | Listing() | Attachment():
            return
        case _:
            assert_never(block)


def _finding(number: int, finding: Finding) -> str:
    head = finding.remedies[0].action if finding.remedies else finding.what
    lines = [f"{number}. **{_text(head)}**"]
    if finding.remedies and finding.what:
        lines.append(f"   - {_text(finding.what)}")
    if finding.harm:
        lines.append(f"   - {_text(finding.harm)}")
    lines += [f"   - {_text(evidence.sentence)}" for evidence in finding.evidence]
    for place, remedy in enumerate(finding.remedies):
        if place:
            lines.append(f"   - Or: {_text(remedy.action)}")
        lines += [f"   - {_code(line)}" for line in remedy.commands]
        if remedy.risk:
            lines.append(f"   - Risk: {_text(remedy.risk)}")
        if remedy.verify:
            lines.append(f"   - To see that it worked: {_text(remedy.verify)}")
    return "\n".join(lines)


def _table(table: Table) -> Iterator[str]:
    yield f"**{_text(table.caption)}**"
    rows = [
        [_text(column.label) for column in table.columns],
        ["---:" if column.numeric else "---" for column in table.columns],
        *([_text(cell.text) for cell in row] for row in table.rows),
    ]
    yield "\n".join(f"| {' | '.join(row)} |" for row in rows)
    if table.note:
        yield _text(table.note)


def _list(items: list[str]) -> str:
    return "\n".join(f"- {_text(item)}" for item in items)


def _text(text: str) -> str:
    """One line of plain text: no character in it is markup."""
    line = " ".join(text.split())
    return _BLOCK_START.sub(lambda found: f"{found[1]}{found[2][:-1]}\\{found[2][-1]}", _MARKUP.sub(r"\\\1", line))


def _code(text: str) -> str:
    """A command, letter by letter."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    inner = f" {text} " if text.startswith("`") or text.endswith("`") else text
    return f"{fence}{' '.join(inner.splitlines())}{fence}"
