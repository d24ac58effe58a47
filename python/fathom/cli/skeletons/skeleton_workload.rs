//! `skeleton-workload`: reads one volume a number of times, for now.
//!
//! # What it does
//! One user reads 4 KiB from the start of a volume, again and again.
//!
//! # Why
//! Say which load of a database it stands for.
//!
//! # Example
//! ```toml
//! [workload]
//! kind = "skeleton-workload"
//! volume = "data"
//! reads = 1000
//! ```
//!
//! # Limits
//! Say what it leaves out.

use fathom_runtime::{Clock, Nanos};
use fathom_settings::{Key, Problem, VolumeName};
use fathom_volume::{Handle, Request, manual};

use fathom_job::kind::{Demand, Job, RunEnvironment, WorkloadKind};
use fathom_job::metrics;
use fathom_job::outcome::{Failure, Outcome, Progress};
use fathom_job::progress::Ticker;
use fathom_job::sampler::{Finished, Sampler, View};
use fathom_job::storage::Storage;

const BYTES: u64 = 4096;

/// The registry's record.
pub const KIND: WorkloadKind = WorkloadKind {
    name: "skeleton-workload",
    summary: "reads one volume a number of times",
    manual: manual!("skeleton_workload.rs"),
    keys: &[
        Key::required("volume", "name of a volume", "What it reads."),
        Key::optional("reads", "1 to 10^9", "1000", "How often."),
    ],
    metrics: || metrics::named(&["iops", "latency_ms", "elapsed_s"]),
    users: &[],
    primary: None,
    read: |section| {
        let volume = section.required::<VolumeName>("volume");
        let reads = section.optional_in("reads", 1..=1_000_000_000).unwrap_or(1000);
        let VolumeName(volume) = volume?;
        section.is_clean().then(|| Box::new(Config { volume, reads }) as Box<dyn Job>)
    },
};

/// Settings of the workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Name of the volume it reads.
    pub volume: String,
    /// How often.
    pub reads: u64,
}

impl Job for Config {
    fn volumes(&self) -> Vec<String> {
        vec![self.volume.clone()]
    }

    fn needs_payload(&self) -> bool {
        false
    }

    fn demand(&self) -> Option<Demand> {
        Some(Demand::Closed { users: 1, pauses: false })
    }

    fn lasts(&self) -> Option<Nanos> {
        None
    }

    fn misfits(&self, _: Clock, _: &Storage<'_>) -> Vec<(String, Problem)> {
        Vec::new()
    }

    fn run(&self, environment: &RunEnvironment<'_>, progress: &mut dyn Progress) -> Result<Outcome, Failure> {
        let storage = environment.storage.expect("it names a volume");
        let volume = storage.volume(&self.volume)?;
        storage.site.runtime().block_on(self.read_all(storage, &volume, &mut Ticker::new(progress)))?
    }
}

impl Config {
    async fn read_all(
        &self,
        storage: &Storage<'_>,
        volume: &Handle,
        ticker: &mut Ticker<'_>,
    ) -> Result<Outcome, Failure> {
        let context = storage.context();
        let begun = context.now();
        let view = View::Volumes(vec![volume.clone()]);
        let sampler = Sampler::start(storage.nodes.clone(), view, KIND.name, begun, begun);
        for done in 0..self.reads {
            volume.read(Request::new(0, BYTES), storage.site.pool().get(BYTES as usize)).await?;
            ticker.tick(done as f64 / self.reads as f64, || format!("{done} reads"))?;
        }
        let now = context.now();
        let Finished { samples, totals, seen } = sampler.finish(now);
        let mut metrics = metrics::of_io(&seen);
        metrics.retain(|name, _| ["iops", "latency_ms"].contains(&&**name));
        metrics.insert("elapsed_s".to_owned(), Some((now - begun) as f64 / 1e9));
        Ok(Outcome { metrics, samples, totals, measured: now - begun, ..Outcome::default() })
    }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::Clock;
    use fathom_volume::Site;

    use super::Config;
    use crate::testing::Timed;
    use fathom_job::Databases;
    use fathom_job::kind::{Job, RunEnvironment};
    use fathom_job::storage::Storage;

    #[test]
    fn it_reads_as_often_as_asked() {
        let site = Site::virtual_time(1, false);
        let volume = Timed::new(1 << 20, 1000).handle(&site.context(), "data");
        let storage = Storage { site: &site, nodes: vec![volume] };
        let scratch = std::path::Path::new("/nowhere");
        let databases = &Databases::default();
        let environment =
            RunEnvironment { storage: Some(&storage), databases, scratch, clock: Clock::Virtual, seed: 1 };
        let job = Config { volume: "data".to_owned(), reads: 50 };
        let outcome = job.run(&environment, &mut ()).expect("it runs");
        assert_eq!(outcome.metrics["elapsed_s"], Some(50e-6));
    }
}
