"""The report in the terminal: golden files, and meaning that does not hang on colour."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
import report_scenes
from rich.console import Console

from fathom.finding import Remedy
from fathom.report import Report

GOLDEN = Path(__file__).parent / "golden"


def printed(scene: report_scenes.Scene, **options: object) -> str:
    console = Console(file=io.StringIO(), width=120, **options)  # type: ignore[arg-type]
    Report(scene.analysis, scene.campaign).print(console)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", sorted(report_scenes.SCENES))
def test_the_terminal_shows_what_the_golden_file_holds(name: str, tmp_path: Path, update_golden: bool) -> None:
    text = "\n".join(line.rstrip() for line in printed(report_scenes.SCENES[name](tmp_path)).splitlines()) + "\n"
    place = GOLDEN / f"{name}.txt"
    if update_golden:
        place.parent.mkdir(exist_ok=True)
        place.write_text(text, encoding="utf-8")
    assert text == place.read_text(encoding="utf-8"), "pytest tests/report --update-golden rewrites it"


def test_colour_adds_nothing_to_the_words(scene: report_scenes.Scene) -> None:
    coloured = printed(scene, force_terminal=True, color_system="truecolor")
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == printed(scene)


def test_a_narrow_terminal_gets_lists_instead_of_broken_words(pair: report_scenes.Scene) -> None:
    console = Console(file=io.StringIO(), width=40)
    Report(pair.analysis, pair.campaign).print(console)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    settings = tuple(f"     {line}" for one in pair.analysis.findings for r in one.remedies for line in r.commands)
    assert max(len(line) for line in lines if not line.startswith(settings)) <= 40
    assert {"  Verdict: ▲ faster", "  Ratio: 1.24\u00a0×", "  Interval: 1.23 to 1.26"} <= set(lines)


def test_a_command_stays_one_line_to_copy(pair: report_scenes.Scene) -> None:
    command = f"fathom run {'long/' * 30}study.toml --rounds 5 --out again"
    finding = replace(pair.analysis.findings[0], remedies=(Remedy("Repeat it.", (command,)),))
    console = Console(file=io.StringIO(), width=80)
    Report(replace(pair.analysis, findings=(finding,)), pair.campaign).print(console)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert f"     {command}" in lines
    assert max(len(line) for line in lines if command not in line) <= 80


def test_what_looks_beyond_the_plan_cost_is_told_on_the_first_screen(tmp_path: Path) -> None:
    scene = report_scenes.SCENES["pair"](tmp_path)
    told = "looked at beyond the plan, so that chance shows a difference in 6.6 % of equal pairs"
    assert told not in printed(scene)
    looked = replace(scene, analysis=replace(scene.analysis, false_alarms=0.066))
    assert told in " ".join(printed(looked).split())
