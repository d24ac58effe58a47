//! All rules together: what they decide about one request, and what they have done so far.

use fathom_volume::ErrorKind;

use super::rules::{Alteration, Facts, Rule, Verdict};

/// What all rules together decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RuleOutcome {
    /// It takes so many ns longer.
    pub delay: u64,
    /// The rule that fails it, from 0, and how.
    pub failure: Option<(usize, ErrorKind)>,
    /// The device is gone.
    pub vanishes: bool,
    /// How it is carried out.
    pub twist: Option<Alteration>,
}

/// The rules and what they did.
pub struct Injector {
    // One for each of the settings; None for what the layer as a whole sees to.
    rules: Vec<Option<Box<dyn Rule>>>,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    errors: u64,
    delays: u64,
    stalls: u64,
    torn: u64,
    lost: u64,
    misdirected: u64,
    rotten: u64,
    lies: u64,
    held: u64,
}

impl Injector {
    pub fn new(rules: Vec<Option<Box<dyn Rule>>>) -> Self {
        Self { rules, counts: Counts::default() }
    }

    /// Asks the rules one after the other, up to the first that fails the request.
    pub fn judge(&mut self, facts: &Facts) -> RuleOutcome {
        let mut outcome = RuleOutcome::default();
        let Self { rules, counts } = self;
        let rules = rules.iter_mut().enumerate().filter_map(|(index, rule)| Some((index, rule.as_mut()?)));
        for (index, rule) in rules {
            match rule.judge(facts) {
                Verdict::Pass => {}
                Verdict::Delay(span) => {
                    counts.delays += 1;
                    outcome.delay += span;
                }
                Verdict::HoldUntil(at) => {
                    counts.stalls += 1;
                    outcome.delay = outcome.delay.max(at.saturating_sub(facts.now));
                }
                Verdict::Alteration(twist) => {
                    outcome.twist.get_or_insert(twist);
                }
                verdict @ (Verdict::Fail(_) | Verdict::Vanish) => {
                    counts.errors += 1;
                    outcome.vanishes = verdict == Verdict::Vanish;
                    let error = if let Verdict::Fail(error) = verdict { error } else { ErrorKind::Gone };
                    outcome.failure = Some((index, error));
                    return RuleOutcome { twist: None, ..outcome };
                }
            }
        }
        if let Some(twist) = outcome.twist {
            *counts.of(twist) += 1;
        }
        outcome
    }

    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let Counts { errors, delays, stalls, torn, lost, misdirected, rotten, lies, held } = self.counts;
        vec![
            ("errors", errors),
            ("delays", delays),
            ("stalls", stalls),
            ("torn", torn),
            ("lost", lost),
            ("misdirected", misdirected),
            ("rotten", rotten),
            ("lies", lies),
            ("held", held),
        ]
    }
}

impl Counts {
    fn of(&mut self, twist: Alteration) -> &mut u64 {
        match twist {
            Alteration::Tear(..) => &mut self.torn,
            Alteration::Lose => &mut self.lost,
            Alteration::Misdirect(_) => &mut self.misdirected,
            Alteration::Flip(_) => &mut self.rotten,
            Alteration::Lie => &mut self.lies,
            Alteration::Hold => &mut self.held,
        }
    }
}
