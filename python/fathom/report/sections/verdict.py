"""The answer: the verdict in a word, the sentence with absolute values, the guards, and what all of it rests on.

Where a load varies, the answer is a grid of load by variant; without a comparison it is the figures themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from fathom.analysis.capacity import where_met
from fathom.analysis.conditions import apart
from fathom.analysis.headline import is_latency, quotient
from fathom.analysis.model import Comparison, GoalAnswer, Group, Verdict, soonest
from fathom.analysis.repeated import failed_first
from fathom.analysis.sweep_words import saturation_words
from fathom.analysis.transient import transients
from fathom.analysis.variants import label, matches, of_variant, variant_key, without
from fathom.analysis.words import capital, effect_interval, effect_of, listed, short, tells_nothing
from fathom.lateness import mostly_late
from fathom.report import grid
from fathom.report.context import Context
from fathom.report.document import Banner, Block, Paragraph, Tone
from fathom.report.figures import figures
from fathom.report.format import has_interval, level, percent, plural, quantity
from fathom.report.section import Section
from fathom.report.verdicts import grown, name, sign, tone, tone_of_all, words
from fathom.unanswered import nothing_done

_MOST = 4
_MOST_REFILLS = 2
_WITHIN = 0.10
"""Relative error up to which a check held."""


def build(context: Context) -> Sequence[Block]:
    """One banner with the grid or the figures below it, and what weakens the answer."""
    analysis = context.analysis
    leading = context.leading
    blocks: list[Block] = []
    table = grid.grid(context)
    if table is not None:
        blocks.append(table)
    if table is not None and not any(comparison.averaged for comparison in analysis.comparisons):
        banner = _of_grid(context)
    elif leading is not None and not context.is_sweep:
        banner = _of_comparison(context, leading)
    elif context.is_sweep:
        banner = Banner(_word_of_sweep(context), Tone.PLAIN, "", analysis.headline, (), _rests_on(context, None))
    elif analysis.comparisons:
        alike = {comparison.verdict for comparison in analysis.comparisons}
        only = alike.pop() if len(alike) == 1 else None
        word = f"{sign(only)} {only.value}" if only is not None else "? no difference shown"
        facts = (("Metric", short(context.primary.name)), *_counts(analysis.comparisons))
        banner = Banner(word, Tone.WARN, "", analysis.headline, facts, _rests_on(context, None))
    elif not context.ok_runs:
        failed = ("Runs", f"{plural(len(context.failed_runs), 'run')} failed, none finished")
        banner = Banner("! no result", Tone.BAD, "", analysis.headline, (failed,))
    elif analysis.predictions:
        banner = _of_predictions(context)
    else:
        word = "! overloaded" if analysis.overloads else context.how
        rests = _rests_on(context, None)
        banner = Banner(word, Tone.BAD if analysis.overloads else Tone.PLAIN, "", analysis.headline, (), rests)
    if not analysis.comparisons and context.ok_runs:
        blocks += figures(context)
    if apart(analysis, context.campaign.places):
        joint = "and" if ", but " in banner.word else "but"
        tone_of = Tone.WARN if banner.tone is Tone.GOOD else banner.tone
        banner = replace(banner, word=f"{banner.word}, {joint} not measured in turn", tone=tone_of)
    banner = _with_lateness(context, _with_goals(context, banner))
    return [replace(banner, word=context.capital(banner.word)), *blocks, *_caveats(context)]


def _with_lateness(context: Context, banner: Banner) -> Banner:
    """The banner of latencies that are this machine's more than the storage's: it says so, whatever was found.

    Goals that were met hold without the lateness, too.
    """
    goals = context.analysis.decision.goals
    held = goals is not None and goals.met == goals.total
    if held or not mostly_late(context.campaign.runs):
        return banner
    joint = ", and" if ", but " in banner.word else ", but"
    if goals is not None and goals.only_untold and any(one.late is not None for one in goals.standings):
        joint = ":"
    tone_of = Tone.WARN if banner.tone in (Tone.GOOD, Tone.PLAIN) else banner.tone
    return replace(banner, word=f"{banner.word}{joint} the load generator was late", tone=tone_of)


def _with_goals(context: Context, banner: Banner) -> Banner:
    """The banner of a study with goals: whether they are met comes first, then the verdict."""
    goals = context.analysis.decision.goals
    if goals is None or not context.ok_runs:
        return banner
    word, tone_of = _of_one(context, goals) if goals.nearest is None else _of_several(context, goals)
    facts = [("Goals", f"{goals.met} of {goals.total} met")]
    if context.analysis.comparisons:
        facts.append(("Verdict", banner.word + (f" ({banner.subject})" if banner.subject else "")))
    return replace(banner, word=word, tone=tone_of, subject="", facts=(*facts, *banner.facts))


def _of_one(context: Context, goals: GoalAnswer) -> tuple[str, Tone]:
    """The word for goals of one variant, which may have run at several loads."""
    only = goals.standings[0]
    missed = goals.total - goals.met
    if only.met and only.missed:
        how = f", {only.reserve.source.value}" if only.reserve is not None else ""
        return f"goals met {where_met(only, context.campaign.study)}{how}", Tone.WARN if how else Tone.PLAIN
    if goals.only_untold:
        return f"? {'goal' if goals.total == 1 else f'{missed} of {goals.total} goals'} cannot be judged", Tone.WARN
    if missed:
        return f"✗ {'goal' if goals.total == 1 else f'{missed} of {goals.total} goals'} missed", Tone.BAD
    if only.repeated is not None:
        return f"✓ {'goal' if goals.total == 1 else 'all goals'} met with repeated runs", Tone.WARN
    reserve = soonest(context.analysis.reserves)
    if reserve is not None:
        return f"✓ {'goal' if goals.total == 1 else 'all goals'} met, {reserve.source.value}", Tone.WARN
    if goals.near:
        return f"✓ {'goal' if goals.total == 1 else 'all goals'} met, within scatter", Tone.WARN
    return f"✓ {'goal' if goals.total == 1 else 'all goals'} met", Tone.GOOD


def _of_several(context: Context, goals: GoalAnswer) -> tuple[str, Tone]:
    """The word for goals of several variants: who meets them; amber where that has a price or hangs on a guess."""
    decision = context.analysis.decision
    if not goals.candidates and goals.only_untold:
        return "? goals cannot be judged", Tone.WARN
    if not goals.candidates:
        return "✗ no variant meets the goals", Tone.BAD
    if decision.taken is None:
        care = bool(goals.near) or any(one.repeated is not None for one in goals.candidates)
        return f"✓ goals met by {plural(len(goals.candidates), 'variant')}", Tone.WARN if care else Tone.GOOD
    key, told = variant_key(decision.taken), decision.told
    mine = told.comparisons if told is not None and variant_key(told.variant) == key else ()
    paid = any(c.worsened or c.unclear or c.losses or c.flipped or c.may_be(better=False) for c in mine)
    paid |= any(variant_key(variant) == key for variant, _ in context.analysis.losses)
    paid |= any(matches(variant, decision.taken) for variant, _ in goals.near)
    reserve = soonest(one for one in context.analysis.reserves if matches(one.variant, decision.taken))
    paid |= reserve is not None or bool(of_variant(context.analysis.repeated, decision.taken))
    turns = any(variant_key(variant) == key for _, variant, _ in goals.flips)
    how = f", {reserve.source.value}" if reserve is not None else ""
    return f"✓ {context.label(decision.taken)} meets the goals{how}", Tone.WARN if paid or turns else Tone.GOOD


def _word_of_sweep(context: Context) -> str:
    knees = context.analysis.knees
    if len(knees) == 1:
        return f"saturates at about {saturation_words(knees[0], context.campaign.study)}"
    return "saturation points" if knees else f"{context.how}, load by load"


def _counts(comparisons: Sequence[Comparison], label: str = "Comparisons") -> tuple[tuple[str, str], ...]:
    """How many comparisons ended in which verdict, as one fact; none without comparisons."""
    counted = Counter(comparison.verdict for comparison in comparisons)
    names = {comparison.verdict: name(comparison) for comparison in comparisons}
    said = ", ".join(f"{counted[verdict]} {names[verdict]}" for verdict in Verdict if counted[verdict])
    return ((label, said),) if said else ()


def _of_grid(context: Context) -> Banner:
    comparisons, told, subject = context.analysis.comparisons, context.analysis.decision.told, ""
    decided = [c for c in comparisons if c.verdict in (Verdict.FASTER, Verdict.SLOWER)]
    alike = {words(c).split(",")[0] for c in decided}
    if len(decided) == len(comparisons) and len(alike) == 1:
        word, how = f"{sign(decided[0].verdict)} {alike.pop()} at every load", tone_of_all(comparisons)
    elif context.analysis.overloads:
        word, how = "! overloaded at some loads", Tone.WARN
    elif all(c.alike for c in comparisons):
        word, how = f"{sign(Verdict.EQUIVALENT)} equivalent at every load", tone_of_all(comparisons)
    elif all(c.verdict is Verdict.FIXED for c in comparisons):
        word, how = f"{sign(Verdict.FIXED)} fixed by the arrivals at every load", Tone.WARN
    elif all(c.verdict in (Verdict.UNDECIDED, Verdict.NOT_COMPARABLE) for c in comparisons):
        word, how = f"{sign(Verdict.UNDECIDED)} undecided", Tone.WARN
    elif any(group.ahead and group.behind for group in context.analysis.decision.groups):
        word, how = "it depends on the load", Tone.WARN
    elif told is not None and told.decided:
        word, how = _at_some_loads(told), tone_of_all(told.comparisons)
        subject = f"{context.label(told.variant)} against {context.label(told.baseline)}"
    else:
        word, how = f"{sign(Verdict.UNDECIDED)} no difference shown", Tone.WARN
    facts = (("Metric", short(context.primary.name)), *_counts(comparisons))
    return Banner(word, how, subject, context.analysis.headline, facts, _rests_on(context, None))


def _at_some_loads(told: Group) -> str:
    """One direction, at all loads of a variant or at some: `▼ slower at 2 of 3 loads`."""
    large = [c for c in told.decided if c.verdict in (Verdict.FASTER, Verdict.SLOWER)]
    shown = (large or told.decided)[0]
    way = name(shown).split(",")[0]
    loads = len(told.comparisons)
    where = "every load" if len(told.decided) == loads else f"{len(told.decided)} of {loads} loads"
    return f"{sign(shown.verdict)} {way} at {where}{'' if large else ', but small'}"


def _of_comparison(context: Context, leading: Comparison) -> Banner:
    ratio = leading.decisive
    facts = []
    if leading.values is not None:
        unit = context.primary.unit
        for variant, value in zip((leading.variant, leading.baseline), leading.values, strict=True):
            facts.append((context.capital(context.label(variant)), quantity(value, unit)))
    if ratio is not None and leading.verdict is not Verdict.FIXED:
        # In the words of the sentence above: the same difference in another form would be a second number to compare.
        factor = is_latency(leading)
        known = has_interval(ratio) and ratio.low < ratio.high
        size, ends = effect_of(ratio, factor=factor), effect_interval(ratio, factor=factor) if known else ""
        if known and leading.verdict in (Verdict.UNDECIDED, Verdict.EQUIVALENT):
            size, ends = quotient(leading, ratio)
        ends = tells_nothing(ratio) or ends
        facts.append(("Difference", size))
        facts += [(f"{level(ratio.level)} interval", ends)] if ends else []
        facts.append(("Rounds", f"{ratio.n}"))
    facts.append(("Metric", short(context.primary.name)))
    facts += _counts([c for c in context.analysis.comparisons if c != leading], "Other comparisons")
    return Banner(
        word=f"{sign(leading.verdict)} {words(leading)}",
        tone=_tone(context, leading),
        subject=f"{context.label(leading.variant)} against {context.label(leading.baseline)}",
        sentence=context.analysis.headline,
        facts=tuple(facts),
        rests_on=_rests_on(context, leading),
    )


def _tone(context: Context, leading: Comparison) -> Tone:
    """The tone of the leading comparison, unless its variant does worse somewhere or no such harm is ruled out."""
    told = context.analysis.decision.told
    group = told.comparisons if told is not None and leading in told.comparisons else (leading,)
    every = tone_of_all(context.analysis.comparisons if leading.alike else group)
    return every if tone(leading) in (Tone.GOOD, Tone.PLAIN) else tone(leading)


def _rests_on(context: Context, leading: Comparison | None) -> tuple[str, ...]:
    """Guards, what may be lost, what latencies leave out, assumptions and how far they were tried."""
    said = [context.unanswered_words] if context.unanswered_words else []
    said += _reserves(context) + _transients(context)
    if leading is not None and leading.guards:
        said += _guards(leading)
    told = context.analysis.decision.told
    group = [leading] if leading is not None else list(told.comparisons) if told is not None else []
    lost: dict[str, dict[str, None]] = {}
    for c in group:
        for text in c.losses:
            lost.setdefault(text, {})[label(c.variant, context.campaign.study, apart_from=c.baseline)] = None
    said += [
        f"{context.capital(listed(list(who)))} may lose data: {text}."
        for text, who in lost.items()
        if text not in context.analysis.headline
    ]
    if leading is not None:
        said += [
            f"{context.capital(context.label(leading.baseline))} may lose data: {text}." for text in leading.spared
        ]
    said += _lost_by_others(context, group, said)
    who = "Every variant" if len(context.variants) > 1 else "It"
    said += [f"{who} may lose data: {text}." for text in context.analysis.shared_losses]
    figures = context.analysis.assumptions if context.campaign.clock == "virtual" else ()
    refills = dict.fromkeys(one.assumed for one in context.analysis.reserves if one.assumed)
    assumed = [*list(refills)[:_MOST_REFILLS], *figures[:_MOST]]
    if assumed:
        more = f"; {len(figures) - _MOST} more in the environment" if len(figures) > _MOST else ""
        said.append(f"Rests on assumed figures: {'; '.join(assumed)}{more}.")
    if figures:
        said += _turning_goals(context)
        if context.is_sweep:
            return tuple(said)
        said += _tried(context, group or list(context.analysis.comparisons))
    return tuple(said)


def _lost_by_others(context: Context, told: Sequence[Comparison], said: Sequence[str]) -> list[str]:
    """Who else may lose data: of words that were said of those told of, only who meets the goals besides."""
    analysis = context.analysis
    goals = analysis.decision.goals
    able = {variant_key(one.variant) for one in goals.standings if one.met} if goals is not None else set()
    known = {variant_key(without(side, analysis.loads)) for c in told for side in (c.variant, c.baseline)}
    lines = []
    for lost in dict.fromkeys(lost for _, lost in analysis.losses):
        who = [variant for variant, mine in analysis.losses if mine == lost]
        if any(lost in text for text in (analysis.headline, *said)):
            who = [one for one in who if variant_key(one) in able - known]
        if who:
            more = [f"{len(who) - _MOST} more"] if len(who) > _MOST else []
            names = listed([*(context.label(one) for one in who[:_MOST]), *more])
            lines.append(f"{context.capital(names)} may lose data: {lost}.")
    return lines


def _reserves(context: Context) -> list[str]:
    """Who does more than its storage sustains, soonest end first, as far as the headline has not said it."""
    found = sorted(context.analysis.reserves, key=lambda one: one.lasts_s)
    told = [one for one in found if all(text not in context.analysis.headline for text in (one.words, one.brief))]
    said = [
        f"{context.capital(context.label(one.variant)) if one.variant else 'It'} {one.words}." for one in told[:_MOST]
    ]
    more = len(told) - _MOST
    sources = listed(list(dict.fromkeys(one.source.value for one in told[_MOST:]))) if more > 0 else ""
    return said + ([f"{plural(more, 'further variant')} {sources}."] if more > 0 else [])


def _transients(context: Context) -> list[str]:
    """Who was measured in what does not last; of credits and caches that end, and of overloads, more is told."""
    analysis = context.analysis
    more = [one.variant for one in analysis.reserves] + [one.variant for one in analysis.overloads]
    told = {variant_key(variant) for variant in more}
    found = transients(context.campaign.runs, context.campaign.study, analysis.steady)
    mine = [(variant, words) for variant, words in found if variant_key(variant) not in told]
    return [
        f"{context.capital(context.label(variant)) if variant else 'It'} {words}." for variant, words in mine[:_MOST]
    ]


def _turning_goals(context: Context) -> list[str]:
    """Whether a plausible assumption changes who meets the goals: of the variant that is taken, else of any."""
    decision = context.analysis.decision
    if decision.goals is None or not context.campaign.sensitivity:
        return []
    flips = decision.goals.flips
    if not flips:
        said = "What becomes of the goals does not change over the plausible ranges."
        return [said] if decision.goals.tried else []
    key = variant_key(decision.taken) if decision.taken is not None else None
    _, variant, words = next((flip for flip in flips if variant_key(flip[1]) == key), flips[0])
    who = f" by {context.label(variant)}" if decision.goals.nearest is not None else ""
    return [f"Whether the goals are met{who} turns within the plausible range: {words}."]


def _some(names: Sequence[str]) -> str:
    """The first names, the worst, and how many more there are."""
    more = len(names) - _MOST
    return ", ".join(names[:_MOST]) + (f" and {more} more" if more > 0 else "")


def _guards(leading: Comparison) -> list[str]:
    """What became of the guards, and which latencies are none since their requests are other work."""
    worse = [f"{short(g.metric)} ({grown(g)})" for g in leading.judged if g.worse]
    unclear = [short(g.metric) for g in leading.judged if g.unclear]
    held = len(leading.judged) - len(worse) - len(unclear)
    said = []
    if worse or unclear:
        parts = [f"worse: {_some(worse)}"] if worse else []
        parts += [f"not certain: {_some(unclear)}"] if unclear else []
        said.append(f"Guards {'; '.join(parts)}; {held} held.")
    elif held:
        which = {1: "The guard", 2: "Both guards"}.get(held, f"All {held} guards")
        said.append(f"{which} held: {_some([short(guard.metric) for guard in leading.judged])}.")
    other = [guard for guard in leading.guards if guard.requests is not None]
    for requests in dict.fromkeys(guard.requests for guard in other):
        names = ", ".join(short(guard.metric) for guard in other if guard.requests == requests)
        if requests is not None:
            said.append(
                f"{capital(names)}: no guard, since {requests[0].words} is other work than {requests[1].words}."
            )
    return said


def _tried(context: Context, comparisons: Sequence[Comparison]) -> list[str]:
    tried = [found for comparison in comparisons for found in comparison.sensitivity]
    flips = [(c, found) for c in comparisons for found in c.flipped]
    if flips:
        comparison, found = flips[0]
        text = (
            f"The verdict turns within the plausible range: {found.words} gives "
            f"{quantity(found.ratio, '×')} for {context.label(comparison.variant)}."
        )
        return [text]
    if not tried:
        return []
    shown = [c for c in comparisons if c.sensitivity and c.ratio is not None]
    said = [_range_of(context, c, alone=len(shown) == 1) for c in shown[:_MOST]]
    more = f", {len(shown) - _MOST} more" if len(shown) > _MOST else ""
    undecided = all(comparison.verdict is Verdict.UNDECIDED for comparison in comparisons)
    stays = "the ratio is" if undecided else "the verdict stays:"
    how = "With one model of each variant at an end of its plausible range, reads and writes together"
    return [f"{how}, {stays} {'; '.join(said)}{more}. Reads and writes at opposite ends were not tried."]


def _range_of(context: Context, comparison: Comparison, *, alone: bool) -> str:
    """The ratios at the ends that were tried, and as assumed, which is among them: `3.00 to 3.74 × at 16 sessions`."""
    assert comparison.ratio is not None
    ratios = [comparison.ratio.value, *(found.ratio for found in comparison.sensitivity)]
    ends = list(dict.fromkeys(quantity(end, "") for end in (min(ratios), max(ratios))))
    where = "" if alone else f" for {context.label(comparison.variant)}"
    return f"{' to '.join(ends)} ×{where}"


def _of_predictions(context: Context) -> Banner:
    cells = context.analysis.predictions
    checked = [cell for cell in cells if cell.relative_error is not None and not cell.calibrated]
    held = [cell for cell in checked if abs(cell.relative_error or 0.0) <= _WITHIN]
    facts = [("Independent checks held", f"{len(held)} of {len(checked)}" if checked else "none was published")]
    if checked:
        worst = max((abs(cell.relative_error) for cell in checked if cell.relative_error is not None), default=0.0)
        facts.append(("Largest error", percent(worst)))
    facts.append(("Cells predicted", f"{sum(cell.predicted is not None for cell in cells)}"))
    facts.append(("Calibrated", f"{sum(cell.calibrated for cell in cells)}"))
    bad = bool(checked) and len(held) < len(checked)
    word = f"! {len(checked) - len(held)} of {plural(len(checked), 'check')} failed" if bad else context.how
    return Banner(
        word, Tone.WARN if bad else Tone.PLAIN, "", context.analysis.headline, tuple(facts), _rests_on(context, None)
    )


def _caveats(context: Context) -> list[Block]:
    """What weakens the answer must be in sight of it; nothing is said where nothing does."""
    said = ["tiny scale (--quick), no figure to rely on"] if context.campaign.quick else []
    if context.campaign.edited:
        said.append("study.toml was edited after the campaign began")
    if torn := len({run.directory for run in context.campaign.runs if run.lost}):
        said.append(f"files of {plural(torn, 'run')} are missing")
    reached = context.analysis.false_alarms
    if reached is not None:
        said.append(
            f"looked at beyond the plan, so that chance shows a difference in {percent(reached)} of equal pairs"
        )
    if context.failed_runs:
        said.append(f"{plural(len(context.failed_runs), 'run')} failed")
    if first := failed_first(context.analysis.repeated):
        said.append(f"{plural(first, 'run')} failed first and {'was' if first == 1 else 'were'} repeated")
    if idle := sum(nothing_done(run) for run in context.campaign.runs):
        said.append(f"{plural(idle, 'run')} completed nothing while measured")
    missing = context.campaign.planned - len(context.campaign.runs)
    if missing > 0:
        said.append(f"{plural(missing, 'planned run')} not done yet")
    wrong = sum(not audit.passed for audit in context.analysis.audits)
    if wrong:
        said.append(f"{plural(wrong, 'line')} {'contradicts' if wrong == 1 else 'contradict'} Little's law")
    return [Paragraph(f"Read with care: {', '.join(said)}. See “Data quality” below.", Tone.WARN)] if said else []


SECTION = Section("verdict", "Verdict", 10, (), build)
