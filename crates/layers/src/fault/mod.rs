//! `fault`: makes a volume slow, fail, lie or forget, by rule and seed.
//!
//! # What it does
//! Applies its rules, in the order they are written, to every request when it arrives and again when the volume below
//! has answered. A rule passes the request, delays it, fails it, or executes it differently. Delays add up. Of the
//! rules that change the execution the first one applies. The first failure ends the request, and nothing of it goes
//! below. The same seed gives the same faults at the same requests.
//!
//! # Why
//! Find out what a database does when its disk stalls for two seconds, or fails one write in a million, before it
//! happens. A layer or cache that claims to survive a fault also needs one to survive.
//!
//! # Rules
//! Each rule has `fault` and the keys of that fault:
//! - `error`: the request fails with `error` (`io`; or `gone`, `corrupt`, `no-space`).
//! - `delay`: the request takes `delay` (time) longer.
//! - `stall`: from `from` (time) on, for `lasts` (time), and again `every` (time) if given, nothing is answered:
//!   requests that arrive and requests in flight wait for the end.
//! - `gone`: from the matching request on, everything fails, forever or until `lasts` (time) is over; `after = 1000` is
//!   a device that vanishes at its 1001st request. Of the writes that `reordered` holds at that moment each is kept or
//!   lost.
//! - `torn-write`: the first sectors of a write arrive, the rest does not; the write is answered, or fails with
//!   `error`.
//! - `lost-write`: a write, trim or write_zeroes is answered, and nothing of it arrives.
//! - `misdirected`: a write arrives `by` (bytes) further on, or at a random offset, and not where it belongs; a read
//!   returns the data of that offset.
//! - `bit-rot`: one bit of a write is flipped on its way, and stays flipped; one bit of a read is flipped in the
//!   answer.
//! - `lying-flush`: a flush is answered and does not arrive; a write with FUA (force unit access) arrives without.
//! - `reordered`: a volatile cache. Writes and zeroes are answered and held until the next flush, or until there are
//!   more than `window` (64); they leave in random order. Writes with FUA are not held.
//! - `old-contents`: at `until` (time) the contents of `from` (time) are back, as if an old copy of the device had been
//!   attached. Needs a stack that carries data.
//!
//! All but `old-contents` take `kinds` (a list of `read`, `write`, `flush`, `trim`, `write_zeroes`; default: those the
//! fault can happen to; for `misdirected` and `bit-rot` better only one of them) and `offset` and `length` (bytes: only
//! requests that touch that range; a flush touches every range). All but `stall` and `old-contents` also take
//! `probability` (100%), `after` (0: the number of matching requests that pass first), `times` (at most this often; for
//! `gone` once), `from` and `until` (times). Times count from the start of the run, ramp included.
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
//!
//! # A volatile cache that forgets half of what it holds when the device vanishes for five seconds.
//! [[volumes.flaky.rules]]
//! fault = "reordered"
//!
//! [[volumes.flaky.rules]]
//! fault = "gone"
//! after = 100_000
//! lasts = "5s"
//! ```
//!
//! # Limits
//! Added time is service time, because the device is slow. Held writes go below one after the other. Without payload,
//! faults of the data only change which requests go below.
//!
//! # Counters
//! `errors`, `delays`, `stalls`: requests that met one. `torn`, `lost`, `misdirected`, `rotten`, `lies`, `held`:
//! requests that were carried out so. `held_now`: writes that are held. `returned`: whether old contents are back.

mod below;
mod injector;
mod rules;
mod settings;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_data;
mod volatile;

use std::cell::RefCell;
use std::rc::Rc;

use fathom_runtime::Context;
use fathom_volume::{
    Blueprint, Buf, Env, Error, ErrorKind, Geometry, Handle, Kind, Pool, Request, Result, Volume,
};

use below::Below;
pub use below::Return;
use injector::Injector;
pub use rules::{Alteration, Effect, Facts, Phase, Rule, RuleConfig, Trigger, Verdict};
pub use settings::KIND;
use volatile::{Leaving, Volatile};

/// Settings of a fault layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Name of the volume below.
    pub backing: String,
    /// In the order in which they are asked. At most one holds writes, and one brings old contents back.
    pub rules: Vec<RuleConfig>,
}

/// A live fault layer.
pub struct Fault {
    name: String,
    below: Rc<Below>,
    volatile: Rc<Volatile>,
    // Writes that may be held.
    window: usize,
    geometry: Geometry,
    context: Context,
    pool: Pool,
    injector: RefCell<Injector>,
}

impl Fault {
    /// Does what the rules say about a request; how it is to be carried out.
    #[inline]
    async fn apply_rules(&self, kind: Kind, request: &Request, phase: Phase) -> Result<Option<Alteration>> {
        let Request { offset, length, fua, .. } = *request;
        let facts = Facts { kind, offset, length, fua, now: self.context.now(), phase };
        let outcome = self.injector.borrow_mut().judge(&facts);
        if outcome.delay > 0 {
            self.context.sleep(outcome.delay).await;
        }
        if outcome.vanishes {
            self.volatile.lose();
        }
        match outcome.failure {
            None => Ok(outcome.twist),
            Some((rule, error)) => Err(self.error(kind, request, rule, error)),
        }
    }

    /// As [`Fault::apply_rules`], when a request arrives.
    async fn arrive(&self, kind: Kind, request: &Request) -> Result<Option<Alteration>> {
        let twist = self.apply_rules(kind, request, Phase::Arriving).await?;
        if self.below.catch_up().await? {
            self.volatile.forget();
        }
        Ok(twist)
    }

    #[cold]
    fn error(&self, kind: Kind, request: &Request, rule: usize, error: ErrorKind) -> Error {
        let Request { offset, length, .. } = request;
        let message = format!(
            "volume `{}` (fault): rule {} fails a {} of {length} bytes at offset {offset}, as configured",
            self.name,
            rule + 1,
            kind.name()
        );
        Error::new(error, message)
    }

    /// Bytes with one bit flipped.
    fn flipped(&self, from: &Buf, bit: u64) -> Buf {
        let copy = self.pool.get(from.len());
        copy.copy_from_buf(from);
        flip(&copy, bit);
        copy
    }

    /// What goes below unheld comes after what is held for the same offset.
    async fn after_held(&self, request: &Request) -> Result<()> {
        self.volatile.leave(Leaving::Touching(request.offset..request.end())).await
    }

    /// Holds a write or zeroes.
    async fn hold(&self, request: &Request, from: Option<&Buf>) -> Result<()> {
        self.volatile.hold(request, from);
        self.volatile.leave(Leaving::Above(self.window)).await
    }

    async fn write_twisted(&self, request: &Request, from: Buf, twist: Option<Alteration>) -> Result<()> {
        let mut whole = request.part(request.offset, request.length);
        match twist {
            Some(Alteration::Lose) => return Ok(()),
            Some(Alteration::Hold) => return self.hold(request, Some(&from)).await,
            Some(Alteration::Tear(length, error)) => {
                if length > 0 {
                    self.after_held(request).await?;
                    let part = from.slice(0..length as usize);
                    self.below.write(request.part(request.offset, length), part).await?;
                }
                return match error {
                    None => Ok(()),
                    Some(error) => {
                        let message = format!(
                            "volume `{}` (fault): a write of {} bytes at offset {} is torn, as configured",
                            self.name, request.length, request.offset
                        );
                        Err(Error::new(error, message))
                    }
                };
            }
            Some(Alteration::Misdirect(offset)) => whole.offset = offset,
            Some(Alteration::Lie) => whole.fua = false,
            Some(Alteration::Flip(_)) | None => {}
        }
        self.after_held(&whole).await?;
        let from = match twist {
            Some(Alteration::Flip(bit)) => self.flipped(&from, bit),
            _ => from,
        };
        self.below.write(whole, from).await
    }
}

fn flip(bytes: &Buf, bit: u64) {
    bytes.with_mut(|bytes| {
        if let Some(byte) = bytes.get_mut((bit / 8) as usize) {
            *byte ^= 1 << (bit % 8);
        }
    });
}

impl Volume for Fault {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        let twist = self.arrive(Kind::Read, request).await?;
        let offset = if let Some(Alteration::Misdirect(offset)) = twist { offset } else { request.offset };
        // Taken before: what leaves meanwhile may have come below too late for the read.
        let shown = self.volatile.shown(&(offset..offset + request.length));
        self.below.read(request.part(offset, request.length), into.clone()).await?;
        shown.put_over(offset, &into);
        if let Some(Alteration::Flip(bit)) = twist {
            flip(&into, bit);
        }
        self.apply_rules(Kind::Read, request, Phase::Answering).await.map(drop)
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        let twist = self.arrive(Kind::Write, request).await?;
        self.write_twisted(request, from, twist).await?;
        self.apply_rules(Kind::Write, request, Phase::Answering).await.map(drop)
    }

    async fn flush(&self, request: &Request) -> Result<()> {
        if self.arrive(Kind::Flush, request).await? != Some(Alteration::Lie) {
            self.volatile.leave(Leaving::All).await?;
            self.below.flush(request.flush_for()).await?;
        }
        self.apply_rules(Kind::Flush, request, Phase::Answering).await.map(drop)
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        if self.arrive(Kind::Trim, request).await? != Some(Alteration::Lose) {
            self.after_held(request).await?;
            self.below.trim(request.part(request.offset, request.length)).await?;
        }
        self.apply_rules(Kind::Trim, request, Phase::Answering).await.map(drop)
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        let mut whole = request.part(request.offset, request.length);
        match self.arrive(Kind::WriteZeroes, request).await? {
            Some(Alteration::Lose) => {}
            Some(Alteration::Hold) => self.hold(request, None).await?,
            twist => {
                whole.fua &= twist != Some(Alteration::Lie);
                self.after_held(request).await?;
                self.below.write_zeroes(whole).await?;
            }
        }
        self.apply_rules(Kind::WriteZeroes, request, Phase::Answering).await.map(drop)
    }

    fn went_back(&self) -> bool {
        self.below.went_back()
    }

    fn reopen(&self) {
        self.below.reopen();
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut counters = self.injector.borrow().counters();
        counters.push(("held_now", self.volatile.len() as u64));
        counters.push(("returned", u64::from(self.below.has_returned())));
        counters
    }
}

impl Blueprint for Config {
    fn children(&self) -> Vec<String> {
        vec![self.backing.clone()]
    }

    fn build(&self, env: &Env, name: &str, children: Vec<Handle>) -> Result<Handle> {
        let [backing] = <[Handle; 1]>::try_from(children).expect("a fault layer has one volume below");
        let mut geometry = backing.geometry().clone();
        // A stream of chance per rule, so that a rule more or less leaves the others' faults where they are.
        let random = |index: usize| env.context.random(&format!("fault {name} {index}"));
        let rules = self.rules.iter().enumerate().map(|(index, rule)| rule.live(random(index), &geometry));
        let injector = Injector::new(rules.collect());
        let effects = || self.rules.iter().map(|rule| rule.effect);
        let due =
            effects().find_map(|effect| if let Effect::OldContents(due) = effect { Some(due) } else { None });
        let window = effects()
            .find_map(|effect| if let Effect::Reordered(window) = effect { Some(window) } else { None });
        geometry.volatile_cache |= window.is_some();
        let below = Rc::new(Below::new(backing, &env.pool, &env.context, due));
        let random = env.context.random(&format!("fault {name} volatile"));
        let fault = Fault {
            name: name.to_owned(),
            volatile: Volatile::new(&below, &env.pool, &env.context, random),
            below,
            window: window.unwrap_or(0),
            geometry,
            context: env.context.clone(),
            pool: env.pool.clone(),
            injector: RefCell::new(injector),
        };
        Handle::new(&env.context, name, KIND.name, fault)
    }
}
