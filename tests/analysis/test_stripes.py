"""What the loss of a member of a stripe means is told where one side alone stands on the stripe."""

from __future__ import annotations

from typing import Any

from analysis.conftest import FACTOR, stated
from fathom.analysis.stripes import stripe_words

MEMBERS = {name: {"kind": "model", "model": "aws/gp3"} for name in "abcd"}
VOLUMES: dict[str, Any] = {
    **MEMBERS,
    "two": {"kind": "stripe", "members": ["a", "b"]},
    "four": {"kind": "stripe", "members": ["a", "b", "c", "d"]},
    "slow": {"kind": "throttle", "backing": "four", "iops": 100},
    "safe": {"kind": "mirror", "legs": ["two", "c"]},
    "alone": {"kind": "stripe", "members": ["a"]},
}
STUDY = {"variants": [stated({FACTOR: name}, settings={"volumes": VOLUMES}, volumes=[name]) for name in VOLUMES]}


def said(taken: str, left: str) -> str:
    return stripe_words(STUDY, {FACTOR: taken}, {FACTOR: left})


def test_a_stripe_is_told_below_other_layers_too() -> None:
    words = "The loss of any one of the 4 members of four loses all of it."
    assert said("four", "a") == said("slow", "a") == said("four", "two") == words


def test_what_both_sides_stand_on_and_what_a_mirror_holds_is_not_told() -> None:
    assert not any(said(*sides) for sides in (("four", "slow"), ("safe", "a"), ("alone", "a"), ("a", "four")))
