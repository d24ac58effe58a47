//! The live tree: volumes built from the devices up, on an executor of their own.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fathom_layers::writeback::{self, Report};
use fathom_runtime::{Context, RingSetup, Runtime};
use fathom_settings::{Diagnostic, Diagnostics, Problem};
use fathom_volume::{Env, ErrorKind, Handle, Pool};

use crate::lifecycle::Lifecycle;
use crate::volumes::Volumes;

/// Memory that the ring knows by number, real clock: what 64 requests of 1 MiB need at once. Pages count when touched.
const REGION_BYTES: usize = 64 << 20;

/// Whose time passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The monotonic clock's.
    Real,
    /// The simulation's.
    Virtual,
}

impl Clock {
    /// The word used in studies and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Virtual => "virtual",
        }
    }
}

/// Where and how a stack lives.
#[derive(Debug, Clone)]
pub struct Site {
    /// Whose time passes.
    pub clock: Clock,
    /// Of everything random.
    pub seed: u64,
    /// Whether buffers hold bytes; without, only lengths travel.
    pub payload: bool,
    /// Where relative paths of the settings begin.
    pub directory: PathBuf,
}

/// A live tree of volumes and the executor it lives on.
pub struct Stack {
    // Dropped before the executor that their buffers and files belong to.
    nodes: Vec<Handle>,
    places: BTreeMap<String, usize>,
    // What each stands on.
    children: BTreeMap<String, Vec<String>>,
    env: Env,
    runtime: Runtime,
}

/// Why a stack could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The real driver is not available.
    #[error(
        "io_uring is not available here ({0}); run in virtual time, or allow it: kernel 5.11 or newer, sysctl \
         kernel.io_uring_disabled=0, and in a container a seccomp profile that admits it"
    )]
    Ring(std::io::Error),
    /// A volume refused its settings, or what they name is not there.
    #[error("{diagnostic}")]
    Volume {
        /// What the caller should do next.
        kind: ErrorKind,
        /// The volume's place and its own words.
        diagnostic: Box<Diagnostic>,
    },
}

impl Stack {
    /// Builds these volumes and all below them. They must have passed [`Volumes::check`] and [`Volumes::check_use`].
    ///
    /// # Errors
    /// The first volume that cannot be built; nothing of the others is left.
    pub fn build(volumes: &Volumes, roots: &[String], site: &Site) -> Result<Self, BuildError> {
        Self::build_in(volumes, roots, site, RingSetup::default(), |env| env)
    }

    /// The same [of what is there](Env::for_what_is_there), on a ring that is set up as its user needs it (real clock).
    ///
    /// # Errors
    /// As [`Stack::build`]; also if a file is missing.
    pub fn build_of_what_is_there(
        setup: RingSetup,
        volumes: &Volumes,
        roots: &[String],
        site: &Site,
    ) -> Result<Self, BuildError> {
        Self::build_in(volumes, roots, site, setup, Env::for_what_is_there)
    }

    /// The same, to be [looked at](Self::check) only: nothing that is opened can be written.
    ///
    /// # Errors
    /// As [`Stack::build`]; also if something is in use by a program that writes it, or was not made yet.
    pub fn build_for_reading(volumes: &Volumes, roots: &[String], site: &Site) -> Result<Self, BuildError> {
        Self::build_in(volumes, roots, site, RingSetup::default(), Env::for_reading)
    }

    fn build_in(
        volumes: &Volumes,
        roots: &[String],
        site: &Site,
        setup: RingSetup,
        change: impl FnOnce(Env) -> Env,
    ) -> Result<Self, BuildError> {
        let runtime = match site.clock {
            Clock::Virtual => Runtime::virtual_time(site.seed),
            Clock::Real => Runtime::real(setup, site.seed).map_err(BuildError::Ring)?,
        };
        let context = runtime.context();
        let region = if site.clock == Clock::Real { REGION_BYTES } else { 0 };
        let pool = if site.payload { Pool::new(&context, region) } else { Pool::hollow() };
        let env = change(Env::new(context, pool).in_directory(&site.directory));
        let mut stack = Self::empty(runtime, env);
        for index in volumes.used(roots.iter().map(String::as_str)) {
            stack
                .add(volumes, index, volumes.is_spare(index, roots))
                .map_err(|(kind, diagnostic)| BuildError::Volume { kind, diagnostic })?;
        }
        Ok(stack)
    }

    /// Builds, without bytes and in virtual time, whatever touches nothing outside: finds settings that fit each by
    /// itself and not together. Mistakes go to the diagnostics, each at its volume.
    pub fn try_out(volumes: &Volumes, roots: &[String], diagnostics: &Diagnostics) -> Self {
        let runtime = Runtime::virtual_time(0);
        let env = Env::new(runtime.context(), Pool::hollow());
        let mut stack = Self::empty(runtime, env);
        for index in volumes.used(roots.iter().map(String::as_str)) {
            let node = &volumes.nodes[index];
            let stands = node.blueprint.children().iter().all(|child| stack.places.contains_key(child));
            if stands
                && !node.outside
                && let Err((_, diagnostic)) = stack.add(volumes, index, false)
            {
                diagnostics.push(*diagnostic);
            }
        }
        stack
    }

    fn empty(runtime: Runtime, env: Env) -> Self {
        Self { nodes: Vec::new(), places: BTreeMap::new(), children: BTreeMap::new(), env, runtime }
    }

    fn add(
        &mut self,
        volumes: &Volumes,
        index: usize,
        spare: bool,
    ) -> Result<(), (ErrorKind, Box<Diagnostic>)> {
        let node = &volumes.nodes[index];
        let names = node.blueprint.children();
        let children = names.iter().map(|name| self.nodes[self.places[name]].clone()).collect();
        let env = self.env.clone().for_spare(spare);
        let handle = node.blueprint.build(&env, &node.name, children).map_err(|error| {
            let problem = Problem::new(error.to_string(), "");
            (error.kind(), Box::new(node.problem(&volumes.source, error.key(), problem)))
        })?;
        self.places.insert(node.name.clone(), self.nodes.len());
        self.children.insert(node.name.clone(), names);
        self.nodes.push(handle);
        self.nodes.extend(self.env.take_adjoined());
        Ok(())
    }

    /// The volume of that name, if it was built.
    pub fn get(&self, name: &str) -> Option<&Handle> {
        self.places.get(name).map(|place| &self.nodes[*place])
    }

    /// Every volume, each after those it stands on.
    pub fn nodes(&self) -> &[Handle] {
        &self.nodes
    }

    /// Opening, draining and closing it.
    pub fn lifecycle(&self) -> Lifecycle {
        Lifecycle::of(&self.env, &self.nodes, &self.children)
    }

    /// Verifies what every write-back group has on its devices, bit by bit; writes nothing. For a stack built
    /// [for reading](Self::build_for_reading).
    pub async fn check(&self) -> Vec<Report> {
        let mut reports = Vec::new();
        for group in writeback::groups(&self.env) {
            reports.push(group.check(&self.env).await);
        }
        reports
    }

    /// The executor everything runs on.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Clock, sleep, spawn, randomness.
    pub fn context(&self) -> &Context {
        &self.env.context
    }

    /// Where buffers come from.
    pub fn pool(&self) -> &Pool {
        &self.env.pool
    }
}
