//! Rules: small objects with one method and a closed answer.

use std::ops::Range;

use fathom_runtime::{Nanos, Random};
use fathom_volume::{ErrorKind, Kind};

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
    /// It goes on at that instant, together with all others that are held.
    HoldUntil(Nanos),
    /// It fails.
    Fail(ErrorKind),
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

    /// Whether the request is of the right kind and in the right place.
    fn concerns(&self, facts: &Facts) -> bool {
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
    /// The rule at work.
    pub fn live(&self, random: Random) -> Box<dyn Rule> {
        let aim = Aim { trigger: self.trigger.clone(), random, passed: 0, fired: 0 };
        match self.effect {
            Effect::Error(kind) => Box::new(Chosen { aim, verdict: Verdict::Fail(kind) }),
            Effect::Delay(span) => Box::new(Chosen { aim, verdict: Verdict::Delay(span) }),
            Effect::Stall { from, lasts, every } => {
                Box::new(Stall { trigger: self.trigger.clone(), from, lasts, every })
            }
        }
    }
}

/// A trigger at work.
struct Aim {
    trigger: Trigger,
    random: Random,
    passed: u64,
    fired: u64,
}

impl Aim {
    /// Whether this request is met.
    fn fires(&mut self, facts: &Facts) -> bool {
        let trigger = &self.trigger;
        if !trigger.concerns(facts) || !trigger.during.contains(&facts.now) {
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
    aim: Aim,
    verdict: Verdict,
}

impl Rule for Chosen {
    fn judge(&mut self, facts: &Facts) -> Verdict {
        if facts.phase == Phase::Arriving && self.aim.fires(facts) { self.verdict } else { Verdict::Pass }
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
        if facts.now < self.from || !self.trigger.concerns(facts) {
            return Verdict::Pass;
        }
        let since = facts.now - self.from;
        let since = self.every.map_or(since, |every| since % every);
        if since < self.lasts { Verdict::HoldUntil(facts.now + (self.lasts - since)) } else { Verdict::Pass }
    }
}
