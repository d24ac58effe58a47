"""From a drawing to an SVG that one page can show in light, dark and print, and to PNG.

matplotlib writes fixed colours as inline styles. Here each colour of the palette becomes a presentation attribute (what
a reader without style sheets sees) and a class (what the page's variables colour), inline styles vanish (so that the
page can forbid them), metadata go, numbers are cut to a hundredth of a pixel, and ids become unique in the page.
"""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree

from fathom.report.style.drawing import Drawing, Tip, settings
from fathom.report.style.palette import COLOURS

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_HREF = f"{{{_XLINK}}}href"
_TOKENS = {pair[0]: token for token, pair in COLOURS.items()}
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_COMMAND = re.compile(r"\s*([A-Za-z])\s*")
_PLACES = ("x", "y", _HREF, "id")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_DROPPED_STYLES = frozenset({"font-family"})
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

ElementTree.register_namespace("", _SVG)
ElementTree.register_namespace("xlink", _XLINK)


def inline_svg(drawing: Drawing, *, prefix: str, label: str) -> str:
    """An `<svg>` element for a page: coloured by its variables, ids start with `prefix`, `label` is read aloud."""
    root = _tree(drawing, prefix)
    root.set("class", "chart")
    root.set("role", "img")
    root.set("aria-label", label)
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def svg_file(drawing: Drawing, *, label: str) -> bytes:
    """A file of its own, in light colours on white."""
    root = _tree(drawing, "c")
    root.set("role", "img")
    root.set("aria-label", label)
    root.set("font-family", _FONT)
    ground = ElementTree.Element(f"{{{_SVG}}}rect", {"width": "100%", "height": "100%", "fill": COLOURS["paper"][0]})
    root.insert(0, ground)
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode").encode()


def png_file(drawing: Drawing, *, scale: float = 2.0) -> bytes:
    """The same picture as pixels, `scale` per CSS pixel, without a date inside."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    buffer = io.BytesIO()
    with settings():
        FigureCanvasAgg(drawing.figure)
        drawing.figure.savefig(buffer, format="png", dpi=96 * scale, metadata={"Software": None})
    return buffer.getvalue()


def _tree(drawing: Drawing, prefix: str) -> ElementTree.Element:
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.StringIO()
    with settings():
        FigureCanvasSVG(drawing.figure)
        drawing.figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    root = ElementTree.fromstring(buffer.getvalue())
    for child in [child for child in root if child.tag == f"{{{_SVG}}}metadata" or _holds_style(child)]:
        root.remove(child)
    _drop_background(root)
    _add_tips(root, drawing.tips)
    names: dict[str, str] = {}
    for element in root.iter():
        _restyle(element)
        _round_numbers(element)
    _rename_ids(root, prefix, names)
    root.set("width", f"{drawing.width:g}")
    root.set("height", f"{drawing.height:g}")
    root.set("stroke-linejoin", "round")
    _collapse(root)
    return root


def _holds_style(element: ElementTree.Element) -> bool:
    return element.find(f"{{{_SVG}}}style") is not None


def _drop_background(root: ElementTree.Element) -> None:
    """The page is the ground; the figure's own white one would stay white in the dark."""
    figure = root.find(f"{{{_SVG}}}g")
    if figure is not None:
        patch = figure.find(f"{{{_SVG}}}g[@id='patch_1']")
        if patch is not None:
            figure.remove(patch)


def _add_tips(root: ElementTree.Element, tips: dict[str, Tip]) -> None:
    """A `<title>` on each mark: browsers show it without any script."""
    for group in root.iter(f"{{{_SVG}}}g"):
        tip = tips.get(group.get("id", ""))
        if tip is None:
            continue
        marks = list(group.iter(f"{{{_SVG}}}use")) or group.findall(f"{{{_SVG}}}path")
        for mark, text in zip(marks, tip.texts, strict=False):
            title = ElementTree.SubElement(mark, f"{{{_SVG}}}title")
            title.text = text
            axes = tip.axes()
            if axes is not None:
                mark.set("data-axes", axes)
                mark.set("data-units", "|".join(tip.units))


def _restyle(element: ElementTree.Element) -> None:
    style = element.attrib.pop("style", None)
    classes: list[str] = []
    for declaration in (style or "").split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if not value or name in _DROPPED_STYLES:
            continue
        token = _TOKENS.get(value) if name in ("fill", "stroke") else None
        if token is not None:
            classes.append(f"{name[0]}-{token}")
        element.set(name, value.removesuffix("px") if name == "font-size" else value)
    for name in ("fill", "stroke"):
        if element.get(f"{name}-opacity") == "0":
            del element.attrib[f"{name}-opacity"]
            element.set(name, "none")
            classes = [known for known in classes if not known.startswith(f"{name[0]}-")]
    if element.tag == f"{{{_SVG}}}text" and not any(name.startswith("f-") for name in classes):
        classes.append("f-ink")
    if classes:
        element.set("class", " ".join(classes))
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]


def _round_numbers(element: ElementTree.Element) -> None:
    for name in ("d", "x", "y", "width", "height", "transform", "stroke-width", "stroke-dasharray"):
        text = element.get(name)
        if text is not None:
            text = _NUMBER.sub(lambda match: f"{float(match.group()):.2f}", text)
            element.set(name, _COMMAND.sub(r"\1", text) if name == "d" else text)


def _rename_ids(root: ElementTree.Element, prefix: str, names: dict[str, str]) -> None:
    """Keeps only ids something refers to, and numbers them after the prefix."""
    for element in root.iter():
        for target in (element.get(_HREF, "").removeprefix("#"), *_REFERENCE.findall(element.get("clip-path", ""))):
            if target:
                names.setdefault(target, f"{prefix}-{len(names) + 1}")
    for element in root.iter():
        known = names.get(element.attrib.pop("id", ""))
        if known is not None:
            element.set("id", known)
        if _HREF in element.attrib:
            element.set(_HREF, f"#{names[element.attrib[_HREF].removeprefix('#')]}")
        if "clip-path" in element.attrib:
            element.set(
                "clip-path", _REFERENCE.sub(lambda match: f"url(#{names[match.group(1)]})", element.attrib["clip-path"])
            )


def _collapse(root: ElementTree.Element) -> None:
    """Drops white space between elements and groups that carry nothing."""
    for element in root.iter():
        if element.tag not in (f"{{{_SVG}}}text", f"{{{_SVG}}}title", f"{{{_SVG}}}tspan"):
            element.text = None
        element.tail = None
    _unwrap(root)


def _unwrap(parent: ElementTree.Element) -> None:
    children: list[ElementTree.Element] = []
    for child in list(parent):
        _unwrap(child)
        if child.tag == f"{{{_SVG}}}path" and child.get("fill") == "none" and child.get("stroke") is None:
            continue
        bare = child.tag == f"{{{_SVG}}}g" and not child.attrib
        children.extend(list(child) if bare else [child])
    for child in list(parent):
        parent.remove(child)
    parent.extend(children)
    _share_attributes(parent)


def _share_attributes(group: ElementTree.Element) -> None:
    """Lifts what all marks of a group have in common to the group: a picture has thousands of marks."""
    marks = list(group)
    if group.tag != f"{{{_SVG}}}g" or len(marks) < 2 or any(mark.tag != f"{{{_SVG}}}use" for mark in marks):
        return
    common = {name: value for name, value in marks[0].attrib.items() if name not in _PLACES}
    if any({name: value for name, value in mark.attrib.items() if name not in _PLACES} != common for mark in marks):
        return
    for mark in marks:
        for name in common:
            del mark.attrib[name]
    for name, value in common.items():
        group.set(name, value)
