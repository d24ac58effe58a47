"""Guards, what may be lost, overload, and what is said of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from analysis.conftest import FACTOR, make_campaign, make_run, stated
from fathom.analysis.analyse import analyse
from fathom.analysis.guard import Guard
from fathom.analysis.guards import judge
from fathom.analysis.knee import find_knee, misfit
from fathom.analysis.load import LoadTable
from fathom.analysis.model import Comparison, Verdict
from fathom.analysis.pairing import pair
from fathom.analysis.rules import Rules
from fathom.analysis.unflushed import with_losses
from fathom.finding import Finding
from fathom.results import Campaign, Run

Make = Callable[..., Campaign]


def measured(campaign: Make, p99: tuple[float, float], *, noise: float = 0.0, **changes: object) -> Campaign:
    """Five rounds in which b is 1.5 times as fast; p99 in ms of a and b, with noise between rounds."""
    whole = campaign({"a": [1000.0 + r for r in range(5)], "b": [1500.0 - r for r in range(5)]}, **changes)
    rng = np.random.default_rng(5)
    runs = [
        dataclasses.replace(
            run,
            metrics={
                **run.metrics,
                "latency_p99_ms": p99[run.variant["workload.transaction"] == "b"] * float(np.exp(noise * rng.normal())),
                "errors": 0.0,
            },
            seconds=30.0,
        )
        for run in whole.runs
    ]
    return dataclasses.replace(whole, runs=tuple(runs))


def of(campaign: Campaign, name: str) -> Finding:
    return next(finding for finding in analyse(campaign).findings if finding.rule == name)


def test_a_worse_tail_turns_a_choice_into_a_trade_off(campaign: Make) -> None:
    found = analyse(measured(campaign, (10.0, 27.0)))
    assert found.comparisons[0].verdict is Verdict.FASTER
    assert "but p99 latency is 2.70 × worse (27.0 against 10.0 ms)" in found.headline
    assert found.findings[0].rule == "trade-off"


def test_guards_that_hold_leave_the_choice(campaign: Make) -> None:
    found = of(measured(campaign, (10.0, 10.4)), "choice")
    assert found.remedies[0].action == "Choose b."
    assert found.evidence[0].sentence == "2 of 2 guards held."


def test_a_condition_is_planned_for_and_not_chosen(campaign: Make) -> None:
    found = analyse(measured(campaign, (10.0, 27.0), compare={"choice": False}))
    (effect,) = (finding for finding in found.findings if finding.rule in {"choice", "trade-off", "effect"})
    assert effect.rule == "effect"
    assert effect.remedies[0].action == "Plan for it: b is a condition, not a choice."
    assert not any(remedy.commands for remedy in effect.remedies), "nothing is to be set"
    assert "p99 latency" in effect.evidence[0].sentence


def test_scatter_makes_a_guard_uncertain_and_says_so(campaign: Make) -> None:
    (comparison,) = analyse(measured(campaign, (10.0, 13.0), noise=0.6)).comparisons
    guard = next(guard for guard in comparison.guards if guard.metric == "latency_p99_ms")
    assert (guard.worse, guard.unclear) == (False, True)


@pytest.mark.parametrize(("rules", "worse"), [({"guards": ["errors"]}, False), ({"guard_margin": 3.0}, False)])
def test_a_study_may_name_its_guards_and_their_margin(campaign: Make, rules: dict[str, object], worse: bool) -> None:
    (comparison,) = analyse(measured(campaign, (10.0, 27.0), compare=rules)).comparisons
    assert bool(comparison.worsened) is worse


def other_work(rows: int | None, kind: str = "") -> dict[str, object]:
    """A study in which a transaction of b holds so many rows, one of a one."""
    variants = [
        stated(
            {"workload.transaction": level},
            requests={kind: {"words": f"a transaction of {size or 'all'}", "unit": "rows", "size": size}},
        )
        for level, size in (("a", 1), ("b", rows))
    ]
    return {"study": {"variants": variants}}


@pytest.mark.parametrize("rows", [100, None])
def test_the_latency_of_other_work_is_told_and_judges_nothing(campaign: Make, rows: int | None) -> None:
    found = analyse(measured(campaign, (10.0, 2700.0), **other_work(rows)))
    (comparison,) = found.comparisons
    assert comparison.worsened == ()
    assert [guard.metric for guard in comparison.judged] == ["errors"]
    told = f"but a transaction of {rows or 'all'} takes 2.70 s (p99), a transaction of 1 10.0 ms"
    assert told in found.headline
    assert found.findings[0].rule == "trade-off"
    assert "errors" not in found.headline


def test_smaller_requests_are_no_price_and_equal_ones_are_judged(campaign: Make) -> None:
    def requests(sizes: tuple[int, int]) -> dict[str, object]:
        both = zip("ab", sizes, strict=True)
        one = {level: {"": {"words": f"a read of {size}", "unit": "bytes", "size": size}} for level, size in both}
        return {"study": {"variants": [stated({"workload.transaction": x}, requests=one[x]) for x in one]}}

    found = analyse(measured(campaign, (10.0, 27.0), **requests((8192, 4096))))
    assert (found.comparisons[0].worsened, found.comparisons[0].larger) == ((), False)
    assert "takes" not in found.headline
    found = analyse(measured(campaign, (10.0, 27.0), **requests((8192, 8192))))
    assert [guard.metric for guard in found.comparisons[0].worsened] == ["latency_p99_ms"]


def test_larger_transactions_are_a_price_where_no_latency_was_measured(campaign: Make) -> None:
    whole = campaign({"a": [1000.0 + r for r in range(5)], "b": [1500.0 - r for r in range(5)]}, **other_work(None))
    found = analyse(whole)
    assert "but one request is a transaction of all, not a transaction of 1" in found.headline
    assert found.findings[0].rule == "trade-off"


def test_a_guard_that_the_study_names_is_judged_whatever_a_request_is(campaign: Make) -> None:
    named = measured(campaign, (10.0, 27.0), compare={"guards": ["latency_p99_ms"]}, **other_work(100))
    assert [guard.metric for guard in analyse(named).comparisons[0].worsened] == ["latency_p99_ms"]


def test_errors_where_there_were_none_are_worse(campaign: Make) -> None:
    whole = measured(campaign, (10.0, 10.0))
    runs = [
        dataclasses.replace(run, metrics={**run.metrics, "errors": 3.0 * (run.variant["workload.transaction"] == "b")})
        for run in whole.runs
    ]
    (comparison,) = analyse(dataclasses.replace(whole, runs=tuple(runs))).comparisons
    assert [guard.metric for guard in comparison.worsened] == ["errors"]


def test_what_the_database_may_lose_is_a_price(campaign: Make) -> None:
    whole = measured(campaign, (10.0, 10.0))
    words = {"a": "nothing: a commit waits for the log", "b": "a crash may take the last commits"}
    runs = [
        dataclasses.replace(r, facts={"may_lose": words[str(r.variant["workload.transaction"])]}) for r in whole.runs
    ]
    found = analyse(dataclasses.replace(whole, runs=tuple(runs)))
    assert found.comparisons[0].losses == ("a crash may take the last commits",)
    assert "may lose data: a crash may take the last commits" in found.headline
    assert found.findings[0].rule == "trade-off"


def test_what_one_of_several_may_lose_is_told_whoever_is_advised(campaign: Make) -> None:
    whole = campaign({"none": [1000.0] * 3, "cached": [1500.0] * 3, "origin": [1800.0] * 3})
    lost = "the loss of the cache device takes the last writes"
    runs = [
        dataclasses.replace(r, facts={"c.may_lose": lost} if r.variant["workload.transaction"] == "cached" else {})
        for r in whole.runs
    ]
    found = analyse(dataclasses.replace(whole, runs=tuple(runs)))
    assert found.losses == (({"workload.transaction": "cached"}, lost),)
    everywhere = [dataclasses.replace(r, facts={"c.may_lose": lost}) for r in whole.runs]
    of_all = analyse(dataclasses.replace(whole, runs=tuple(everywhere)))
    assert (of_all.losses, of_all.shared_losses) == ((), (lost,))
    assert found.shared_losses == ()


@pytest.mark.parametrize("flushes", [0, 40])
def test_a_durability_without_a_flush_is_no_difference(campaign: Make, flushes: int) -> None:
    def of(name: str) -> dict[str, Any]:
        volumes = {"cached": {"durability": name}} if name == "origin" else {"cached": {}}
        settings = {"workload": {"kind": "io"}, "volumes": volumes}
        return stated({"workload.transaction": name}, settings=settings)

    lost = "the loss of the cache device takes the last writes"
    said = {"cache": lost, "origin": "nothing: a flush waits for the backing volume"}
    whole = campaign(dict.fromkeys(said, [1000.0] * 3), study={"variants": [of(name) for name in said]})
    node = {"kind": "writeback", "write": {"count": 90}} | ({"flush": {"count": flushes}} if flushes else {})
    runs = [
        dataclasses.replace(
            run,
            facts={"volumes.cached.may_lose": said[str(run.variant["workload.transaction"])]},
            volumes={"cached": node},
        )
        for run in whole.runs
    ]
    found = analyse(dataclasses.replace(whole, runs=tuple(runs)))
    assert found.comparisons[0].spared == (() if not flushes else (lost,))
    assert bool(found.losses) == bool(flushes)
    told = [finding for finding in found.findings if finding.rule == "durability"]
    assert len(told) == (0 if flushes else 1)
    assert all("no run flushed" in one.what for one in told)
    assert all(one.remedies[0].commands == ("workload.flush_every = 1",) for one in told)


def test_each_cache_says_its_own_loss_where_nothing_was_flushed(campaign: Make) -> None:
    """One with two devices and one with a single one beside another that promises all; none of them was flushed."""
    one, both = "the loss of the cache device takes the last writes", "the loss of both cache devices takes them"
    said = {"mirrored": both, "single": one, "origin": "nothing: a flush waits for the backing volume"}

    def of(name: str) -> dict[str, Any]:
        own = {"mirrored": {"cache_copy": "other"}, "origin": {"durability": "origin"}}.get(name, {})
        settings = {"workload": {"kind": "io"}, "volumes": {"cached": own}}
        return stated({"workload.transaction": name}, settings=settings)

    whole = campaign(dict.fromkeys(said, [1000.0] * 3), study={"variants": [of(name) for name in said]})
    node = {"kind": "writeback", "write": {"count": 90}}
    runs = tuple(
        dataclasses.replace(
            run,
            facts={"volumes.cached.may_lose": said[str(run.variant["workload.transaction"])]},
            volumes={"cached": node},
        )
        for run in whole.runs
    )
    found = with_losses(runs, whole.study)
    told = {str(run.variant["workload.transaction"]): run.facts["volumes.cached.may_lose"] for run in found}
    assert told == {"mirrored": both, "single": one, "origin": one}


def test_a_write_is_not_cheaper_where_its_flush_is_dearer(campaign: Make) -> None:
    """Twelve times lower for the write alone; with its flush a third of the rate."""
    whole = campaign({"none": [1.02] * 3, "origin": [0.083] * 3}, metric="write_latency_ms")
    more = {"none": {"flush_latency_ms": 0.0, "iops": 987.0}, "origin": {"flush_latency_ms": 3.47, "iops": 281.0}}
    runs = tuple(
        dataclasses.replace(run, metrics={**run.metrics, **more[str(run.variant["workload.transaction"])]})
        for run in whole.runs
    )
    (comparison,) = analyse(dataclasses.replace(whole, runs=runs)).comparisons
    assert {guard.metric for guard in comparison.worsened} == {"flush_latency_ms", "iops"}


def test_more_rounds_tell_their_time_and_two_rounds_are_too_few(campaign: Make) -> None:
    def said(rounds: int, scatter: float) -> str:
        rng = np.random.default_rng(4)
        values = {name: (1000 * np.exp(scatter * rng.normal(size=rounds))).tolist() for name in ("a", "b")}
        whole = campaign(values)
        return analyse(
            dataclasses.replace(whole, runs=tuple(dataclasses.replace(r, seconds=60.0) for r in whole.runs))
        ).headline

    assert "two rounds are too few to tell how many are missing; run 3 more (6 min)" in said(2, 0.1)
    assert "more needed (" in said(4, 0.02)
    assert said(4, 0.02).rstrip(".").endswith((" h)", " min)", " days)"))


def test_rounds_of_a_real_study_that_fluctuated_get_their_verdict(campaign: Make) -> None:
    """Orders of three rounds with runs whose 3-s means vary by 18 %: scatter between rounds decides."""
    whole = campaign({"gp2": [100.0, 100.0, 100.0], "cache": [126.0, 163.0, 160.0]}, compare={"margin": 0.05})
    (comparison,) = analyse(whole).comparisons
    assert comparison.verdict is Verdict.FASTER
    assert comparison.ratio is not None
    assert 1.0 < comparison.ratio.low < 1.1


def table(rates: list[float]) -> LoadTable:
    loads = np.array([1.0, 2, 4, 8, 16, 32, 64])
    values = np.array(rates)
    return LoadTable("workload.outstanding", {}, "iops", loads, values, loads / values * 1e3)


def test_a_knee_that_the_data_exceed_is_no_knee() -> None:
    """A local disk that still gained at 64 outstanding: the fit put its ceiling at 23,168, and 31,775 was measured."""
    creeping = table([4100.0, 7900.0, 14_500.0, 19_800.0, 23_168.0, 27_400.0, 31_775.0])
    assert find_knee(creeping, {}, 1) is None


def test_a_knee_that_fits_stays() -> None:
    capped = table([1000.0, 2000.0, 4000.0, 7500.0, 10_000.0, 10_000.0, 10_010.0])
    knee = find_knee(capped, {}, 1)
    assert knee is not None
    assert knee.misfit < 0.10
    assert knee.points[-1][:2] == (64.0, 10_010.0)
    assert misfit(np.array([1.0, 64.0]), np.array([1000.0, 3000.0]), fit_of(knee.n_star.value)) > 0.5


def fit_of(n_star: float) -> object:
    from fathom.analysis.knee import Bounds

    return Bounds(10_000 / n_star, 10_000.0)


def test_an_open_loop_above_what_a_volume_does_is_overloaded(
    run: Callable[..., Run], campaign: Make, factor: str
) -> None:
    runs = [
        run(
            {factor: name},
            r,
            {"iops": done, "arrivals_per_second": 8000.0, "refused": refused, "latency_p99_ms": p99 + 0.01 * r * r},
        )
        for r in (1, 2, 3)
        for name, done, refused, p99 in (("gp3", 6000.0 + r, 62_000.0, 22_000.0), ("io2", 8000.0 - r, 0.0, 1.4))
    ]
    study = {"variants": [stated(demand={"rate": 8000.0})]}
    whole = campaign({"gp3": []}, metric="latency_p99_ms", study=study, compare={"rounds": 3}, extra_runs=runs)
    frames = [dataclasses.replace(r, given=samples()) for r in whole.runs]
    found = analyse(dataclasses.replace(whole, runs=tuple(frames)))
    assert found.overloads[0].refused == 186_000
    assert "gp3 cannot sustain 8,000/s: it does 6,002; 186,000 arrivals refused" in found.headline
    assert (found.comparisons[0].verdict, found.comparisons[0].ratio) == (Verdict.OVERLOADED, None)
    assert [finding.rule for finding in found.findings][:2] == ["choice", "overload"]
    assert found.findings[0].remedies[0].action == "Choose io2."


def samples() -> object:
    import polars as pl

    rows = [(float(s), 1.0, "measure", "workload", "read", 100, 1e6 * (1 + s)) for s in range(30)]
    names = ["t_s", "seconds", "phase", "node", "op", "count", "latency_mean_ns"]
    return pl.DataFrame(rows, schema=names, orient="row")


def test_a_guard_that_is_not_certain_is_named_with_what_would_settle_it(campaign: Make) -> None:
    found = of(measured(campaign, (10.0, 13.0), noise=0.6), "choice")
    assert found.severity == "warning"
    assert found.remedies[0].action == "Choose b once it is known that p99 latency held."
    (doubt,) = (one.sentence for one in found.evidence if one.sentence.startswith("Not certain"))
    assert "p99 latency is so far" in doubt
    assert "may be up to" in doubt
    assert "more would tell" in doubt or "lengthen the runs" in doubt


def test_what_is_said_to_have_held_is_worse_by_the_margin_in_at_most_five_per_cent() -> None:
    """p99 latencies truly 10 and 15 % worse with a CV of 20 %, at a margin of 10 %: by the point 51 and 36 % held."""
    rng = np.random.default_rng(2)
    for true, most in ((1.10, 0.070), (1.15, 0.050)):
        logs = np.log(true) + 0.28 * rng.standard_normal((400, 5))
        held = sum(not guard.worse and not guard.unclear for guard in (tail_guard(one) for one in logs))
        assert held / 400 <= most, f"{held} of 400 at {true}"


def tail_guard(logs: np.ndarray) -> Guard:
    """The guard on p99 of five rounds that change by these logs."""
    tails = {"a": np.full(5, 10.0), "b": 10.0 * np.exp(logs)}
    return judged({side: [{"latency_p99_ms": float(one)} for one in values] for side, values in tails.items()})


def judged(sides: dict[str, list[dict[str, float]]]) -> Guard:
    """The only guard of what b measured against a."""
    runs = [make_run({FACTOR: side}, n, row) for side, rows in sides.items() for n, row in enumerate(rows, 1)]
    rules = Rules("iops", {FACTOR: "a"}, 0.02, (), 5, None, None, None, 0.1)
    (found,) = judge(runs, pair(runs, {FACTOR: "b"}, {FACTOR: "a"}, "iops"), rules, {})
    return found


@pytest.mark.parametrize(
    ("baseline", "variant", "verdict"),
    [
        ([0.0] * 5, [5000.0] * 5, (True, False)),
        ([0.0] * 5, [0.0] * 5, (False, False)),
        ([3.0, 0.0, 1.0, 2.0, 4.0], [2.0, 3.0, 0.0, 4.0, 1.0], (False, True)),
        ([3.0, 0.0, 1.0, 2.0, 4.0], [0.0] * 5, (False, False)),
    ],
)
def test_errors_that_a_finished_run_does_not_give_are_none(
    baseline: list[float], variant: list[float], verdict: tuple[bool, bool]
) -> None:
    """The engine writes them only where there are some."""
    sides = {"a": baseline, "b": variant}
    rows = {side: [{"errors": one} if one else {} for one in values] for side, values in sides.items()}
    rows["b"][0].setdefault("errors", 0.0)
    found = judged(rows)
    assert (found.worse, found.unclear) == verdict


@pytest.mark.parametrize(("second", "unclear"), [(9.0, False), (10.4, True)])
def test_with_two_rounds_a_guard_held_that_neither_denies(second: float, unclear: bool) -> None:
    found = judged({"a": [{"latency_p99_ms": 10.0}] * 2, "b": [{"latency_p99_ms": one} for one in (8.0, second)]})
    assert (found.worse, found.unclear) == (False, unclear)


def far_tail(p999: tuple[float, float], *, iops: float = 1000.0, rounds: int = 5, p99: float = 1.0) -> Comparison:
    """The variant is 10 % faster, in runs of 30 s; `p99` is its own against 1 ms."""
    rates = {"a": iops, "b": 1.1 * iops}
    runs = [
        make_run(
            {FACTOR: name},
            number,
            {
                "iops": rate + number,
                "elapsed_s": 30.0,
                "latency_p99_ms": p99 if name == "b" else 1.0,
                "latency_p999_ms": p999[name == "b"] * (1 + 0.01 * number * (name == "b")),
            },
        )
        for name, rate in rates.items()
        for number in range(1, rounds + 1)
    ]
    whole = make_campaign({"a": []}, compare={"rounds": rounds}, extra_runs=runs)
    return analyse(dataclasses.replace(whole, planned=len(runs))).comparisons[0]


def test_a_tail_beyond_the_p99_is_a_guard_where_ten_requests_of_every_run_lie_beyond_it() -> None:
    (guard,) = far_tail((1.0, 43.0)).worsened
    assert guard.metric == "latency_p999_ms"
    assert not far_tail((1.0, 43.0), iops=300.0).worsened, "9,000 requests a run"
    assert "latency_p999_ms" in [guard.metric for guard in far_tail((1.0, 1.0)).judged], "it held"


def test_a_tail_beyond_the_p99_is_told_only_where_that_says_something() -> None:
    worse = [guard.metric for guard in far_tail((1.0, 43.0), p99=20.0).worsened]
    assert worse == ["latency_p99_ms"], "the p99 says it already"
    assert not far_tail((1.0, 1.5), rounds=2).worsened, "two rounds do not tell how ten requests scatter"
    assert far_tail((1.0, 2.5), rounds=2).worsened
