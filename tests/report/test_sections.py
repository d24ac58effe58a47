"""The registry of sections, and what sections may and may not do."""

from __future__ import annotations

import ast
import dataclasses
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
import report_scenes

from fathom.analysis.guard import Guard
from fathom.analysis.model import Estimate, Reserve, Sensitivity, Source, Verdict
from fathom.report.build import build
from fathom.report.context import INPUTS, Context
from fathom.report.document import Banner, Bullets, Findings, Paragraph, Table
from fathom.report.figures import figures
from fathom.report.section import sections
from fathom.report.style.drawing import text_width
from fathom.report.verdicts import brief

REPORT = Path(str(files("fathom.report")))
STATISTICS = {"scipy", "statsmodels", "statistics", "ruptures", "numpy", "random"}


def test_every_file_of_the_folder_is_a_section_with_a_place_of_its_own() -> None:
    found = sections()
    assert {section.name for section in found} == {p.stem for p in (REPORT / "sections").glob("*.py")} - {"__init__"}
    assert [section.order for section in found] == sorted({section.order for section in found})
    assert all(need in INPUTS for section in found for need in section.needs)
    assert len({section.title for section in found}) == len(found)


@pytest.mark.parametrize("path", sorted(REPORT.rglob("*.py")), ids=lambda path: path.name)
def test_the_report_computes_no_statistic(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not {name.split(".")[0] for name in imported} & STATISTICS
    assert "fathom.analysis.analyse" not in imported


def test_importing_the_report_loads_no_heavy_library() -> None:
    code = (
        "import sys; import fathom.report; from fathom.report.section import sections; sections();"
        "print([n for n in ('matplotlib', 'polars', 'jinja2', 'rich', 'numpy', 'scipy') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_names_of_tables_and_charts_are_unique(scene: report_scenes.Scene) -> None:
    document = build(scene.analysis, scene.campaign)
    for names in ([t.name for t in document.tables()], [c.name for c in document.charts()]):
        assert len(names) == len(set(names))
    for table in document.tables():
        assert {len(row) for row in table.rows} <= {len(table.columns)}
        assert len({column.key for column in table.columns}) == len(table.columns)


def banner(scene: report_scenes.Scene) -> Banner:
    found = build(scene.analysis, scene.campaign).sections[0].blocks[0]
    assert isinstance(found, Banner)
    return found


def claims(scene: report_scenes.Scene) -> list[str]:
    document = build(scene.analysis, scene.campaign)
    return [
        a.remedies[0].action for s in document.sections for b in s.blocks if isinstance(b, Findings) for a in b.items
    ]


@pytest.mark.parametrize("verdict", list(Verdict))
def test_each_verdict_has_a_sign_and_words_in_the_banner(pair: report_scenes.Scene, verdict: Verdict) -> None:
    changed = dataclasses.replace(pair.analysis.comparisons[0], verdict=verdict, more_rounds=7)
    scene = report_scenes.Scene(dataclasses.replace(pair.analysis, comparisons=(changed,)), pair.campaign)
    word = banner(scene).word
    assert word[1] == " "
    assert word[2:].startswith(verdict.value)
    assert ("7\u00a0more rounds" in word) == (verdict is Verdict.UNDECIDED)


def test_at_most_three_actions_with_exact_commands(scene: report_scenes.Scene) -> None:
    assert 1 <= len(claims(scene)) <= 3


def test_an_undecided_comparison_asks_for_rounds_in_all(pair: report_scenes.Scene) -> None:
    ratio = Estimate(1.01, 0.97, 1.05, 0.95, 5, "t interval")
    changed = dataclasses.replace(pair.analysis.comparisons[0], verdict=Verdict.UNDECIDED, more_rounds=7, ratio=ratio)
    analysis = dataclasses.replace(pair.analysis, comparisons=(changed,), steady=())
    document = build(report_scenes.advised(analysis, pair.campaign), pair.campaign)
    (actions,) = [b for s in document.sections for b in s.blocks if isinstance(b, Findings)]
    assert actions.items[0].remedies[0].commands == (
        "fathom run results/sample/study.toml --rounds 12 --seed 7 --out results/sample",
    )


@pytest.mark.parametrize("verdict", [Verdict.FASTER_SMALL, Verdict.SLOWER_SMALL, Verdict.EQUIVALENT])
def test_a_difference_within_the_margin_is_no_reason_to_choose(pair: report_scenes.Scene, verdict: Verdict) -> None:
    ratio = Estimate(1.005, 1.004, 1.006, 0.95, 5, "t interval")
    changed = dataclasses.replace(
        pair.analysis.comparisons[0], verdict=verdict, ratio=ratio, equivalence=ratio, margin=0.02
    )
    analysis = dataclasses.replace(pair.analysis, comparisons=(changed,), steady=())
    document = build(report_scenes.advised(analysis, pair.campaign), pair.campaign)
    (actions,) = [b for s in document.sections for b in s.blocks if isinstance(b, Findings)]
    assert actions.items[0].remedies[0].action == "Choose by price or simplicity, not by speed."


def test_failed_runs_are_shown_with_reason_and_command(tmp_path: Path) -> None:
    scene = report_scenes.failed(tmp_path)
    document = build(scene.analysis, scene.campaign)
    table = next(table for table in document.tables() if table.name == "failed-runs")
    # The cause of both is the same, and told once.
    assert [row[3].text for row in table.rows] == ["! no-space: no space was left", "! no-space"]
    assert "Remove the cause, then repeat the failed runs." in claims(scene)
    quality = next(section for section in document.sections if section.name == "quality").blocks
    assert Paragraph("3 of 10\u00a0planned runs finished, 2 failed, 5 not done yet.") in quality


def test_failed_runs_are_repeated_by_the_option_that_keeps_their_records(tmp_path: Path) -> None:
    scene = report_scenes.failed(tmp_path)
    document = build(report_scenes.advised(scene.analysis, scene.campaign), scene.campaign)
    (actions,) = [b for s in document.sections for b in s.blocks if isinstance(b, Findings)]
    assert list(actions.items[0].remedies[0].commands) == [
        "fathom run results/sample/study.toml --retry-failed --seed 3 --out results/sample",
    ]


def test_a_study_that_is_wrong_is_begun_anew(tmp_path: Path) -> None:
    scene = report_scenes.failed(tmp_path)
    runs = tuple(run if run.ok else dataclasses.replace(run, reason="settings") for run in scene.campaign.runs)
    campaign = dataclasses.replace(scene.campaign, runs=runs)
    document = build(report_scenes.advised(scene.analysis, campaign), campaign)
    (actions,) = [b for s in document.sections for b in s.blocks if isinstance(b, Findings)]
    remedy = actions.items[0].remedies[0]
    assert remedy.action.startswith("Correct your study, and begin a new campaign")
    assert not remedy.commands


def test_the_banner_and_the_action_are_about_the_winner(pair: report_scenes.Scene) -> None:
    better = pair.analysis.comparisons[0]
    worst = dataclasses.replace(
        better,
        variant={"volumes.data.kind": "sector"},
        verdict=Verdict.SLOWER,
        ratio=Estimate(0.3, 0.29, 0.31, 0.95, 5, "t interval"),
    )
    scene = report_scenes.Scene(dataclasses.replace(pair.analysis, comparisons=(better, worst)), pair.campaign)
    assert banner(scene).word == "▲ faster"
    assert ("Other comparisons", "1 slower") in banner(scene).facts
    assert claims(scene)[0] == "Choose write-back cache."


def test_equal_outcomes_of_several_comparisons_are_said_as_one(pair: report_scenes.Scene) -> None:
    one = dataclasses.replace(pair.analysis.comparisons[0], verdict=Verdict.UNDECIDED)
    two = dataclasses.replace(one, variant={"volumes.data.kind": "sector"}, verdict=Verdict.EQUIVALENT)
    for comparisons, word in (((one, one), "? undecided"), ((one, two), "? no difference shown")):
        scene = report_scenes.Scene(dataclasses.replace(pair.analysis, comparisons=comparisons), pair.campaign)
        assert banner(scene).word == word


def test_who_may_lose_data_is_named(pair: report_scenes.Scene) -> None:
    """Of a grid of variants and loads the headline need not say whose commits a crash takes."""
    lost = "a power cut may take the last second"
    one = dataclasses.replace(pair.analysis.comparisons[0], losses=(lost,))
    analysis = dataclasses.replace(pair.analysis, comparisons=(one,), headline="The arrivals fix the rate.")
    said = banner(report_scenes.Scene(analysis, pair.campaign)).rests_on
    assert f"Write-back cache may lose data: {lost}." in said


def test_what_every_variant_may_lose_is_beside_the_verdict_as_well(pair: report_scenes.Scene) -> None:
    lost = "fsync is off: a power cut may damage the database"
    analysis = dataclasses.replace(pair.analysis, shared_losses=(lost,))
    assert f"Every variant may lose data: {lost}." in banner(report_scenes.Scene(analysis, pair.campaign)).rests_on


def test_a_campaign_of_which_no_run_finished_has_no_tables_of_nothing(pair: report_scenes.Scene) -> None:
    said = "a password was refused"
    runs = tuple(
        dataclasses.replace(run, status="failed", reason="permission", message=said, metrics={})
        for run in pair.campaign.runs
    )
    campaign = dataclasses.replace(pair.campaign, runs=runs)
    document = build(pair.analysis, campaign)
    assert not [table.name for table in document.tables() if table.name in ("comparisons", "means")]
    (failed,) = [table for table in document.tables() if table.name == "failed-runs"]
    shown = [row[-1].text for row in failed.rows]
    assert shown == [said, *[f"as of run {failed.rows[0][0].value}"] * (len(runs) - 1)]
    assert {row[-1].value for row in failed.rows} == {said}, "exports have it in every row"


def test_the_verdict_of_a_chart_is_not_cut_where_it_hangs_on_an_assumption(pair: report_scenes.Scene) -> None:
    tried = (Sensitivity("disk", "disk at latency 3 ms", 0.5, flips=True),)
    plain = dataclasses.replace(pair.analysis.comparisons[0], guards=(), losses=(), sensitivity=tried)
    for verdict, said in (
        (Verdict.EQUIVALENT, "equivalent, on assumptions"),
        (Verdict.FASTER_SMALL, "faster, but small, on assumptions"),
    ):
        words = brief(dataclasses.replace(plain, verdict=verdict))
        assert words == said
        assert text_width(f"= {words}") <= 266


def test_the_verdict_of_a_chart_is_not_cut_where_rounds_are_missing(pair: report_scenes.Scene) -> None:
    found = dataclasses.replace(pair.analysis.comparisons[0], verdict=Verdict.UNDECIDED, more_rounds=92, guards=())
    worse = Guard("latency_p99_ms", 8.0, 40.0, 5.0, worse=True)
    for comparison, said in (
        (found, "undecided, about 92\u00a0more rounds"),
        (dataclasses.replace(found, guards=(worse,)), "undecided, at a price"),
    ):
        assert brief(comparison) == said
        assert text_width(f"? {said}") <= 266


def test_the_verdict_of_a_chart_tells_what_does_not_last(pair: report_scenes.Scene) -> None:
    end = Reserve({}, Source.CREDITS, 60.0, "lives on burst credits", "60 s more")
    plain = dataclasses.replace(pair.analysis.comparisons[0], guards=(), losses=(), reserves=(end, None))
    for verdict, said in (
        (Verdict.EQUIVALENT, "equivalent, on burst credits"),
        (Verdict.FASTER_SMALL, "faster, but small, on burst credits"),
    ):
        assert brief(dataclasses.replace(plain, verdict=verdict)) == said
        assert text_width(f"= {said}") <= 266


def test_a_load_is_not_a_setting_to_choose(tmp_path: Path) -> None:
    assert claims(report_scenes.sweep(tmp_path))[0].startswith("Keep the load at or below about 14")


def test_calibrated_cells_are_marked_and_listed(tmp_path: Path) -> None:
    scene = report_scenes.cells(tmp_path)
    section = next(s for s in build(scene.analysis, scene.campaign).sections if s.name == "predictions")
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    place = [column.key for column in table.columns].index("standing")
    assert [row[place].value for row in table.rows].count("calibrated") == 1
    assert [row[place].value for row in table.rows].count("prediction") == 6
    assert Bullets(scene.analysis.calibrated_on) in section.blocks


def test_a_gap_in_the_samples_is_reported(pair: report_scenes.Scene) -> None:
    quality = next(s for s in build(pair.analysis, pair.campaign).sections if s.name == "quality").blocks
    said = [item for block in quality if isinstance(block, Bullets) for item in block.items]
    assert "plain, round 4: 1\u00a0gap in the samples" in said


def test_missing_numbers_are_dashes_on_screen_and_nothing_in_exports(tmp_path: Path) -> None:
    scene = report_scenes.failed(tmp_path)
    table = next(t for t in build(scene.analysis, scene.campaign).tables() if t.name == "runs")
    place = [column.key for column in table.columns].index("iops")
    assert [(row[place].text, row[place].value) for row in table.rows if row[3].value == "failed"] == [("–", None)] * 2


def test_variants_are_ordered_baseline_first(pair: report_scenes.Scene) -> None:
    context = Context(pair.analysis, pair.campaign)
    assert [context.label(variant) for variant in context.variants] == ["plain", "write-back cache"]
    assert [run.round for run in context.runs(context.variants[0])] == [1, 2, 3, 4, 5]
    with pytest.raises(KeyError):
        context.has("nonsense")


def test_quick_figures_carry_a_warning(pair: report_scenes.Scene) -> None:
    campaign = dataclasses.replace(pair.campaign, quick=True)
    caveat = build(pair.analysis, campaign).sections[0].blocks[1]
    assert isinstance(caveat, Paragraph)
    assert "no figure to rely on" in caveat.text


def test_nothing_but_failures_is_a_report_too(tmp_path: Path) -> None:
    scene = report_scenes.failed(tmp_path)
    runs = tuple(run for run in scene.campaign.runs if not run.ok)
    analysis = dataclasses.replace(scene.analysis, summaries=(), comparisons=())
    only = report_scenes.Scene(analysis, dataclasses.replace(scene.campaign, runs=runs))
    assert banner(only).word == "! no result"


def test_a_mean_rate_between_burst_and_what_is_sustained_met_the_credits(pair: report_scenes.Scene) -> None:
    context = Context(pair.analysis, pair.campaign)
    variant = context.variants[0]
    reserve = Reserve(variant, Source.CREDITS, 0.0, "", "spent after 33 min of the measured time, then 300 IOPS")
    spent = Context(dataclasses.replace(pair.analysis, reserves=(reserve,)), pair.campaign)
    for known, words in ((context, "none that is stated"), (spent, f"burst credits: {reserve.brief}")):
        table = next(block for block in figures(known) if isinstance(block, Table) and block.name == "figures")
        (row,) = (row for row in table.rows if row[0].text == context.label(variant))
        assert row[-1].text == words
