//! How volumes refer to each other: missing ones, circles, stacks too high, volumes used twice, the outside in virtual time.

use std::collections::BTreeMap;

use fathom_runtime::Clock;
use fathom_settings::{Diagnostics, Path, Position, Problem, Reference, did_you_mean};

use crate::volumes::{Node, Volumes};

/// The most volumes on top of each other. Every one adds to the call stack of a request.
const HIGHEST: usize = 64;

impl Volumes {
    /// Checks every volume's references, whether a run uses it or not; false if anything is wrong.
    pub fn check(&self, diagnostics: &Diagnostics) -> bool {
        let before = diagnostics.reported();
        for node in &self.nodes {
            self.check_references(&node.references, diagnostics);
        }
        let order = self.order();
        if order.len() < self.nodes.len() {
            self.report_circles(&order, diagnostics);
        }
        self.report_too_high(&order, diagnostics);
        diagnostics.reported() == before
    }

    /// Checks that references lead to volumes; false if one does not.
    pub fn check_references(&self, references: &[Reference], diagnostics: &Diagnostics) -> bool {
        let before = diagnostics.reported();
        references.iter().for_each(|reference| self.check_reference(reference, diagnostics));
        diagnostics.reported() == before
    }

    /// Checks what a run would use: `roots` are the references of its workload.
    pub fn check_use(&self, roots: &[Reference], clock: Clock, diagnostics: &Diagnostics) -> bool {
        let before = diagnostics.reported();
        self.check_references(roots, diagnostics);
        let used = self.used(roots.iter().map(|root| root.name.as_str()));
        self.report_sharing(roots, &used, diagnostics);
        self.report_read_only(&used, diagnostics);
        self.report_unlike_in_group(&used, diagnostics);
        self.report_gates(&used, diagnostics);
        if clock == Clock::Virtual {
            for node in used.iter().map(|index| &self.nodes[*index]).filter(|node| node.outside) {
                let message = format!("`{}` reaches outside of the simulation", node.kind);
                let help = "in virtual time use kind = \"model\" or \"memory\", or run by the real clock";
                let path = node.at.path.join("kind");
                diagnostics.push(self.source.diagnostic(node.at.kind, &path, Problem::new(message, help)));
            }
        }
        diagnostics.reported() == before
    }

    /// Checks that nothing writes below a volume that keeps records of what is below it, as a cache does of writes that are in
    /// no other place, and that is not served beside it; false if something does. `exports` says of each whether it only reads.
    pub fn check_bypassed(&self, exports: &[(Reference, bool)], diagnostics: &Diagnostics) -> bool {
        let before = diagnostics.reported();
        let below = |name: &str| self.used(std::iter::once(name));
        let served = self.used(exports.iter().map(|(export, _)| export.name.as_str()));
        let records = |index: &&usize| self.nodes[**index].blueprint.keeps_metadata();
        for (export, read_only) in exports {
            let used = below(&export.name);
            if *read_only && !used.iter().any(|index| records(&index)) {
                continue;
            }
            let order = self.order();
            let bypassed =
                order.iter().filter(|index| !served.contains(index)).filter(records).find(|above| {
                    below(&self.nodes[**above].name).iter().any(|shared| used.contains(shared))
                });
            let Some(above) = bypassed.map(|index| &self.nodes[*index]) else { continue };
            let message = format!(
                "`{}` is part of {} `{}`, which is not served: it may hold data that is in no other place",
                export.name.escape_debug(),
                above.kind,
                above.name
            );
            let help = format!(
                "a volume has one user: export `{}`, set read_only = true, or remove [volumes.{}] once its data is drained or \
                 given up",
                above.name, above.name
            );
            self.report(export.position, &export.path, message, help, diagnostics);
        }
        diagnostics.reported() == before
    }

    /// Whether a volume refuses writes because a file that it lies on does.
    pub fn is_read_only(&self, volume: &str) -> bool {
        self.used(std::iter::once(volume)).into_iter().any(|index| self.nodes[index].refuses_writes())
    }

    fn check_reference(&self, reference: &Reference, diagnostics: &Diagnostics) {
        if !self.names.contains_key(&reference.name) {
            let message = format!("there is no volume `{}`", reference.name.escape_debug());
            let help = did_you_mean(&reference.name, "volumes", self.names.keys().map(String::as_str));
            self.report(reference.position, &reference.path, message, help, diagnostics);
        }
    }

    /// The volumes above a device, directly or through others, each after the volumes below it. Those in a circle,
    /// or above one, are missing.
    fn order(&self) -> Vec<usize> {
        let children: Vec<Vec<usize>> = self.nodes.iter().map(|node| self.children(node)).collect();
        let mut parents = vec![Vec::new(); self.nodes.len()];
        for (parent, below) in children.iter().enumerate() {
            below.iter().for_each(|child| parents[*child].push(parent));
        }
        let mut waits_for: Vec<usize> = children.iter().map(Vec::len).collect();
        let mut order: Vec<usize> = (0..self.nodes.len()).filter(|node| waits_for[*node] == 0).collect();
        let mut next = 0;
        while let Some(&child) = order.get(next) {
            next += 1;
            for &parent in &parents[child] {
                waits_for[parent] -= 1;
                if waits_for[parent] == 0 {
                    order.push(parent);
                }
            }
        }
        order
    }

    /// What these volumes and all below them are, each after the volumes below it.
    pub(crate) fn used<'a>(&self, roots: impl Iterator<Item = &'a str>) -> Vec<usize> {
        let mut reached = vec![false; self.nodes.len()];
        let mut open: Vec<usize> = roots.filter_map(|root| self.find(root)).collect();
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut reached[node], true) {
                open.extend(self.children(&self.nodes[node]));
            }
        }
        self.order().into_iter().filter(|node| reached[*node]).collect()
    }

    pub(crate) fn children(&self, node: &Node) -> Vec<usize> {
        node.blueprint.children().iter().filter_map(|name| self.find(name)).collect()
    }

    /// Each circle once: from a volume that has no order, one of the same follows below, until one comes again.
    fn report_circles(&self, order: &[usize], diagnostics: &Diagnostics) {
        let mut settled = vec![false; self.nodes.len()];
        order.iter().for_each(|node| settled[*node] = true);
        for start in 0..self.nodes.len() {
            let mut walk = Vec::new();
            let mut step_of = BTreeMap::new();
            let mut at = Some(start).filter(|node| !settled[*node]);
            while let Some(node) = at {
                settled[node] = true;
                step_of.insert(node, walk.len());
                walk.push(node);
                let below = self.children(&self.nodes[node]);
                if let Some(first) = below.iter().find_map(|child| step_of.get(child)) {
                    self.report_circle(&walk[*first..], diagnostics);
                }
                at = below.into_iter().find(|child| !settled[*child]);
            }
        }
    }

    fn report_circle(&self, circle: &[usize], diagnostics: &Diagnostics) {
        let names: Vec<&str> =
            circle.iter().chain(circle.first()).map(|node| self.nodes[*node].name.as_str()).collect();
        let last = &self.nodes[circle[circle.len() - 1]];
        let closing = last.references.iter().find(|reference| reference.name == names[0]);
        let (place, path) =
            closing.map_or((last.at.header, &last.at.path), |found| (found.position, &found.path));
        let message = format!("volumes form a cycle: {}", names.join(" -> "));
        self.report(place, path, message, "put one of them on a device instead".to_owned(), diagnostics);
    }

    /// Files that may not be written, below volumes that write to them by themselves.
    fn report_read_only(&self, used: &[usize], diagnostics: &Diagnostics) {
        let is_above = |above: &Node, file: usize| {
            above.blueprint.keeps_metadata()
                && self.used(std::iter::once(above.name.as_str())).contains(&file)
        };
        for index in used.iter().copied().filter(|index| self.nodes[*index].refuses_writes()) {
            let file = &self.nodes[index];
            let Some(above) = used.iter().map(|node| &self.nodes[*node]).find(|node| is_above(node, index))
            else {
                continue;
            };
            let message = format!(
                "`{}` is read-only, and {} `{}` writes to it by itself",
                file.name, above.kind, above.name
            );
            let help = "take `read_only` out, or export the file without the layers above it";
            diagnostics.push(file.problem(&self.source, Some("read_only"), Problem::new(message, help)));
        }
    }

    /// Volumes of one group whose shared settings differ from those of the first one.
    fn report_unlike_in_group(&self, used: &[usize], diagnostics: &Diagnostics) {
        let mut first_of: BTreeMap<&str, &Node> = BTreeMap::new();
        for node in used.iter().map(|index| &self.nodes[*index]) {
            let Some(group) = node.group.as_deref() else { continue };
            let first = *first_of.entry(group).or_insert(node);
            let pairs = first.blueprint.shared_by_group().into_iter().zip(node.blueprint.shared_by_group());
            for ((key, one), (_, other)) in pairs.filter(|((_, one), (_, other))| one != other) {
                let message =
                    format!("`{key}` is {other} here and {one} in `{}` of the same group", first.name);
                let help = format!("a group has one cache: say the same `{key}` in each of its volumes");
                diagnostics.push(node.problem(&self.source, Some(key), Problem::new(message, help)));
            }
        }
    }

    /// Gates through which a request would go twice: below a volume that goes through the same one.
    fn report_gates(&self, used: &[usize], diagnostics: &Diagnostics) {
        for node in used.iter().map(|index| &self.nodes[*index]) {
            let Some(gate) = node.blueprint.gate() else { continue };
            let below = self.used(self.children(node).iter().map(|child| self.nodes[*child].name.as_str()));
            let mut same = below.iter().map(|index| &self.nodes[*index]);
            if let Some(lower) = same.find(|lower| lower.blueprint.gate() == Some(gate)) {
                let message = format!(
                    "`{}` is below it and shares `{}`, too: each request would count twice",
                    lower.name,
                    gate.escape_debug()
                );
                let help = "take one of them out, or give it another name after `shared`";
                diagnostics.push(node.problem(&self.source, Some("shared"), Problem::new(message, help)));
            }
        }
    }

    fn report_too_high(&self, order: &[usize], diagnostics: &Diagnostics) {
        let mut heights = vec![1_usize; self.nodes.len()];
        for &node in order {
            let below = self.children(&self.nodes[node]).into_iter().map(|child| heights[child]);
            heights[node] = 1 + below.max().unwrap_or(0);
            // Only the lowest one that is too high is reported.
            if heights[node] == HIGHEST + 1 {
                let problem = Problem::new(
                    format!("more than {HIGHEST} volumes are stacked on each other"),
                    "take layers out below this one",
                );
                diagnostics.push(self.nodes[node].problem(&self.source, None, problem));
            }
        }
    }

    /// A volume has one user: two would overwrite each other's data and count each other's load. Volumes of one
    /// write-back group are one user of their cache and ring.
    fn report_sharing(&self, roots: &[Reference], used: &[usize], diagnostics: &Diagnostics) {
        let mut users: BTreeMap<&str, (String, Option<&str>)> = BTreeMap::new();
        for root in roots {
            let user = match root.path.steps() {
                [table, export, _] if table == "exports" => format!("the export `{export}`"),
                _ => "the workload".to_owned(),
            };
            users.insert(&root.name, (user, None));
        }
        for node in used.iter().map(|index| &self.nodes[*index]) {
            for reference in &node.references {
                let key = reference.path.to_string();
                let shared = node.group.as_deref().filter(|_| !key.ends_with(".backing"));
                let before = users.insert(&reference.name, (format!("`{}`", node.name), shared));
                let one_group = |group: Option<&str>| group.is_some() && group == shared;
                if let Some((other, _)) = before.filter(|(_, group)| !one_group(*group)) {
                    let message = format!("`{}` is used by {other} already", reference.name.escape_debug());
                    let help = if other.starts_with("the export") {
                        format!("a volume has one user: export `{}` instead", node.name)
                    } else {
                        "a volume has one user: add a volume of its own for each; a cap for several volumes is a throttle \
                         above each with the same `shared`"
                            .to_owned()
                    };
                    self.report(reference.position, &reference.path, message, help, diagnostics);
                }
            }
        }
    }

    fn report(&self, place: Position, path: &Path, message: String, help: String, diagnostics: &Diagnostics) {
        diagnostics.push(self.source.diagnostic(place, path, Problem::new(message, help)));
    }
}
