"""What a report consists of, before it becomes HTML, terminal text or files.

A section yields blocks; each renderer knows every kind of block. Text in a block is plain text from anywhere, study and
error messages included: renderers escape it, and nothing in a block is markup.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from fathom.finding import Finding

if TYPE_CHECKING:
    from fathom.report.style.drawing import Drawing


class Tone(StrEnum):
    """How a piece of text is coloured; the words beside it always say the same."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    MUTED = "muted"


@dataclass(frozen=True)
class Cell:
    """One cell of a table: `text` for people, `value` for exports (None is an empty field).

    Of an interval exports have both `ends` instead, two numbers.
    """

    text: str
    value: str | float | int | bool | None
    tone: Tone = Tone.PLAIN
    ends: tuple[float, float] | None = None


@dataclass(frozen=True)
class Column:
    """One column: `key` names it in exports, unit as its last word; `label` heads it for people."""

    key: str
    label: str
    numeric: bool = False


@dataclass(frozen=True)
class Table:
    """A table. `name` is its file name in exports and unique in a report; `collapsed` folds it behind its caption."""

    kind: ClassVar[str] = "table"
    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str | None = None
    collapsed: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart, drawn only when a renderer asks. `alt` says in words what the picture shows.

    `narrow` draws it for a page of 390 px, where that needs another layout.
    """

    kind: ClassVar[str] = "chart"
    name: str
    caption: str
    alt: str
    draw: Callable[[], Drawing]
    narrow: Callable[[], Drawing] | None = None


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of text."""

    kind: ClassVar[str] = "paragraph"
    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    kind: ClassVar[str] = "bullets"
    items: tuple[str, ...]
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class Findings:
    """What is so and what to do about it, the most useful first; whoever made the findings chose which."""

    kind: ClassVar[str] = "findings"
    items: tuple[Finding, ...]


@dataclass(frozen=True)
class Claim:
    """One finding in full: what is so, how sure, since when, what would refute it, and what to do."""

    kind: ClassVar[str] = "claim"
    finding: Finding


@dataclass(frozen=True)
class Banner:
    """The answer at the top: a word with its sign, one sentence, label/value facts beside it, and what it rests on."""

    kind: ClassVar[str] = "banner"
    word: str
    tone: Tone
    subject: str
    sentence: str
    facts: tuple[tuple[str, str], ...]
    rests_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class Definitions:
    """Terms and what they mean."""

    kind: ClassVar[str] = "definitions"
    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Listing:
    """Text kept letter by letter, such as a study, folded behind its title."""

    kind: ClassVar[str] = "listing"
    title: str
    text: str


@dataclass(frozen=True)
class Attachment:
    """A file carried inside the report."""

    kind: ClassVar[str] = "attachment"
    name: str
    media_type: str
    content: bytes
    about: str

    @property
    def sha256(self) -> str:
        """Hex digest of the content."""
        return hashlib.sha256(self.content).hexdigest()


Block = Table | Chart | Paragraph | Bullets | Findings | Claim | Banner | Definitions | Listing | Attachment


@dataclass(frozen=True)
class BuiltSection:
    """A section that had something to say.

    `detail` is for looking things up and stays out of the terminal; `folded` is closed in the page until it is opened,
    and `hint` then says in a few words what is in it.
    """

    name: str
    title: str
    blocks: tuple[Block, ...]
    detail: bool = False
    folded: bool = False
    hint: str = ""


@dataclass(frozen=True)
class Document:
    """A whole report. `facts` stand in the line below the title."""

    title: str
    question: str
    facts: tuple[str, ...]
    sections: tuple[BuiltSection, ...]

    def tables(self) -> tuple[Table, ...]:
        """Every table, in order."""
        return tuple(block for section in self.sections for block in section.blocks if isinstance(block, Table))

    def charts(self) -> tuple[Chart, ...]:
        """Every chart, in order."""
        return tuple(block for section in self.sections for block in section.blocks if isinstance(block, Chart))
