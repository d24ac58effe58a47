//! Which requests are under way to which extent, which extents are held, and where writes go while an extent moves.

use std::collections::{BTreeMap, BTreeSet};

use super::map::PhysicalExtent;

/// The second slot of an extent that moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Second {
    /// Where it lies.
    pub place: PhysicalExtent,
    /// Bytes from the extent's beginning that are copied.
    pub copied: u64,
    /// Something could not be read or written: it must not become the extent's only slot.
    pub failed: bool,
    /// The map may name it already: it must hold everything, like the first.
    pub uncertain: bool,
}

/// The traffic of one pool.
#[derive(Debug)]
pub struct Traffic {
    under_way: Vec<u32>,
    held: BTreeSet<usize>,
    second: BTreeMap<usize, Second>,
}

impl Traffic {
    /// Nothing is under way to so many extents.
    pub fn new(extents: usize) -> Self {
        Self { under_way: vec![0; extents], held: BTreeSet::new(), second: BTreeMap::new() }
    }

    /// A request to an extent begins, unless the extent is held.
    pub fn enter(&mut self, extent: usize) -> bool {
        let open = self.held.is_empty() || !self.held.contains(&extent);
        self.under_way[extent] += u32::from(open);
        open
    }

    /// A request has ended; whether a task waits for that.
    pub fn leave(&mut self, extent: usize) -> bool {
        self.under_way[extent] -= 1;
        self.under_way[extent] == 0 && self.held.contains(&extent)
    }

    /// Lets no further request to an extent begin.
    pub fn hold(&mut self, extent: usize) {
        self.held.insert(extent);
    }

    /// Lets them begin again.
    pub fn release(&mut self, extent: usize) {
        self.held.remove(&extent);
    }

    /// Whether no request to an extent is under way.
    pub fn is_quiet(&self, extent: usize) -> bool {
        self.under_way[extent] == 0
    }

    /// Whether an extent has a second slot.
    pub fn has_second(&self, extent: usize) -> bool {
        self.second.contains_key(&extent)
    }

    /// The second slot of an extent that moves.
    pub fn second(&self, extent: usize) -> Option<Second> {
        self.second.get(&extent).copied()
    }

    /// Gives an extent a second slot, with nothing copied. The extent must be held and quiet.
    pub fn begin(&mut self, extent: usize, place: PhysicalExtent) {
        self.second.insert(extent, Second { place, copied: 0, failed: false, uncertain: false });
    }

    /// Takes it away. The extent must be held and quiet.
    pub fn end(&mut self, extent: usize) {
        self.second.remove(&extent);
    }

    /// Changes what is known of the second slot, if there is one.
    pub fn note(&mut self, extent: usize, change: impl FnOnce(&mut Second)) {
        if let Some(second) = self.second.get_mut(&extent) {
            change(second);
        }
    }
}

impl Second {
    /// Whether a write that begins at this byte of the extent must reach it too.
    pub fn takes(&self, within: u64) -> bool {
        self.uncertain || (!self.failed && within < self.copied)
    }
}
