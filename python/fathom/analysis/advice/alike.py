"""What decides between variants that are as good as their baseline: whatever else they differ in, of each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fathom.analysis.advice.price import doubts, forgone, losses_of, repeated, worse
from fathom.analysis.advice.rule import RuleInput
from fathom.analysis.headline import open_evidence, same_levels
from fathom.analysis.model import Group, Reserve, Source, soonest
from fathom.analysis.variants import label
from fathom.analysis.words import listed, percent
from fathom.finding import Evidence, Finding, Remedy, Severity

_WITHOUT = {Source.CREDITS: "it needs no burst credits", Source.CACHE: "it fills no cache"}
_WITHOUT_THEM = {Source.CREDITS: "they need no burst credits", Source.CACHE: "they fill no cache"}


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

    def lines(self, who: str) -> list[str]:
        """What is told of it, under the name that the line does not have yet."""
        mine = self.reserves[0]
        return [*self.price, *([f"{who} {mine.words}"] if mine is not None else []), *self.doubts, *self.gains]


def alike(groups: Sequence[Group], given: RuleInput) -> Finding:
    """The finding about variants that are equivalent to their baseline at every load."""
    first = groups[0]
    base = label(first.baseline, given.study, apart_from=first.variant)
    sides = [_side(group, given) for group in groups]
    if len({side.name for side in sides}) < len(sides):
        # At another place each has a baseline of its own: what sets it apart from that is the same of all.
        sides = [
            replace(side, name=f"{side.name} with {given.label(same_levels(group, given.study))}")
            for side, group in zip(sides, groups, strict=True)
        ]
    names = [side.name for side in sides]
    cells = [c for group in groups for c in group.comparisons]
    alone = len(sides) == 1
    within = f"within {percent(cells[0].margin)}{' at every load' if len(first.comparisons) > 1 else ''}"
    sure = cells[0].equivalence or cells[0].ratio
    said = f" ({open_evidence(cells[0], sure)})" if sure is not None and len(cells) == 1 else ""
    what = f"{names[0]} and {base} are" if alone else f"{listed(names)} are equivalent to {base}"
    losses = list(dict.fromkeys(words for side in sides for words in side.lost))
    ending = any(end is not None for side in sides for end in side.reserves)
    of_base, failed = _of_base(sides), repeated(first.baseline, given)
    care = any(side.dear or side.doubts for side in sides) or ending or bool(failed)
    return Finding(
        "alike",
        listed(names),
        f"{given.capital(what)}{' equivalent' if alone else ''} {within}{said}.",
        Severity.WARNING if care else Severity.GOOD,
        0.95,
        tuple(
            Evidence(f"{given.capital(text)}.")
            for text in (
                *(text for side in sides[:1] if alone for text in side.lines(side.name)),
                *(f"{side.name}: {text}" for side in sides if not alone for text in side.lines("it")),
                *([f"{base} {of_base.words}"] if of_base is not None else []),
                *(f"{base}: {text}" for text in failed),
            )
        ),
        harm=f"What may be lost: {'; '.join(losses)}." if losses else None,
        remedies=(Remedy(_action(sides, base, failed=bool(failed))),),
    )


def _side(group: Group, given: RuleInput) -> _Side:
    ends = [soonest(end for c in group.comparisons if (end := c.reserves[place]) is not None) for place in (0, 1)]
    return _Side(
        label(group.variant, given.study, apart_from=group.baseline),
        (*worse(group, given), *repeated(group.variant, given)),
        tuple(doubts(group, given)),
        losses_of(group, variant=True),
        tuple(forgone(group, given)),
        (ends[0], ends[1]),
    )


def _action(sides: Sequence[_Side], base: str, *, failed: bool) -> str:
    dear = [side.name for side in sides if side.dear]
    are, have = ("is", "has") if len(dear) == 1 else ("are", "have")
    if len(dear) == len(sides):
        return f"Prefer {base}: {listed(dear)} {are} no faster and {have} a price."
    others = [side for side in sides if not side.dear]
    lasting = _lasting(others, base)
    if dear:
        rest = lasting or "choose among the others by price."
        return f"Leave out {listed(dear)}, which {are} no faster and {have} a price; {rest[:1].lower()}{rest[1:]}"
    if lasting:
        return lasting
    doubtful = [side.name for side in sides if side.doubts]
    if doubtful:
        return f"Prefer {base} until it is known that the guards of {listed(doubtful)} held: no speed is gained."
    better = [side.name for side in sides if side.gains]
    if failed:
        return f"Prefer {' or '.join(side.name for side in others)}: as fast as {base}, of which runs failed first."
    if better:
        return f"Prefer {listed(better)}: as fast as {base}, and better in what is told above."
    return "Choose by price or simplicity, not by speed."


def _of_base(sides: Sequence[_Side]) -> Reserve | None:
    return next((side.reserves[1] for side in sides if side.reserves[1] is not None), None)


def _lasting(sides: Sequence[_Side], base: str) -> str:
    """Whom to prefer where some are as good as the others for a while only; empty where all last."""
    ends = {base: _of_base(sides)}
    ends |= {side.name: side.reserves[0] for side in sides}
    sources = dict.fromkeys(end.source for end in ends.values() if end is not None)
    left = [name for name, end in ends.items() if end is None]
    if not sources:
        return ""
    if not left:
        return f"Do not choose by this: {'both' if len(ends) == 2 else 'all'} do more than they sustain."
    why = listed([(_WITHOUT if len(left) == 1 else _WITHOUT_THEM)[source] for source in sources])
    return f"Prefer {' or '.join(left)} for a load that lasts: {why}."
