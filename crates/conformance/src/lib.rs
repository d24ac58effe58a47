//! The suite that every layer and device must pass: one test body, run in virtual and in real time.
//!
//! ```ignore
//! #[test]
//! fn it_conforms() {
//!     Suite::new(|bench| {
//!         let members = vec![bench.disk("a", Geometry::plain(4 << 20)), bench.disk("b", Geometry::plain(4 << 20))];
//!         Config { chunk: 64 << 10 }.build(&bench.env, "volume", members)
//!     })
//!     .check();
//! }
//! ```
//!
//! The build function is called for every claim, on a new executor, with a [`Fixture`] whose [disks](Fixture::disk) lose
//! what was not flushed in a power cut, answer out of order, and stop half-way through a write: what a layer must
//! survive. A layer stands on them; a device is built by itself. Volumes under test hold at most 64 MiB, preferably
//! two to eight, with a last sector that no larger unit divides.
//!
//! A failure names the claim, the driver and the seed, and prints the line that repeats it. `FATHOM_SEED=n` runs one
//! seed only, `FATHOM_SEEDS=n` the first n instead of the usual few.

mod claims;
mod concurrency;
mod disk;
mod durability;
mod misuse;
mod oracle;
mod trial;

#[cfg(test)]
mod broken;

use std::fmt;

use fathom_runtime::{MILLISECOND, RingSetup, Runtime, SECOND, within};
use fathom_volume::{Handle, Pool, Result};

pub use disk::{Fixture, PowerCut};
use trial::{Outcome, Trial};

/// A volume under test holds at most this much: the suite reads and writes all of it many times.
const LARGEST: u64 = 64 << 20;

/// Which clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// Simulated time.
    Virtual,
    /// The monotonic clock and io_uring.
    Real,
}

impl Driver {
    fn name(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Real => "real",
        }
    }

    fn runtime(self, seed: u64) -> std::result::Result<Runtime, String> {
        match self {
            Self::Virtual => Ok(Runtime::virtual_time(seed)),
            Self::Real => Runtime::real(RingSetup::default(), seed).map_err(|error| {
                format!("the real driver needs an io_uring, and the kernel refuses one: {error}")
            }),
        }
    }

    /// How long one claim may take before it counts as stuck, ns on the driver's clock.
    fn patience(self) -> u64 {
        match self {
            Self::Virtual => 86_400 * SECOND,
            Self::Real => 60 * SECOND,
        }
    }

    /// How long after the last abandoned request the kernel may still be busy with it, ns.
    fn settling(self) -> u64 {
        match self {
            Self::Virtual => MILLISECOND,
            Self::Real => 30 * MILLISECOND,
        }
    }
}

/// A claim that does not hold.
#[derive(Debug, Clone)]
pub struct Violation {
    /// Which.
    pub claim: &'static str,
    /// What happened.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.claim, self.message)
    }
}

type Build<'a> = Box<dyn Fn(&Fixture) -> Result<Handle> + 'a>;

/// The suite, ready to run over one kind of volume.
pub struct Suite<'a> {
    build: Build<'a>,
    keeps_data: bool,
    reopens: bool,
}

impl<'a> Suite<'a> {
    /// A suite over the volume that `build` makes.
    pub fn new(build: impl Fn(&Fixture) -> Result<Handle> + 'a) -> Self {
        Self { build: Box::new(build), keeps_data: true, reopens: false }
    }

    /// The volume models times only: it is asked everything, and what it returns is not looked at.
    #[must_use]
    pub fn without_data(mut self) -> Self {
        self.keeps_data = false;
        self
    }

    /// Built again after its executor has ended, the volume holds what it held. A volume that stands on the bench's
    /// disks need not say so: it is tested with power cuts.
    #[must_use]
    pub fn reopens(mut self) -> Self {
        self.reopens = true;
        self
    }

    /// Runs everything in both drivers.
    ///
    /// # Panics
    /// If a claim does not hold; the message lists each violation and the line that repeats it.
    pub fn check(&self) {
        let mut report = String::new();
        for driver in [Driver::Virtual, Driver::Real] {
            for seed in seeds(driver) {
                for violation in self.violations(driver, seed) {
                    report += &format!("\n  {violation}\n    repeat: {}", repeat_line(seed));
                    report += &format!("   ({} time)", driver.name());
                }
            }
        }
        assert!(report.is_empty(), "the volume does not conform:{report}");
    }

    /// Every claim that does not hold with this seed.
    pub fn violations(&self, driver: Driver, seed: u64) -> Vec<Violation> {
        let in_one_life = claims::ALL.iter().chain(concurrency::ALL).chain(misuse::ALL);
        let mut found: Vec<Violation> = in_one_life
            .filter_map(|claim| {
                let outcome = self.live(driver, seed, claim).map(drop);
                outcome.err().map(|message| Violation { claim: claim.name, message })
            })
            .collect();
        let mut add = |claim, outcome: Outcome| {
            found.extend(outcome.err().map(|message| Violation { claim, message }));
        };
        if self.keeps_data {
            add(durability::NAME, durability::check(self, driver, seed));
        }
        if driver == Driver::Virtual {
            add("same-seed-same-digest", self.repeats(seed));
        }
        found
    }

    /// One claim on a new executor; the digest of its event log.
    fn live(&self, driver: Driver, seed: u64, claim: &Claim) -> std::result::Result<String, String> {
        self.live_with(driver, seed, claim, self.keeps_data)
    }

    fn live_with(
        &self,
        driver: Driver,
        seed: u64,
        claim: &Claim,
        payload: bool,
    ) -> std::result::Result<String, String> {
        let runtime = driver.runtime(seed)?;
        let fixture = Fixture::new(&runtime.context(), self.pool(&runtime, payload), seed);
        let trial = Trial::new(&fixture, self.open(&fixture)?, driver, self.keeps_data);
        let outcome = runtime.block_on(within(&runtime.context(), driver.patience(), (claim.run)(&trial)));
        match outcome {
            Err(deadlock) => Err(deadlock.to_string()),
            Ok(None) => Err(format!("not done after {} s", driver.patience() / SECOND)),
            Ok(Some(outcome)) => outcome.map(|()| runtime.context().digest().finish().0),
        }
    }

    /// Same seed, same events at the same times; and the same again without payload, for times may not depend on it.
    fn repeats(&self, seed: u64) -> Outcome {
        let claim = &claims::ALL[0];
        let payload = self.live(Driver::Virtual, seed, claim)?;
        if payload != self.live(Driver::Virtual, seed, claim)? {
            return Err("two runs with the same seed differ".to_owned());
        }
        if payload != self.live_with(Driver::Virtual, seed, claim, false)? {
            return Err("a run without payload takes other times than one with".to_owned());
        }
        Ok(())
    }

    fn pool(&self, runtime: &Runtime, payload: bool) -> Pool {
        if payload { Pool::new(&runtime.context()) } else { Pool::hollow() }
    }

    fn open(&self, fixture: &Fixture) -> std::result::Result<Handle, String> {
        let volume = (self.build)(fixture).map_err(|error| format!("it cannot be built: {error}"))?;
        let size = volume.geometry().size;
        assert!(size <= LARGEST, "build a volume of at most {LARGEST} bytes for the suite, not {size}");
        Ok(volume)
    }
}

/// One thing that must hold.
struct Claim {
    name: &'static str,
    run: for<'t> fn(&'t Trial) -> trial::Running<'t>,
}

/// The claim of that name made from an async function over a trial.
macro_rules! claim {
    ($name:literal, $function:path) => {
        $crate::Claim { name: $name, run: |trial| Box::pin($function(trial)) }
    };
}
use claim;

fn seeds(driver: Driver) -> Vec<u64> {
    let number = |name: &str| {
        let text = std::env::var(name).ok()?;
        Some(text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`; it must be a whole number")))
    };
    // Real time is dear and chance does its own part there.
    let usual = if driver == Driver::Virtual { 3 } else { 1 };
    number("FATHOM_SEED")
        .map_or_else(|| (1..=number("FATHOM_SEEDS").unwrap_or(usual)).collect(), |seed| vec![seed])
}

fn repeat_line(seed: u64) -> String {
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| env!("CARGO_PKG_NAME").to_owned());
    let test = std::thread::current().name().unwrap_or("").to_owned();
    format!("FATHOM_SEED={seed} cargo test -p {package} {test}")
}
