//! `fault`: makes a volume slow or fail, by rule and seed.
//!
//! # What it does
//! Asks its rules, in the order they are written, about every request as it arrives and again when the volume below has
//! answered. A rule lets it pass, delays it, or fails it. Delays add up; the first failure ends the request, and nothing
//! of it goes below. The same seed gives the same faults at the same requests.
//!
//! # Why
//! What a database does when its disk stalls for two seconds, or fails one write in a million, is better known before it
//! happens. And a layer or cache that claims to survive a fault needs one to survive.
//!
//! # Rules
//! Each has `fault` and what that takes:
//! - `error`: the request fails with `error` (`io`; or `gone`, `corrupt`, `no-space`).
//! - `delay`: the request takes `delay` (time) longer.
//! - `stall`: from `from` (time) on, for `lasts` (time), and again `every` (time) if that is given, nothing is answered:
//!   what arrives and what is under way waits for the end.
//!
//! All take `kinds` (all; a list of `read`, `write`, `flush`, `trim`, `write_zeroes`) and `offset` and `length` (bytes:
//! only requests that touch that range; a flush touches every range). Errors and delays also take `probability` (100%),
//! `after` (0: so many matching requests pass first), `times` (at most so often), `from` and `until` (times). Times count
//! from the start of the run, ramp included.
//!
//! # Example
//! ```toml
//! [volumes.flaky]
//! kind = "fault"
//! backing = "ssd"
//!
//! [[volumes.flaky.rules]]
//! fault = "error"
//! kinds = ["write"]
//! probability = "0.01%"
//!
//! [[volumes.flaky.rules]]
//! fault = "stall"
//! from = "30s"
//! lasts = "2s"
//! every = "60s"
//! ```
//!
//! # Limits
//! Data is never changed: no torn, lost or misdirected writes. Added time is service time, for it is the device that is
//! slow.
//!
//! # Counters
//! `errors`, `delays`, `stalls`: requests that met one.

mod rules;
mod settings;
#[cfg(test)]
mod tests;

use std::cell::RefCell;

use fathom_runtime::Context;
use fathom_volume::{Blueprint, Buf, Env, Error, ErrorKind, Geometry, Handle, Kind, Request, Result, Volume};

pub use rules::{Effect, Facts, Phase, Rule, RuleConfig, Trigger, Verdict};
pub use settings::KIND;

/// Settings of a fault layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Name of the volume it stands on.
    pub backing: String,
    /// In the order in which they are asked.
    pub rules: Vec<RuleConfig>,
}

/// What all rules together decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Ruling {
    delay: u64,
    // The rule that fails it, from 0, and how.
    failure: Option<(usize, ErrorKind)>,
}

/// The rules and what they did.
struct Court {
    rules: Vec<Box<dyn Rule>>,
    errors: u64,
    delays: u64,
    stalls: u64,
}

impl Court {
    fn judge(&mut self, facts: &Facts) -> Ruling {
        let mut ruling = Ruling::default();
        for (index, rule) in self.rules.iter_mut().enumerate() {
            match rule.judge(facts) {
                Verdict::Pass => {}
                Verdict::Delay(span) => {
                    self.delays += 1;
                    ruling.delay += span;
                }
                Verdict::HoldUntil(at) => {
                    self.stalls += 1;
                    ruling.delay = ruling.delay.max(at.saturating_sub(facts.now));
                }
                Verdict::Fail(kind) => {
                    self.errors += 1;
                    ruling.failure = Some((index, kind));
                    break;
                }
            }
        }
        ruling
    }
}

/// A live fault layer.
pub struct Fault {
    name: String,
    backing: Handle,
    geometry: Geometry,
    context: Context,
    court: RefCell<Court>,
}

impl Fault {
    /// Does what the rules say about a request.
    #[inline]
    async fn suffer(&self, kind: Kind, request: &Request, phase: Phase) -> Result<()> {
        let facts =
            Facts { kind, offset: request.offset, length: request.length, now: self.context.now(), phase };
        let ruling = self.court.borrow_mut().judge(&facts);
        if ruling.delay > 0 {
            self.context.sleep(ruling.delay).await;
        }
        match ruling.failure {
            None => Ok(()),
            Some((rule, error)) => Err(self.error(kind, request, rule, error)),
        }
    }

    #[cold]
    fn error(&self, kind: Kind, request: &Request, rule: usize, error: ErrorKind) -> Error {
        let Request { offset, length, .. } = request;
        let message = format!(
            "volume `{}` (fault): rule {} fails a {} of {length} bytes at offset {offset}, as it is told to",
            self.name,
            rule + 1,
            kind.name()
        );
        Error::new(error, message)
    }
}

impl Volume for Fault {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        self.suffer(Kind::Read, request, Phase::Arriving).await?;
        self.backing.read(request.part(request.offset, request.length), into).await?;
        self.suffer(Kind::Read, request, Phase::Answering).await
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        self.suffer(Kind::Write, request, Phase::Arriving).await?;
        self.backing.write(request.part(request.offset, request.length), from).await?;
        self.suffer(Kind::Write, request, Phase::Answering).await
    }

    async fn flush(&self, request: &Request) -> Result<()> {
        self.suffer(Kind::Flush, request, Phase::Arriving).await?;
        self.backing.flush(request.flush_for()).await?;
        self.suffer(Kind::Flush, request, Phase::Answering).await
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        self.suffer(Kind::Trim, request, Phase::Arriving).await?;
        self.backing.trim(request.part(request.offset, request.length)).await?;
        self.suffer(Kind::Trim, request, Phase::Answering).await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.suffer(Kind::WriteZeroes, request, Phase::Arriving).await?;
        self.backing.write_zeroes(request.part(request.offset, request.length)).await?;
        self.suffer(Kind::WriteZeroes, request, Phase::Answering).await
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let court = self.court.borrow();
        vec![("errors", court.errors), ("delays", court.delays), ("stalls", court.stalls)]
    }
}

impl Blueprint for Config {
    fn children(&self) -> Vec<String> {
        vec![self.backing.clone()]
    }

    fn build(&self, env: &Env, name: &str, children: Vec<Handle>) -> Result<Handle> {
        let [backing] = <[Handle; 1]>::try_from(children).expect("a fault layer stands on one volume");
        // A stream of chance per rule, so that a rule more or less leaves the others' faults where they are.
        let random = |index: usize| env.context.random(&format!("fault {name} {index}"));
        let rules = self.rules.iter().enumerate().map(|(index, rule)| rule.live(random(index))).collect();
        let fault = Fault {
            name: name.to_owned(),
            geometry: backing.geometry().clone(),
            backing,
            context: env.context.clone(),
            court: RefCell::new(Court { rules, errors: 0, delays: 0, stalls: 0 }),
        };
        Handle::new(&env.context, name, KIND.name, fault)
    }
}
