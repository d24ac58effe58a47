//! Files and block devices that volumes stand on: each has one user, as each volume has.

use std::path::{Path, PathBuf};

use fathom_settings::{Diagnostics, Problem};
use fathom_volume::NamedFile;

use crate::volumes::{Node, Volumes};

/// The folder that a path lies in.
#[must_use]
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Where a path leads, also if nothing is there yet; the path itself where its folder is missing.
#[must_use]
pub fn canonical(path: &Path) -> PathBuf {
    let whole = || Some(folder(path).canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(whole).unwrap_or_else(|| path.to_owned())
}

impl Volumes {
    /// Checks that no two of these volumes and all below them are one file, under whichever names; false if two are. Readers
    /// may share one. Relative paths begin in `directory`.
    pub fn check_files(&self, roots: &[String], directory: &Path, diagnostics: &Diagnostics) -> bool {
        let before = diagnostics.reported();
        let mut taken: Vec<(PathBuf, &Node, NamedFile<'_>)> = Vec::new();
        for node in self.used(roots.iter().map(String::as_str)).into_iter().map(|index| &self.nodes[index]) {
            let Some(file) = node.blueprint.file() else { continue };
            let at = canonical(&directory.join(file.path));
            let same = |(other, _, user): &&(PathBuf, &Node, NamedFile<'_>)| {
                *other == at && !(file.read_only && user.read_only)
            };
            if let Some((_, user, other)) = taken.iter().find(same) {
                let name = &user.name;
                let message = if file.path == other.path {
                    format!("`{}` is the file of `{name}`, too", file.path)
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
