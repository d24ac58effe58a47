"""Text from outside never becomes an element, an attribute, a formula or a command of the terminal."""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import page_reader
import pytest
import report_scenes
from rich.console import Console

from fathom.report import Report
from fathom.report.plain import apart, map_strings, plain, shorten

PAYLOADS = (
    "<script>document.title='owned'</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></style></script><svg onload=alert(1)>",
    "' onmouseover='alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "]]><!--<x>--> &lt;b&gt; &#60;b&#62;",
    "javascript:alert(1)",
    "$\\frac{1}{2}$ \\alpha _ ^ %",
)
KEPT = frozenset({"ok", "failed", "real", "virtual", "iops", "rows", "latency_ms", "workload", "data", "ebs"})


def poisoned(scene: report_scenes.Scene, payload: str) -> report_scenes.Scene:
    """The scene with the payload behind every free text: titles, levels, hosts, messages, settings, sources."""

    def change(text: str) -> str:
        return text if text in KEPT or text in METRIC_NAMES or not text or _is_key(text) else f"{text}{payload}"

    return report_scenes.Scene(map_strings(scene.analysis, change), map_strings(scene.campaign, change))


def _is_key(text: str) -> bool:
    """Keys of documents that the report looks up by name."""
    return bool(re.fullmatch(r"[a-z_]+", text))


METRIC_NAMES = frozenset(report_scenes.METRIC_NAMES)


def test_a_payload_changes_no_element_and_no_attribute(scene: report_scenes.Scene, tmp_path: Path) -> None:
    payload = "".join(PAYLOADS)
    hostile, harmless = (poisoned(scene, text) for text in (payload, "x" * len(payload)))
    shapes = []
    for index, one in enumerate((hostile, harmless)):
        place = Report(one.analysis, one.campaign).page(tmp_path / f"{index}.html")
        page = page_reader.read(place.read_text("utf-8"))
        shapes.append(page.shape())
        assert len(page.all("script")) == 1
        assert not [e for e in page.elements if any(key.startswith("on") for key in e.attributes)]
    assert shapes[0] == shapes[1]


def test_a_payload_stays_text_in_titles_and_in_pictures(pair: report_scenes.Scene, tmp_path: Path) -> None:
    payload = "<img src=x>"
    scene = poisoned(pair, payload)
    page = page_reader.read(Report(scene.analysis, scene.campaign).page(tmp_path / "a.html").read_text("utf-8"))
    assert page.all("h1")[0].text.endswith(payload)
    assert any(payload in text.text for text in page.all("text"))
    assert any(payload in (svg.attributes["aria-label"] or "") for svg in page.has_class("chart"))


def test_exported_pictures_stay_well_formed(pair: report_scenes.Scene, tmp_path: Path) -> None:
    scene = poisoned(pair, "".join(PAYLOADS))
    for path in Report(scene.analysis, scene.campaign).export(tmp_path / "out", ["svg"]):
        tags = {element.tag.rsplit("}", 1)[-1] for element in ElementTree.parse(path).iter()}
        assert tags <= {"svg", "g", "path", "use", "text", "rect", "defs", "clipPath", "title"}


def test_control_and_direction_characters_are_taken_out(pair: report_scenes.Scene, tmp_path: Path) -> None:
    payload = "\x1b[31mred\x07\x00 \u202egnp.exe \ud800 \x85"
    scene = poisoned(pair, payload)
    html = Report(scene.analysis, scene.campaign).page(tmp_path / "a.html").read_text("utf-8")
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    Report(scene.analysis, scene.campaign).print(console)
    shown = console.file.getvalue()
    for text in (html, shown.replace("\x1b[", "")):
        assert not set("\x00\x07\x85\u202e\ud800") & set(text)
    assert "\x1b[31mred" not in shown
    assert "[31mred" in shown


def test_markup_of_the_terminal_is_printed_letter_by_letter(pair: report_scenes.Scene) -> None:
    scene = report_scenes.Scene(
        dataclasses.replace(pair.analysis, title="[bold]not bold[/bold] [link=x]y"), pair.campaign
    )
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    Report(scene.analysis, scene.campaign).print(console)
    assert "[bold]not bold[/bold] [link=x]y" in console.file.getvalue()


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t"])
def test_a_spreadsheet_never_sees_a_formula(pair: report_scenes.Scene, start: str, tmp_path: Path) -> None:
    formula = f"{start}HYPERLINK(1)"
    variant = {"volumes.data.kind": formula}
    summary = dataclasses.replace(pair.analysis.summaries[0], variant=variant)
    analysis = dataclasses.replace(pair.analysis, summaries=(summary,), comparisons=())
    Report(analysis, pair.campaign).export(tmp_path / "out", ["csv"])
    rows = [row for path in (tmp_path / "out").glob("*.csv") for row in csv.reader(path.open(encoding="utf-8"))]
    texts = [cell for row in rows for cell in row if "HYPERLINK" in cell]
    assert texts
    assert not [cell for cell in texts if cell.startswith(("=", "+", "-", "@", "\t"))]


def test_plain_keeps_what_people_write() -> None:
    assert plain("Größe 你好 👩‍💻\n\ttab\r\nend") == "Größe 你好 👩‍💻\n\ttab\nend"
    assert plain("a\rb\x1b\u2066c") == "a\ufffdb\ufffdc"


def test_names_are_told_apart_by_what_they_do_not_share() -> None:
    assert apart(["pool size 16M, users 3", "pool size 64M, users 3"]) == ["…16M, users 3", "…64M, users 3"]
    for kept in (["gp2", "gp3"], ["one volume"], [], ["same", "same"], ["pool", "pool size"]):
        assert apart(kept) == kept


def test_shorten_keeps_both_ends() -> None:
    assert shorten("unchanged", 9) == "unchanged"
    cut = shorten("workload.transaction = whole-batch", 20)
    assert len(cut) <= 20
    assert cut.startswith("workload")
    assert cut.endswith("batch")
