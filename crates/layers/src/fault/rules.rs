//! Rules: small objects with one method and a closed answer.

use std::ops::Range;

use fathom_runtime::{Nanos, Random};
use fathom_volume::{ErrorKind, Geometry, Kind};

use super::below::Return;

/// When a rule is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Before anything of the request goes below.
    Arriving,
    /// When the volume below has answered it.
    Answering,
}

/// A request as a rule sees it.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// Its kind.
    pub kind: Kind,
    /// First byte.
    pub offset: u64,
    /// Bytes; 0 for a flush.
    pub length: u64,
    /// Whether it must be durable when it is answered.
    pub fua: bool,
    /// Now, ns.
    pub now: Nanos,
    /// Which of the two times it is asked about.
    pub phase: Phase,
}

/// What happens to a request. A new answer breaks the build of the layer until it is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Pass,
    /// It takes so many ns longer.
    Delay(Nanos),
    /// It continues at that instant, together with all others that are held.
    HoldUntil(Nanos),
    /// It fails.
    Fail(ErrorKind),
    /// It fails for the device is gone, and with it what it had not flushed.
    Vanish,
    /// It is not carried out as it was asked.
    Alteration(Alteration),
}

/// How a request is altered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alteration {
    /// Only its first bytes go below, then it is answered so.
    Tear(u64, Option<ErrorKind>),
    /// It is answered, and nothing of it goes below.
    Lose,
    /// It goes to this offset.
    Misdirect(u64),
    /// This bit of its bytes is flipped.
    Flip(u64),
    /// A flush does not go below, a write goes without its FUA flag.
    Lie,
    /// It is answered and goes below when the next flush does, or when too many are held.
    Hold,
}

/// One fault. Asked about every request, twice.
pub trait Rule {
    /// What happens to this one.
    fn judge(&mut self, facts: &Facts) -> Verdict;
}

/// Which requests a rule is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Trigger {
    /// By [`Kind::ALL`].
    pub kinds: [bool; 5],
    /// Requests that touch these bytes, and flushes; None for all.
    pub range: Option<Range<u64>>,
    /// From 0 to 1.
    pub probability: f64,
    /// So many matching requests pass first.
    pub after: u64,
    /// Fires at most so often.
    pub times: Option<u64>,
    /// Instants at which it is in force, ns.
    pub during: Range<Nanos>,
}

impl Trigger {
    /// Every request at any time.
    pub fn always() -> Self {
        let during = 0..Nanos::MAX;
        Self { kinds: [true; 5], range: None, probability: 1.0, after: 0, times: None, during }
    }

    /// Whether the request is of the right kind and at the right offset.
    fn matches_request(&self, facts: &Facts) -> bool {
        let touches =
            |range: &Range<u64>| facts.offset < range.end && range.start < facts.offset + facts.length;
        self.kinds[facts.kind as usize]
            && (facts.kind == Kind::Flush || self.range.as_ref().is_none_or(touches))
    }
}

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Fails requests.
    Error(ErrorKind),
    /// Makes requests take so many ns longer.
    Delay(Nanos),
    /// Holds everything for a while.
    Stall {
        /// When it begins, ns.
        from: Nanos,
        /// How long it lasts, ns.
        lasts: Nanos,
        /// After how long it begins again, ns; longer than it lasts. None for once.
        every: Option<Nanos>,
    },
    /// The device is gone from the first request on that it is aimed at, for so many ns or for ever.
    Gone(Option<Nanos>),
    /// Writes reach the device up to a sector drawn from chance, and are answered, or fail, as if nothing were wrong.
    Torn(Option<ErrorKind>),
    /// Writes, trims and zeroes are answered and do not reach the device.
    Lost,
    /// Reads and writes go so many bytes further on, or to a random offset.
    Misdirected(Option<u64>),
    /// One bit of what is written or read is flipped.
    BitRot,
    /// Flushes, and the FUA flags of writes, do not reach the device.
    LyingFlush,
    /// Writes and zeroes are held in a volatile cache of so many, and leave it in an order drawn from chance.
    Reordered(usize),
    /// Contents of an earlier instant come back.
    OldContents(Return),
}

impl Effect {
    /// What it can happen to, by [`Kind::ALL`].
    pub fn suits(self) -> [bool; 5] {
        let [read, write, flush, trim, zeroes] =
            [Kind::Read, Kind::Write, Kind::Flush, Kind::Trim, Kind::WriteZeroes];
        let suited: &[Kind] = match self {
            Self::Error(_) | Self::Delay(_) | Self::Stall { .. } | Self::Gone(_) => &Kind::ALL,
            Self::Torn(_) => &[write],
            Self::Lost => &[write, trim, zeroes],
            Self::Misdirected(_) | Self::BitRot => &[read, write],
            Self::LyingFlush => &[flush, write, zeroes],
            Self::Reordered(_) => &[write, zeroes],
            Self::OldContents(_) => &[],
        };
        Kind::ALL.map(|kind| suited.contains(&kind))
    }
}

/// Settings of one rule.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleConfig {
    /// What it does.
    pub effect: Effect,
    /// To which requests.
    pub trigger: Trigger,
}

impl RuleConfig {
    /// The rule at work on a volume; None if the layer as a whole has to see to it.
    pub fn live(&self, random: Random, volume: &Geometry) -> Option<Box<dyn Rule>> {
        let mut trigger = self.trigger.clone();
        let suited = self.effect.suits();
        trigger.kinds = Kind::ALL.map(|kind| trigger.kinds[kind as usize] && suited[kind as usize]);
        let aim = ArmedTrigger { trigger, random, passed: 0, fired: 0 };
        let (sector, size) = (u64::from(volume.logical_sector), volume.size);
        Some(match self.effect {
            Effect::Error(kind) => Box::new(Chosen { aim, verdict: Verdict::Fail(kind) }),
            Effect::Delay(span) => Box::new(Chosen { aim, verdict: Verdict::Delay(span) }),
            Effect::Stall { from, lasts, every } => {
                Box::new(Stall { trigger: self.trigger.clone(), from, lasts, every })
            }
            Effect::Gone(lasts) => Box::new(Gone { aim, lasts, since: None }),
            Effect::Lost => Box::new(Chosen { aim, verdict: Verdict::Alteration(Alteration::Lose) }),
            Effect::LyingFlush => Box::new(Chosen { aim, verdict: Verdict::Alteration(Alteration::Lie) }),
            Effect::Reordered(_) => Box::new(Chosen { aim, verdict: Verdict::Alteration(Alteration::Hold) }),
            Effect::Torn(_) | Effect::Misdirected(_) | Effect::BitRot => {
                Box::new(Drawn { aim, effect: self.effect, sector, size })
            }
            Effect::OldContents(_) => return None,
        })
    }
}

/// A trigger at work.
struct ArmedTrigger {
    trigger: Trigger,
    random: Random,
    passed: u64,
    fired: u64,
}

impl ArmedTrigger {
    /// Whether this request is met.
    fn fires(&mut self, facts: &Facts) -> bool {
        let trigger = &self.trigger;
        if !trigger.matches_request(facts) || !trigger.during.contains(&facts.now) {
            return false;
        }
        if self.passed < trigger.after {
            self.passed += 1;
            return false;
        }
        let spent = trigger.times.is_some_and(|times| self.fired >= times);
        let fires = !spent && (trigger.probability >= 1.0 || self.random.chance(trigger.probability));
        self.fired += u64::from(fires);
        fires
    }
}

/// The same verdict on every request it is aimed at.
struct Chosen {
    aim: ArmedTrigger,
    verdict: Verdict,
}

impl Rule for Chosen {
    fn judge(&mut self, facts: &Facts) -> Verdict {
        let suits = match self.verdict {
            Verdict::Alteration(Alteration::Hold) => !facts.fua,
            Verdict::Alteration(Alteration::Lie) => facts.fua || facts.kind == Kind::Flush,
            _ => true,
        };
        if suits && facts.phase == Phase::Arriving && self.aim.fires(facts) {
            self.verdict
        } else {
            Verdict::Pass
        }
    }
}

/// Nothing is answered for a while.
struct Stall {
    trigger: Trigger,
    from: Nanos,
    lasts: Nanos,
    every: Option<Nanos>,
}

impl Rule for Stall {
    fn judge(&mut self, facts: &Facts) -> Verdict {
        if facts.now < self.from || !self.trigger.matches_request(facts) {
            return Verdict::Pass;
        }
        let since = facts.now - self.from;
        let since = self.every.map_or(since, |every| since % every);
        if since < self.lasts { Verdict::HoldUntil(facts.now + (self.lasts - since)) } else { Verdict::Pass }
    }
}

/// A twist whose measure is drawn for each request.
struct Drawn {
    aim: ArmedTrigger,
    effect: Effect,
    sector: u64,
    size: u64,
}

impl Rule for Drawn {
    fn judge(&mut self, facts: &Facts) -> Verdict {
        if facts.phase != Phase::Arriving || !self.aim.fires(facts) {
            return Verdict::Pass;
        }
        let random = &mut self.aim.random;
        let twist = match self.effect {
            Effect::Torn(error) => {
                let whole = random.below(facts.length / self.sector) * self.sector;
                Alteration::Tear(whole, error)
            }
            Effect::Misdirected(by) => {
                // Offsets at which it fits: it lands on one of them, wrapping around after the last.
                let places = (self.size - facts.length) / self.sector + 1;
                let place =
                    by.map_or_else(|| random.below(places), |by| (facts.offset + by) / self.sector % places);
                Alteration::Misdirect(place * self.sector)
            }
            _ => Alteration::Flip(random.below(facts.length * 8)),
        };
        Verdict::Alteration(twist)
    }
}

/// Nothing is served from some request on.
struct Gone {
    aim: ArmedTrigger,
    lasts: Option<Nanos>,
    since: Option<Nanos>,
}

impl Rule for Gone {
    fn judge(&mut self, facts: &Facts) -> Verdict {
        if let Some(since) = self.since {
            if self.lasts.is_none_or(|lasts| facts.now < since + lasts) {
                return Verdict::Fail(ErrorKind::Gone);
            }
            self.since = None;
        }
        if facts.phase == Phase::Arriving && self.aim.fires(facts) {
            self.since = Some(facts.now);
            return Verdict::Vanish;
        }
        Verdict::Pass
    }
}
