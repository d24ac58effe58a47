"""Variants are told apart, named for people, and know the settings they ran with."""

from __future__ import annotations

from collections.abc import Callable

from fathom.analysis.pairing import baseline_of, pair, values_by_round
from fathom.analysis.variants import given_names, label, matches, place, variant_key, variants_of
from fathom.analysis.words import capital
from fathom.results import Run

A, B = {"volumes.data.size": "40GiB", "workload.users": 8}, {"volumes.data.size": "40GiB", "workload.users": 16}


def test_true_and_one_are_different_levels() -> None:
    assert len({variant_key({"x": level}) for level in (1, 1.0, True, "1")}) == 4


def test_variants_keep_the_order_of_their_first_run(run: Callable[..., Run]) -> None:
    runs = [run(B, 1, {"iops": 1.0}), run(A, 1, None), run(A, 2, {"iops": 1.0}), run(B, 2, {"iops": 1.0})]
    assert variants_of(runs) == [B, A]


def test_place_sorts_as_the_study_is_written() -> None:
    study = {"factors": {"t": ["per-row", 100, "whole"], "v": [True, False]}}
    wanted = [{"t": "per-row", "v": False}, {"t": 100, "v": True}, {"t": 100, "v": False}, {"t": "whole", "v": True}]
    mixed = [wanted[i] for i in (2, 3, 0, 1)]
    assert sorted(mixed, key=lambda variant: place(variant, study)) == wanted
    assert place({"t": 1}, study) > place({"t": "whole", "v": False}, study)
    assert place({"t": 1}, {}) == ()


def test_label_names_what_differs() -> None:
    assert label(A, {}, apart_from=B) == "8 users"
    assert label(A, {}) == "size 40GiB, 8 users"
    assert label({"w.direct_io": True, "w.mode": "barrier"}, {}) == "direct io on, barrier"
    assert label({}, {}) == "as written"


def test_a_parameter_of_a_database_keeps_its_spelling() -> None:
    assert label({"databases.pg.settings.synchronous_commit": "off"}, {}) == "synchronous_commit off"
    assert label({"workload.innodb_flush_log_at_trx_commit": 0}, {}) == "innodb_flush_log_at_trx_commit 0"
    assert capital("synchronous_commit off is faster.") == "synchronous_commit off is faster."


def test_a_sentence_does_not_change_a_name_that_people_gave() -> None:
    study = {
        "factors": {"place": ["ca", "cb"], "cache": ["none"]},
        "labels": {"x": {"1": "pg"}},
        "volumes": {"log": {}},
    }
    names = given_names(study)
    assert [capital(text, names) for text in ("ca is slower", "pg: fast", "log and data")] == [
        "ca is slower", "pg: fast", "log and data"
    ]  # fmt: skip
    assert [capital(text, names) for text in ("no cache", "none of them", "logs")] == [
        "No cache", "None of them", "Logs"
    ]  # fmt: skip


def test_label_takes_the_words_of_the_study() -> None:
    study = {"labels": {"workload.users": {"8": "eight users"}}}
    assert label(A, study, apart_from=B) == "eight users"


def test_what_all_variants_have_is_in_no_label_but_that_of_itself() -> None:
    study = {"factors": {"workload.users": [8, 16], "volumes.data.size": ["40GiB"]}}
    assert label(A, study) == "8 users"
    assert label({"volumes.data.size": "40GiB"}, study) == "size 40GiB"


def test_a_level_that_says_nothing_alone_is_named_with_its_factor() -> None:
    assert label({"workload.synchronous": "off", "cache": "none"}, {}) == "synchronous off, cache none"
    assert label({"workload.transaction": "per-row"}, {}) == "per-row"


def test_a_partial_baseline_leaves_the_other_factors() -> None:
    assert baseline_of({"cache": "big", "users": 34}, {"cache": "none"}) == {"cache": "none", "users": 34}
    assert matches({"cache": "big", "users": 34}, {"users": 34})
    assert not matches({"cache": "big"}, {"users": 34})


def test_a_pair_needs_both_runs_of_a_round(run: Callable[..., Run]) -> None:
    runs = [run(A, 1, {"iops": 10.0}), run(B, 1, {"iops": 20.0}), run(A, 2, None), run(B, 2, {"iops": 20.0})]
    runs += [run(A, 3, {"iops": 10.0}), run(B, 3, {"iops": 40.0}), run(A, 4, {"iops": 0.0}), run(B, 4, {"iops": 1.0})]
    found = pair(runs, B, A, "iops")
    assert found.rounds == (1, 3)
    assert found.unusable == (4,)
    assert found.logs.tolist() == [pytest_log(2.0), pytest_log(4.0)]


def pytest_log(value: float) -> float:
    import numpy as np

    return float(np.log(value * 10) - np.log(10.0))


def test_lower_is_better_turns_the_ratio_round(run: Callable[..., Run]) -> None:
    runs = [run(A, 1, {"latency_ms": 4.0}), run(B, 1, {"latency_ms": 1.0})]
    assert pair(runs, B, A, "latency_ms").logs[0] > 0


def test_a_repeated_run_replaces_the_earlier_one(run: Callable[..., Run]) -> None:
    runs = [run(A, 1, {"iops": 5.0}, order=9), run(A, 1, {"iops": 1.0}, order=2)]
    assert values_by_round(runs, A, "iops") == {1: 5.0}


def test_one_value_summed_in_two_orders_is_no_difference(run: Callable[..., Run]) -> None:
    runs = [run(A, 1, {"iops": 0.1 + 0.2}), run(B, 1, {"iops": 0.3})]
    assert runs[0].metrics != runs[1].metrics
    assert list(pair(runs, B, A, "iops").logs) == [0.0]
