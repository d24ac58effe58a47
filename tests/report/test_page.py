"""The HTML report: whole, small, reproducible, readable by people and programs, and silent on the network."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import page_reader
import pytest
import report_scenes

from fathom.report import Report

MOST_BYTES = 1_000_000
LOADING = ("src", "srcset", "data", "poster", "action", "formaction", "background", "ping", "manifest")


def test_every_scene_is_one_small_page_that_loads_nothing(html: str) -> None:
    page = page_reader.read(html)
    assert len(html.encode()) <= MOST_BYTES
    for element in page.elements:
        assert not set(LOADING) & element.attributes.keys(), element
        assert element.tag not in {"link", "img", "image", "iframe", "object", "embed", "video", "audio", "base"}
        target = element.attributes.get("href") or element.attributes.get("xlink:href") or "#"
        assert target.startswith(("#", "data:")), target
    style = page.all("style")[0].text
    assert "@import" not in style
    assert "url(" not in style


def test_the_largest_campaign_stays_below_two_megabytes(tmp_path: Path) -> None:
    scene = report_scenes.large(tmp_path)
    (tmp_path / "out").mkdir()
    place = Report(scene.analysis, scene.campaign).page(tmp_path / "out" / "report.html")
    assert place.stat().st_size <= MOST_BYTES
    assert "are too many for the page" in place.read_text("utf-8")
    assert list(place.parent.iterdir()) == [place]


def test_the_same_input_gives_the_same_bytes(scene: report_scenes.Scene, html: str, tmp_path: Path) -> None:
    again = Report(scene.analysis, scene.campaign).page(tmp_path / "again.html")
    assert again.read_bytes() == html.encode()


def test_the_policy_allows_exactly_the_pages_own_style_and_script(pair_html: str) -> None:
    page = page_reader.read(pair_html)
    policy = next(e.attributes["content"] for e in page.all("meta") if "content-security" in str(e.attributes).lower())
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        (element,) = page.all(tag)
        digest = base64.b64encode(hashlib.sha256(element.text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not any("style" in element.attributes for element in page.elements)


def test_every_picture_and_table_has_words(html: str) -> None:
    page = page_reader.read(html)
    pictures = page.has_class("chart")
    assert pictures
    narrow = [div for div in page.all("div") if div.attributes.get("class") == "narrow"]
    assert len(pictures) - len(narrow) == len(page.all("figcaption"))
    for picture in [*pictures, *page.has_class("parts")]:
        assert picture.attributes["role"] == "img"
        assert len(picture.attributes["aria-label"] or "") > 40
    assert len(page.all("table")) == len(page.all("caption")) == len(page.has_class("wraps"))
    assert all(caption.text.strip() for caption in page.has_class("wraps"))
    assert all(head.attributes.get("scope") == "col" for head in page.all("th"))
    assert page.all("html")[0].attributes["lang"] == "en"


def test_ids_are_unique_and_references_resolve(html: str) -> None:
    page = page_reader.read(html)
    ids = [element.attributes["id"] for element in page.elements if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    for element in page.elements:
        targets = [element.attributes.get("href"), element.attributes.get("xlink:href")]
        targets += re.findall(r"url\((#[^)]*)\)", element.attributes.get("clip-path") or "")
        for target in targets:
            assert not (target or "").startswith("#") or (target or "")[1:] in ids, target


def test_sections_stand_in_the_order_of_the_report(pair_html: str) -> None:
    page = page_reader.read(pair_html)
    order = [element.attributes["id"] for element in page.all("section")]
    assert order[:5] == ["verdict", "actions", "evidence", "comparisons", "before_after"]
    assert order[-4:] == ["quality", "method", "glossary", "data"]


def test_the_banner_says_word_ratio_interval_and_rounds(pair: report_scenes.Scene, pair_html: str) -> None:
    page = page_reader.read(pair_html)
    assert page.has_class("word")[0].text == "▲ faster"
    assert [value.text for value in page.all("dd")][:3] == ["24 %", "23 % to 26 %", "5"]
    said = page.has_class("sentence")[0].text
    assert said.replace("\u00a0", " ") == pair.analysis.headline
    assert "24\u00a0% faster" in said, "a number and its unit stay on one line"


def test_raw_data_carry_their_own_digest(pair: report_scenes.Scene, pair_html: str) -> None:
    page = page_reader.read(pair_html)
    links = [element for element in page.all("a") if "download" in element.attributes]
    names = [link.attributes["download"] for link in links]
    assert names == ["study.toml", "runs.csv", "analysis.json.gz", "samples.csv.gz"]
    for link, shown in zip(links, page.has_class("hash"), strict=True):
        content = base64.b64decode((link.attributes["href"] or "").split(",", 1)[1])
        assert shown.text == f"SHA-256 {hashlib.sha256(content).hexdigest()}"
    study = base64.b64decode((links[0].attributes["href"] or "").split(",", 1)[1])
    assert study.decode() == pair.campaign.study_text


def test_a_section_without_anything_to_say_is_left_out(pair_html: str) -> None:
    page = page_reader.read(pair_html)
    shown = {element.attributes["id"] for element in page.all("section")}
    assert "predictions" not in shown
    assert "load" not in shown


def test_a_report_that_cannot_be_written_leaves_nothing_behind(pair: report_scenes.Scene, tmp_path: Path) -> None:
    place = tmp_path / "report.html"
    place.mkdir()
    with pytest.raises(OSError, match=r"report\.html"):
        Report(pair.analysis, pair.campaign).page(place)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".report")]
