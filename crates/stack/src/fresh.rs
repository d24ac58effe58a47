//! What may be created: nothing that would replace data.

use fathom_settings::Problem;
use fathom_volume::{ErrorKind, NewBesideOld, Site};

use crate::live::BuildError;
use crate::volumes::{Node, Volumes};

impl Volumes {
    /// Before these volumes and all below them are made: whether what is missing may be made empty. A volume that divides
    /// its data among those below is either new or there as a whole, and a redo ring of its own comes with its volumes.
    ///
    /// # Errors
    /// The first volume of which a part is there and a part is missing.
    pub fn check_new(&self, roots: &[String], site: &Site) -> Result<(), BuildError> {
        let directory = site.directory();
        let mut new = vec![None; self.nodes.len()];
        for index in self.used(roots.iter().map(String::as_str)) {
            let node = &self.nodes[index];
            let parts = self.children(node);
            let of = |wanted: bool| parts.iter().copied().find(|part| new[*part] == Some(wanted));
            if let Some(NewBesideOld { key, new: made, old }) = node.blueprint.new_beside_old() {
                let is = |names: &[String], wanted: bool| {
                    let named = |part: &usize| names.contains(&self.nodes[*part].name);
                    parts.iter().copied().filter(named).find(|part| new[*part] == Some(wanted))
                };
                if let (Some(missing), Some(there)) = (is(&made, true), is(&old, false)) {
                    let [missing, there] = [missing, there].map(|index| self.nodes[index].name.as_str());
                    return Err(self.half_new(node, key, missing, there));
                }
            }
            let below = if of(false).is_some() { Some(false) } else { of(true).map(|_| true) };
            let is_new = |path: &str| !directory.join(path).try_exists().unwrap_or(true);
            new[index] = node.blueprint.file().map(|file| is_new(file.path)).or(below);
        }
        Ok(())
    }

    fn half_new(&self, node: &Node, key: &'static str, missing: &str, there: &str) -> BuildError {
        let what = format!(
            "`{missing}` is missing, and `{there}` is there: an empty `{missing}` would ruin the data"
        );
        let help = format!(
            "bring `{missing}` back (is its file system mounted?); if the volume is new, remove `{there}`"
        );
        let diagnostic = node.problem(&self.source, Some(key), Problem::new(what, help));
        BuildError { kind: ErrorKind::Misuse, diagnostic: Box::new(diagnostic) }
    }
}
