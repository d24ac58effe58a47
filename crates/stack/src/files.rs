//! Files, block devices and exports of other servers that volumes stand on: each has one user, as each volume has.

use std::path::{Path, PathBuf};

use fathom_settings::{Diagnostics, Problem};
use fathom_volume::{NamedExport, NamedFile};

use crate::place::Place;
use crate::volumes::{Node, Volumes};

impl Volumes {
    /// Checks that no two of these volumes and all below them are one file, under whichever names, a loop device and what is
    /// below it, a disk and its partition, or one export; false if two are. Readers may share one. Relative paths begin in `directory`.
    pub fn check_files(&self, roots: &[String], directory: &Path, diagnostics: &Diagnostics) -> bool {
        let before = diagnostics.reported();
        let mut taken: Vec<(Place, &Node, NamedFile<'_>)> = Vec::new();
        for node in self.used(roots.iter().map(String::as_str)).into_iter().map(|index| &self.nodes[index]) {
            let Some(file) = node.blueprint.file() else { continue };
            let at = Place::of(&directory.join(file.path));
            let same = |(other, _, user): &&(Place, &Node, NamedFile<'_>)| {
                (other.is_same(&at) || other.is_part(&at) || other.is_below(&at))
                    && !(file.read_only && user.read_only)
            };
            if let Some((place, user, other)) = taken.iter().find(same) {
                let name = &user.name;
                let message = if file.path == other.path {
                    format!("`{}` is the file of `{name}`, too", file.path)
                } else if place.is_part(&at) {
                    format!(
                        "`{}` and the `{}` of `{name}` are a disk and its partition",
                        file.path, other.path
                    )
                } else if !place.is_same(&at) {
                    format!(
                        "`{}` and the `{}` of `{name}` lead to the same bytes by a loop device",
                        file.path, other.path
                    )
                } else {
                    format!("`{}` is the file of `{name}`, too, which calls it `{}`", file.path, other.path)
                };
                let help = format!(
                    "a file has one user: export what is made of `{name}`, or give each volume a file of its own"
                );
                diagnostics.push(node.problem(&self.source, Some("path"), Problem::new(message, help)));
            }
            taken.push((at, node, file));
        }
        self.check_exports(roots, diagnostics);
        diagnostics.reported() == before
    }

    /// The files and block devices that these volumes and all below them write to, by the volumes' names. Relative paths begin in
    /// `directory`.
    #[must_use]
    pub fn written_files(&self, roots: &[String], directory: &Path) -> Vec<(String, PathBuf)> {
        let used = self.used(roots.iter().map(String::as_str)).into_iter().map(|index| &self.nodes[index]);
        let named = |node: &Node| {
            let file = node.blueprint.file().filter(|file| !file.read_only)?;
            Some((node.name.clone(), directory.join(file.path)))
        };
        used.filter_map(named).collect()
    }

    /// The same of exports of other servers.
    fn check_exports(&self, roots: &[String], diagnostics: &Diagnostics) {
        let mut taken: Vec<(&Node, NamedExport)> = Vec::new();
        for node in self.used(roots.iter().map(String::as_str)).into_iter().map(|index| &self.nodes[index]) {
            let Some(export) = node.blueprint.remote() else { continue };
            let same = |(_, other): &&(&Node, NamedExport)| {
                other.at == export.at && !(other.read_only && export.read_only)
            };
            if let Some((user, _)) = taken.iter().find(same) {
                let message = format!("this is the export of `{}`, too", user.name);
                let help = "an export has one user: give each volume an export of its own";
                diagnostics.push(node.problem(&self.source, Some(export.key), Problem::new(message, help)));
            }
            taken.push((node, export));
        }
    }
}
