//! What the daemon serves: exports, each a volume under a name.

use std::cell::Cell;
use std::rc::Rc;

use fathom_nbd::{Export, LARGEST_PAYLOAD};
use fathom_runtime::{Context, Nanos, SECOND};
use fathom_volume::{Error, Handle};

/// Complaints about one export are logged at most that often; the others are counted.
const COMPLAINTS: Nanos = SECOND;
/// What clients are told to prefer where the volume has no wish.
const PREFERRED: u32 = 4096;

/// A volume and the name it is served under.
pub struct Served {
    pub export: Export,
    pub volume: Handle,
    /// The largest request the volume takes in one piece.
    pub largest_part: u32,
    context: Context,
    last_complaint: Cell<Option<Nanos>>,
    /// Requests that the volume failed.
    pub failures: Cell<u64>,
}

impl Served {
    /// The export as clients will see it.
    pub fn new(context: &Context, name: &str, description: &str, read_only: bool, volume: Handle) -> Self {
        let geometry = volume.geometry();
        let block = geometry.logical_sector;
        let preferred = geometry.physical_sector.max(PREFERRED).max(block);
        let export = Export {
            name: name.to_owned(),
            description: description.to_owned(),
            size: geometry.size,
            block,
            preferred,
            largest: LARGEST_PAYLOAD,
            read_only,
            // All connections go through one handle: a flush covers what was completed on any of them.
            multi_connection: true,
        };
        let largest_part = geometry.max_transfer / block * block;
        Self {
            export,
            largest_part,
            volume,
            context: context.clone(),
            last_complaint: Cell::new(None),
            failures: Cell::new(0),
        }
    }

    /// Tells the operator that the volume failed a request.
    pub fn complain(&self, request: &str, error: &Error) {
        self.failures.set(self.failures.get() + 1);
        let now = self.context.now();
        if self.last_complaint.get().is_none_or(|last| now - last >= COMPLAINTS) {
            self.last_complaint.set(Some(now));
            let failures = self.failures.get();
            tracing::error!(export = self.export.name, request, failures, %error, "the volume failed a request");
        }
    }
}

/// All exports.
pub struct Exports {
    offered: Vec<Export>,
    served: Vec<Rc<Served>>,
}

impl Exports {
    pub fn new(served: Vec<Served>) -> Self {
        let offered = served.iter().map(|served| served.export.clone()).collect();
        Self { offered, served: served.into_iter().map(Rc::new).collect() }
    }

    /// What clients are told, in order.
    pub fn offered(&self) -> &[Export] {
        &self.offered
    }

    pub fn at(&self, index: usize) -> &Rc<Served> {
        &self.served[index]
    }

    pub fn all(&self) -> &[Rc<Served>] {
        &self.served
    }
}
