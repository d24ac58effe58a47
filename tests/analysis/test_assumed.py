"""What the ends of assumed ranges make of a comparison: with and without the volume, one ratio or a mean of ratios."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from fathom.analysis.assumed import sensitivity_of
from fathom.analysis.model import Comparison, Estimate, Verdict
from fathom.results import Run

LATENCY = "volumes.{}.device.assumed_read"


def comparison(ratio: float, *, users: tuple[int, ...] = ()) -> Comparison:
    whole = Estimate(ratio, ratio * 0.99, ratio * 1.01, 0.95, 3, "Student's t")
    found = Comparison(
        {"cache": "big"}, {"cache": "none"}, "iops", whole, whole, 0.02, Verdict.FASTER, (), 0.25, None, ()
    )
    return dataclasses.replace(found, averaged=tuple({"users": number} for number in users))


@pytest.fixture
def of(run: Callable[..., Run]) -> Callable[..., Run]:
    """A run of a variant with volumes whose latency is assumed; at an end of one of them if `end` names it."""

    def made(cache: str, iops: float, volumes: str, end: tuple[str, str] | None = None, **levels: int) -> Run:
        facts = {LATENCY.format(volume): "1 ms (500 us to 3 ms)" for volume in volumes.split()}
        return dataclasses.replace(run({"cache": cache, **levels}, 1, {"iops": iops}), facts=facts, assumed=end)

    return made


def test_a_variant_without_the_volume_is_its_own_run(of: Callable[..., Run]) -> None:
    own = [of("none", 100.0, "ebs"), of("big", 150.0, "ebs nvme")]
    tried = [of("big", 101.0, "ebs nvme", ("nvme", "high"))]
    (found,) = sensitivity_of(comparison(1.5), tried, own)
    assert (found.volumes, found.flips) == ("nvme", True)
    assert found.ratio == pytest.approx(1.01)
    assert found.words == "nvme at read latency 3 ms"


OFFS = (0.01, -0.01, 0.005, -0.005, 0.0)
"""How the rounds of a ratio scatter: by 0.8 %."""


@pytest.mark.parametrize(
    ("verdict", "ratio", "ends", "flips"),
    [
        # One round outside of the margin of 2 %, by less than rounds scatter, and by more.
        (Verdict.EQUIVALENT, 1.0, [1.03], False),
        (Verdict.EQUIVALENT, 1.0, [1.05], True),
        (Verdict.EQUIVALENT, 1.0, [0.97], False),
        (Verdict.FASTER, 1.025, [1.015], False),
        (Verdict.FASTER, 1.5, [1.015], True),
        # Three rounds there tell their own scatter, which is larger than as assumed, or smaller.
        (Verdict.EQUIVALENT, 1.0, [1.07, 0.99, 1.03], False),
        (Verdict.EQUIVALENT, 1.0, [1.03, 1.031, 1.029], True),
    ],
)
def test_scatter_is_no_other_answer(
    of: Callable[..., Run], verdict: Verdict, ratio: float, ends: list[float], *, flips: bool
) -> None:
    """Two equal volumes of one model differ by chance at any latency; so few rounds stand behind an end."""
    points = tuple((number, ratio * (1 + off)) for number, off in enumerate(OFFS, 1))
    judged = dataclasses.replace(comparison(ratio), verdict=verdict, points=points)
    tried = [
        dataclasses.replace(of(cache, iops, "ebs", ("ebs", "high")), round=number)
        for number, end in enumerate(ends, 1)
        for cache, iops in (("none", 100.0), ("big", 100.0 * end))
    ]
    (found,) = sensitivity_of(judged, tried, [of("none", 100.0, "ebs"), of("big", 100.0 * ratio, "ebs")])
    assert (found.flips, found.beyond) == (flips, True)
    assert (found.rounds, found.ends) == (len(ends), (("ebs", "high"),))


def test_an_end_of_a_volume_that_neither_has_says_nothing(of: Callable[..., Run]) -> None:
    own = [of("none", 100.0, "ebs"), of("big", 150.0, "ebs nvme"), of("small", 120.0, "ebs other")]
    tried = [of("small", 90.0, "ebs other", ("other", "low"))]
    assert sensitivity_of(comparison(1.5), tried, own) == ()


def test_a_mean_over_loads_is_tried_as_a_mean(of: Callable[..., Run]) -> None:
    own = [of("none", 100.0, "ebs", users=2), of("none", 200.0, "ebs", users=8)]
    own += [of("big", 150.0, "nvme", users=2), of("big", 500.0, "nvme", users=8)]
    low = [of("big", 110.0, "nvme", ("nvme", "low"), users=2), of("big", 480.0, "nvme", ("nvme", "low"), users=8)]
    (found,) = sensitivity_of(comparison(2.0, users=(2, 8)), low, own)
    assert found.ratio == pytest.approx((1.1 * 2.4) ** 0.5)
    assert not found.flips
    # Without the run of one load there is no mean.
    assert sensitivity_of(comparison(2.0, users=(2, 8)), low[:1], own) == ()


def test_volumes_of_two_sides_are_tried_at_opposite_ends(of: Callable[..., Run]) -> None:
    own = [of("none", 100.0, "ebs"), of("big", 150.0, "nvme")]
    tried = [of("none", 90.0, "ebs", ("ebs", "high")), of("none", 120.0, "ebs", ("ebs", "low"))]
    tried += [of("big", 122.0, "nvme", ("nvme", "high")), of("big", 160.0, "nvme", ("nvme", "low"))]
    found = sensitivity_of(comparison(1.5), tried, own)
    assert len(found) == 8
    # Singly nothing turns; the slowest of one against the fastest of the other is within the margin.
    assert not any(one.flips for one in found if one.volumes in ("ebs", "nvme"))
    turns = [one for one in found if one.flips]
    assert [one.words for one in turns] == ["nvme at read latency 3 ms and ebs at read latency 500 us"]
    assert turns[0].ratio == pytest.approx(122 / 120)


@pytest.mark.parametrize(("models", "ends"), [(("aws/gp3", "aws/gp3"), 2), (("aws/gp2", "aws/gp3"), 8)])
def test_one_volume_of_both_sides_is_at_one_end_unless_the_models_differ(
    of: Callable[..., Run], models: tuple[str, str], ends: int
) -> None:
    def modelled(cache: str, iops: float, end: tuple[str, str] | None = None) -> Run:
        made = of(cache, iops, "data", end)
        return dataclasses.replace(made, facts={**made.facts, "volumes.data.device.model": models[cache == "big"]})

    tried = [
        modelled(cache, 100.0, (models[cache == "big"], end)) for cache in ("none", "big") for end in ("low", "high")
    ]
    found = sensitivity_of(comparison(1.5), tried, [modelled("none", 100.0), modelled("big", 150.0)])
    assert len(found) == ends
    assert any("data (aws/gp2) at" in one.words and "data (aws/gp3) at" in one.words for one in found) == (ends > 2)


def test_volumes_of_one_model_on_both_sides_are_at_one_end(of: Callable[..., Run]) -> None:
    def modelled(cache: str, iops: float, volumes: str, end: str | None = None) -> Run:
        made = of(cache, iops, volumes, end and ("aws/gp3", end))
        told = {f"volumes.{volume}.device.model": "aws/gp3" for volume in volumes.split()}
        return dataclasses.replace(made, facts={**made.facts, **told})

    own = [modelled("none", 100.0, "one"), modelled("big", 150.0, "a b c d")]
    tried = [modelled("none", 50.0, "one", "high"), modelled("big", 75.0, "a b c d", "high")]
    (found,) = sensitivity_of(comparison(1.5), tried, own)
    assert (found.ratio, found.flips) == (pytest.approx(1.5), False)
    assert (found.volumes, found.words) == ("aws/gp3 (5 volumes)", "aws/gp3 (5 volumes) at read latency 3 ms")
