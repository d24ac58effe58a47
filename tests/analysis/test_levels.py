"""The improvement at each level is that of its own runs; a size is read from a path or from a set."""

from __future__ import annotations

from typing import Any

import pytest

from fathom.analysis.levels import AtLevel, amount, at_levels, cpi, size_axis
from fathom.analysis.machines import machines
from fathom.analysis.model import Comparison, Verdict
from fathom.analysis.phases import Span, phases
from fathom.results import Run


def run(cache: str, users: int, number: int, nopm: float) -> Run:
    return Run(f"{cache}{users}{number}", {"cache": cache, "users": users}, number, number, "ok", {"nopm": nopm})


def compared(level: str) -> Comparison:
    return Comparison(
        variant={"cache": level},
        baseline={"cache": "none"},
        metric="nopm",
        ratio=None,
        equivalence=None,
        margin=0.05,
        verdict=Verdict.UNDECIDED,
        points=(),
        p_permutation=None,
        more_rounds=None,
        reasons=(),
        averaged=({"users": 4}, {"users": 12}),
    )


def test_each_level_has_the_ratio_of_its_own_rounds() -> None:
    runs = [
        *(run("none", 4, number, 100) for number in (1, 2, 3)),
        *(run("none", 12, number, 200) for number in (1, 2)),
        *(run("small", 4, number, value) for number, value in ((1, 150), (2, 160), (3, 140))),
        run("small", 12, 1, 800),
    ]
    low, high = at_levels(runs, compared("small"), seed=1, virtual=False)
    assert [ratio for _, ratio in low.points] == pytest.approx([1.5, 1.6, 1.4])
    assert low.ratio is not None
    assert low.ratio.low < (1.5 * 1.6 * 1.4) ** (1 / 3) < low.ratio.high
    assert low.ratio.value == pytest.approx((1.5 * 1.6 * 1.4) ** (1 / 3))
    assert high.points == ((1, pytest.approx(4.0)),), "round 2 has no pair"
    assert high.ratio is not None
    assert not high.ratio.has_interval


def test_the_published_mean_is_that_of_the_ratios_of_rounds_that_every_level_has() -> None:
    levels = [AtLevel({"u": 1}, ((1, 2.0), (2, 2.2)), None), AtLevel({"u": 8}, ((1, 0.5), (2, 0.6), (3, 0.7)), None)]
    found = cpi(levels, seed=1, virtual=False)
    assert dict(found.points) == pytest.approx({1: 1.25, 2: 1.4})
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx((1.25 * 1.4) ** 0.5)


def test_a_level_without_rounds_has_no_ratio() -> None:
    (only, _) = at_levels([run("small", 4, 1, 1.0)], compared("small"), seed=1, virtual=False)
    assert (only.points, only.ratio) == ((), None)


SETS: dict[str, Any] = {
    "none": {"places.data.volume": "ebs"},
    "small": {"volumes.cached.size": "50MiB", "volumes.cached.read_cache": "38MiB"},
    "large": {"volumes.cached.size": "1GiB"},
}


def varied(sets: dict[str, Any]) -> dict[str, Any]:
    """A resolved study whose factor chooses from a set."""
    return {"factors": {"cache": list(sets)}, "assigns": {"cache": list(sets.values())}}


def test_the_size_of_a_cache_is_an_axis_where_a_set_varies_it() -> None:
    axis = size_axis(varied(SETS), [compared("small"), compared("large")])
    assert axis is not None
    assert (axis.factor, axis.path) == ("cache", "volumes.cached.size")
    assert axis.bytes == {"small": 50 << 20, "none": 0, "large": 1 << 30}


def test_a_size_that_is_a_factor_itself_is_an_axis_as_well() -> None:
    factor = "volumes.cached.size"
    sides = [("2GiB", "1GiB"), ("4GiB", "1GiB")]
    comparisons = [
        Comparison({factor: one}, {factor: other}, "nopm", None, None, 0.05, Verdict.UNDECIDED, (), None, None, ())
        for one, other in sides
    ]
    axis = size_axis({}, comparisons)
    assert axis is not None
    assert sorted(axis.bytes.values()) == [1 << 30, 2 << 30, 4 << 30]


def test_of_two_models_none_is_the_smaller_one() -> None:
    def levels(model: str) -> dict[str, Any]:
        return {
            "small": {"volumes.disk": {"model": "aws/gp3", "iops": 3000}},
            "large": {"volumes.disk": {"model": model, "iops": 16000}},
        }

    sides = ({"cache": "small"}, {"cache": "large"})
    assert amount(varied(levels("aws/gp3")), *sides) == 3000
    assert amount(varied(levels("aws/io2-block-express")), *sides) is None


@pytest.mark.parametrize("sets", [{}, {"none": {}, "small": {"volumes.cached.kind": "model"}, "large": {}}])
def test_what_is_no_size_is_no_axis(sets: dict[str, Any]) -> None:
    assert size_axis(varied(sets), [compared("small"), compared("large")]) is None


def node(count: int, latency_ms: float, kind: str = "read") -> dict[str, Any]:
    return {"kind": "mirror", kind: {"count": count, "bytes": count * 8192, "latency_mean_ns": latency_ms * 1e6}}


def test_disks_are_added_up_by_the_machine_in_their_name() -> None:
    counted = {"vm1-a": node(100, 1.0), "vm1-b": node(300, 3.0), "vm2-a": node(400, 2.0, "write"), "host": node(9, 9)}
    first, second = machines(("vm1-a", "vm1-b", "vm2-a"), counted, iops=80.0)
    assert (first.name, first.disks, first.iops, first.write_latency_ms) == ("vm1", 2, 40.0, None)
    assert first.read_latency_ms == pytest.approx(2.5), "weighted by requests"
    assert first.mb_per_s == pytest.approx(400 * 8192 / 10 / 1e6)
    assert (second.iops, second.read_latency_ms, second.write_latency_ms) == (40.0, None, 2.0)


@pytest.mark.parametrize("driven", [("disk",), ("vm1-a", "vm1-b"), ("vm1-a", "disk")])
def test_disks_of_one_machine_or_of_none_make_no_table(driven: tuple[str, ...]) -> None:
    assert machines(driven, {name: node(1, 1.0) for name in driven}, iops=1.0) == ()


def test_phases_begin_where_the_one_before_ends() -> None:
    listed = [{"name": "alone", "duration": "60s"}, {"name": "filling", "duration": "500ms"}, {"name": "steady"}]
    assert phases({"phases": [*listed, {"name": "never"}]}) == (
        Span("alone", 0.0, 60.0),
        Span("filling", 60.0, 60.5),
        Span("steady", 60.5, None),
    )
    assert phases({}) == phases(None) == ()
