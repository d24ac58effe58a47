//! A workload on several databases at the same time: one job for each, in a thread of its own, that begin to measure
//! together. Which workload it is makes no difference.
//!
//! `database` is a list of names then, `count` says how many of them are driven, and `databases.NAME` holds what is otherwise
//! for one of them. If one job fails the others are stopped and the run has failed with its reason.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use fathom_job::{
    DatabaseKind, Demand, Failure, Job, Outcome, Progress, Reason, Request, RunEnvironment, Storage,
    WorkloadKind, several,
};
use fathom_runtime::{Clock, Nanos};
use fathom_settings::{
    Data, Diagnostics, Entry, Path, Position, Problem, Reference, Section, Tree, Value, did_you_mean,
};

/// More databases than one machine drives.
const MOST: usize = 64;

/// How often the progress of the jobs is polled.
const POLL: Duration = Duration::from_millis(50);

/// Distance of the seeds of two jobs: each draws its own numbers, the first those it would draw alone.
const SEEDS_APART: u64 = 0x9e37_79b9_7f4a_7c15;

/// The key that says how many databases are driven.
const COUNT: &str = "count";

/// Keys that say which databases are driven, and by what: no database has one of its own.
const OF_THE_LIST: [&str; 4] = ["kind", "database", COUNT, "databases"];

/// Keys of the time in which all are measured together.
const OF_ALL: [&str; 3] = ["ramp", "duration", "interval"];

/// The jobs of one run, each with the name of its database.
#[derive(Debug)]
struct Several {
    kind: &'static WorkloadKind,
    primary: &'static str,
    jobs: Vec<(String, Box<dyn Job>)>,
    /// The keys that a database has settings of its own for, by its name.
    own: BTreeMap<String, Vec<String>>,
}

/// The metric that leads those of all databases, if the table `[workload]` names several. A workload that drives none has no
/// key `database`.
pub(crate) fn is_meant(kind: &WorkloadKind, section: &mut Section<'_>) -> Option<&'static str> {
    let primary = kind.primary?;
    section.value("database").is_some_and(|value| value.as_list().is_some()).then_some(primary)
}

/// Reads a workload once for each database that it names. None if anything is wrong, with diagnostics. With it the
/// volumes that the jobs refer to.
pub(crate) fn read(
    kind: &'static WorkloadKind,
    primary: &'static str,
    tree: &Tree,
    section: &mut Section<'_>,
    diagnostics: &Diagnostics,
) -> (Option<Box<dyn Job>>, Vec<Reference>) {
    let names = names(section);
    let most = names.len().max(1) as u32;
    let count = section.optional_in(COUNT, 1..=most).unwrap_or(most) as usize;
    let driven = &names[..count.min(names.len())];
    let settings = settings(section, &names);
    let mut jobs = Vec::new();
    let mut references = Vec::new();
    for (name, place) in driven {
        let own = alone(tree, name, *place, settings.get(name.as_str()).copied().unwrap_or_default());
        let mut root = own.section(diagnostics);
        let Some(mut section) = root.required_section("workload") else { continue };
        for key in OF_THE_LIST {
            section.value(key);
        }
        let job = (kind.read)(&mut section);
        let fits = section.finish();
        references.extend(root.take_references());
        jobs.extend(job.filter(|_| fits).map(|job| (name.clone(), job)));
    }
    let whole = jobs.len() == driven.len() && !driven.is_empty();
    let keys = |entries: &[Entry]| entries.iter().map(|entry| entry.key.clone()).collect();
    let own = settings.into_iter().map(|(name, entries)| (name.to_owned(), keys(entries))).collect();
    (whole.then(|| Box::new(Several { kind, primary, jobs, own }) as Box<dyn Job>), references)
}

/// The databases listed, each once, with their places.
fn names(section: &mut Section<'_>) -> Vec<(String, Position)> {
    let path = section.path().join("database");
    let listed = section.value("database").and_then(Value::as_list).unwrap_or_default();
    if listed.is_empty() || listed.len() > MOST {
        let message = format!("a run drives 1 to {MOST} databases, and {} are listed", listed.len());
        section.error_at("database", message, "name tables [databases.NAME]");
    }
    let mut names: Vec<(String, Position)> = Vec::new();
    for (index, value) in listed.iter().enumerate() {
        let problem = match value.as_text() {
            Some(name) if names.iter().any(|(other, _)| other == name) => {
                Problem::new(format!("{value} is listed already"), "a run drives each database once")
            }
            Some(name) => {
                names.push((name.to_owned(), value.position));
                continue;
            }
            None => Problem::new(
                format!("expected the name of a database, found {}", value.kind()),
                "write it like [\"first\", \"second\"]",
            ),
        };
        section.refuse(value.position, &path.join(&index.to_string()), problem);
    }
    names
}

/// What single databases have settings of their own for, by their names.
fn settings<'a>(section: &mut Section<'a>, names: &[(String, Position)]) -> BTreeMap<&'a str, &'a [Entry]> {
    let mut settings = BTreeMap::new();
    for (name, mut own) in section.named_sections("databases") {
        if !names.iter().any(|(listed, _)| listed == name) {
            let help = did_you_mean(name, "databases listed", names.iter().map(|(listed, _)| &**listed));
            own.error(format!("`{}` is not listed in `database`", name.escape_debug()), help);
        }
        for key in OF_THE_LIST {
            if own.has(key) {
                own.error_at(key, "a database of the list has no list of its own", "leave it out");
            }
        }
        for key in OF_ALL {
            if own.has(key) {
                own.error_at(key, "all databases are measured in the same time", "set it in [workload]");
            }
        }
        settings.insert(name, own.entries());
    }
    settings
}

/// The study as it would be with one of the databases, and with the settings of its own.
fn alone(tree: &Tree, name: &str, place: Position, settings: &[Entry]) -> Tree {
    let mut own = tree.clone();
    let workload = Path::ROOT.join("workload");
    let value = Value { position: place, data: Data::Text(name.to_owned()) };
    own.set(&workload.join("database"), value, place).expect("the list is at this path");
    for Entry { key, position: place, value } in settings {
        if !OF_THE_LIST.contains(&&**key) {
            own.set(&workload.join(key), value.clone(), *place).expect("a table takes any key");
        }
    }
    own
}

/// The names of metrics of a job on these databases, beside those of its kind.
pub(crate) fn metrics(kind: &WorkloadKind, databases: &[String]) -> Vec<String> {
    let names = |primary| several::names(&(kind.metrics)(), primary, databases);
    kind.primary.map(names).unwrap_or_default()
}

/// Last words of the keys that say how many requests, users or databases may be at work at the same time.
pub(crate) fn load_keys(kind: &WorkloadKind) -> impl Iterator<Item = &'static str> {
    kind.users.iter().copied().chain(kind.primary.map(|_| COUNT))
}

/// Two metrics of one name: then a database must be called otherwise.
pub(crate) fn name_twice(kind: &WorkloadKind, databases: &[String]) -> Option<String> {
    let mut names = metrics(kind, databases);
    names.extend((kind.metrics)().into_iter().map(|metric| metric.name.into_owned()));
    names.sort();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone())
}

impl Several {
    /// What each job finds wrong with itself, at its key; the same mistake of two jobs is reported once.
    fn each(&self, of: impl Fn(usize, &dyn Job) -> Vec<(String, Problem)>) -> Vec<(String, Problem)> {
        let mut misfits = Vec::new();
        for (index, (name, job)) in self.jobs.iter().enumerate() {
            let own = self.own.get(name).map(Vec::as_slice).unwrap_or_default();
            misfits.extend(of(index, &**job).into_iter().map(|(key, problem)| match own.contains(&key) {
                true => (format!("databases.{name}.{key}"), problem),
                false => (key, problem),
            }));
        }
        misfits
    }
}

impl Job for Several {
    fn volumes(&self) -> Vec<String> {
        self.jobs.iter().flat_map(|(_, job)| job.volumes()).collect()
    }

    fn databases(&self) -> Vec<String> {
        self.jobs.iter().flat_map(|(_, job)| job.databases()).collect()
    }

    fn database_misfits(&self, kinds: &[DatabaseKind]) -> Vec<(String, Problem)> {
        self.each(|index, job| job.database_misfits(&kinds[index..=index]))
    }

    fn loads(&self) -> BTreeMap<String, String> {
        self.jobs.iter().flat_map(|(_, job)| job.loads()).collect()
    }

    fn demand(&self) -> Option<Demand> {
        let each: Option<Vec<Demand>> = self.jobs.iter().map(|(_, job)| job.demand()).collect();
        each?.into_iter().map(Some).reduce(|one, other| one?.beside(other?)).flatten()
    }

    /// Those of all jobs together: the words of jobs that differ are joined.
    fn requests(&self) -> BTreeMap<String, Request> {
        let mut found: BTreeMap<String, Request> = BTreeMap::new();
        for (what, request) in self.jobs.iter().flat_map(|(_, job)| job.requests()) {
            match found.entry(what) {
                Slot::Vacant(slot) => {
                    slot.insert(request);
                }
                Slot::Occupied(mut slot) if !slot.get().words.contains(&request.words) => {
                    let both = slot.get_mut();
                    both.words = format!("{} or {}", both.words, request.words);
                    both.size = both.size.zip(request.size).map(|(one, other)| f64::midpoint(one, other));
                }
                Slot::Occupied(_) => {}
            }
        }
        found
    }

    fn lasts(&self) -> Option<Nanos> {
        let each: Option<Vec<Nanos>> = self.jobs.iter().map(|(_, job)| job.lasts()).collect();
        each?.into_iter().max()
    }

    /// Loads those databases that are there: a copy of one serves for all that hold the same.
    fn load(&self, environment: &RunEnvironment<'_>, progress: &mut dyn Progress) -> Result<(), Failure> {
        for (name, job) in &self.jobs {
            if environment.databases.0.contains_key(name) {
                job.load(environment, progress).map_err(|failure| of_database(name, failure))?;
            }
        }
        Ok(())
    }

    fn needs_payload(&self) -> bool {
        self.jobs.iter().any(|(_, job)| job.needs_payload())
    }

    fn misfits(&self, clock: Clock, volumes: &Storage<'_>) -> Vec<(String, Problem)> {
        let mut misfits = self.each(|_, job| job.misfits(clock, volumes));
        if self.jobs.len() > 1 {
            misfits.extend(self.each(|_, job| job.beside_others()));
        }
        misfits
    }

    fn run(&self, environment: &RunEnvironment<'_>, progress: &mut dyn Progress) -> Result<Outcome, Failure> {
        let (databases, scratch) = (environment.databases, environment.scratch);
        let (clock, seed) = (environment.clock, environment.seed);
        let line = Line::new(self.jobs.len());
        let drive = |index: usize, name: &str, job: &dyn Job| {
            let _leaves = LeaveOnDrop(&line);
            let seed = seed.wrapping_add((index as u64).wrapping_mul(SEEDS_APART));
            let own = RunEnvironment { storage: None, databases, scratch, clock, seed };
            let outcome = job.run(&own, &mut Part { line: &line, index });
            match outcome {
                Ok(outcome) => Some((name.to_owned(), outcome)),
                Err(failure) => {
                    line.fail(of_database(name, failure));
                    None
                }
            }
        };
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let mut threads = Vec::with_capacity(self.jobs.len());
            for (index, (name, job)) in self.jobs.iter().enumerate() {
                let drive = &drive;
                threads.push(scope.spawn(move || drive(index, name, &**job)));
            }
            line.attend(progress);
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
                Ok(outcome) => outcome,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            threads.into_iter().map(join).collect()
        });
        match line.failure() {
            Some(failure) => Err(failure),
            None => {
                let outcomes: Vec<(String, Outcome)> = outcomes.into_iter().flatten().collect();
                Ok(several::combine(&(self.kind.metrics)(), self.primary, &outcomes))
            }
        }
    }
}

fn of_database(name: &str, failure: Failure) -> Failure {
    Failure { message: format!("databases.{name}: {}", failure.message), ..failure }
}

/// Where the jobs of a run meet, say how far they are, and hear that it is over.
struct Line {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Jobs that have not ended.
    left: usize,
    /// Jobs that wait at the line.
    standing: usize,
    /// How often the line was crossed.
    crossed: u64,
    /// How far each job is, and what it says.
    parts: Vec<(f64, String)>,
    stopped: bool,
    failure: Option<Failure>,
}

impl Line {
    fn new(jobs: usize) -> Self {
        let parts = vec![(0.0, String::new()); jobs];
        let state = State { left: jobs, standing: 0, crossed: 0, parts, stopped: false, failure: None };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("the lock is never poisoned")
    }

    /// Passes on how far the jobs are until all have ended.
    fn attend(&self, progress: &mut dyn Progress) {
        let mut state = self.state();
        while state.left > 0 {
            state = self.changed.wait_timeout(state, POLL).expect("the lock is never poisoned").0;
            let slowest = state.parts.iter().min_by(|(one, _), (other, _)| one.total_cmp(other));
            let (done, words) = slowest.cloned().unwrap_or_default();
            let words = format!("{} databases, the slowest: {words}", state.parts.len());
            drop(state);
            let stop = progress.tick(done, &words).is_break();
            state = self.state();
            if stop && state.failure.is_none() {
                state.failure = Some(Failure::new(Reason::Cancelled, "stopped while databases were driven"));
            }
            if stop {
                state.stopped = true;
                self.changed.notify_all();
            }
        }
    }

    /// A job failed: the first failure is the run's, and the others may stop.
    fn fail(&self, failure: Failure) {
        let mut state = self.state();
        state.stopped = true;
        state.failure.get_or_insert(failure);
        self.changed.notify_all();
    }

    fn failure(self) -> Option<Failure> {
        self.state.into_inner().expect("the lock is never poisoned").failure
    }

    /// Waits until every job that has not ended is here.
    fn cross(&self) -> ControlFlow<()> {
        let mut state = self.state();
        let before = state.crossed;
        state.standing += 1;
        state.open();
        self.changed.notify_all();
        let waits = |state: &mut State| state.crossed == before && !state.stopped;
        let state = self.changed.wait_while(state, waits).expect("the lock is never poisoned");
        if state.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl State {
    fn open(&mut self) {
        if self.standing > 0 && self.standing >= self.left {
            self.standing = 0;
            self.crossed += 1;
        }
    }
}

/// Leaves the barrier when a job ends, however it ends.
struct LeaveOnDrop<'a>(&'a Line);

impl Drop for LeaveOnDrop<'_> {
    fn drop(&mut self) {
        if let Ok(mut state) = self.0.state.lock() {
            state.left -= 1;
            state.stopped |= std::thread::panicking();
            state.open();
        }
        self.0.changed.notify_all();
    }
}

/// How one job sees the line.
struct Part<'a> {
    line: &'a Line,
    index: usize,
}

impl Progress for Part<'_> {
    fn tick(&mut self, done: f64, note: &str) -> ControlFlow<()> {
        let mut state = self.line.state();
        state.parts[self.index] = (done, note.to_owned());
        if state.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn ready(&mut self) -> ControlFlow<()> {
        self.line.cross()
    }
}
