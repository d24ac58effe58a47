"""A section of the report, and the scan of the folder that holds one file per section.

A section file exposes one constant `SECTION`. Adding a section is adding that file; its place comes from `order`. A
file that fails to import, or that exposes no section, stops the program: a report that silently lacks a part is worse.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from fathom.report.document import Block, BuiltSection, Paragraph

if TYPE_CHECKING:
    from fathom.report.context import Context


@dataclass(frozen=True)
class Section:
    """One part of the report.

    Attributes:
        name: slug, the file's name and the anchor in the page.
        title: heading for people.
        order: place in the report; unique.
        needs: inputs (keys of `context.INPUTS`) without any of which the section is left out.
        build: makes the blocks; an empty answer leaves the section out.
        fold: whether the page shows it closed; detail is always closed, and so is what comes after the sixth open one.
        heading: the title in a report, where that depends on what it holds.
        detail: whether it is for looking things up: in the page and the exports, not in the terminal.
    """

    name: str
    title: str
    order: int
    needs: tuple[str, ...]
    build: Callable[[Context], Sequence[Block]]
    detail: bool = False
    fold: Callable[[Context], bool] = lambda _: False
    heading: Callable[[Context], str] | None = None


MOST_OPEN = 6
"""Sections that the page shows open."""

_LONGEST_HINT = 140


@cache
def sections() -> tuple[Section, ...]:
    """Every section of the folder `sections`, in the order of the report.

    Raises:
        ImportError: a file cannot be imported, or exposes no `SECTION` named after it, or shares its order.
    """
    from fathom.report import sections as folder

    found: list[Section] = []
    for module in pkgutil.iter_modules(folder.__path__):
        loaded = importlib.import_module(f"{folder.__name__}.{module.name}")
        section = getattr(loaded, "SECTION", None)
        if not isinstance(section, Section) or section.name != module.name:
            raise ImportError(f"report section {module.name}.py: expose SECTION, a Section named {module.name!r}")
        found.append(section)
    found.sort(key=lambda section: section.order)
    for before, after in itertools.pairwise(found):
        if before.order == after.order:
            raise ImportError(f"report sections {before.name} and {after.name} have the same order {after.order}")
    return tuple(found)


def build_sections(context: Context) -> tuple[BuiltSection, ...]:
    """The sections that have something to say about this campaign."""
    built: list[BuiltSection] = []
    for section in sections():
        if not all(context.has(need) for need in section.needs):
            continue
        blocks = tuple(section.build(context))
        if not blocks:
            continue
        opened = sum(not before.folded for before in built)
        folded = section.detail or section.fold(context) or opened >= MOST_OPEN
        hint = (
            blocks[0].text
            if folded and isinstance(blocks[0], Paragraph) and len(blocks[0].text) < _LONGEST_HINT
            else ""
        )
        title = section.heading(context) if section.heading is not None else section.title
        built.append(BuiltSection(section.name, title, blocks, section.detail, folded, hint))
    return tuple(built)
