//! `[compare]`: the metric, its baseline, the margin of equivalence, the number of rounds.

use fathom_settings::{Path, Position, Problem, Section, did_you_mean};
use fathom_units::Percent;
use serde_json::{Map, Value, json};

use crate::factors::Factor;
use crate::reading::required_words;

/// Rounds of a study that does not say how many.
pub(crate) const ROUNDS: u32 = 5;

/// Equivalence margin of a study that gives none, as a fraction.
const MARGIN: f64 = 0.02;

/// How much worse a guard may get where the study does not say, as a fraction.
const GUARD_MARGIN: f64 = 0.10;

/// More rounds are a slip of the finger.
const MOST_ROUNDS: u32 = 10_000;

/// Last words of keys that a person does not choose: what befalls the storage, or what is asked of it. Advice to set one of
/// them (`initial = "blank"`, because that leg is rebuilt sooner) would be nonsense, and may destroy data.
const CONDITIONS: [&str; 8] =
    ["background", "count", "initial", "payload", "rows", "scale", "users", "warehouses"];

/// What is compared; judged later, where the metrics of the workload are known.
#[derive(Debug)]
pub(crate) struct Compare {
    /// Name, path and place of the metric and of every guard.
    pub metrics: Vec<(String, Path, Position)>,
    /// Rounds to plan.
    pub rounds: u32,
    /// All of it with defaults spelled out and margins as fractions.
    pub json: Value,
}

/// Reads `[compare]`; None if it is left out.
pub(crate) fn read(root: &mut Section<'_>, factors: &[Factor]) -> Option<Compare> {
    let mut section = root.section("compare")?;
    let place = section.value("metric").map(|value| value.position);
    let metric = required_words(&mut section, "metric").zip(place);
    let name = metric.as_ref().map(|(metric, _)| metric.clone());
    let metric = metric.map(|(metric, place)| (metric, at("metric"), place));
    let place = section.value("guards").map(|value| value.position);
    let named = section.list::<String>("guards");
    let guards = named.clone().unwrap_or_default().into_iter().enumerate().zip(place.into_iter().cycle());
    let guards = guards.map(|((index, name), place)| (name, at("guards").join(&index.to_string()), place));
    let metrics = metric.into_iter().chain(guards).collect();
    let margin = read_margin(
        &mut section,
        "equivalent_within",
        MARGIN,
        100.0,
        "write more than 0% and less than 100%",
    );
    let guard_margin = read_margin(
        &mut section,
        "guard_margin",
        GUARD_MARGIN,
        f64::INFINITY,
        "write more than 0% and at most 100%",
    );
    let rounds = section.optional_in("rounds", 1..=MOST_ROUNDS);
    let most = section.optional_in("max_rounds", 1..=MOST_ROUNDS);
    if let (Some(rounds), Some(most)) = (rounds, most)
        && most < rounds
    {
        section.error_at(
            "max_rounds",
            format!("{most} is fewer than rounds ({rounds})"),
            "raise it or leave it out",
        );
    }
    let declared = section.list::<u32>("looks");
    let looks = declared.as_deref().unwrap_or_default();
    if looks.first() == Some(&0) || looks.windows(2).any(|pair| pair[0] >= pair[1]) {
        section.error_at(
            "looks",
            "the looks do not ascend",
            "write rounds after which to look, such as [5, 8, 12]",
        );
    }
    let (named_in_baseline, baseline) = read_baseline(&mut section, factors);
    let mean_over = read_mean_over(&mut section, factors, &named_in_baseline);
    let is_condition = |name: &String| CONDITIONS.contains(&name.rsplit('.').next().unwrap_or(name));
    let choice = section.optional::<bool>("choice");
    let choice = choice.unwrap_or(!named_in_baseline.iter().all(is_condition));
    let _ = section.finish();
    let rounds = rounds.unwrap_or(ROUNDS);
    let json = json!({
        "metric": name,
        "baseline": baseline,
        "margin": margin,
        "mean_over": mean_over,
        "rounds": rounds,
        "max_rounds": most,
        "looks": declared.filter(|looks| !looks.is_empty()),
        "guards": named,
        "guard_margin": guard_margin,
        "choice": choice,
    });
    Some(Compare { metrics, rounds, json })
}

/// A margin as a fraction.
fn read_margin(section: &mut Section<'_>, key: &str, default: f64, below: f64, help: &str) -> f64 {
    let Some(margin) = section.optional::<Percent>(key).map(Percent::get) else { return default };
    if margin <= 0.0 || margin >= below {
        section.error_at(key, "this margin decides nothing", help);
    }
    margin / 100.0
}

/// The levels of the variant that others are compared with. A baseline that names no factor compares nothing: every
/// variant is a load of its own, measured or predicted for itself. The factors it names, and their levels.
fn read_baseline(section: &mut Section<'_>, factors: &[Factor]) -> (Vec<String>, Map<String, Value>) {
    let varied = factors.iter().any(|factor| factor.levels.len() > 1);
    let baseline = match varied {
        true => section.required_section("baseline"),
        false => section.section("baseline"),
    };
    let Some(mut baseline) = baseline else { return Default::default() };
    let levels = read_levels(&mut baseline, factors);
    (baseline.asked().to_vec(), levels)
}

/// The factors over whose levels ratios are averaged, as a coefficient of improvement is over its load levels.
fn read_mean_over(section: &mut Section<'_>, factors: &[Factor], compared: &[String]) -> Vec<String> {
    let names = section.list::<String>("mean_over").unwrap_or_default();
    for (index, name) in names.iter().enumerate() {
        let known = factors.iter().map(|factor| factor.name.as_str());
        let said = name.escape_debug();
        if !known.clone().any(|factor| factor == name) {
            section.error_at(
                "mean_over",
                format!("there is no factor `{said}`"),
                did_you_mean(name, "factors", known),
            );
        } else if compared.contains(name) {
            let help = "name factors here that the baseline does not name, such as the number of users";
            section.error_at("mean_over", format!("`{said}` is what is compared"), help);
        } else if names[..index].contains(name) {
            section.error_at("mean_over", format!("`{said}` is named twice"), "once is enough");
        }
    }
    if !names.is_empty() && compared.is_empty() {
        section.error_at("mean_over", "nothing is compared", "name the baseline's levels, or leave this out");
    }
    names
}

/// Reads a table of factor and level; every mistake goes to the diagnostics. Those that are right, levels as the factor
/// writes them.
pub(crate) fn read_levels(section: &mut Section<'_>, factors: &[Factor]) -> Map<String, Value> {
    let mut right = Map::new();
    for entry in section.entries() {
        let path = section.path().join(&entry.key);
        match find_level(&entry.key, &entry.value, factors) {
            Ok(level) => drop(right.insert(entry.key.clone(), level.to_json())),
            Err((at_key, problem)) => {
                section.refuse(if at_key { entry.position } else { entry.value.position }, &path, problem);
            }
        }
    }
    right
}

/// The level of a factor; the error says which of them there is not.
fn find_level<'a>(
    name: &str,
    level: &fathom_settings::Value,
    factors: &'a [Factor],
) -> Result<&'a fathom_settings::Value, (bool, Problem)> {
    let Some(factor) = factors.iter().find(|factor| factor.name == name) else {
        let help = match level.as_table() {
            Some(_) => "put the whole path in quotes: \"workload.rows\"".to_owned(),
            None => did_you_mean(name, "factors", factors.iter().map(|factor| factor.name.as_str())),
        };
        return Err((true, Problem::new(format!("there is no factor `{}`", name.escape_debug()), help)));
    };
    if let Some(known) = factor.levels.iter().find(|known| known.same_as(level)) {
        return Ok(known);
    }
    let known: Vec<String> = factor.levels.iter().map(ToString::to_string).collect();
    let help = format!("levels: {}", known.join(", "));
    Err((false, Problem::new(format!("{level} is no level of `{name}`"), help)))
}

/// The mistake of a metric that the workload does not yield.
pub(crate) fn unknown_metric(metric: &str, workload: &str, metrics: &[&str]) -> Problem {
    let message = format!("the workload `{workload}` yields no metric `{}`", metric.escape_debug());
    // Most often only the unit at the end is missing.
    let near = match metrics
        .iter()
        .find(|known| known.strip_prefix(metric).is_some_and(|rest| rest.starts_with('_')))
    {
        Some(known) => format!("did you mean `{known}`?"),
        None => did_you_mean(metric, "metrics", metrics.iter().copied()),
    };
    let end = if near.ends_with('?') { "" } else { ";" };
    Problem::new(message, format!("{near}{end} `fathom doc {workload}` lists every metric"))
}

/// Path of a key of `[compare]`.
fn at(key: &str) -> Path {
    Path::ROOT.join("compare").join(key)
}
