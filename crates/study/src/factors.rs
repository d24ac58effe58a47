//! Factors, and the other ways to replace values of a study: sets of values that vary together, and overlays for a
//! clock or for tiny scale.

use std::collections::BTreeMap;

use fathom_settings::{Entry, Path, Position, Problem, Section, Value, did_you_mean};

use crate::reading::expected;

/// More runs than anyone waits for.
const MOST_VARIANTS: usize = 100_000;

/// The tables whose values may be replaced.
const VARIED: [&str; 4] = ["volumes", "workload", "places", "databases"];

/// More levels than anyone compares; each is checked.
const MOST_LEVELS: usize = 1_000;

/// One value that replaces another, or is added.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    pub path: Path,
    pub value: Value,
    /// Where the path is written.
    pub written: Position,
}

/// What is varied: a path, or a set of values under a name.
#[derive(Debug, Clone)]
pub(crate) struct Factor {
    pub name: String,
    /// Where the name is written.
    pub written: Position,
    pub levels: Vec<Value>,
}

impl Factor {
    /// The choice of one level.
    pub fn choose(&self, level: &Value) -> Override {
        Override { name: self.name.clone(), written: self.written, value: level.clone() }
    }

    /// Every level, chosen.
    pub fn choices(&self) -> impl Iterator<Item = Override> {
        self.levels.iter().map(|level| self.choose(level))
    }
}

/// A path or the name of a set, and the value or level chosen for it.
#[derive(Debug, Clone)]
pub(crate) struct Override {
    pub name: String,
    /// Where the name is written.
    pub written: Position,
    pub value: Value,
}

/// Values that vary together: name, then level, then what it sets.
pub(crate) type Sets = BTreeMap<String, BTreeMap<String, Vec<Assignment>>>;

/// Values by path or name of a set, as `[quick]`, `[real]` and `[virtual]` give them.
pub(crate) type Overlay = Vec<Override>;

/// Reads `[sets.NAME.LEVEL]`.
pub(crate) fn read_sets(root: &mut Section<'_>) -> Sets {
    let mut sets = Sets::new();
    for (name, mut section) in root.named_sections("sets") {
        if name.contains('.') {
            section.error("the name of a set has no dot", "a name with dots is a path");
        }
        let mut levels = BTreeMap::new();
        for level in section.entries() {
            let path = section.path().join(&level.key);
            let Some(table) = level.value.as_table() else {
                let help = format!("write it like {} = {{ \"volumes.data.size\" = \"1GiB\" }}", level.key);
                section.refuse(
                    level.value.position,
                    &path,
                    expected("a table of paths and values", &level.value, &help),
                );
                continue;
            };
            let assign = |entry: &Entry| assignment(&section, &path, entry, Allowed::Settings);
            levels.insert(level.key.clone(), table.entries().iter().filter_map(assign).collect());
        }
        sets.insert(name.to_owned(), levels);
    }
    sets
}

/// Reads `[factors]`: path or name of a set, to the list of its levels.
pub(crate) fn read(root: &mut Section<'_>, sets: &Sets) -> Vec<Factor> {
    let Some(mut section) = root.section("factors") else { return Vec::new() };
    let levels = |entry: &Entry| entry.value.as_list().map_or(1, <[Value]>::len);
    if section.entries().iter().map(levels).sum::<usize>() > MOST_LEVELS {
        section
            .error(format!("there are more than {MOST_LEVELS} levels"), "leave some out, or split the study");
        return Vec::new();
    }
    let mut factors: Vec<Factor> = Vec::new();
    let mut varied: Vec<Vec<Path>> = Vec::new();
    for entry in section.entries() {
        if let Some(factor) = read_factor(&section, entry, sets) {
            let own = paths(&factor, sets);
            for (other, theirs) in factors.iter().zip(&varied) {
                check_apart(&section, (&factor, &own), (other, theirs));
            }
            factors.push(factor);
            varied.push(own);
        }
    }
    let variants = factors.iter().try_fold(1_usize, |count, factor| count.checked_mul(factor.levels.len()));
    if variants.is_none_or(|count| count > MOST_VARIANTS) {
        section.error(
            format!("the factors make more than {MOST_VARIANTS} variants"),
            "leave factors or levels out, or split the study",
        );
    }
    factors
}

fn read_factor(section: &Section<'_>, entry: &Entry, sets: &Sets) -> Option<Factor> {
    let path = section.path().join(&entry.key);
    let Some(levels) = entry.value.as_list() else {
        let help = match entry.value.as_table() {
            Some(_) => "put the whole path in quotes: \"workload.rows\" = [1000, 2000]",
            None => "write it like [1000, 2000]",
        };
        section.refuse(entry.value.position, &path, expected("a list of levels", &entry.value, help));
        return None;
    };
    if levels.is_empty() {
        section.refuse(entry.value.position, &path, Problem::new("there are no levels", "name at least one"));
    }
    if !sets.contains_key(&entry.key)
        && let Err(problem) = path_of(&entry.key, sets, Allowed::Settings)
    {
        section.refuse(entry.position, &path, problem);
        return None;
    }
    let mut kept: Vec<Value> = Vec::new();
    for (index, level) in levels.iter().enumerate() {
        let at = path.join(&index.to_string());
        if !level.is_single() {
            let help = "a level is a text, a number, true or false; what needs more goes into a set";
            section.refuse(level.position, &at, expected("a level", level, help));
        } else if kept.iter().any(|other| other.same_as(level)) {
            section.refuse(
                level.position,
                &at,
                Problem::new(format!("{level} is a level already"), "leave it out"),
            );
        } else {
            let chosen = Override { name: entry.key.clone(), written: entry.position, value: level.clone() };
            match assignments(&chosen, sets, Allowed::Settings) {
                Ok(_) => kept.push(chosen.value),
                Err(problem) => section.refuse(level.position, &at, problem),
            }
        }
    }
    (!kept.is_empty()).then(|| Factor { name: entry.key.clone(), written: entry.position, levels: kept })
}

/// Two factors must not set the same value: which would hold?
fn check_apart(
    section: &Section<'_>,
    (factor, own): (&Factor, &[Path]),
    (other, theirs): (&Factor, &[Path]),
) {
    let both =
        own.iter().find(|path| theirs.iter().any(|their| path.is_within(their) || their.is_within(path)));
    if let Some(path) = both {
        let message = format!("`{path}` is also varied by the factor `{}`", other.name.escape_debug());
        let problem = Problem::new(message, "vary it in one of them");
        section.refuse(factor.written, &section.path().join(&factor.name), problem);
    }
}

/// Every path a factor sets, each once.
pub(crate) fn paths(factor: &Factor, sets: &Sets) -> Vec<Path> {
    let of = |chosen| assignments(&chosen, sets, Allowed::Settings).unwrap_or_default();
    let mut paths: Vec<Path> = factor.choices().flat_map(of).map(|assignment| assignment.path).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Reads `[real]` or `[virtual]`; None if it is not there.
pub(crate) fn read_overlay(root: &mut Section<'_>, key: &str, sets: &Sets) -> Option<Overlay> {
    let mut section = root.section(key)?;
    let entries = section.entries();
    Some(overlay(&section, entries.iter(), sets, Allowed::Settings))
}

/// Reads `[quick]`: what it replaces, None if it is not there; and the factors with the levels that run at tiny scale, all
/// of them unless it lists some.
pub(crate) fn read_quick(
    root: &mut Section<'_>,
    sets: &Sets,
    factors: &[Factor],
) -> (Option<Overlay>, Vec<Factor>) {
    let mut kept = factors.to_vec();
    let Some(mut section) = root.section("quick") else { return (None, kept) };
    let (lists, settings): (Vec<&Entry>, Vec<&Entry>) = section.entries().iter().partition(|entry| {
        entry.value.as_list().is_some() && factors.iter().any(|factor| factor.name == entry.key)
    });
    for entry in lists {
        let known = kept.iter_mut().find(|factor| factor.name == entry.key).expect("it is the name of one");
        let path = section.path().join(&entry.key);
        let listed = entry.value.as_list().unwrap_or_default();
        for level in listed.iter().filter(|level| !known.levels.iter().any(|one| one.same_as(level))) {
            let levels: Vec<String> = known.levels.iter().map(ToString::to_string).collect();
            let help = format!("its levels are {}", levels.join(", "));
            let problem = Problem::new(format!("{level} is no level of the factor `{}`", known.name), help);
            section.refuse(level.position, &path, problem);
        }
        if listed.is_empty() {
            let problem = Problem::new("no level of this factor is left", "list those that run with --quick");
            section.refuse(entry.value.position, &path, problem);
        } else {
            known.levels.retain(|one| listed.iter().any(|level| one.same_as(level)));
        }
    }
    (Some(overlay(&section, settings.into_iter(), sets, Allowed::SettingsAndRounds)), kept)
}

fn overlay<'a>(
    section: &Section<'_>,
    entries: impl Iterator<Item = &'a Entry>,
    sets: &Sets,
    allowed: Allowed,
) -> Overlay {
    let mut overlay = Overlay::new();
    for entry in entries {
        let chosen =
            Override { name: entry.key.clone(), written: entry.position, value: entry.value.clone() };
        match assignments(&chosen, sets, allowed) {
            Ok(_) => overlay.push(chosen),
            Err(problem) => section.refuse(entry.position, &section.path().join(&entry.key), problem),
        }
    }
    overlay
}

/// A set that nothing chooses from is a factor that was forgotten.
pub(crate) fn check_sets_are_used(
    root: &Section<'_>,
    sets: &Sets,
    factors: &[Factor],
    overlays: &[&Option<Overlay>],
) {
    for name in sets.keys() {
        let varied = factors.iter().any(|factor| &factor.name == name);
        let chosen =
            overlays.iter().flat_map(|overlay| overlay.iter().flatten()).any(|chosen| &chosen.name == name);
        if !varied && !chosen {
            let path = Path::ROOT.join("sets").join(name);
            let help = format!("add it to [factors]: {name} = [ … ]");
            root.refuse(root.position_of(&path), &path, Problem::new("nothing chooses from this set", help));
        }
    }
}

/// Which paths may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allowed {
    /// Of volumes and workload.
    Settings,
    /// And how many rounds are run.
    SettingsAndRounds,
}

/// What an override sets: the values of a set's level, or the value at a path.
///
/// # Errors
/// If it is neither, or a path outside of what may be replaced.
pub(crate) fn assignments(
    chosen: &Override,
    sets: &Sets,
    allowed: Allowed,
) -> Result<Vec<Assignment>, Problem> {
    let Override { name, written, value } = chosen;
    let Some(levels) = sets.get(name) else {
        let path = path_of(name, sets, allowed)?;
        return Ok(vec![Assignment { path, value: value.clone(), written: *written }]);
    };
    let level = value.as_text().unwrap_or_default();
    levels.get(level).cloned().ok_or_else(|| {
        let help = did_you_mean(level, "levels", levels.keys().map(String::as_str));
        Problem::new(format!("{value} is no level of the set `{name}`"), help)
    })
}

fn path_of(name: &str, sets: &Sets, allowed: Allowed) -> Result<Path, Problem> {
    let path = Path::parse(name).map_err(|message| Problem::new(message, ""))?;
    let first = path.steps().first().map_or("", String::as_str);
    let rounds =
        allowed == Allowed::SettingsAndRounds && matches!(name, "compare.rounds" | "compare.max_rounds");
    if rounds || (VARIED.contains(&first) && path.steps().len() > 1) {
        return Ok(path);
    }
    if path.steps().len() == 1 && !VARIED.contains(&first) {
        let help = match sets.is_empty() {
            true => {
                "write a path such as \"workload.rows\", in quotes, or add the set [sets.NAME]".to_owned()
            }
            false => did_you_mean(first, "sets", sets.keys().map(String::as_str)),
        };
        return Err(Problem::new(format!("there is no set `{}`", first.escape_debug()), help));
    }
    let help = "a path begins with workload., volumes., places. or databases., and is put in quotes: \"workload.rows\"";
    Err(Problem::new(format!("`{path}` cannot be varied"), help))
}

fn assignment(section: &Section<'_>, level: &Path, entry: &Entry, allowed: Allowed) -> Option<Assignment> {
    match path_of(&entry.key, &Sets::new(), allowed) {
        Ok(path) => Some(Assignment { path, value: entry.value.clone(), written: entry.position }),
        Err(problem) => {
            section.refuse(entry.position, &level.join(&entry.key), problem);
            None
        }
    }
}
