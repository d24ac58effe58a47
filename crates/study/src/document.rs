//! The resolved study: all that planning, running and judging it need, as one JSON document (docs/RESULTS.md).

use std::collections::BTreeSet;

use fathom_job::{Demand, Job, RATE, Request, WorkloadKind};
use fathom_runtime::Clock;
use fathom_settings::{Diagnostics, Path, Tree};
use serde_json::{Map, Value, json};

use crate::compare;
use crate::factors::{self, Allowed, Factor, Overlay, Override};
use crate::several;
use crate::study::Study;
use crate::variant::Variant;
use crate::workloads::workload;

/// Rounds at tiny scale, unless `[quick]` says otherwise: the fewest that carry an interval.
const QUICK_ROUNDS: u32 = 2;

/// The tables that say what runs.
const SETTINGS: [&str; 4] = ["workload", "volumes", "places", "databases"];

/// A study as it was asked for.
pub(crate) struct Resolved<'a> {
    pub clock: Clock,
    pub quick: bool,
    /// What replaces values of the study in every variant.
    pub overlay: &'a Overlay,
    /// The study with that in place.
    pub tree: &'a Tree,
    /// Of [`variant`].
    pub variants: Vec<Value>,
}

/// The document of a study in which nothing is wrong.
pub(crate) fn document(study: &Study, found: &Resolved<'_>) -> Value {
    // The overlay may set rounds; what is wrong with them was reported when the variants were checked.
    let silent = Diagnostics::new();
    let compare = compare::read(&mut found.tree.section(&silent), &study.factors);
    let planned = compare.as_ref().map_or(compare::ROUNDS, |compare| compare.rounds);
    let own = found.overlay.iter().any(|chosen| chosen.name == "compare.rounds");
    let rounds = if found.quick && !own { QUICK_ROUNDS } else { planned };
    let factors = study.factors_at(found.quick);
    let scale: Vec<&String> = [Some(found.clock.name()), found.quick.then_some("quick")]
        .into_iter()
        .flatten()
        .filter_map(|word| study.scale.get(word))
        .collect();
    let kinds: BTreeSet<&str> = found
        .variants
        .iter()
        .filter_map(|variant| variant["settings"]["workload"]["kind"].as_str())
        .collect();
    let loads = factors.iter().filter_map(|factor| Some((factor.name.clone(), load(factor, study, &kinds)?)));
    let levels = factors.iter().map(|factor| {
        let levels: Vec<Value> = factor.levels.iter().map(fathom_settings::Value::to_json).collect();
        (factor.name.clone(), levels.into())
    });
    let assigns = factors.iter().map(|factor| {
        let levels: Vec<Value> = factor.choices().map(|choice| assigned(&choice, study)).collect();
        (factor.name.clone(), levels.into())
    });
    let overrides = found.overlay.iter().filter(|chosen| !chosen.name.starts_with("compare."));
    let overrides = overrides.map(|chosen| (chosen.name.clone(), chosen.value.to_json()));
    let mut document = json!({
        "title": study.title,
        "question": study.question,
        "clock": found.clock.name(),
        "quick": found.quick,
        "seed": study.seed,
        "rounds": rounds,
        "scale": scale,
        "factors": levels.collect::<Map<_, _>>(),
        "assigns": assigns.collect::<Map<_, _>>(),
        "loads": loads.collect::<Map<_, _>>(),
        "labels": study.labels,
        "compare": compare.map(|compare| compare.json),
        "goals": study.goals.json,
        "published": study.published.json,
        "calibrated_on": study.calibrated_on,
        "overrides": overrides.collect::<Map<_, _>>(),
    });
    if let Value::Object(document) = &mut document {
        document.extend(settings(found.tree));
        document.insert("variants".to_owned(), found.variants.clone().into());
    }
    document
}

/// One variant: its levels, the settings it runs with, and what the workload states of itself. None if anything is wrong.
pub(crate) fn variant(levels: &Overlay, variant: &Variant, tree: &Tree) -> Option<Value> {
    let job = variant.job.as_deref()?;
    let levels = levels.iter().map(|chosen| (chosen.name.clone(), chosen.value.to_json()));
    let phases =
        job.phases().into_iter().map(|(name, demand)| json!({ "name": name, "demand": of(Some(demand)) }));
    Some(json!({
        "levels": levels.collect::<Map<_, _>>(),
        "settings": settings(tree).collect::<Map<_, _>>(),
        "volumes": job.volumes(),
        "lasts_ns": job.lasts(),
        "demand": of(job.demand()),
        "requests": job.requests().into_iter().map(|(what, request)| (what, of_request(&request))).collect::<Map<_, _>>(),
        "phases": phases.collect::<Vec<_>>(),
        "wants": wants(variant, job, tree),
    }))
}

/// What must be provided before a run: `databases`, `places` and `volumes`, each an object of name to settings, every
/// default spelled out, sizes in bytes; volumes as written. Only what the variant uses. `loads`: by database what the data
/// depends on that [`crate::load`] provides.
fn wants(variant: &Variant, job: &dyn Job, tree: &Tree) -> Value {
    let used = variant.databases_of(job);
    let places = variant.places_of(&used);
    let roots: Vec<String> = places.iter().filter_map(|place| place.volume().map(str::to_owned)).collect();
    let volumes = variant.volumes.tables(&roots).into_iter().map(|name| {
        let written = tree.get(&Path::ROOT.join("volumes").join(&name));
        (name, written.map_or(Value::Null, fathom_settings::Value::to_json))
    });
    let databases = used.iter().map(|database| (database.name.clone(), database.to_json()));
    let places = places.iter().map(|place| (place.name.clone(), place.to_json()));
    json!({
        "databases": databases.collect::<Map<_, _>>(),
        "places": places.collect::<Map<_, _>>(),
        "volumes": volumes.collect::<Map<_, _>>(),
        "loads": job.loads(),
    })
}

fn settings(tree: &Tree) -> impl Iterator<Item = (String, Value)> {
    let table = |name: &&str| tree.get(&Path::ROOT.join(name)).map(fathom_settings::Value::to_json);
    SETTINGS.iter().filter_map(move |name| Some(((*name).to_owned(), table(name)?)))
}

fn of(demand: Option<Demand>) -> Value {
    match demand {
        None => Value::Null,
        Some(Demand::Open(rate)) => json!({ "rate": rate }),
        Some(Demand::Closed { users, pauses }) => json!({ "users": users, "pauses": pauses }),
    }
}

fn of_request(request: &Request) -> Value {
    json!({ "words": request.words, "unit": request.unit, "size": request.size })
}

/// What the choice of a level sets: path to value.
fn assigned(choice: &Override, study: &Study) -> Value {
    let found = factors::assignments(choice, &study.sets, Allowed::Settings).unwrap_or_default();
    let pairs = found.into_iter().map(|found| (found.path.to_string(), found.value.to_json()));
    pairs.collect::<Map<_, _>>().into()
}

/// What of the load a factor sets, if it sets nothing else: "users" (how many may be at work at once), "rate", or "work"
/// (what is done: sizes, shares of reads, offsets). The volumes that a workload uses are no part of its load.
fn load(factor: &Factor, study: &Study, kinds: &BTreeSet<&str>) -> Option<Value> {
    let kinds: Vec<&WorkloadKind> = kinds.iter().filter_map(|kind| workload(kind)).collect();
    let paths = factors::paths(factor, &study.sets);
    let in_workload = |path: &Path| path.steps().first().is_some_and(|first| first == "workload");
    let key = |path: &Path| path.steps().last().cloned().unwrap_or_default();
    let volumes = |path: &Path| path.steps().get(1).is_some_and(|key| key == "volume" || key == "volumes");
    let users =
        |path: &Path| kinds.iter().any(|kind| several::load_keys(kind).any(|known| known == key(path)));
    let loads = paths.iter().all(|path| in_workload(path) && !volumes(path));
    let word = match () {
        () if paths.iter().all(users) => "users",
        () if paths.iter().all(|path| users(path) || key(path) == RATE) => "rate",
        () => "work",
    };
    (loads && !paths.is_empty()).then(|| word.into())
}
