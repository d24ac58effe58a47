//! What the daemon serves: exports, each a volume under a name.

use std::cell::Cell;
use std::rc::Rc;

use fathom_nbd::{Export, LARGEST_PAYLOAD};
use fathom_runtime::{Context, Nanos, SECOND};
use fathom_volume::{Buf, Error, Handle, Request};

use crate::settings::Export as Settings;

/// Complaints about one export are logged at most that often; the others are counted.
const COMPLAINTS: Nanos = SECOND;
/// What clients are told to prefer where the volume has no wish.
const PREFERRED: u32 = 4096;

/// A volume and the name it is served under.
pub struct Served {
    pub export: Export,
    pub volume: Handle,
    /// The number of the block device it is, beside NBD.
    pub ublk: Option<u32>,
    // The largest request the volume takes in one piece.
    largest_part: u32,
    pub context: Context,
    last_complaint: Cell<Option<Nanos>>,
    /// Requests that the volume failed.
    pub failures: Cell<u64>,
}

impl Served {
    /// The export as clients will see it.
    pub fn new(context: &Context, settings: &Settings, volume: Handle) -> Self {
        let geometry = volume.geometry();
        let block = geometry.logical_sector;
        let preferred = geometry.physical_sector.max(PREFERRED).max(block);
        let export = Export {
            name: settings.name.clone(),
            description: settings.description.clone(),
            size: geometry.size,
            block,
            preferred,
            largest: LARGEST_PAYLOAD,
            read_only: settings.read_only,
            // All connections go through one handle: a flush covers what was completed on any of them.
            multi_connection: true,
        };
        let largest_part = geometry.max_transfer / block * block;
        Self {
            export,
            largest_part,
            volume,
            ublk: settings.ublk,
            context: context.clone(),
            last_complaint: Cell::new(None),
            failures: Cell::new(0),
        }
    }

    /// Reads into the whole buffer, in pieces as large as the volume takes them.
    ///
    /// # Errors
    /// The volume's.
    pub async fn read(&self, offset: u64, into: &Buf) -> Result<(), Error> {
        for (ask, part) in self.parts(offset, into) {
            self.volume.read(ask, part).await?;
        }
        Ok(())
    }

    /// Writes the whole buffer, in pieces as large as the volume takes them.
    ///
    /// # Errors
    /// The volume's; some pieces may then be written.
    pub async fn write(&self, offset: u64, from: &Buf, fua: bool) -> Result<(), Error> {
        for (ask, part) in self.parts(offset, from) {
            self.volume.write(ask.with_fua(fua), part).await?;
        }
        Ok(())
    }

    fn parts(&self, offset: u64, buf: &Buf) -> impl Iterator<Item = (Request, Buf)> {
        let most = self.largest_part as usize;
        (0..buf.len()).step_by(most).map(move |at| {
            let end = buf.len().min(at + most);
            (Request::new(offset + at as u64, (end - at) as u64), buf.slice(at..end))
        })
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
