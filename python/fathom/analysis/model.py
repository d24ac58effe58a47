"""The types the analysis yields: what a report may show, with nothing left to compute."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from fathom.analysis.guard import Guard, Request
from fathom.analysis.repeated import Repeated
from fathom.finding import Finding
from fathom.lateness import Late
from fathom.results import Level


@dataclass(frozen=True)
class Estimate:
    """A number with its uncertainty.

    Attributes:
        value: the point estimate; low and high bound the interval of the stated level (0.95, ...; 0 for none).
        n: independent observations behind it (runs or rounds, never samples).
        method: how it was made, in words a reader can look up in METHODOLOGY.md.
    """

    value: float
    low: float
    high: float
    level: float
    n: int
    method: str

    @property
    def has_interval(self) -> bool:
        """Whether low and high mean anything: a single observation carries level 0 and low = value = high."""
        return self.level > 0

    def within(self, margin: float) -> bool:
        """Whether the whole interval of a ratio lies between 1 / (1 + margin) and 1 + margin."""
        return 1 / (1 + margin) < self.low and self.high < 1 + margin

    def beyond(self, margin: float, *, above: bool) -> bool:
        """Whether the interval of a ratio leaves 1 out on that side, and the ratio is at the margin or further."""
        if not self.has_interval:
            return False
        return self.low > 1 and self.value >= 1 + margin if above else self.high < 1 and self.value <= 1 / (1 + margin)


class Verdict(StrEnum):
    """The closed list of answers to "is B better than A?"; the margin is fixed in the study before the run."""

    FASTER = "faster"
    SLOWER = "slower"
    FASTER_SMALL = "faster, but small"
    SLOWER_SMALL = "slower, but small"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"
    OVERLOADED = "overloaded"
    FIXED = "fixed by the arrivals"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True)
class Summary:
    """One metric of one variant over its rounds: mean with interval, every point by round, coefficient of variation."""

    variant: dict[str, Level]
    metric: str
    mean: Estimate | None
    points: tuple[tuple[int, float], ...]
    cv: float | None
    failed: int


class Source(StrEnum):
    """What a variant does more from than its storage sustains, as it is said of the variant."""

    CREDITS = "on burst credits"
    CACHE = "while its cache fills"


SPENT_S = 1.0
"""Credits that last no longer are spent, s."""


@dataclass(frozen=True)
class Reserve:
    """A variant that did more than its storage sustains.

    Attributes:
        source: what made up for the rest.
        lasts_s: how long what was left of it lasts at the rate of the run, s.
        words: what it does, how long, and what comes afterwards, without the subject.
        brief: how long, and what comes afterwards.
        whole_s: how long such a load runs from the start until nothing is left, the ramp included, s.
        phase: the phase in which it did, if its load has phases.
        keeps: the part of its rate that it goes on doing when nothing is left, 0 to 1; 1 where that is not known.
        assumed: what `lasts_s` takes for granted although nobody published it; empty where it does not.
    """

    variant: dict[str, Level]
    source: Source
    lasts_s: float
    words: str
    brief: str
    whole_s: float = 0.0
    phase: str = ""
    keeps: float = 1.0
    assumed: str = ""


def soonest(reserves: Iterable[Reserve]) -> Reserve | None:
    """What ends first; None of none."""
    return min(reserves, key=lambda one: one.lasts_s, default=None)


@dataclass(frozen=True)
class Overload:
    """A variant that could not do the load it was offered.

    Attributes:
        offered, done: arrivals and completions per second, means over its runs.
        refused: arrivals turned away, all runs together; `waiting`: arrivals still queued at the end of a run, mean.
        growth: by what factor latency grew within a run, first to last third; None where it is not known.
        phase: the phase that all of this is of, where the load has phases: the one that fell short the most.
        parked: of `done`, what write-back caches only took because they were not full yet, mean.
    """

    variant: dict[str, Level]
    offered: float
    done: float
    refused: int
    waiting: float
    growth: float | None
    sentence: str
    phase: str = ""
    parked: float = 0.0


@dataclass(frozen=True)
class Sensitivity:
    """What assumptions of devices' models mean for a comparison.

    Attributes:
        volumes: whose models assume, in words (`ebs`, `aws/gp3 (a and b)`); `words` says it with what was assumed:
            `ebs at latency 3 ms`.
        ratio: improvement at that end; `flips` whether that is another answer than the verdict's, by more than chance.
        beyond: whether the ratio lies where the answer is another, be it by chance.
        ends: every (model, "low" or "high") that is not as assumed; `rounds` as many stand behind the ratio.
    """

    volumes: str
    words: str
    ratio: float
    flips: bool
    beyond: bool = False
    ends: tuple[tuple[str, str], ...] = ()
    rounds: int = 1


@dataclass(frozen=True)
class Comparison:
    """One variant against the baseline.

    Attributes:
        ratio: improvement as a ratio with its interval at the (possibly look- and Holm-adjusted) level; above 1 the
            variant is better, whichever direction of the metric is the better one. None if nothing can be estimated.
        equivalence: the 90 % interval that the two one-sided tests use; None without a ratio.
        margin: the equivalence margin, as a fraction (0.02 for 2 %).
        points: (round, ratio) for every complete round.
        p_permutation: exact sign-flip permutation p value; None below 2 rounds.
        more_rounds: for UNDECIDED, about how many more rounds are needed; None if not affordable to say.
        reasons: plain sentences behind NOT_COMPARABLE, and warnings otherwise.
        averaged: what the ratio of a round is the mean of: the levels of factors that `variant` leaves open.
        by_level: the ratio at each of these by itself; None where it has no round.
        values: geometric mean of the metric for variant and baseline, in its unit, whose quotient is the ratio; None
            without one, or where ratios are averaged.
        guards: what may not get worse, the worst first; losses: what a crash or failure may take of the variant and not
            of the baseline; spared: the other way round. Both in the words of the database or layer.
        sensitivity: what the ends of assumed ranges make of it.
        requests: what one request is for variant and baseline, where that is not the same work.
        reserves: of variant and baseline, what they did more from than their storage sustains; None without such.
        repeated: how many runs of the variant failed first; None where none did.
    """

    variant: dict[str, Level]
    baseline: dict[str, Level]
    metric: str
    ratio: Estimate | None
    equivalence: Estimate | None
    margin: float
    verdict: Verdict
    points: tuple[tuple[int, float], ...]
    p_permutation: float | None
    more_rounds: int | None
    reasons: tuple[str, ...]
    averaged: tuple[dict[str, Level], ...] = ()
    by_level: tuple[Estimate | None, ...] = ()
    values: tuple[float, float] | None = None
    guards: tuple[Guard, ...] = ()
    losses: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    sensitivity: tuple[Sensitivity, ...] = ()
    requests: tuple[Request, Request] | None = None
    reserves: tuple[Reserve | None, Reserve | None] = (None, None)
    repeated: Repeated | None = None

    @property
    def decisive(self) -> Estimate | None:
        """The interval that the verdict rests on: that of the equivalence test where they are equivalent."""
        return self.equivalence if self.verdict is Verdict.EQUIVALENT else self.ratio

    @property
    def within_margin(self) -> bool:
        """Whether a difference, certain as it may be, is also shown to be within the margin."""
        return self.equivalence is not None and self.equivalence.within(self.margin)

    @property
    def alike(self) -> bool:
        """Whether both sides are as good as equal: a difference within the margin is nothing to choose by."""
        small = self.verdict in (Verdict.FASTER_SMALL, Verdict.SLOWER_SMALL) and self.within_margin
        return (self.verdict is Verdict.EQUIVALENT or small) and not self.contrary

    def leaning(self, *, better: bool) -> tuple[dict[str, Level], ...]:
        """The averaged levels at which the variant is certainly better, or worse, by the margin or more."""
        found = zip(self.averaged, self.by_level, strict=True)
        return tuple(levels for levels, at in found if at is not None and at.beyond(self.margin, above=better))

    @property
    def contrary(self) -> tuple[dict[str, Level], ...]:
        """The averaged levels that contradict the verdict on their mean."""
        if self.verdict in (Verdict.NOT_COMPARABLE, Verdict.OVERLOADED):
            return ()
        better = () if self.verdict in (Verdict.FASTER, Verdict.FASTER_SMALL) else self.leaning(better=True)
        worse = () if self.verdict in (Verdict.SLOWER, Verdict.SLOWER_SMALL) else self.leaning(better=False)
        return tuple(levels for levels in self.averaged if levels in better or levels in worse)

    @property
    def worsened(self) -> tuple[Guard, ...]:
        """The guards that did not hold."""
        return tuple(guard for guard in self.guards if guard.worse)

    @property
    def bettered(self) -> tuple[Guard, ...]:
        """The guards that are certainly better by more than their margin, the largest change first."""
        better = (guard for guard in self.guards if guard.better and guard.change is not None)
        return tuple(sorted(better, key=lambda guard: guard.change or 0.0))

    @property
    def unclear(self) -> tuple[Guard, ...]:
        """The guards that neither held nor certainly did not."""
        return tuple(guard for guard in self.guards if guard.unclear)

    def may_be(self, *, better: bool) -> bool:
        """Whether the variant may be better, or worse, by more than the margin, although nothing shows it."""
        if self.verdict is Verdict.NOT_COMPARABLE:
            return True
        if self.verdict is not Verdict.UNDECIDED:
            return False
        equal, most = self.equivalence, 1 + self.margin
        return equal is None or not equal.has_interval or (equal.high >= most if better else equal.low <= 1 / most)

    @property
    def stood_still(self) -> Guard | None:
        """The guard on standstills, where it did not hold."""
        return next((guard for guard in self.guards if guard.stood_still), None)

    @property
    def judged(self) -> tuple[Guard, ...]:
        """The guards that compare the same work."""
        return tuple(guard for guard in self.guards if guard.requests is None)

    @property
    def larger(self) -> bool:
        """Whether the variant's requests are larger than the baseline's: its gain has a price."""
        return self.requests is not None and self.requests[0].size > self.requests[1].size

    @property
    def flipped(self) -> tuple[Sensitivity, ...]:
        """The assumptions that the verdict hangs on."""
        return tuple(found for found in self.sensitivity if found.flips)


DECIDED = (Verdict.FASTER, Verdict.SLOWER, Verdict.FASTER_SMALL, Verdict.SLOWER_SMALL)


@dataclass(frozen=True)
class Group:
    """One variant against its baseline at every load; one comparison where no load varies.

    Attributes:
        variant, baseline: without the load.
        relieved: where the baseline alone could not do the load; `sunk` where the variant alone could not.
    """

    variant: dict[str, Level]
    baseline: dict[str, Level]
    comparisons: tuple[Comparison, ...]
    relieved: tuple[Comparison, ...] = ()
    sunk: tuple[Comparison, ...] = ()

    @property
    def decided(self) -> tuple[Comparison, ...]:
        """The comparisons that show a difference."""
        return tuple(c for c in self.comparisons if c.verdict in DECIDED and c.ratio is not None)

    @property
    def paid(self) -> Comparison | None:
        """The comparison whose guards are the worst, whatever its verdict; None where none is worse."""
        paid = (c for c in self.comparisons if c.worsened)
        return max(paid, key=lambda one: one.worsened[0].harm, default=None)

    @property
    def doubtful(self) -> tuple[Comparison, ...]:
        """The comparisons with guards of which it is not certain that they held."""
        return tuple(c for c in self.comparisons if c.unclear)

    @property
    def unknown(self) -> tuple[Comparison, ...]:
        """Where nothing rules out the opposite of what is known elsewhere."""
        return tuple(c for c in self.comparisons if c.may_be(better=not self.ahead))

    @property
    def split(self) -> tuple[Comparison, ...]:
        """The means that single levels contradict."""
        return tuple(c for c in self.comparisons if c.contrary)

    @property
    def clear(self) -> bool:
        """Whether the variant is better somewhere and shown to be no worse anywhere."""
        return self.ahead and not (self.behind or self.unknown or self.split)

    @property
    def admissible(self) -> bool:
        """Whether it is better without a price in its guards or in runs that failed."""
        return self.clear and self.paid is None and self.repeated is None

    @property
    def repeated(self) -> Repeated | None:
        """How many runs of the variant failed first, at all loads together."""
        return self.comparisons[0].repeated

    @property
    def alike(self) -> bool:
        """Whether the variant is as good as its baseline at every load."""
        return all(c.alike for c in self.comparisons)

    @property
    def ahead(self) -> bool:
        """Whether the variant is better anywhere."""
        return bool(self.relieved) or any(c.verdict in (Verdict.FASTER, Verdict.FASTER_SMALL) for c in self.decided)

    @property
    def behind(self) -> bool:
        """Whether it is worse anywhere."""
        return bool(self.sunk) or any(c.verdict in (Verdict.SLOWER, Verdict.SLOWER_SMALL) for c in self.decided)


@dataclass(frozen=True)
class Standing:
    """How a variant stands to the goals.

    Attributes:
        variant: without the load.
        met, missed: the loads at which it meets all goals, and misses one, ascending, by factor; empty if none varies.
        words: the first miss in words; empty where there is none.
        reserve: what it meets them from where that ends, of all loads what ends first; None where it does so for ever.
        repeated: how many of its runs failed first; None where none did.
        late: how late the load generator was where it missed a goal, if that may be all of the miss; else None.
    """

    variant: dict[str, Level]
    met: tuple[dict[str, Level], ...]
    missed: tuple[dict[str, Level], ...]
    words: str
    reserve: Reserve | None = None
    repeated: Repeated | None = None
    late: Late | None = None


@dataclass(frozen=True)
class GoalAnswer:
    """What became of the goals of a study.

    Attributes:
        met, total: goals met, and goals in all variants together.
        standings: every variant, the smallest first where that is known.
        chosen: the smallest size, or first volume of a list, that meets all goals at all loads, for ever if one
            does so; None without one.
        nearest: what is chosen, or else what comes nearest; None where there is only one variant.
        sentence: the answer in words.
        flips: where a plausible assumption changes whether a variant meets the goals: the volumes assumed of, the
            variant, and what becomes of it in words. `tried`: whether the ends were tried of all that assume something.
        untold: goals that cannot be judged: too few requests for a percentile, or a load generator that was late.
        near: variants that meet a goal by less than their runs scatter, and that in a sentence.
    """

    met: int
    total: int
    standings: tuple[Standing, ...]
    chosen: dict[str, Level] | None
    nearest: dict[str, Level] | None
    sentence: str
    flips: tuple[tuple[str, dict[str, Level], str], ...] = ()
    untold: int = 0
    near: tuple[tuple[dict[str, Level], str], ...] = ()
    tried: bool = False

    @property
    def only_untold(self) -> bool:
        """Whether no goal is missed, and some cannot be judged."""
        return self.untold > 0 and self.met + self.untold == self.total

    @property
    def candidates(self) -> tuple[Standing, ...]:
        """The variants that meet all goals at all loads."""
        return tuple(standing for standing in self.standings if not standing.missed)

    @property
    def free(self) -> tuple[Standing, ...]:
        """Those of them to choose from: who meets the goals for ever, if anybody does."""
        return tuple(standing for standing in self.candidates if standing.reserve is None) or self.candidates


@dataclass(frozen=True)
class Decision:
    """What headline, first card and advice are about.

    Attributes:
        groups: every variant with its comparisons over the loads; empty for a sweep of a load.
        told: the variant to tell of; None where no comparison says anything.
        taken: the variant to choose, which may be a baseline; None where there is nothing to choose.
        as_good: larger variants that are equivalent to the one told of; where that is worse, those like its baseline.
        rivals: variants without a price that are not told apart from it: which of them is the best is not known.
        dearer: the variant that gains more, but with a guard that is worse or a load at which it is not known.
        goals: what became of the study's goals; None without any.
    """

    groups: tuple[Group, ...] = ()
    told: Group | None = None
    taken: dict[str, Level] | None = None
    as_good: tuple[dict[str, Level], ...] = ()
    rivals: tuple[dict[str, Level], ...] = ()
    dearer: Group | None = None
    goals: GoalAnswer | None = None

    @property
    def leading(self) -> Comparison | None:
        """The comparison whose figures are given first."""
        if self.told is None:
            return None
        return next(iter((*self.told.decided, *self.told.comparisons)), None)


@dataclass(frozen=True)
class Knee:
    """Where a load table bends: asymptotic bounds X <= N/R0 and X <= Xmax; n_star = Xmax * R0.

    `misfit` is the largest relative distance of a load's median rate from the bounds outside the bend. `points` holds
    (load, median rate, median latency in ms or NaN) for every load. `bottleneck` names what caps the throughput where
    that is known (a volume's cap, an adapter's depth), else None. `variant` holds the levels of the other factors,
    `metric` names the throughput.
    """

    load_factor: str
    service_floor_ms: Estimate
    throughput_ceiling: Estimate
    n_star: Estimate
    bottleneck: str | None
    variant: dict[str, Level] = field(default_factory=dict)
    metric: str = "iops"
    misfit: float = 0.0
    points: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True)
class ScalabilityFit:
    """Universal Scalability Law X(N) = gamma N / (1 + alpha (N-1) + beta N (N-1)) (Gunther).

    n_max is None unless the interval of beta excludes 0. `note` says "cap, not contention" where a hard cap explains
    it. `variant` holds the levels of the other factors, `metric` names X.
    """

    load_factor: str
    gamma: Estimate
    alpha: Estimate
    beta: Estimate
    n_max: float | None
    r_squared: float
    note: str | None
    variant: dict[str, Level] = field(default_factory=dict)
    metric: str = "iops"


@dataclass(frozen=True)
class LittleAudit:
    """One line of a table checked by Little's law: outstanding = rate * latency.

    `expected` is the stated (or configured) outstanding I/O, `implied` is rate * latency; relative_error is
    implied / expected - 1. `passed` within the tolerance; `sentence` says it in words.
    """

    where: str
    expected: float | None
    implied: float
    relative_error: float | None
    passed: bool
    sentence: str


RATE = "the rate"
"""What a series is that is not another's, as sentences name it."""


@dataclass(frozen=True)
class SteadyState:
    """Whether one run's series was level: warm-up cut by MSER-5, change points by least squares, thirds for its trend.

    Attributes:
        cut_s: seconds to discard at the start; steady: whether what remains passes every check; reasons: which failed.
        change_points_s: times of level changes in the remaining series, s since the measured phase began.
        excursion: largest relative change behind the reasons, as a fraction; 0 for a steady run.
        warm_up_bias: mean of the whole measured phase over the mean after the cut, minus 1; 0 within the noise.
        thirds: log of each third's mean over the mean of the whole; empty where a third is 0.
        error: standard error of the last third less the first, by what is left of the series without its straight line.
        what: the series, as sentences name it.
    """

    run_id: str
    cut_s: float
    steady: bool
    reasons: tuple[str, ...]
    change_points_s: tuple[float, ...]
    excursion: float = 0.0
    warm_up_bias: float = 0.0
    thirds: tuple[float, ...] = ()
    error: float = 0.0
    what: str = RATE


@dataclass(frozen=True)
class Prediction:
    """A published (or unpublished) cell beside what was simulated or measured here.

    `published` is None where the publication gives no figure that may be used: then this is a prediction alone.
    `calibrated` marks a cell that a parameter was fitted to; its agreement proves nothing.
    """

    cell: str
    metric: str
    unit: str
    published: float | None
    predicted: Estimate | None
    relative_error: float | None
    calibrated: bool
    source: str | None
    note: str | None = None


@dataclass(frozen=True)
class Analysis:
    """Everything a report shows about a campaign.

    `findings` are what to do next, the most useful first. `assumptions` are figures that a model's author guessed.
    `reserves` are of the variants that a longer run would have slowed. `loads` are the factors that are a load and no
    choice; `load` is the first of them that sets an amount, if one does. `round_s` is how long a round took, s.
    `decision` is what headline and findings are about. `losses`: what a variant, without its load, may lose
    and others not; `shared_losses` what all of them may.
    `false_alarms`: how often chance alone shows a difference, where looks beyond the plan made that more than promised.
    `repeated` are the variants of which runs failed and were carried out again.
    """

    title: str
    question: str
    metric: str
    summaries: tuple[Summary, ...]
    comparisons: tuple[Comparison, ...]
    steady: tuple[SteadyState, ...]
    knees: tuple[Knee, ...]
    scalability: tuple[ScalabilityFit, ...]
    audits: tuple[LittleAudit, ...]
    predictions: tuple[Prediction, ...]
    calibrated_on: tuple[str, ...]
    warnings: tuple[str, ...]
    headline: str
    findings: tuple[Finding, ...] = ()
    overloads: tuple[Overload, ...] = ()
    assumptions: tuple[str, ...] = ()
    reserves: tuple[Reserve, ...] = ()
    load: str | None = None
    loads: tuple[str, ...] = ()
    round_s: float | None = None
    decision: Decision = field(default_factory=Decision)
    losses: tuple[tuple[dict[str, Level], str], ...] = ()
    shared_losses: tuple[str, ...] = ()
    false_alarms: float | None = None
    repeated: tuple[Repeated, ...] = ()
