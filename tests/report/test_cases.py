"""Questions a new user asks, from study to headline and advice: what the first screen says must not mislead.

Every case is simulated, so that its figures are the same everywhere; the golden files hold the first screen.
"""

from __future__ import annotations

import dataclasses
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from fathom import sensitivity
from fathom.analysis.analyse import analyse
from fathom.analysis.model import DECIDED, Analysis
from fathom.cli.output import plain
from fathom.compare import merge
from fathom.engine import core
from fathom.plan import plan
from fathom.report import Report
from fathom.report.context import Context
from fathom.report.document import Table
from fathom.report.plain import map_strings
from fathom.report.sections import verdict
from fathom.results import Campaign, read
from fathom.run import Options, execute
from fathom.study import load
from pipeline.fake import Notes

HERE = Path(__file__).parent
STUDIES = HERE.parent.parent / "studies"
CASES = {path.stem: (path, False) for path in sorted((HERE / "cases").glob("*.toml"))} | {
    name: (STUDIES / f"{name}.toml", True) for name in ("hci-profiles", "write-back-cache-raw")
}

TRIED = {"assumption", "averaged", "goals-volumes"}
"""Cases in which the ends of what the models assume are simulated, too."""


@pytest.fixture(scope="session")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Campaign, Analysis]]:
    """A case by name, simulated once."""
    known: dict[str, tuple[Campaign, Analysis]] = {}

    def get(name: str) -> tuple[Campaign, Analysis]:
        if name not in known:
            path, quick = CASES[name]
            engine, notes = core(), Notes()
            options = Options(tmp_path_factory.mktemp(name) / "campaign", anonymous=True)
            wanted = plan(load(path, engine, clock="virtual", quick=quick))
            found = execute(wanted, options, engine, notes)
            if name in TRIED:
                tries = sensitivity.missing(wanted, found)
                found = sensitivity.carry_out(wanted, tries, options, engine, print)
            # What is left to do is told as time on the wall, which is this machine's: a minute a run everywhere.
            found = dataclasses.replace(found, runs=tuple(dataclasses.replace(r, seconds=60.0) for r in found.runs))
            # The terminal wraps commands: with a path of this run in them they would break elsewhere in the next one.
            found = dataclasses.replace(found, directory=Path("DIR"))
            known[name] = found, analyse(found)
        return known[name]

    return get


def first_screen(campaign: Campaign, analysis: Analysis) -> str:
    """The verdict and the advice as the terminal shows them, without what differs from run to run."""
    console = Console(file=io.StringIO(), width=100)
    # Before lines are broken: the directory's length differs from run to run as well.
    placeless = map_strings(analysis, lambda said: said.replace(str(campaign.directory), "DIR"))
    Report(placeless, campaign).print(console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    kept = re.split(r"^(Comparisons and means|Means|The evidence at a glance)\s*$", text, flags=re.MULTILINE)[0]
    lines = [line.rstrip() for line in kept.splitlines()]
    return "\n".join(line for line in lines if "simulated in virtual time" not in line and "UTC" not in line) + "\n"


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_first_screen_says_what_the_golden_file_holds(
    name: str, outcome: Callable[[str], tuple[Campaign, Analysis]], update_golden: bool
) -> None:
    text = first_screen(*outcome(name))
    place = HERE / "golden" / "cases" / f"{name}.txt"
    if update_golden:
        place.write_text(text, encoding="utf-8")
    assert text == place.read_text(encoding="utf-8"), "pytest tests/report --update-golden rewrites it"


def test_a_worse_tail_and_a_cache_that_can_be_lost_are_no_choice(
    outcome: Callable[[str], tuple[Campaign, Analysis]],
) -> None:
    _, found = outcome("cache-tail")
    assert "p99 latency is" in found.headline
    assert "worse" in found.headline
    assert "loss of the cache device" in found.headline
    assert found.findings[0].rule == "trade-off"
    assert not any(remedy.action.startswith("Choose") for finding in found.findings for remedy in finding.remedies)


def test_a_larger_transaction_is_no_slower_one(outcome: Callable[[str], tuple[Campaign, Analysis]]) -> None:
    _, found = outcome("batch")
    assert "worse" not in found.headline
    assert "but a transaction of all rows takes" in found.headline
    assert found.findings[0].rule == "trade-off"
    assert any("One for every 100 rows gains" in one.sentence for f in found.findings for one in f.evidence)


def test_a_weaker_durability_is_a_price(outcome: Callable[[str], tuple[Campaign, Analysis]]) -> None:
    _, found = outcome("durability")
    assert found.comparisons[0].losses == (
        "in WAL mode a power cut may take the commits since the last checkpoint; the database stays whole",
    )
    assert found.findings[0].rule == "trade-off"


def test_an_overloaded_volume_gets_no_ratio(outcome: Callable[[str], tuple[Campaign, Analysis]]) -> None:
    _, found = outcome("overload")
    assert "Gp3 cannot sustain 8,000/s" in found.headline or "gp3 cannot sustain 8,000/s" in found.headline
    assert [c.ratio for c in found.comparisons if c.verdict == "overloaded"] == [None]


def test_a_sweep_is_about_its_saturation_point(outcome: Callable[[str], tuple[Campaign, Analysis]]) -> None:
    _, found = outcome("saturation")
    assert "saturates at about" in found.headline
    assert not any(finding.rule == "choice" for finding in found.findings)


def test_a_verdict_that_hangs_on_a_guess_says_so(outcome: Callable[[str], tuple[Campaign, Analysis]]) -> None:
    _, found = outcome("assumption")
    assert found.comparisons[0].flipped
    assert not any(finding.rule == "choice" for finding in found.findings)
    assert any(finding.rule == "assumption" for finding in found.findings)
    assert found.headline.endswith(" This holds only if the assumptions hold."), "`fathom list` shows nothing else"


def test_a_ratio_of_three_decades_keeps_its_digits_and_a_load_is_no_choice(
    outcome: Callable[[str], tuple[Campaign, Analysis]],
) -> None:
    _, found = outcome("far-apart")
    assert "2,000 × slower" in found.headline
    assert "but p99" not in found.headline, "a loss has no price"
    shown = Report(found, outcome("far-apart")[0]).markdown()
    assert "0.00050" in shown
    assert "0.00 " not in shown
    chosen = [line for finding in found.findings for remedy in finding.remedies for line in remedy.commands]
    assert chosen == ['place = "near"']


def test_an_undecided_question_says_how_long_an_answer_takes(
    outcome: Callable[[str], tuple[Campaign, Analysis]],
) -> None:
    _, found = outcome("undecided")
    more = found.comparisons[0].more_rounds
    assert more is not None
    assert found.comparisons[0].verdict == "undecided"
    assert f"about {more} rounds more needed ({2 * more} min)" in found.headline
    _, early = outcome("two-rounds")
    assert "two rounds are too few to tell how many are missing; run 3 more (6 min)" in early.headline


def test_a_factor_with_one_level_is_said_once(outcome: Callable[[str], tuple[Campaign, Analysis]]) -> None:
    campaign, found = outcome("undecided-several")
    assert "size 8KiB in each" in Report(found, campaign).document.facts
    assert "8KiB" not in found.headline


def test_what_fluctuates_within_every_run_may_be_compared(outcome: Callable[[str], tuple[Campaign, Analysis]]) -> None:
    _, found = outcome("checkpoints")
    assert [state.steady for state in found.steady] == [False] * 6
    (comparison,) = found.comparisons
    assert comparison.verdict == "faster"
    assert comparison.ratio is not None
    # Six servers for four; what stands still does so for both.
    assert comparison.ratio.low < 1.5 < comparison.ratio.high
    assert [finding.rule for finding in found.findings] == ["choice", "fluctuation"]


def test_each_baseline_stands_with_all_that_is_compared_with_it(
    outcome: Callable[[str], tuple[Campaign, Analysis]],
) -> None:
    campaign, found = outcome("loads")
    context = Context(found, campaign)
    stood = [(str(variant["workload.rate"]), str(variant["cache"])) for variant in context.variants]
    caches = ("none", "2 GiB", "8 GiB")
    assert stood == [(rate, cache) for rate in ("1000", "2000", "4000", "8000") for cache in caches]
    # Where the load is an axis there is one name for each thing compared, and it does not speak of a load.
    assert list(dict.fromkeys(context.thing(variant).label for variant in context.variants)) == [
        "no cache", "cache 2 GiB", "cache 8 GiB"
    ]  # fmt: skip


def test_only_variants_with_the_model_are_tried_at_the_ends_of_its_range(
    outcome: Callable[[str], tuple[Campaign, Analysis]],
) -> None:
    campaign, _ = outcome("loads")
    wanted = plan(load(CASES["loads"][0], core(), clock="virtual"))
    tries = sensitivity.missing(wanted, campaign)
    caches = {one.volumes: {o.run.variant["cache"] for o in tries if o.volumes == one.volumes} for one in tries}
    assert caches == {("ebs",): {"none", "2 GiB", "8 GiB"}, ("nvme",): {"2 GiB", "8 GiB"}}


STRIPE = """
title = "A stripe of two gp3 against one"
volumes.a = { kind = "model", model = "aws/gp3", size = "250GiB", slack = "0s" }
volumes.b = { kind = "model", model = "aws/gp3", size = "250GiB", slack = "0s" }
volumes.stripe = { kind = "stripe", members = ["a", "b"] }
volumes.one = { kind = "model", model = "aws/gp3", size = "500GiB", iops = 6000, throughput = "250MiB/s", slack = "0s" }
factors.storage = ["stripe", "one"]
sets.storage = { stripe = { "workload.volumes" = ["stripe"] }, one = { "workload.volumes" = ["one"] } }
workload = { kind = "io", size = "8KiB", rate = 4000, ramp = "500ms", duration = "2s" }
compare = { metric = "latency_ms", baseline = { storage = "stripe" }, rounds = 2 }
"""


def test_all_volumes_of_a_model_are_at_the_same_end(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STRIPE)
    engine, options = core(), Options(tmp_path / "c", anonymous=True)
    wanted = plan(load(tmp_path / "study.toml", engine, clock="virtual"))
    tries = sensitivity.missing(wanted, execute(wanted, options, engine, Notes()))
    assert [(one.model, one.end, one.volumes) for one in sorted(tries, key=lambda one: (one.end, one.volumes))] == [
        ("aws/gp3", end, volumes) for end in ("high", "low") for volumes in (("a", "b"), ("one",))
    ]
    found = sensitivity.carry_out(wanted, tries, options, engine, print)
    assert sensitivity.missing(wanted, found) == []
    (comparison,) = analyse(found).comparisons
    assert [one.words for one in comparison.sensitivity] == [
        "aws/gp3 (a, b and one) at latency 500 us, log-normal sigma 0.25",
        "aws/gp3 (a, b and one) at latency 3 ms, log-normal sigma 0.7",
    ]
    assert not comparison.flipped, "one gp3 in place of two of the same latency has the same answer at each end"
    (said,) = analyse(found).assumptions
    assert said.startswith("aws/gp3 (a, b and one): latency 1 ms (500 us to 3 ms)")
    # What an older Fathom tried, a volume by itself, is tried again.
    for record in (options.directory / "sensitivity").glob("*/run.json"):
        facts = json.loads(record.read_text())
        record.write_text(json.dumps({**facts, "assumed": [facts["assumed"][2][0], facts["assumed"][1]]}))
    assert read(options.directory).sensitivity == ()


def test_a_study_without_comparison_gives_its_figures(outcome: Callable[[str], tuple[Campaign, Analysis]]) -> None:
    campaign, found = outcome("plain")
    said = first_screen(campaign, found)
    assert "Simulated" in said
    assert "measured" not in said.lower()
    assert all(word in said for word in ("3,000 IOPS", "MB/s", "p50", "p95", "p99.9", "gp3: 3,000 IOPS"))


def test_failed_checks_of_a_model_are_in_its_headline(outcome: Callable[[str], tuple[Campaign, Analysis]]) -> None:
    _, found = outcome("hci-profiles")
    assert "0 of 2 independent checks held" in found.headline


def test_a_figure_that_its_unit_does_not_name_has_its_name(outcome: Callable[[str], tuple[Campaign, Analysis]]) -> None:
    _, found = outcome("named")
    assert ". p99 latency 2.60 ms, 1,486 IOPS" in found.headline, "after its goals"


def test_a_sweep_does_not_hide_checks_that_failed(outcome: Callable[[str], tuple[Campaign, Analysis]]) -> None:
    _, found = outcome("published-sweep")
    assert "saturates at about" in found.headline
    assert "2 of 3 independent checks held" in found.headline


def test_goals_are_in_the_first_card_of_every_form(
    outcome: Callable[[str], tuple[Campaign, Analysis]], tmp_path: Path
) -> None:
    campaign, found = outcome("goals-sizes")
    report, said = Report(found, campaign), "✓ cache 2 GiB meets the goals"
    assert found.headline.startswith("Cache 2 GiB is the smallest that meets the goals at every load")
    assert said in first_screen(campaign, found)
    assert f"**{said}**" in report.markdown()
    page = report.page(tmp_path / "report.html").read_text(encoding="utf-8")
    assert said in page.split('class="banner')[1].split("<dl>")[0]
    assert plain(found)["decision"]["goals"]["chosen"] == {"cache": "2 GiB"}
    assert found.findings[0].remedies[0].action == "Weigh cache 2 GiB against its price: it meets the goals."


def test_the_price_of_who_meets_the_goals_is_told_where_two_places_are_compared(
    outcome: Callable[[str], tuple[Campaign, Analysis]], tmp_path: Path
) -> None:
    """Both places may lose the same, so that no comparison of one with the other has a price."""
    campaign, _ = outcome("goals-sizes")
    merged = merge(campaign, dataclasses.replace(campaign, directory=tmp_path / "there"))
    found = analyse(merged)
    assert not any(comparison.losses for comparison in found.comparisons)
    report, said = Report(found, merged), "may lose data: the loss of the cache device takes"
    assert said in " ".join(first_screen(merged, found).replace("│", " ").split())
    assert said in report.markdown()
    assert said in report.page(tmp_path / "report.html").read_text(encoding="utf-8").split("</section>")[0]
    assert "What may be lost" in (found.findings[0].harm or "")


def test_a_goal_that_hangs_on_a_guess_is_not_settled_on(outcome: Callable[[str], tuple[Campaign, Analysis]]) -> None:
    _, found = outcome("goals-volumes")
    assert found.decision.goals is not None
    assert [volume for volume, variant, _ in found.decision.goals.flips if variant == {"volume": "gp2"}] == ["gp2"]
    assert found.findings[0].remedies[0].action.startswith("Do not settle on gp2 yet")


def test_the_smallest_that_carries_the_load_is_chosen(outcome: Callable[[str], tuple[Campaign, Analysis]]) -> None:
    _, found = outcome("goals-overload")
    assert found.headline.startswith("6,000 IOPS is the smallest that meets the goals; 3,000 IOPS and 4,500 IOPS miss")
    assert "6,000 IOPS and 9,000 IOPS sustain it." in found.headline
    assert found.findings[0].remedies[0].action == "Choose 6,000 IOPS: it meets the goals."


def test_loads_leave_one_limit_for_each_variant_and_room_for_what_is_assumed(
    outcome: Callable[[str], tuple[Campaign, Analysis]],
) -> None:
    _, found = outcome("loads")
    assert "not comparable" not in found.headline
    assert [finding.rule for finding in found.findings[:3]] == ["trade-off", "overload", "cache-filling"]
    told = found.decision.leading
    assert told is not None
    size = told.variant["cache"]
    assert found.headline.startswith(f"Cache {size}: p99 latency is")
    assert f"cache {size}" in found.findings[0].remedies[0].action, "headline and advice are about one size"


def test_the_range_of_what_is_assumed_holds_the_estimate_and_says_what_was_not_tried(
    outcome: Callable[[str], tuple[Campaign, Analysis]],
) -> None:
    campaign, found = outcome("averaged")
    said = " ".join(first_screen(campaign, found).replace("│", " ").split())
    low, high = (float(end) for end in re.findall(r"the verdict stays: ([0-9.]+) to ([0-9.]+) ×", said)[0])
    told = found.decision.leading
    assert told is not None
    assert told.ratio is not None
    assert low - 0.01 <= told.ratio.value <= high + 0.01
    assert "Reads and writes at opposite ends were not tried." in said
    assert "verdict holds" not in said


def test_what_arrivals_without_an_answer_flatter_is_a_lower_bound(
    outcome: Callable[[str], tuple[Campaign, Analysis]],
) -> None:
    campaign, found = outcome("unanswered")
    said = " ".join(first_screen(campaign, found).replace("│", " ").split())
    assert "of the arrivals got no answer; ≥ marks what that flatters" in said
    assert "write ≥" in said


def test_what_burst_credits_made_is_not_chosen_by_price(outcome: Callable[[str], tuple[Campaign, Analysis]]) -> None:
    _, found = outcome("burst-credits")
    (comparison,) = found.comparisons
    assert comparison.verdict == "equivalent"
    assert "but gp2 lives on burst credits: 3,000 IOPS for 33 min more, then 300 IOPS" in found.headline
    assert [finding.rule for finding in found.findings] == ["alike", "burst-credits", "assumption"]
    assert found.findings[0].remedies[0].action == "Prefer gp3 for a load that lasts: it needs no burst credits."


def test_the_grid_has_the_values_of_the_sentence(outcome: Callable[[str], tuple[Campaign, Analysis]]) -> None:
    campaign, found = outcome("loads")
    grid = next(table for table in verdict.build(Context(found, campaign)) if isinstance(table, Table))
    assert grid.note.startswith("Geometric means over the rounds")
    cells = {cell.value for row in grid.rows for cell in row}
    compared = [c.values for c in found.comparisons if c.values is not None and c.verdict in DECIDED]
    assert compared
    assert all(
        any(cell == pytest.approx(value) for cell in cells if isinstance(cell, float)) for c in compared for value in c
    )
