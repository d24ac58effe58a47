//! One run of TPROC-C: load what is missing, run the users step by step, check the result, report the metrics.

use std::collections::BTreeMap;

use fathom_job::{
    DatabaseKind, Demand, Failure, Job, Metric, Outcome, Progress, Reason, RunEnvironment, Storage,
    WorkloadKind,
};
use fathom_runtime::{Clock, Nanos, Random};
use fathom_settings::Problem;

use crate::conditions::Conditions;
use crate::database::{Database, Known};
use crate::drive::VirtualUser;
use crate::error::Result;
use crate::load::{Provided, Requirements, provide};
use crate::measured::{self, Figure, Sequence, Step};
use crate::open::open;
use crate::session::Session;
use crate::settings;
use crate::texts::Texts;
use crate::watch::Watch;

use super::conditions::conditions;
use super::hammerdb;
use super::input::{Fidelity, HomeWarehouses, Inputs, Kind};
use super::load::{checksum, load as steps};
use super::population::Population;
use super::random::KeySpace;
use super::read::{Config, HomeChoice, KEYS, Schema};
use super::scale::Scale;
use super::terminal::{Interface, Terminal};
use super::texts;
use super::user::User;

/// The registry's record.
pub const KIND: WorkloadKind = WorkloadKind {
    name: "tproc-c",
    summary: "order entry derived from TPC-C, as HammerDB's TPROC-C: five transactions, NOPM",
    manual: include_str!("manual.md"),
    keys: KEYS,
    metrics: || measured::metrics(Metric::higher("nopm", "new orders", "orders/min"), &Kind::NAMES),
    users: &["users"],
    primary: Some("nopm"),
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Job>),
};

/// New orders per minute as HammerDB counts them; orders that rolled back do not count. (HammerDB cuts the fraction
/// off.)
const NOPM: Figure = Figure { name: "nopm", of: Step::orders_per_minute };

/// Every order takes a number of its district.
fn orders(kind: DatabaseKind) -> &'static str {
    match kind {
        // A sum of `int` is an `int` there, and 70,000 warehouses are more.
        DatabaseKind::Sqlserver => "SELECT sum(CAST(d_next_o_id AS bigint)) FROM district",
        _ => "SELECT sum(d_next_o_id) FROM district",
    }
}

/// The seed of the data. Not the run's: a campaign loads once and runs often, and every run finds the same data.
const DATA_SEED: u64 = 1;

/// What a run begins with.
struct Data {
    scale: Scale,
    /// What holds of it at the end.
    conditions: Conditions,
    facts: BTreeMap<String, String>,
}

impl Config {
    fn interface_for(&self, kind: DatabaseKind) -> Interface {
        match self.schema {
            Schema::Fathom => self.common.interface.unwrap_or(Interface::best(kind)),
            Schema::Hammerdb => self.common.interface.unwrap_or(Interface::Statements),
        }
    }

    fn describe_interface(&self, kind: DatabaseKind) -> String {
        match (self.schema, self.interface_for(kind)) {
            (Schema::Hammerdb, Interface::Procedures) => "HammerDB's own procedures".to_owned(),
            (_, interface) => interface.describe(kind).to_owned(),
        }
    }

    /// The data that exists after this, with the facts to report about it.
    fn data(
        &self,
        database: &(dyn Database + Sync),
        texts: &Texts,
        progress: &mut dyn Progress,
    ) -> Result<Data, Failure> {
        match self.schema {
            Schema::Fathom => {
                let provided = self.provide(database, texts, progress)?;
                let facts = measured::facts_of_load(database, &provided)?;
                Ok(Data { scale: self.scale, conditions: conditions(&self.scale), facts })
            }
            Schema::Hammerdb => {
                if progress.tick(0.0, "looking through the schema that HammerDB built").is_break() {
                    return Err(Failure::new(Reason::Cancelled, "stopped before the run"));
                }
                let mut found = hammerdb::check_schema(&mut *database.connect()?, database.kind())?;
                match self.common.interface {
                    Some(Interface::Procedures) => found.leave_out(&hammerdb::NOT_KEPT),
                    _ => found.takes_statements()?,
                }
                let mut facts = measured::facts_of_data(database, false)?;
                facts.insert("schema".to_owned(), "built by HammerDB".to_owned());
                if !found.broken.is_empty() {
                    let words =
                        "did not hold before the run and are not checked after it: consistency conditions ";
                    facts.insert("warning.conditions".to_owned(), format!("{words}{}", found.broken));
                }
                Ok(Data { scale: found.scale, conditions: found.conditions, facts })
            }
        }
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
        let read_back = |session: &mut dyn Session| checksum(session, self.scale.warehouses);
        let wanted = Requirements {
            load: &load,
            sessions: self.common.load_sessions,
            read_back: self.common.checksum.then_some(&read_back),
            conditions: &conditions(&self.scale),
        };
        provide(database, &wanted, progress)
    }

    /// Lets so many users work for the ramp and the measured phase.
    fn step(
        &self,
        database: &(dyn Database + Sync),
        texts: &Texts,
        data: &Data,
        users: u32,
        seed: u64,
        progress: &mut dyn Progress,
    ) -> Result<Step, Failure> {
        let interface = self.interface_for(database.kind());
        let skewed = self.fidelity == Fidelity::Spec;
        let keys = match self.schema {
            Schema::Fathom => KeySpace::new(&data.scale, DATA_SEED, skewed),
            Schema::Hammerdb => KeySpace::of_hammerdb(&data.scale, skewed),
        };
        let recruit = |user: u32, session: &mut dyn Session| -> Result<Box<dyn VirtualUser>> {
            let mut random = Random::new(seed, &format!("tproc-c/user/{user} of {users}"));
            let home = match self.home {
                HomeChoice::All => HomeWarehouses::all(user, users, data.scale.warehouses),
                HomeChoice::One => HomeWarehouses::one(random.below(data.scale.warehouses.into()) as u32 + 1),
            };
            if let Some(isolation) = texts.session {
                session.batch(isolation)?;
            }
            let terminal = match self.schema {
                Schema::Fathom => Terminal::prepare(interface, texts, session)?,
                Schema::Hammerdb => Terminal::of_hammerdb(interface, data.scale.warehouses, texts, session)?,
            };
            let inputs = Inputs::new(data.scale, keys, self.fidelity, home, random);
            Ok(Box::new(User::new(inputs, terminal, self.common.pauses)))
        };
        let drive = self.common.drive(database, &Kind::NAMES, users, seed);
        let watch = Watch::new(database.kind(), Some(orders(database.kind())));
        measured::step(&drive, &recruit, watch, progress)
    }

    fn facts(&self, kind: DatabaseKind, texts: &Texts, data: &Data) -> BTreeMap<String, String> {
        let mut facts = data.facts.clone();
        let fidelity = match self.fidelity {
            Fidelity::Spec => "spec: skewed keys (NURand), deck of cards",
            Fidelity::Hammerdb => "hammerdb: uniform keys, independent draws",
        };
        facts.extend([
            ("scale".to_owned(), data.scale.describe()),
            ("fidelity".to_owned(), fidelity.to_owned()),
            ("interface".to_owned(), self.describe_interface(kind)),
            ("isolation".to_owned(), texts.isolation.to_owned()),
        ]);
        facts
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
        let mut misfits = settings::no_procedures(self.common.interface, kinds);
        if self.schema == Schema::Hammerdb {
            let others = kinds.iter().filter(|kind| !hammerdb::KINDS.contains(kind));
            misfits.extend(others.map(|kind| {
                let message = format!("a schema of HammerDB cannot be read on {}", kind.dialect().title);
                (
                    "schema".to_owned(),
                    Problem::new(message, "name a PostgreSQL or a SQL Server, or leave this out"),
                )
            }));
            if self.common.interface == Some(Interface::Procedures)
                && kinds.contains(&DatabaseKind::Sqlserver)
            {
                let message = "HammerDB's own procedures are called on PostgreSQL only";
                misfits.push(("interface".to_owned(), Problem::new(message, "use \"statements\"")));
            }
        }
        misfits
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
        match self.schema {
            Schema::Fathom => BTreeMap::from([(self.common.database.clone(), self.identity(DATA_SEED))]),
            Schema::Hammerdb => BTreeMap::new(),
        }
    }

    fn load(&self, environment: &RunEnvironment<'_>, progress: &mut dyn Progress) -> Result<(), Failure> {
        let database = open(environment.databases.get(&self.common.database)?, &self.common.pragmas)?;
        match self.schema {
            Schema::Fathom => self.provide(&*database, &texts::of(database.kind()), progress).map(drop),
            // A run looks through it first.
            Schema::Hammerdb => Ok(()),
        }
    }

    fn run(&self, environment: &RunEnvironment<'_>, progress: &mut dyn Progress) -> Result<Outcome, Failure> {
        let database = open(environment.databases.get(&self.common.database)?, &self.common.pragmas)?;
        let database = &*database;
        let texts = texts::of(database.kind());
        let data = self.data(database, &texts, progress)?;
        let facts = self.facts(database.kind(), &texts, &data);
        let mut outcome = Outcome { facts, ..Outcome::default() };
        let mut step = |users, seed, progress: &mut dyn Progress| {
            self.step(database, &texts, &data, users, seed, progress)
        };
        let sequence = Sequence {
            users: &self.common.users,
            seed: environment.seed,
            figure: NOPM,
            database,
            conditions: &data.conditions,
        };
        measured::sequence(&mut outcome, &sequence, &mut step, progress)?;
        if let Some(line) = result_line(database.kind(), &outcome) {
            outcome.facts.insert("hammerdb".to_owned(), line);
        }
        Ok(outcome)
    }
}

/// The result as HammerDB prints it, for those who have years of such lines; None where the server counts no transactions.
fn result_line(kind: DatabaseKind, outcome: &Outcome) -> Option<String> {
    let figure = |name: &str| outcome.metrics.get(name).copied().flatten();
    let (nopm, tpm) = (figure("nopm")?, figure("tpm")?);
    Some(format!("TEST RESULT : System achieved {nopm:.0} NOPM from {tpm:.0} {} TPM", kind.dialect().title))
}

#[cfg(test)]
mod tests {
    use fathom_job::Outcome;

    use super::{DatabaseKind, result_line};

    #[test]
    fn a_result_reads_as_hammerdbs() {
        let mut outcome = Outcome::default();
        outcome.metrics.insert("nopm".to_owned(), Some(75_123.4));
        outcome.metrics.insert("tpm".to_owned(), None);
        assert_eq!(result_line(DatabaseKind::Sqlite, &outcome), None);
        outcome.metrics.insert("tpm".to_owned(), Some(172_999.6));
        let line = "TEST RESULT : System achieved 75123 NOPM from 173000 PostgreSQL TPM";
        assert_eq!(result_line(DatabaseKind::Postgresql, &outcome).as_deref(), Some(line));
    }
}
