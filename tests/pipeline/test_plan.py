"""The plan: complete, random in order, a pure function of study and seed."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.analysis.interval import t_interval
from fathom.engine import core
from fathom.errors import StudyError, UsageError
from fathom.plan import canonical, plan
from fathom.results import Level
from fathom.study import Study, parse
from pipeline.fake import STUDY

MODEL = (Path(__file__).parents[2] / "crates/catalogue/models/aws/gp3.toml").read_text(encoding="utf-8")


def built(factors: dict[str, list[Level]]) -> Study:
    """A study of these factors, resolved without the engine."""
    choices = itertools.product(*factors.values())
    variants = [
        {"levels": dict(zip(factors, levels, strict=True)), "settings": {"workload": {"kind": "io"}}, "lasts_ns": 10**9}
        for levels in choices
    ]
    resolved = {"clock": "real", "quick": False, "seed": 1, "rounds": 5, "overrides": {}, "variants": variants}
    return Study(Path("s.toml"), "", resolved)


def levels_of(study: Study) -> list[dict[str, Level]]:
    return [variant["levels"] for variant in study.resolved["variants"]]


levels = st.lists(st.one_of(st.integers(0, 99), st.text("abc", min_size=1)), min_size=1, max_size=4, unique_by=repr)
studies = st.dictionaries(st.sampled_from(["workload.a", "workload.b", "volumes.x.y"]), levels, max_size=3).map(built)
seeds = st.integers(0, 2**63 - 1)


@given(studies, seeds, st.integers(1, 5))
def test_every_variant_once_per_round(study: Study, seed: int, rounds: int) -> None:
    made = plan(study, seed=seed, rounds=rounds)
    wanted = Counter(map(canonical, levels_of(study)))
    for number in range(1, rounds + 1):
        assert Counter(canonical(run.variant) for run in made.runs if run.round == number) == wanted
    assert [run.order for run in made.runs] == list(range(1, len(made.runs) + 1))
    assert [run.round for run in made.runs] == sorted(run.round for run in made.runs)
    assert len({run.id for run in made.runs}) == len(made.runs)


@given(studies, seeds)
def test_the_plan_follows_from_the_seed(study: Study, seed: int) -> None:
    assert plan(study, seed=seed, rounds=4) == plan(study, seed=seed, rounds=4)


@given(studies, seeds, st.integers(1, 4), st.integers(1, 4))
def test_more_rounds_only_append(study: Study, seed: int, rounds: int, more: int) -> None:
    short, long = plan(study, seed=seed, rounds=rounds), plan(study, seed=seed, rounds=rounds + more)
    assert long.runs[: len(short.runs)] == short.runs


def test_orders_differ_between_rounds_and_seeds(study: Study) -> None:
    def orders(seed: int) -> list[tuple[str, ...]]:
        made = plan(study, seed=seed, rounds=8)
        return [tuple(canonical(r.variant) for r in made.runs if r.round == n) for n in range(1, 9)]

    assert len(set(orders(1))) > 1
    assert orders(1) != orders(2)


@given(studies, seeds)
def test_every_second_round_reverses_the_one_before(study: Study, seed: int) -> None:
    made = plan(study, seed=seed, rounds=6)
    order = {n: [canonical(run.variant) for run in made.runs if run.round == n] for n in range(1, 7)}
    assert all(order[number + 1] == order[number][::-1] for number in (1, 3, 5))


def test_an_effect_of_the_order_is_no_difference() -> None:
    pair = built({"workload.a": ["x", "y"]})
    rng, false = np.random.default_rng(5), 0
    for seed in range(200):
        places = [0 if run.variant["workload.a"] == "x" else 1 for run in plan(pair, seed=seed, rounds=3).runs[::2]]
        ratios = 0.1 * (2.0 * np.array(places) - 1) + 0.005 * rng.standard_normal(3)
        found = t_interval(ratios, 0.95)
        false += bool(found.low > 0 or found.high < 0)
    assert false == 0, "where the first is always slower by 10 %"


def test_a_plan_keeps_the_order_that_a_campaign_was_begun_in(study: Study) -> None:
    made = plan(study, seed=3, rounds=3)
    begun = sorted(made.as_dict()["runs"][:12], key=lambda run: (run["round"], run["id"]))
    kept = made.in_order_of(begun)
    assert [run.id for run in kept.runs] == [run["id"] for run in begun] + [run.id for run in made.runs[12:]]
    assert [run.order for run in kept.runs] == list(range(1, 19))
    assert made.in_order_of([]) == made


def test_first_places_are_spread_evenly(study: Study) -> None:
    made = plan(study, seed=3, rounds=600)
    first = Counter(canonical(run.variant) for run in made.runs if run.order % 6 == 1)
    # 600 draws of 6: mean 100, standard deviation 9.1; five of them either way.
    assert set(first.values()) <= set(range(55, 146))
    assert len(first) == 6


def test_a_round_shares_its_seed_and_rounds_do_not(study: Study) -> None:
    made = plan(study, rounds=3)
    by_round = {number: {run.seed for run in made.runs if run.round == number} for number in (1, 2, 3)}
    assert [len(found) for found in by_round.values()] == [1, 1, 1]
    assert len(set.union(*by_round.values())) == 3


def ids(text: str, **options: Any) -> list[str]:
    return [run.id for run in plan(parse(text, Path("study.toml"), core(), **options)).runs]


def test_ids_follow_what_is_run_and_not_how_it_is_judged() -> None:
    base = ids(STUDY)
    label = STUDY + '[labels."workload.transaction"]\nper-row = "x"\n'
    assert ids(label.replace("One transaction", "Another")) == base
    assert ids(STUDY.replace("rounds = 3", 'rounds = 3\nequivalent_within = "9%"')) == base
    assert not set(ids(STUDY.replace("rows = 1000", "rows = 1001"))) & set(base)
    assert not set(ids(STUDY, models=[("m.toml", MODEL)])) & set(base)


def test_overrides_of_clock_and_scale_are_applied_and_hashed() -> None:
    text = STUDY + '[real]\n"workload.rows" = 7\n"workload.page_size" = 512\n'
    real, quick = (parse(text, Path("study.toml"), core(), quick=quick) for quick in (False, True))
    assert real.resolved["overrides"] == {"workload.rows": 7, "workload.page_size": 512}
    assert quick.resolved["overrides"]["workload.rows"] == 10
    # A factor's level comes on top of an override.
    made = plan(real)
    assert made.entry(made.runs[0])["set"]["workload.page_size"] in {4096, 8192, 16384}
    assert not {run.id for run in made.runs} & {run.id for run in plan(quick).runs}


def test_quick_means_few_rounds_unless_the_study_says_otherwise() -> None:
    path = Path("study.toml")
    assert plan(parse(STUDY, path, core(), quick=True)).rounds == 2
    own = parse(STUDY + '"compare.rounds" = 1\n', path, core(), quick=True)
    assert plan(own).rounds == own.resolved["compare"]["rounds"] == 1
    assert own.resolved["overrides"] == {"workload.rows": 10}


def test_a_study_without_factors_has_one_variant_per_round() -> None:
    assert [run.variant for run in plan(built({}), rounds=3).runs] == [{}, {}, {}]


@pytest.mark.parametrize("bad", [{"rounds": 0}, {"rounds": 10_001}, {"seed": -1}, {"seed": 2**63}])
def test_bad_requests_are_refused(study: Study, bad: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as refused:
        plan(study, **bad)
    assert refused.value.remedy


def test_quick_without_a_table_is_refused() -> None:
    text = STUDY[: STUDY.index("[quick]")]
    with pytest.raises(StudyError, match="tiny scale"):
        parse(text, Path("s.toml"), core(), quick=True)


def test_the_plan_and_its_entries_are_json(study: Study) -> None:
    made = plan(study)
    again = json.loads(json.dumps(made.as_dict()))
    assert again["runs"][0] == made.runs[0].as_dict()
    assert again["study"] == study.resolved
    entry = json.loads(json.dumps(made.entry(made.runs[0])))
    assert (entry["id"], entry["text"], entry["clock"]) == (made.runs[0].id, study.text, "real")


def test_how_long_it_measures_is_known_unless_the_work_decides(study: Study) -> None:
    assert plan(study).measured_s is None
    assert plan(built({"workload.a": [1, 2]}), rounds=2).measured_s == 4.0
