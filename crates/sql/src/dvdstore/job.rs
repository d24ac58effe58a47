//! One run of DVD Store: load what is missing, run the users step by step, check the result, report the metrics.

use std::collections::BTreeMap;

use fathom_job::{
    DatabaseKind, Demand, Failure, Job, Metric, Outcome, Progress, RunEnvironment, Storage, WorkloadKind,
};
use fathom_runtime::{Clock, Nanos, Random, monotonic};
use fathom_settings::Problem;

use crate::database::Database;
use crate::drive::VirtualUser;
use crate::error::Result;
use crate::load::{Provided, Requirements, provide};
use crate::measured::{self, Figure, Sequence, Step, per_minute};
use crate::open::open;
use crate::session::Session;
use crate::settings::{self, Interface};
use crate::texts::Texts;
use crate::watch::Watch;

use super::conditions::conditions;
use super::input::{Inputs, Kind};
use super::load::{checksum, load as steps};
use super::population::Population;
use super::read::{Config, KEYS};
use super::shop::Shop;
use super::texts;
use super::user::User;

/// The registry's record.
pub const KIND: WorkloadKind = WorkloadKind {
    name: "dvd-store",
    summary: "a shop on the web derived from DVD Store 3: searches, reviews and purchases, OPM",
    manual: include_str!("manual.md"),
    keys: KEYS,
    metrics: || measured::metrics(Metric::higher("opm", "orders", "orders/min"), &Kind::NAMES),
    users: &["users"],
    primary: Some("opm"),
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Job>),
};

/// Orders per minute: purchases that were committed in the measured phase. Only purchases roll back.
const OPM: Figure = Figure {
    name: "opm",
    of: |step| {
        let purchases = step.driven.kinds[Kind::Purchase as usize].count();
        let placed = purchases - step.driven.counts.rolled_back;
        per_minute(placed as i64, step.driven.measured)
    },
};

/// The seed of the data. Not the run's: a campaign loads once and runs often, and every run finds the same data.
const DATA_SEED: u64 = 1;

impl Config {
    fn interface_for(&self, kind: DatabaseKind) -> Interface {
        self.common.interface.unwrap_or(Interface::best(kind))
    }

    /// The data that a run begins with.
    fn provide(
        &self,
        database: &(dyn Database + Sync),
        texts: &Texts,
        progress: &mut dyn Progress,
    ) -> Result<Provided, Failure> {
        let population = Population::new(self.scale, DATA_SEED, self.common.repeated);
        let load = steps(&population, self.identity(DATA_SEED), database.kind(), texts);
        let read_back = |session: &mut dyn Session| checksum(session, &self.scale);
        let wanted = Requirements {
            load: &load,
            sessions: self.common.load_sessions,
            read_back: self.common.checksum.then_some(&read_back),
            conditions: &conditions(database.kind(), &self.scale),
        };
        provide(database, &wanted, progress)
    }

    /// Lets so many users work for the ramp and the measured phase.
    fn step(
        &self,
        database: &(dyn Database + Sync),
        texts: &Texts,
        users: u32,
        seed: u64,
        progress: &mut dyn Progress,
    ) -> Result<Step, Failure> {
        let interface = self.interface_for(database.kind());
        // Names of new customers must differ from those of every earlier run on the same database.
        let moment = monotonic() ^ u64::from(std::process::id()).rotate_left(40);
        let recruit = |user: u32, session: &mut dyn Session| -> Result<Box<dyn VirtualUser>> {
            let stream = |seed, what: &str| Random::new(seed, &format!("dvd-store/{what}/{user} of {users}"));
            if let Some(isolation) = texts.session {
                session.batch(isolation)?;
            }
            let shop = Shop::prepare(interface, texts, session)?;
            let (random, names) = (stream(seed, "user"), stream(moment, "names"));
            let inputs = Inputs::new(self.scale, DATA_SEED, self.habits, self.common.repeated, random, names);
            Ok(Box::new(User::new(inputs, shop)))
        };
        let drive = self.common.drive(database, &Kind::NAMES, users, seed);
        let watch = Watch::new(database.kind(), None);
        measured::step(&drive, &recruit, watch, progress)
    }

    fn facts(
        &self,
        database: &(dyn Database + Sync),
        texts: &Texts,
        provided: &Provided,
    ) -> Result<BTreeMap<String, String>, Failure> {
        let kind = database.kind();
        let mut facts = measured::facts_of_load(database, provided)?;
        facts.extend([
            ("scale".to_owned(), self.scale.describe()),
            ("interface".to_owned(), self.interface_for(kind).describe(kind).to_owned()),
            ("isolation".to_owned(), texts.isolation.to_owned()),
        ]);
        Ok(facts)
    }
}

impl Job for Config {
    fn volumes(&self) -> Vec<String> {
        Vec::new()
    }

    fn databases(&self) -> Vec<String> {
        vec![self.common.database.clone()]
    }

    fn database_misfits(&self, kinds: &[DatabaseKind]) -> Vec<(String, Problem)> {
        settings::no_procedures(self.common.interface, kinds)
    }

    fn beside_others(&self) -> Vec<(String, Problem)> {
        settings::beside_others(&self.common)
    }

    fn needs_payload(&self) -> bool {
        true
    }

    fn demand(&self) -> Option<Demand> {
        self.common.demand()
    }

    fn lasts(&self) -> Option<Nanos> {
        Some(measured::steps(&self.common.users) * (self.common.ramp + self.common.duration))
    }

    fn misfits(&self, clock: Clock, _: &Storage<'_>) -> Vec<(String, Problem)> {
        settings::real_clock_only(clock)
    }

    fn loads(&self) -> BTreeMap<String, String> {
        BTreeMap::from([(self.common.database.clone(), self.identity(DATA_SEED))])
    }

    fn load(&self, environment: &RunEnvironment<'_>, progress: &mut dyn Progress) -> Result<(), Failure> {
        let database = open(environment.databases.get(&self.common.database)?, &self.common.pragmas)?;
        self.provide(&*database, &texts::of(database.kind()), progress).map(drop)
    }

    fn run(&self, environment: &RunEnvironment<'_>, progress: &mut dyn Progress) -> Result<Outcome, Failure> {
        let database = open(environment.databases.get(&self.common.database)?, &self.common.pragmas)?;
        let database = &*database;
        let texts = texts::of(database.kind());
        let provided = self.provide(database, &texts, progress)?;
        let mut outcome = Outcome { facts: self.facts(database, &texts, &provided)?, ..Outcome::default() };
        let mut step =
            |users, seed, progress: &mut dyn Progress| self.step(database, &texts, users, seed, progress);
        let sequence = Sequence {
            users: &self.common.users,
            seed: environment.seed,
            figure: OPM,
            database,
            conditions: &conditions(database.kind(), &self.scale),
        };
        measured::sequence(&mut outcome, &sequence, &mut step, progress)?;
        Ok(outcome)
    }
}
