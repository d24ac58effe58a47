"""The report as Markdown: the terminal's content, and text from outside is never markup."""

from __future__ import annotations

import re
from dataclasses import replace

from report_scenes import Scene

from fathom.finding import Finding, Severity
from fathom.report import Report
from fathom.report.build import build
from fathom.report.document import BuiltSection, Bullets, Cell, Claim, Column, Document, Paragraph, Table
from fathom.report.markdown import markdown


def test_every_scene_has_its_verdict_and_whole_tables(scene: Scene) -> None:
    text = Report(scene.analysis, scene.campaign).markdown()
    document = build(scene.analysis, scene.campaign)
    shown = [s for s in document.sections if not s.detail and not s.folded]
    for section in shown:
        for block in section.blocks:
            if isinstance(block, Table) and not block.collapsed:
                assert block.rows
                assert text.count("\n| ") >= len(block.rows) + 2
    for line in text.splitlines():
        if line.startswith("| "):
            assert line.endswith(" |")
    for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1, table


def test_text_from_outside_is_not_markup() -> None:
    evil = "<script>x</script> | [a](http://b) `c` **d** _e_ ![f](g)"
    table = Table("t", evil, (Column("a", evil),), ((Cell(evil, evil),),))
    blocks = (Paragraph(evil), Bullets((evil, "1. one", "- two")), table)
    text = markdown(Document(evil, evil, (evil,), (BuiltSection("s", evil, blocks),)))
    assert "<script" not in text.replace("\\<script", "")
    for mark in "<[`":
        assert re.findall(r"(?<!\\)" + re.escape(mark), text) == [], mark
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {2}
    assert "- 1\\. one" in text
    assert "- \\- two" in text


def test_folded_tables_stay_out(pair: Scene) -> None:
    document = build(pair.analysis, pair.campaign)
    folded = tuple(replace(section, folded=True) for section in document.sections)
    assert "|" not in markdown(replace(document, sections=folded)).replace("\\|", "")


def test_a_claim_tells_how_sure_it_is_and_what_would_refute_it() -> None:
    finding = Finding("D1", "the *log*", "The log waits", Severity.NOTE, 0.8, refuted_by="nobody waits")
    text = markdown(Document("t", "", (), (BuiltSection("s", "s", (Claim(finding),)),)))
    assert "**The log waits**" in text
    assert "- note, D1, the \\*log\\*, 80% sure" in text.replace("\u202f", "").replace("\u00a0", "").replace(
        "80 %", "80%"
    )
    assert "- Wrong if nobody waits." in text
