"""The plan: complete, random in order, a pure function of study and seed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.errors import UsageError
from fathom.plan import canonical, plan, variants
from fathom.study import Study

levels = st.lists(st.one_of(st.integers(0, 99), st.text("abc", min_size=1)), min_size=1, max_size=4, unique_by=repr)
studies = st.dictionaries(st.sampled_from(["workload.a", "workload.b", "volumes.x.y"]), levels, max_size=3).map(
    lambda factors: Study(Path("s.toml"), "", {"workload": {"kind": "io"}, "factors": factors})
)
seeds = st.integers(0, 2**63 - 1)


@given(studies, seeds, st.integers(1, 5))
def test_every_variant_once_per_round(study: Study, seed: int, rounds: int) -> None:
    made = plan(study, seed=seed, rounds=rounds)
    wanted = Counter(canonical(variant) for variant in variants(study))
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


def test_ids_follow_what_is_run_and_not_how_it_is_judged(study: Study) -> None:
    def ids(**changes: object) -> list[str]:
        return [run.id for run in plan(Study(study.path, study.text, {**study.tree, **changes})).runs]

    base = ids()
    assert ids(title="Another title", labels={"x": {}}, published={"cells": []}) == base
    assert ids(compare={**study.tree["compare"], "equivalent_within": "9%"}) == base
    assert not set(ids(workload={"kind": "insert", "rows": 1001})) & set(base)
    assert ids(virtual={"workload.rows": 5}) == base, "the study runs on the real clock"


def test_overrides_of_clock_and_scale_are_applied_and_hashed(study: Study) -> None:
    tree = {**study.tree, "virtual": {"workload.rows": 7, "workload.page": 512}, "quick": {"workload.rows": 1}}
    changed = Study(study.path, study.text, tree)
    real, virtual = plan(changed, clock="real"), plan(changed, clock="virtual")
    assert real.overrides == {}
    assert virtual.overrides == {"workload.rows": 7, "workload.page": 512}
    assert plan(changed, clock="virtual", quick=True).overrides["workload.rows"] == 1
    # A factor's level comes on top of an override.
    assert json.loads(virtual.settings(virtual.runs[0]))["workload.page"] in {4096, 8192, 16384}
    assert not {run.id for run in real.runs} & {run.id for run in virtual.runs}


def test_quick_means_few_rounds_unless_the_study_says_otherwise(study: Study) -> None:
    assert plan(study, quick=True).rounds == 2
    tree = {**study.tree, "quick": {"compare.rounds": 1, "workload.rows": 1}}
    made = plan(Study(study.path, study.text, tree), quick=True)
    assert made.rounds == 1
    assert made.overrides == {"workload.rows": 1}


def test_a_study_without_factors_has_one_variant_per_round() -> None:
    made = plan(Study(Path("s.toml"), "", {"workload": {"kind": "io"}}), rounds=3)
    assert [run.variant for run in made.runs] == [{}, {}, {}]


@pytest.mark.parametrize("bad", [{"rounds": 0}, {"seed": -1}, {"seed": 2**63}, {"clock": "lunar"}])
def test_bad_requests_are_refused(study: Study, bad: dict[str, object]) -> None:
    with pytest.raises(UsageError) as refused:
        plan(study, **bad)  # type: ignore[arg-type]
    assert refused.value.remedy


def test_quick_without_a_table_is_refused() -> None:
    with pytest.raises(UsageError, match="tiny scale"):
        plan(Study(Path("s.toml"), "", {"workload": {"kind": "io"}}), quick=True)


def test_the_plan_is_json(study: Study) -> None:
    made = plan(study)
    assert json.loads(json.dumps(made.as_dict()))["runs"][0] == made.runs[0].as_dict()
