//! Volumes that are used without the write-back cache that belongs to them.

use fathom_layers::writeback::{Undrained, undrained};
use fathom_layers::{mirror, pool, writeback};

use crate::live::Stack;

impl Stack<'_> {
    /// What is missing of a volume that is used without its write-back cache while that holds writes, and what to do; None where
    /// its superblocks say no such thing, or cannot be read. Below caches, mirrors and pools nothing is looked for: their opens do.
    pub async fn undrained(&self, name: &str) -> Option<String> {
        if self.has_own_metadata(name) {
            return None;
        }
        let found = undrained(self.site().pool(), self.get(name)?).await.ok().flatten()?;
        let what = match found {
            Undrained::Backing => {
                "writes are missing here that only the cache holds, and the next start with it puts them in place"
            }
            Undrained::Cache => {
                "it holds writes that are in no other place, and what is written here destroys them"
            }
        };
        Some(format!(
            "it belongs to a write-back cache that was not drained: {what}. Serve the group's volumes and drain it, unless this is \
             done by a client of this export; or set `read_only = true` for the export"
        ))
    }

    fn has_own_metadata(&self, name: &str) -> bool {
        let kinds = [writeback::KIND.name, mirror::KIND.name, pool::KIND.name];
        self.get(name).is_some_and(|node| kinds.contains(&node.kind()))
            || self.shapes().children(name).iter().any(|child| self.has_own_metadata(child))
    }
}
