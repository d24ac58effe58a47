"""What decides between variants that are as good as their baseline: whatever else they differ in, of each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fathom.analysis.advice.price import doubts, forgone, losses_of, worse
from fathom.analysis.advice.rule import RuleInput
from fathom.analysis.headline import open_evidence
from fathom.analysis.model import Group, Reserve, Source, soonest
from fathom.analysis.variants import label
from fathom.analysis.words import listed, percent
from fathom.finding import Evidence, Finding, Remedy, Severity

_WITHOUT = {Source.CREDITS: "it needs no burst credits", Source.CACHE: "it fills no cache"}


@dataclass(frozen=True)
class _Side:
    """One variant: what it is paid with, what may be one, what it may lose, what it does better, and on what it lives.

    `reserves` are its own and its baseline's.
    """

    name: str
    price: tuple[str, ...]
    doubts: tuple[str, ...]
    lost: tuple[str, ...]
    gains: tuple[str, ...]
    reserves: tuple[Reserve | None, Reserve | None]

    @property
    def dear(self) -> bool:
        return bool(self.price or self.lost)

    def lines(self, base: str) -> list[str]:
        ends = zip((self.name, base), self.reserves, strict=True)
        return [*self.price, *(f"{who} {end.words}" for who, end in ends if end is not None), *self.doubts, *self.gains]


def alike(groups: Sequence[Group], given: RuleInput) -> Finding:
    """The finding about variants that are equivalent to their baseline at every load."""
    first = groups[0]
    base = label(first.baseline, given.study, apart_from=first.variant)
    sides = [_side(group, given) for group in groups]
    names = [side.name for side in sides]
    cells = [c for group in groups for c in group.comparisons]
    alone = len(sides) == 1
    within = f"within {percent(cells[0].margin)}{' at every load' if len(first.comparisons) > 1 else ''}"
    sure = cells[0].equivalence or cells[0].ratio
    said = f" ({open_evidence(cells[0], sure)})" if sure is not None and len(cells) == 1 else ""
    what = f"{names[0]} and {base} are" if alone else f"{listed(names)} are equivalent to {base}"
    losses = list(dict.fromkeys(words for side in sides for words in side.lost))
    ending = any(end is not None for side in sides for end in side.reserves)
    care = any(side.dear or side.doubts for side in sides) or ending
    return Finding(
        "alike",
        listed(names),
        f"{given.capital(what)}{' equivalent' if alone else ''} {within}{said}.",
        Severity.WARNING if care else Severity.GOOD,
        0.95,
        tuple(
            Evidence(f"{given.capital(text if alone else f'{side.name}: {text}')}.")
            for side in sides
            for text in side.lines(base)
        ),
        harm=f"What may be lost: {'; '.join(losses)}." if losses else None,
        remedies=(Remedy(_action(sides, base)),),
    )


def _side(group: Group, given: RuleInput) -> _Side:
    ends = [soonest(end for c in group.comparisons if (end := c.reserves[place]) is not None) for place in (0, 1)]
    return _Side(
        label(group.variant, given.study, apart_from=group.baseline),
        tuple(worse(group, given)),
        tuple(doubts(group, given)),
        losses_of(group, variant=True),
        tuple(forgone(group, given)),
        (ends[0], ends[1]),
    )


def _action(sides: Sequence[_Side], base: str) -> str:
    dear = [side.name for side in sides if side.dear]
    are, have = ("is", "has") if len(dear) == 1 else ("are", "have")
    if len(dear) == len(sides):
        return f"Prefer {base}: {listed(dear)} {are} no faster and {have} a price."
    if dear:
        return f"Leave out {listed(dear)}, which {are} no faster and {have} a price; choose among the others by price."
    if len(sides) == 1 and any(sides[0].reserves):
        mine, other = sides[0].reserves
        if mine is not None and other is not None:
            return "Do not choose by this: both do more than they sustain."
        left, end = (base, mine) if mine is not None else (sides[0].name, other)
        assert end is not None
        return f"Prefer {left} for a load that lasts: {_WITHOUT[end.source]}."
    doubtful = [side.name for side in sides if side.doubts]
    if doubtful:
        return f"Prefer {base} until it is known that the guards of {listed(doubtful)} held: no speed is gained."
    better = [side.name for side in sides if side.gains]
    if better:
        return f"Prefer {listed(better)}: as fast as {base}, and better in what is told above."
    return "Choose by price or simplicity, not by speed."
