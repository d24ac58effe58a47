"""Pictures: colours that can be told apart and read, one SVG for light and dark, no trace of the drawing program."""

from __future__ import annotations

import functools
import math
import re
from xml.etree import ElementTree

import pytest
import report_scenes

from fathom.errors import FathomError
from fathom.report.build import build
from fathom.report.style import palette
from fathom.report.style.drawing import Drawing, fit, text_width
from fathom.report.style.svg import png_file, svg_file
from fathom.report.style.ticks import linear_places, log_places

TEXT = ("ink", "muted", "link", "good", "bad", "warn")
GROUNDS = ("paper", "raised")
OKABE_ITO = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999"}


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def pictures(html: str) -> list[ElementTree.Element]:
    """Every picture of a page, read as XML: the page holds them in a form that is both."""
    found = [ElementTree.fromstring(text) for text in re.findall(r"<svg .*?</svg>", html, re.DOTALL)]
    assert found
    return found


@pytest.mark.parametrize("dark", [False, True])
def test_text_reaches_a_contrast_of_four_and_a_half(dark: bool) -> None:
    pairs = [(text, ground) for text in TEXT for ground in GROUNDS]
    pairs += [(text, f"{tone}back") for tone in ("good", "bad", "warn") for text in (tone, "ink", "muted")]
    pairs += [("paper", "ink")]
    for text, ground in pairs:
        assert contrast(palette.COLOURS[text][dark], palette.COLOURS[ground][dark]) >= 4.5, (text, ground)


def test_data_are_drawn_in_okabe_and_itos_colours() -> None:
    assert {palette.light(f"series{place}") for place in range(1, 8)} == OKABE_ITO


def test_every_light_colour_stands_for_one_token() -> None:
    values = [pair[0] for pair in palette.COLOURS.values()]
    assert len(values) == len(set(values))


def test_the_first_49_variants_differ_in_colour_or_mark() -> None:
    looks = [(palette.series_colour(place), palette.series_marker(place)) for place in range(49)]
    assert len(set(looks)) == 49


def test_every_colour_of_every_picture_follows_the_theme(html: str) -> None:
    for picture in pictures(html):
        assert picture.find(".//{*}metadata") is None
        for element in picture.iter():
            assert "style" not in element.attrib
            for name in ("fill", "stroke"):
                value = element.get(name, "none")
                assert value == "none" or f"{name[0]}-" in element.get("class", ""), element.attrib


def test_text_stays_inside_its_picture(html: str) -> None:
    for picture in pictures(html):
        _, _, width, height = (float(part) for part in picture.get("viewBox", "").split())
        for text in picture.iter("{http://www.w3.org/2000/svg}text"):
            taken = text_width("".join(text.itertext()), float(text.attrib["font-size"])) * 0.93
            x, y = float(text.get("x", "0")), float(text.get("y", "0"))
            left = x - taken * {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor", "start")]
            assert left > -2, text.text
            assert left + taken < width + 2, text.text
            assert 0 < y < height + 1, text.text


def _named(text: str) -> Drawing:
    drawing = Drawing(60, 300)
    drawing.words(0, 20, text)
    return drawing


@pytest.mark.parametrize("text", ["$HOME/a_b^c", "\\frac{1}{2}", "磁盘 диск 👩‍💻", "a<b & c>d"])
def test_any_text_can_be_drawn_as_it_is(text: str) -> None:
    root = ElementTree.fromstring(svg_file(_named(text), label=text))
    assert [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")] == [text]
    assert png_file(_named(text)).startswith(b"\x89PNG")


def test_long_names_are_cut_to_their_room() -> None:
    assert text_width(fit("x" * 400, 100)) <= 100
    assert fit("short", 100) == "short"


@pytest.mark.parametrize(("low", "high"), [(0.97, 1.27), (1, 1000), (3e-5, 4e9), (0.5, 1.99), (7, 31)])
def test_logarithmic_axes_have_a_few_round_ticks(low: float, high: float) -> None:
    places = log_places(low, high)
    assert 2 <= len(places) <= 8
    assert all(low * 0.999 <= place <= high * 1.001 for place in places)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 0.31), (-2.04, 60.5), (0, 7e9), (3, 3.2)])
def test_linear_axes_have_a_few_round_ticks(low: float, high: float) -> None:
    places = linear_places(low, high, 4)
    assert 2 <= len(places) <= 5
    assert all(low <= place <= high for place in places)


def test_a_line_breaks_where_nothing_was_measured() -> None:
    drawing = Drawing(100, 100)
    panel = drawing.panel(0, 0, 100, 100, grid="", frame="")
    panel.limits("x", 0, 10)
    panel.limits("y", 0, 10)
    panel.line([(0, 0), (5, 5), (6, math.nan), (8, 8), (10, 10)], palette.light("ink"))
    assert 'd="M0 100l50-50M80 20l20-20"' in drawing.body("p")


def test_a_colour_outside_of_the_palette_is_refused() -> None:
    with pytest.raises(KeyError):
        Drawing(10, 10).panel(0, 0, 10, 10).line([(0, 0), (1, 1)], "#123456")


def test_without_fonts_no_pixels_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    import resvg_py

    draw = functools.partial(resvg_py.svg_to_bytes, skip_system_fonts=True)
    monkeypatch.setattr(resvg_py, "svg_to_bytes", draw)
    with pytest.raises(FathomError, match="no font is installed"):
        png_file(_named("x"))


def test_files_are_written_alike_each_time(pair: report_scenes.Scene) -> None:
    (first, *_) = build(pair.analysis, pair.campaign).charts()
    assert svg_file(first.draw(), label="x") == svg_file(first.draw(), label="x")
    assert png_file(first.draw()) == png_file(first.draw())
