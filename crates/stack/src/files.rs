//! Files and block devices that volumes stand on: each has one user, as each volume has.

use std::path::Path;

use fathom_settings::{Diagnostics, Problem};
use fathom_volume::NamedFile;

use crate::place::Place;
use crate::volumes::{Node, Volumes};

impl Volumes {
    /// Checks that no two of these volumes and all below them are one file, under whichever names, a loop device and what is
    /// below it, or a disk and its partition; false if two are. Readers may share one. Relative paths begin in `directory`.
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
        diagnostics.reported() == before
    }
}
