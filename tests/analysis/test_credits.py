"""Burst credits: who lives on them, how long they last, and what is said of it."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import polars as pl
import pytest

from analysis.conftest import FACTOR, make_campaign, make_run, stated
from fathom.analysis.analyse import analyse
from fathom.analysis.model import Analysis, Reserve
from fathom.analysis.reserves import all_reserves, reserves_of
from fathom.results import Run

_NOISE = {"slow": (0, 1, 3, 0, 2, 1), "fast": (0, 2, 1, 3, 0, 2), "small": (0, 1, 0, 2, 3, 1)}
"""IOPS added, by the round."""


def run(name: str, number: int, iops: float, facts: dict[str, str], *, size: int = 8192) -> Run:
    """A run of 100 s on one volume."""
    count = int(iops * 50)
    node = {"kind": "throttle", **{kind: {"count": count, "bytes": count * size} for kind in ("read", "write")}}
    made = make_run(
        {FACTOR: name}, number, {"iops": iops + _NOISE[name][number], "latency_p99_ms": 1.0, "elapsed_s": 100.0}
    )
    return dataclasses.replace(made, volumes={"disk": node}, facts=facts, measured_s=100.0)


def credits(left: float, *, limit: float = 300.0, word: str = "iops", name: str = "io_credits") -> dict[str, str]:
    return {f"volumes.disk.{word}_limit": str(limit), f"volumes.disk.{name}": str(left)}


def lived_on(runs: list[Run], study: Any) -> tuple[Reserve, ...]:
    return all_reserves(runs, reserves_of(runs, study))


def compared(slow: dict[str, str], fast: dict[str, str], rates: tuple[float, float]) -> Analysis:
    sides = (("slow", rates[0], slow), ("fast", rates[1], fast))
    runs = [run(name, number, rate, facts) for name, rate, facts in sides for number in range(1, 6)]
    whole = make_campaign({"slow": []}, metric="iops", compare={"rounds": 5}, extra_runs=runs)
    return analyse(dataclasses.replace(whole, planned=len(runs)))


@pytest.mark.parametrize(
    ("iops", "facts", "words"),
    [
        (3000.0, credits(5_400_000), "lives on burst credits: 3,000 IOPS for 33 min more, then 300 IOPS"),
        (400.0, credits(1e6), "lives on burst credits: 400 IOPS for 2.8 h more, then 300 IOPS"),
        (3000.0, credits(0), "spent its burst credits within the run and does 300 IOPS without them"),
        (
            6400.0,
            credits(1e9, limit=40e6, word="bytes_per_s", name="byte_credits"),
            "lives on burst credits: 52.4 MB/s for 80 s more, then 40 MB/s",
        ),
        (301.0, credits(5_400_000), None),
        (200.0, credits(5_400_000), None),
        (3000.0, {"volumes.disk.iops_limit": "3000"}, None),
        (3000.0, {"volumes.disk.iops_limit": "unlimited", "volumes.disk.io_credits": "9"}, None),
    ],
)
def test_credits_last_as_long_as_they_pay_for_the_rest(iops: float, facts: dict[str, str], words: str | None) -> None:
    found = [one.words for one in lived_on([run("fast", 1, iops, facts)], {})]
    assert found == ([] if words is None else [words])


@pytest.mark.parametrize(("offered", "words"), [(303.0, "300 IOPS"), (300.0, None), (290.0, None)])
def test_an_open_loop_hardly_above_what_is_earned_lasts_long_and_not_for_ever(
    offered: float, words: str | None
) -> None:
    made = dataclasses.replace(run("fast", 1, offered - _NOISE["fast"][1], credits(5_400_000)), variant={FACTOR: "a"})
    study = {"variants": [stated({FACTOR: "a"}, demand={"rate": offered})]}
    found = lived_on([made], study)
    assert [one.words for one in found] == ([] if words is None else [
        f"lives on burst credits: 303 IOPS for 21 days more, then {words}"
    ])  # fmt: skip


def test_of_many_requests_less_is_no_chance() -> None:
    facts = credits(10_000_000, limit=130_000.0)
    falling, _ = sampled([131_500.0] * 10, [2e7 - 15_000 * at for at in range(10)])
    level, _ = sampled([131_500.0] * 10, [2e7] * 10)
    said = [lived_on([dataclasses.replace(one, facts=facts)], {}) for one in (falling, level)]
    assert ["lives on burst credits: 131,500 IOPS for" in one.words for one in said[0]] == [True]
    assert said[1] == ()


def sampled(rates: list[float], levels: list[float], *, cost: float = 1.0, phases: Any = None) -> tuple[Run, Any]:
    """A run of intervals of 10 s on a volume that sustains 20 I/Os a second, with the credits left after each."""
    rows = [
        {"t_s": 10.0 * at, "seconds": 10.0, "phase": "measure", "node": node, "op": op, "count": int(count),
         "bytes": int(size), "latency_mean_ns": 1e6, "outstanding_mean": 1.0}
        for at, (rate, level) in enumerate(zip(rates, levels, strict=True))
        for node, op, count, size in (
            ("workload", "read", 10 * rate, 655360 * rate),
            ("disk", "read", 10 * rate, 655360 * rate),
            ("disk", "io_credits", 1, level),
        )
    ]  # fmt: skip
    length, mean = 10.0 * len(rates), sum(rates) / len(rates)
    made = make_run({FACTOR: "a"}, 1, {"iops": mean}, samples=pl.DataFrame(rows))
    node = {"kind": "throttle", "read": {"count": int(mean * length), "bytes": int(mean * length * 65536)}}
    made = dataclasses.replace(
        made, volumes={"disk": node}, facts=credits(levels[-1], limit=20.0), measured_s=length, status="ok"
    )
    workload = {"kind": "io", **({"phases": phases} if phases else {})}
    study = {"variants": [stated({FACTOR: "a"}, settings={"workload": workload})]}
    return made, study


def test_merged_requests_cost_less_than_a_credit_each() -> None:
    """1,600 reads of 64 KiB a second are 100 I/Os: 80 credits a second are lost, and 320 reads remain."""
    made, study = sampled([1600.0] * 6, [8000.0 - 800 * at for at in range(6)])
    (found,) = lived_on([made], study)
    assert found.words == "lives on burst credits: 1,600 IOPS for 50 s more, then 320 IOPS"
    assert found.whole_s == 110.0


@pytest.mark.parametrize(
    ("rates", "levels"),
    [
        ([1.0] * 6, [6000.0, 5999, 6000, 5998, 6000, 5999]),
        # A burst at the end, and 400 credits that a full bucket did not earn before it.
        ([0.0, 0, 0, 10, 0, 60], [6000.0, 6000, 6000, 6000, 6000, 5600]),
    ],
)
def test_credits_that_a_full_bucket_does_not_earn_are_no_cost(rates: list[float], levels: list[float]) -> None:
    made, study = sampled(rates, levels)
    assert lived_on([made], study) == ()


def test_what_a_request_costs_is_told_by_intervals_in_which_the_bucket_was_not_full() -> None:
    """Full for 40 s, then 15 requests a second of two credits each."""
    made, study = sampled([0.0] * 4 + [45.0] * 8, [6000.0] * 4 + [6000.0 - 700 * at for at in range(1, 9)])
    (found,) = lived_on([made], study)
    assert found.words == "lives on burst credits: 30 IOPS for 10 s more, then 10 IOPS"


def test_credits_of_an_instance_last_as_long_as_the_catalogue_assumes() -> None:
    """Its vendor promises half an hour a day; a volume's vendor says how the credits come back."""
    made = run("fast", 1, 3000.0, credits(5_400_000))
    for settings, more in (
        ({"kind": "throttle", "model": "aws/r6i.large"}, "33 min more at the assumed refill"),
        ({"kind": "model", "model": "aws/gp2"}, "33 min more"),
    ):
        known = {"variants": [stated(made.variant, settings={"volumes": {"disk": settings}})]}
        (found,) = lived_on([made], known)
        assert found.words == f"lives on burst credits: 3,000 IOPS for {more}, then 300 IOPS"
        assert found.brief == f"{more}, then 300 IOPS"
        assumed = "disk: burst credits that come back at the unused baseline"
        assert found.assumed == (assumed if "assumed" in more else "")


def test_each_phase_is_judged_by_itself() -> None:
    phases = [
        {"name": "night", "duration": "30s"}, {"name": "peak", "duration": "30s"}, {"name": "after", "duration": "60s"},
    ]  # fmt: skip
    levels = [6000.0, 6000, 6000, 5200, 4400, 3600, 3800, 4000, 4200, 4400, 4600, 4800]
    made, study = sampled([0.0] * 3 + [100.0] * 3 + [0.0] * 6, levels, phases=phases)
    (found,) = lived_on([made], study)
    assert found.words == "lives on burst credits in phase peak: 100 IOPS for 45 s more, then 20 IOPS"
    assert found.phase == "peak"


def test_credits_that_run_out_are_no_warm_up() -> None:
    rates = [100.0] * 20 + [20.0] * 40
    levels = [max(0.0, 16_000.0 - 800 * (at + 1)) for at in range(60)]
    made, study = sampled(rates, levels)
    (found,) = lived_on([made], study)
    assert found.words == "spent its burst credits after 3.3 min of the measured time and does 20 IOPS without them"
    whole = make_campaign({"a": []}, study={"compare": None, **study}, extra_runs=[made])
    analysis = analyse(dataclasses.replace(whole, planned=1))
    assert any("Burst credits ran out while 1 run measured" in text for text in analysis.warnings)
    assert not any("warmed up" in text or "fluctuat" in text for text in analysis.warnings)
    assert not any(one.rule == "fluctuation" for one in analysis.findings)


def test_a_faster_variant_on_credits_is_a_trade_off() -> None:
    found = compared({}, credits(5_400_000), (2000.0, 3000.0))
    first = found.findings[0]
    assert "but it lives on burst credits: 3,000 IOPS for 33 min more, then 300 IOPS" in found.headline
    assert (first.rule, first.severity) == ("trade-off", "warning")
    assert first.remedies[0].action == "Weigh the gain of fast against its price."
    (burst,) = (one for one in found.findings if one.rule == "burst-credits")
    assert burst.remedies[0].commands == ('workload.ramp = "37min"',)


@pytest.mark.parametrize(
    ("slow", "fast", "action"),
    [
        ({}, credits(5e6), "Prefer slow for a load that lasts: it needs no burst credits."),
        (credits(5e6), {}, "Prefer fast for a load that lasts: it needs no burst credits."),
        (credits(5e6), credits(6e6), "Do not choose by this: both do more than they sustain."),
        ({}, {}, "Choose by price or simplicity, not by speed."),
    ],
)
def test_variants_that_are_alike_while_credits_last_are_not_chosen_by_price(
    slow: dict[str, str], fast: dict[str, str], action: str
) -> None:
    found: Any = compared(slow, fast, (3000.0, 3000.0)).findings[0]
    assert (found.rule, found.remedies[0].action) == ("alike", action)
    assert (found.severity == "good") is (not slow and not fast)


@pytest.mark.parametrize(
    ("facts", "action", "said"),
    [
        (
            ({}, credits(5.4e6), credits(7e6)),
            "Prefer slow for a load that lasts: it needs no burst credits.",
            "but fast and small do so on burst credits (33 min more, then 300 IOPS)",
        ),
        (
            ({}, {}, credits(5.4e6)),
            "Prefer slow or fast for a load that lasts: they need no burst credits.",
            "but small does so on burst credits (33 min more, then 300 IOPS)",
        ),
        (
            (credits(5.4e6), credits(7e6), credits(7e6)),
            "Do not choose by this: all do more than they sustain.",
            "do so on burst credits",
        ),
        (({}, {}, {}), "Choose by price or simplicity, not by speed.", "both variants are equivalent"),
    ],
)
def test_several_that_are_alike_while_credits_last_are_not_chosen_by_price_either(
    facts: tuple[dict[str, str], ...], action: str, said: str
) -> None:
    runs = [
        run(name, number, 3000.0, mine)
        for name, mine in zip(("slow", "fast", "small"), facts, strict=True)
        for number in range(1, 6)
    ]
    whole = make_campaign({"slow": []}, metric="iops", compare={"rounds": 5}, extra_runs=runs)
    found = analyse(dataclasses.replace(whole, planned=len(runs)))
    assert found.findings[0].remedies[0].action == action
    assert said.lower() in found.headline.lower()


VOLUME = "workload.volume"


def within_goals(facts: dict[str, dict[str, str]], **study: Any) -> Analysis:
    """Volumes in the order of a list that do 2,500/s alike and meet a goal, compared with the last of them."""
    runs = [
        dataclasses.replace(run("fast", number, 2500.0, its), variant={VOLUME: volume}, id=f"{volume}-{number}")
        for volume, its in facts.items()
        for number in range(1, 6)
    ]
    known = {
        "goals": [{"metric": "latency_p99_ms", "comparison": "<", "limit": 5.0, "text": "< 5ms"}],
        "factors": {VOLUME: list(facts)},
        "variants": [stated({VOLUME: volume}) for volume in facts],
        **study,
    }
    rules = {"rounds": 5, "baseline": {VOLUME: [*facts][-1]}}
    whole = make_campaign({"slow": []}, metric="iops", compare=rules, study=known, extra_runs=runs)
    return analyse(dataclasses.replace(whole, planned=len(runs)))


def test_a_volume_on_credits_is_no_choice_while_another_meets_the_goals_for_ever() -> None:
    found = within_goals({"gp2": credits(5e6, limit=1500.0), "gp3": {}, "io2": {}})
    assert found.headline.startswith(
        "Every variant meets the goals; gp3 is the first in the list that does so for ever; gp2 does so only on burst "
        "credits (83 min more, then 1,500 IOPS)."
    )
    assert found.decision.taken == {VOLUME: "gp3"}
    first = found.findings[0]
    assert first.remedies[0].action == "Choose the cheapest of gp3 and io2: both meet the goals."
    assert first.remedies[0].commands == ('workload.volume = "gp3"',)
    assert found.decision.leading is not None
    assert found.decision.leading.variant == {VOLUME: "gp3"}


def test_where_all_are_on_credits_the_first_is_weighed() -> None:
    found = within_goals({"gp2": credits(5e6, limit=1500.0), "st1": credits(6e6, limit=1500.0)})
    assert "gp2 is the first in the list, on burst credits (83 min more, then 1,500 IOPS); none does so for ever" in (
        found.headline
    )
    assert found.findings[0].remedies[0].action == "Weigh gp2 against its price: it meets the goals."


def test_guards_that_were_judged_are_not_denied_in_the_advice() -> None:
    found = within_goals({"gp2": credits(5e6, limit=1500.0), "gp3": {}, "io2": {}})
    assert any(comparison.judged for comparison in found.comparisons)
    risk = found.findings[0].remedies[0].risk
    assert risk is not None
    assert risk.startswith("Guards cover")


def test_of_volumes_that_a_set_replaces_as_tables_the_first_that_meets_the_goals_is_named() -> None:
    def replaced(model: str, **more: Any) -> dict[str, Any]:
        return {"volumes.disk": {"kind": "model", "model": model, "iops": 16000, **more}}

    sets = [replaced("aws/gp3", throughput="1000MiB/s"), replaced("aws/io2-block-express")]
    found = within_goals({"gp3": {}, "io2": {}}, assigns={VOLUME: sets})
    assert "Every variant meets the goals; gp3 is the first in the list." in found.headline
    assert found.decision.taken == {VOLUME: "gp3"}
    assert found.findings[0].remedies[0].action == "Choose the cheapest of gp3 and io2: both meet the goals."


def test_of_volumes_and_instances_the_first_that_meets_the_goals_for_ever_is_named() -> None:
    levels = {"disk": ["gp3", "io2"], "volumes.host.model": ["small", "large"]}
    both = [dict(zip(levels, pair, strict=True)) for pair in itertools.product(*levels.values())]
    rates, facts = {"gp3": 2500.0, "io2": 3500.0}, {"small": credits(5e6, limit=1500.0), "large": {}}
    runs = [
        dataclasses.replace(
            run("fast", number, rates[one["disk"]], facts[one["volumes.host.model"]]),
            variant=one,
            id=f"{index}-{number}",
        )
        for index, one in enumerate(both)
        for number in range(1, 6)
    ]
    known = {
        "goals": [{"metric": "latency_p99_ms", "comparison": "<", "limit": 5.0, "text": "< 5ms"}],
        "factors": levels,
        "assigns": {"disk": [{"workload.volumes": ["gp3"]}, {"workload.volumes": ["io2"]}]},
        "variants": [stated(one) for one in both],
    }
    rules = {"rounds": 5, "baseline": {"disk": "gp3"}}
    whole = make_campaign({"slow": []}, metric="iops", compare=rules, study=known, extra_runs=runs)
    found = analyse(dataclasses.replace(whole, planned=len(runs)))
    assert found.decision.taken == {"disk": "gp3", "volumes.host.model": "large"}


def of_two(driven: list[str], settings: dict[str, Any]) -> list[str]:
    """What is said of a fast and a slow volume of one machine, 3,000/s and 300/s."""
    nodes = {name: run("fast", 1, iops, {}).volumes["disk"] for name, iops in (("data", 3000.0), ("log", 300.0))}
    left = {f"volumes.{name}.{word}": value for name in nodes for word, value in (
        ("iops_limit", "1000"), ("io_credits", "4600000")
    )}  # fmt: skip
    made = dataclasses.replace(run("fast", 1, 3300.0, left), volumes=nodes)
    known = stated(made.variant, settings={"volumes": dict.fromkeys(nodes, settings)}, volumes=driven)
    return [one.words for reserves in reserves_of([made], {"variants": [known]}).values() for one in reserves]


@pytest.mark.parametrize("gate", [{"shared": "vm"}, {"model": "azure/edsv6.e8ds"}])
def test_credits_of_one_machine_are_told_of_all_its_volumes(gate: dict[str, Any]) -> None:
    """What each of them gets without credits depends on the others: together they get what is sustained."""
    (words,) = of_two(["data", "log"], {"kind": "throttle", **gate})
    more = " at the assumed refill" if "model" in gate else ""
    assert words == f"lives on burst credits: 3,300 IOPS on data and log for 33 min more{more}, then 1,000 IOPS"


def test_credits_of_one_of_several_volumes_are_told_with_its_name() -> None:
    assert of_two(["data", "log"], {"kind": "throttle"}) == [
        "lives on burst credits: 3,000 IOPS on data for 38 min more, then 1,000 IOPS"
    ]
