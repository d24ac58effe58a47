//! `io`: block I/O by profile. Its manual is `manual.md`.

mod closed;
mod fill;
mod keys;
mod open;
pub mod presets;
pub mod profile;
mod read;
mod run;
mod source;
mod stage;
mod target;
mod timeline;
mod user;
mod verify;

use std::collections::BTreeMap;

use fathom_runtime::{Clock, Nanos};
use fathom_settings::Problem;

pub use profile::{AddressPattern, Config, Limit, Pace, Phase, Profile, Spread, Think};
pub use run::run;

use fathom_job::kind::{Demand, Job, Request, RunEnvironment, WorkloadKind};
use fathom_job::outcome::{Failure, Outcome, Progress};
use fathom_job::storage::Storage;
use target::{Misfit, Target};

/// The registry's record.
pub const KIND: WorkloadKind = WorkloadKind {
    name: "io",
    summary: "block I/O by profile: mixes, sizes, places, closed and open loops, phases, verification",
    manual: include_str!("manual.md"),
    keys: keys::KEYS,
    metrics: keys::metrics,
    users: &["workers", "outstanding"],
    primary: None,
    read: |section| read::read(section).map(|config| Box::new(config) as Box<dyn Job>),
};

impl Job for Config {
    fn volumes(&self) -> Vec<String> {
        self.volumes.clone()
    }

    fn needs_payload(&self) -> bool {
        self.verify
    }

    fn demand(&self) -> Option<Demand> {
        self.phases.is_empty().then(|| self.profile.demand())
    }

    fn phases(&self) -> Vec<(String, Demand)> {
        self.phases.iter().map(|phase| (phase.name.clone(), phase.profile.demand())).collect()
    }

    fn requests(&self) -> BTreeMap<String, Request> {
        if self.phases.is_empty() {
            return self.profile.requests("").into_iter().collect();
        }
        self.phases.iter().flat_map(|phase| phase.profile.requests(&format!("{}_", phase.name))).collect()
    }

    fn lasts(&self) -> Option<Nanos> {
        let measured = match self.limit {
            _ if !self.phases.is_empty() => self.phases.iter().map(|phase| phase.duration).sum(),
            Limit::Time(span) => span,
            Limit::Requests(_) | Limit::Bytes(_) => return None,
        };
        Some(self.ramp + measured)
    }

    fn misfits(&self, _: Clock, storage: &Storage<'_>) -> Vec<(String, Problem)> {
        let mut found: Vec<(String, Problem)> = Vec::new();
        let mut add = |prefix: &str, misfit: Misfit| {
            let at = (format!("{prefix}{}", misfit.key), Problem::new(misfit.message, misfit.help));
            if !found.contains(&at) {
                found.push(at);
            }
        };
        for volume in self.volumes.iter().filter_map(|name| storage.volume(name).ok()) {
            if self.phases.is_empty()
                && let Err(misfit) = Target::new(&volume, &self.profile)
            {
                add("", misfit);
            }
            for (index, phase) in self.phases.iter().enumerate() {
                if let Err(misfit) = Target::new(&volume, &phase.profile) {
                    add(&format!("phases.{index}."), misfit);
                }
            }
        }
        found
    }

    fn run(&self, environment: &RunEnvironment<'_>, progress: &mut dyn Progress) -> Result<Outcome, Failure> {
        run(self, environment.storage.expect("it names volumes"), progress)
    }
}

#[cfg(test)]
mod tests;
