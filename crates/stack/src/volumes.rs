//! Reading: from `[volumes.NAME]` tables to blueprints, each with the places that later checks point at.

use std::collections::BTreeMap;
use std::rc::Rc;

use fathom_catalogue::Catalogue;
use fathom_layers::{mirror, pool, writeback};
use fathom_settings::{Path, Position, Problem, Reference, Section, Source, did_you_mean};
use fathom_volume::Blueprint;

use crate::model::{self, Part};
use crate::registry;

/// The longest name of a volume, in characters.
const LONGEST_NAME: usize = 64;

/// One volume, read and checked on its own.
pub(crate) struct Node {
    pub name: String,
    pub kind: &'static str,
    /// Whether it touches what virtual time cannot hold.
    pub outside: bool,
    pub blueprint: Rc<dyn Blueprint>,
    /// The write-back group it is in: one group has one cache, and one ring, for all its volumes.
    pub group: Option<String>,
    /// References in its table: where its children are named.
    pub references: Vec<Reference>,
    pub at: SourcePositions,
}

/// Where a volume is in the text.
#[derive(Clone)]
pub(crate) struct SourcePositions {
    pub path: Path,
    pub header: Position,
    pub kind: Position,
    /// What its settings are set to.
    pub keys: Vec<(String, Position)>,
}

/// The volumes of one settings text: flat, named, referring to each other.
pub struct Volumes {
    pub(crate) source: Source,
    pub(crate) nodes: Vec<Node>,
    /// Every name that has a table; None where its settings are wrong, so that a reference to it is not.
    pub(crate) names: BTreeMap<String, Option<usize>>,
}

impl Volumes {
    /// Reads the table `volumes` of a text; `root` is the reader of the whole text. Mistakes go to its diagnostics.
    pub fn read(root: &mut Section<'_>, catalogue: &Catalogue) -> Self {
        let mut volumes = Self { source: root.source().clone(), nodes: Vec::new(), names: BTreeMap::new() };
        for (name, mut section) in root.named_sections("volumes") {
            // References that were read before belong to others.
            section.take_references();
            let read = check_name(name, &section).then(|| read_node(name, &mut section, catalogue)).flatten();
            let last = read.and_then(|nodes| {
                volumes.nodes.extend(nodes);
                volumes.nodes.len().checked_sub(1)
            });
            volumes.names.insert(name.to_owned(), last);
        }
        for (index, node) in volumes.nodes.iter().enumerate() {
            volumes.names.insert(node.name.clone(), Some(index));
        }
        volumes
    }

    /// Whether a volume of that name exists and is valid on its own.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Names of the volumes that a volume lies on, in order; empty for a device, None if there is no such volume.
    pub fn children_of(&self, name: &str) -> Option<Vec<String>> {
        self.find(name).map(|index| self.nodes[index].blueprint.children())
    }

    /// Names of the tables that hold these volumes and all below them, each after the volumes below it.
    pub fn tables(&self, roots: &[String]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for index in self.used(roots.iter().map(String::as_str)) {
            let table = self.nodes[index].at.path.steps().last().cloned().unwrap_or_default();
            if !names.contains(&table) {
                names.push(table);
            }
        }
        names
    }

    /// Whether every user of this volume can do without it; an export cannot.
    pub(crate) fn is_spare(&self, index: usize, roots: &[String]) -> bool {
        let name = &self.nodes[index].name;
        let mut above = self.nodes.iter().filter(|node| node.blueprint.children().contains(name)).peekable();
        above.peek().is_some()
            && !roots.contains(name)
            && above.all(|node| node.blueprint.spares().contains(name))
    }

    /// Whether several volumes write on their own opens, caches, mirrors and pools: one may have done so before another refuses.
    pub fn several_write_on_open(&self) -> bool {
        let writers = [writeback::KIND.name, mirror::KIND.name, pool::KIND.name];
        self.nodes.iter().filter(|node| writers.contains(&node.kind)).count() > 1
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied().flatten()
    }
}

fn check_name(name: &str, section: &Section<'_>) -> bool {
    let fits = (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    let taken = name == "workload";
    if !fits {
        let help = format!("use 1 to {LONGEST_NAME} letters, digits, `_` and `-`");
        section.error("this is no name for a volume", help);
    } else if taken {
        section.error("`workload` is what results call the user's view", "choose another name");
    }
    fits && !taken
}

/// The nodes of one table: one, or the parts a catalogue's model consists of, from the lowest up.
fn read_node(name: &str, section: &mut Section<'_>, catalogue: &Catalogue) -> Option<Vec<Node>> {
    let kind_place = section.value("kind").map_or(section.position(), |value| value.position);
    let word = section.required::<String>("kind")?;
    let Some(kind) = registry::kind(&word) else {
        let known = registry::kinds().iter().map(|kind| kind.name);
        let help = if fathom_devices::REAL_ONLY.contains(&word.as_str()) {
            "this program was built without the real driver; run this study on Linux".to_owned()
        } else {
            did_you_mean(&word, "kinds", known)
        };
        section.error_at("kind", format!("there is no kind \"{}\" of volume", word.escape_debug()), help);
        return None;
    };
    let group = (kind.name == "writeback").then(|| section.value("group")).flatten();
    let group = group.and_then(|value| value.as_text()).map(str::to_owned);
    let parts = match model::reader(kind.name, section) {
        Some(model) => (model.read)(name, section, catalogue),
        None => (kind.read)(section).map(|blueprint| vec![Part { suffix: "", kind: kind.name, blueprint }]),
    };
    let references = section.take_references();
    if section.finish() && parts.is_none() {
        section.error(
            "its settings could not be read",
            "this is a mistake in Fathom; please report it with the text",
        );
    }
    let parts = parts.filter(|_| section.is_clean())?;
    // Nothing is left unasked that is not refused.
    let keys = section.entries().iter().map(|entry| (entry.key.clone(), entry.value.position)).collect();
    let at =
        SourcePositions { path: section.path().clone(), header: section.position(), kind: kind_place, keys };
    let node = |part: Part| {
        let children = part.blueprint.children();
        Node {
            name: format!("{name}{}", part.suffix),
            kind: part.kind,
            outside: kind.outside,
            group: group.clone(),
            references: references.iter().filter(|found| children.contains(&found.name)).cloned().collect(),
            blueprint: part.blueprint.into(),
            at: at.clone(),
        }
    };
    Some(parts.into_iter().map(node).collect())
}

impl std::fmt::Debug for Volumes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.nodes.iter().map(|node| (&node.name, &node.blueprint))).finish()
    }
}

impl Node {
    /// Whether it is a file that may not be written.
    pub(crate) fn refuses_writes(&self) -> bool {
        self.blueprint.file().is_some_and(|file| file.read_only)
    }

    /// A mistake in one of its settings; about the volume as a whole where no key is named or the text leaves it out.
    pub(crate) fn problem(
        &self,
        source: &Source,
        key: Option<&str>,
        problem: Problem,
    ) -> fathom_settings::Diagnostic {
        let at = self.at.keys.iter().find(|(name, _)| key == Some(name.as_str()));
        match at {
            Some((name, place)) => source.diagnostic(*place, &self.at.path.join(name), problem),
            None => source.diagnostic(self.at.header, &self.at.path, problem),
        }
    }
}
