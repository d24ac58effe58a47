//! A mirror on recording legs.

use std::rc::Rc;

use fathom_layers::mirror::{Config, Initial, Node, ReadPolicy, Settings, Standing, mirrors};
use fathom_volume::Blueprint;

use crate::crash::Image;
use crate::disk::Event;
use crate::oracle::{GROUPS, REGION, SECTOR};
use crate::testbed::{Disks, Testbed};

/// Bytes that a mirror shows.
pub const USER: usize = (GROUPS + 1) * REGION;
/// Superblocks and one block of the bitmap.
const METADATA: usize = 12 << 10;

/// Blank legs.
pub fn blank(legs: usize) -> Image {
    vec![vec![0; USER + METADATA]; legs]
}

/// Settings under which everything happens soon.
pub fn fast() -> Settings {
    Settings {
        read: ReadPolicy::Balanced,
        region: REGION as u64,
        initial: Initial::Blank,
        clean_after: 300_000,
        resync_io: 32 << 10,
        resync_depth: 2,
        retry: 400_000,
        ..Settings::default()
    }
}

impl Testbed<Node> {
    /// Builds a mirror over these legs; those whose bit is not in `present` are gone.
    ///
    /// # Panics
    /// If it cannot be built: the campaign's own settings are wrong then.
    pub fn mirror(image: Image, present: usize, settings: &Settings, slowest: u64, seed: u64) -> Self {
        let disks = Disks::new(image, seed);
        for (leg, faults) in disks.faults.iter().enumerate() {
            faults.gone.set(present & (1 << leg) == 0);
            // Nothing can be built of no leg at all.
            faults.absent.set(faults.gone.get() && present != 0);
        }
        let legs = disks.handles(disks.faults.len(), "leg", USER as u64, slowest);
        let names = legs.iter().map(|leg| leg.name().to_owned()).collect();
        let config = Config { legs: names, settings: settings.clone() };
        let mirror = config.build(&disks.env, "mirror", legs).expect("the campaign's settings fit");
        let node = Rc::clone(&mirrors(&disks.env)[0]);
        disks.with(vec![mirror], node)
    }

    /// Puts a blank disk in a leg's place.
    pub fn replace(&self, leg: usize) {
        let bytes: Rc<[u8]> = vec![0; self.contents[leg].borrow().len()].into();
        self.contents[leg].borrow_mut().copy_from_slice(&bytes);
        let arrived = self.trace.borrow().len();
        self.note(Event::Write { disk: leg, offset: 0, bytes, fua: true });
        self.note(Event::Written(arrived));
    }

    /// The legs that are in sync, by number.
    pub fn in_sync(&self) -> Vec<usize> {
        let status = self.node.status().expect("it is open");
        (0..status.legs.len()).filter(|leg| status.legs[*leg].standing == Standing::InSync).collect()
    }

    /// Compares the bytes of all legs in sync. Nobody may be writing.
    ///
    /// # Errors
    /// The first place in which two differ.
    pub fn equal(&self) -> Result<(), String> {
        let legs = self.in_sync();
        let first = self.contents[legs[0]].borrow();
        for leg in &legs[1..] {
            let other = self.contents[*leg].borrow();
            if let Some(at) =
                (0..USER).step_by(SECTOR).find(|at| first[*at..at + SECTOR] != other[*at..at + SECTOR])
            {
                return Err(format!("legs {} and {leg} are in sync and differ at byte {at}", legs[0]));
            }
        }
        Ok(())
    }
}
