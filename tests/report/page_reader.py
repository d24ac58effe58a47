"""Reads a report the way a browser would, as far as the tests need it."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Element:
    """One element with its attributes and the text directly in it."""

    tag: str
    attributes: dict[str, str | None]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """Every element of a page in order."""

    elements: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        assert len(element.attributes) == len(attrs), f"{tag} has an attribute twice"
        self.elements.append(element)
        self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if any(element.tag == tag for element in self._open):
            while self._open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._open:
            self._open[-1].text += data

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.elements if element.tag == tag]

    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """Tags and attribute names in order: what text may never change."""
        return [(element.tag, tuple(sorted(element.attributes))) for element in self.elements]

    def has_class(self, name: str) -> list[Element]:
        return [e for e in self.elements if name in (e.attributes.get("class") or "").split()]


def read(html: str) -> Page:
    """The page, read to its end."""
    page = Page()
    page.feed(html)
    page.close()
    return page
