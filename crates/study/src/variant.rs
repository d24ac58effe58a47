//! One variant: the study's tree with values replaced, its volumes and its workload read from it.

use fathom_catalogue::Catalogue;
use fathom_job::{DatabaseKind, Job, Storage, WorkloadKind};
use fathom_runtime::Clock;
use fathom_settings::{Diagnostics, Path, Problem, Reference, Section, Tree, did_you_mean};
use fathom_stack::{Stack, Volumes};
use fathom_volume::Site;

use crate::factors::{Allowed, Assignment, Override, Sets, assignments};
use crate::provision::{Database, Place};
use crate::several;
use crate::workloads::{REAL_ONLY, workload, workloads};

/// Volumes and workload of one variant.
pub(crate) struct Variant {
    pub volumes: Volumes,
    pub kind: &'static WorkloadKind,
    /// None if anything in volumes or workload is wrong.
    pub job: Option<Box<dyn Job>>,
    pub places: Vec<Place>,
    pub databases: Vec<Database>,
    /// Whether the workload lists its databases.
    several: bool,
    /// The references of the workload.
    roots: Vec<Reference>,
}

/// Replaces values of a tree: those of sets first, then single ones, the shorter path before one that leads into it.
pub(crate) fn replace(tree: &mut Tree, overrides: &[Override], sets: &Sets, diagnostics: &Diagnostics) {
    let (mut of_sets, mut single) = (Vec::new(), Vec::new());
    for chosen in overrides {
        match assignments(chosen, sets, Allowed::SettingsAndRounds) {
            Ok(found) if sets.contains_key(&chosen.name) => of_sets.extend(found),
            Ok(found) => single.extend(found),
            Err(problem) => {
                let path = Path::parse(&chosen.name).unwrap_or_else(|_| Path::ROOT.join(&chosen.name));
                diagnostics.push(tree.source().diagnostic(chosen.written, &path, problem));
            }
        }
    }
    of_sets.sort_by(|a, b| a.path.cmp(&b.path));
    single.sort_by(|a, b| a.path.cmp(&b.path));
    for Assignment { path, value, written } in of_sets.into_iter().chain(single) {
        if let Err(problem) = tree.set(&path, value, written) {
            diagnostics.push(tree.source().diagnostic(written, &path, problem));
        }
    }
}

fn read_job(kind: &WorkloadKind, section: &mut Section<'_>) -> Option<Box<dyn Job>> {
    for key in ["count", "databases"] {
        if kind.primary.is_some() && section.value(key).is_some() {
            let help = "list several: database = [\"first\", \"second\"]";
            section.error_at(key, "there is one database to be driven", help);
        }
    }
    let job = (kind.read)(section);
    if section.finish() && job.is_none() {
        let help = "this is a mistake in Fathom; please report it with the text";
        section.error("its settings could not be read", help);
    }
    job
}

impl Variant {
    /// Reads volumes and workload; None if the workload's kind is not known.
    pub fn read(tree: &Tree, catalogue: &Catalogue, diagnostics: &Diagnostics) -> Option<Self> {
        let mut root = tree.section(diagnostics);
        let volumes = Volumes::read(&mut root, catalogue);
        volumes.check(diagnostics);
        let places = Place::read_all(&mut root);
        let databases = Database::read_all(&mut root, &places);
        for reference in places.iter().filter_map(Place::reference) {
            volumes.check_references(std::slice::from_ref(reference), diagnostics);
        }
        root.take_references();
        let mut section = root.required_section("workload")?;
        let word = section.required::<String>("kind")?;
        let Some(kind) = workload(&word) else {
            let help = if REAL_ONLY.contains(&word.as_str()) {
                "this program was built without the real driver; run this study on Linux".to_owned()
            } else {
                did_you_mean(&word, "kinds", workloads().iter().map(|kind| kind.name))
            };
            section.error_at("kind", format!("there is no workload \"{}\"", word.escape_debug()), help);
            return None;
        };
        let several = several::is_meant(kind, &mut section);
        let (job, roots) = match several {
            Some(primary) => several::read(kind, primary, tree, &mut section, diagnostics),
            None => (read_job(kind, &mut section), root.take_references()),
        };
        let several = several.is_some();
        volumes.check_references(&roots, diagnostics);
        Some(Self { volumes, kind, job: job.filter(|_| root.is_clean()), places, databases, several, roots })
    }

    /// Checks that volumes and workload, each valid on its own, fit each other and the clock.
    pub fn check(&self, tree: &Tree, clock: Clock, diagnostics: &Diagnostics) {
        let Some(job) = &self.job else { return self.check_name_of_database(tree, diagnostics) };
        let before = diagnostics.reported();
        self.check_databases(&**job, tree, clock, diagnostics);
        let below = self.places_of(&self.databases_of(&**job));
        let below = below.into_iter().filter_map(Place::reference).cloned();
        let roots: Vec<Reference> = self.roots.iter().cloned().chain(below).collect();
        if !self.volumes.check_use(&roots, clock, diagnostics) || diagnostics.reported() > before {
            return;
        }
        let site = Site::virtual_time(0, false);
        let stack = Stack::try_out(&self.volumes, &job.volumes(), &site, diagnostics);
        if diagnostics.reported() > before {
            return;
        }
        let root = Path::ROOT.join("workload");
        for (key, problem) in job.misfits(clock, &Storage { site: &site, nodes: stack.nodes().to_vec() }) {
            let path = match Path::parse(&key) {
                Ok(below) => below.steps().iter().fold(root.clone(), |path, step| path.join(step)),
                Err(_) => root.clone(),
            };
            diagnostics.push(tree.source().diagnostic(tree.position_of(&path), &path, problem));
        }
    }

    /// Names of the metrics that a run on several databases has beside those of its workload.
    pub fn metrics_of_databases(&self) -> Vec<String> {
        let databases = self.job.as_ref().map(|job| job.databases()).unwrap_or_default();
        if self.several { several::metrics(self.kind, &databases) } else { Vec::new() }
    }

    /// Whether servers may run and be observed beside the workload: a job with a mistake has no answer, and its metrics
    /// shall not look unknown as well.
    pub fn may_use_databases(&self) -> bool {
        self.job.as_ref().is_none_or(|job| !job.databases().is_empty())
    }

    /// The databases of a job, those without a table as plain private servers; unknown ones are left out.
    pub fn databases_of(&self, job: &dyn Job) -> Vec<Database> {
        job.databases().iter().filter_map(|name| self.database(name)).collect()
    }

    fn database(&self, name: &str) -> Option<Database> {
        let with_table = self.databases.iter().find(|database| database.name == name).cloned();
        with_table.or_else(|| DatabaseKind::of(name).and_then(Database::plain))
    }

    /// The places that databases use, each once.
    pub fn places_of(&self, databases: &[Database]) -> Vec<&Place> {
        let used = |place: &&Place| databases.iter().any(|database| database.places.contains(&place.name));
        self.places.iter().filter(used).collect()
    }

    /// The mistake of a name that is no table, and no database of which Fathom starts a server. None for a table with
    /// mistakes of its own: they are told.
    fn unknown_database(&self, tree: &Tree, name: &str) -> Option<Problem> {
        if self.database(name).is_some() || tree.get(&Path::ROOT.join("databases").join(name)).is_some() {
            return None;
        }
        if DatabaseKind::of(name).is_some() {
            let help = format!(
                "add [databases.{name}] with kind = \"{name}\" and `connect`: Fathom starts no server of it"
            );
            return Some(Problem::new(format!("there is no table [databases.{name}]"), help));
        }
        let known = self.databases.iter().map(|known| &*known.name);
        let plain = DatabaseKind::all().filter(|kind| Database::plain(*kind).is_some());
        let help = did_you_mean(name, "databases", known.chain(plain.map(|kind| kind.name())));
        Some(Problem::new(format!("there is no database `{}`", name.escape_debug()), help))
    }

    /// What can be told of a workload whose other settings are wrong.
    fn check_name_of_database(&self, tree: &Tree, diagnostics: &Diagnostics) {
        let path = Path::ROOT.join("workload").join("database");
        let Some(value) = tree.get(&path).filter(|_| self.kind.primary.is_some()) else { return };
        if let Some(problem) = value.as_text().and_then(|name| self.unknown_database(tree, name)) {
            diagnostics.push(tree.source().diagnostic(value.position, &path, problem));
        }
    }

    fn check_databases(&self, job: &dyn Job, tree: &Tree, clock: Clock, diagnostics: &Diagnostics) {
        let names = job.databases();
        let report = |key: &str, problem: Problem| {
            let path = Path::parse(&format!("workload.{key}")).unwrap_or(Path::ROOT);
            diagnostics.push(tree.source().diagnostic(tree.position_of(&path), &path, problem));
        };
        for name in &names {
            if let Some(problem) = self.unknown_database(tree, name) {
                report("database", problem);
            } else if clock == Clock::Virtual
                && self.database(name).is_some_and(|database| database.kind != DatabaseKind::Sqlite)
            {
                // SQLite is no server: its workloads decide where it may be.
                let help = "name a workload that is a model, or use clock = \"real\"";
                report("database", Problem::new("a database server has no place in virtual time", help));
            }
        }
        if self.several
            && let Some(metric) = several::name_twice(self.kind, &names)
        {
            let message = format!("two metrics of this run would be called `{metric}`");
            report("database", Problem::new(message, "give the databases other names"));
        }
        let used = self.databases_of(job);
        if used.len() == names.len() {
            let kinds: Vec<DatabaseKind> = used.iter().map(|database| database.kind).collect();
            job.database_misfits(&kinds).into_iter().for_each(|(key, problem)| report(&key, problem));
        }
        let mut taken: Vec<&str> = Vec::new();
        for place in self.places_of(&used) {
            let (Some(volume), Some(reference)) = (place.volume(), place.reference()) else { continue };
            if taken.contains(&volume) || job.volumes().iter().any(|other| other == volume) {
                let problem = Problem::new(
                    format!("`{volume}` has another user already"),
                    "a volume has one user: add a volume of its own for each place",
                );
                diagnostics.push(tree.source().diagnostic(reference.position, &reference.path, problem));
            }
            taken.push(volume);
        }
    }
}
