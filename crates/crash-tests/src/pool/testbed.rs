//! A pool on recording disks.

use std::rc::Rc;

use fathom_layers::codec::BLOCK;
use fathom_layers::pool::{Config, Node, Settings, pools};
use fathom_volume::Blueprint;

use crate::crash::Image;
use crate::oracle::{GROUPS, REGION};
use crate::testbed::{Disks, Testbed};

/// Extents of the pool: its size is that of the oracle's regions.
pub const EXTENTS: usize = GROUPS + 1;
/// Bytes at the beginning of a member that hold no extent: superblocks and map, up to the next multiple of an extent.
pub const HEAD: usize = REGION;
/// Where the two copies of the map's only block begin on the first member.
pub const MAP: [usize; 2] = [2 * BLOCK, 3 * BLOCK];

/// A pool by its members.
#[derive(Debug, Clone)]
pub struct Setup {
    /// How many extents each member takes; members that are added later stand behind the others.
    pub extents: Vec<usize>,
    /// How many members it is made on.
    pub made_on: usize,
    /// Extents that move at once.
    pub depth: usize,
    /// Whether they move.
    pub rebalance: bool,
}

impl Setup {
    /// Of members that take so many extents, the last one added later.
    pub fn of(extents: &[usize]) -> Self {
        Self { extents: extents.to_vec(), made_on: extents.len() - 1, depth: 1, rebalance: true }
    }

    /// Blank members.
    pub fn blank(&self) -> Image {
        self.extents.iter().map(|extents| vec![0; HEAD + extents * REGION]).collect()
    }

    /// Settings under which everything happens soon, with so many of the members.
    fn config(&self, members: usize) -> Config {
        let mut settings = Settings {
            extent: REGION as u64,
            rebalance: self.rebalance,
            resync_io: 16 << 10,
            resync_depth: self.depth,
            ..Settings::of((EXTENTS * REGION) as u64)
        };
        settings.rules.guaranteed = 50;
        settings.rules.careful = 100_000;
        let names = |from: usize, to: usize| (from..to).map(|member| format!("leg{member}")).collect();
        Config { members: names(0, self.made_on), added: names(self.made_on, members), settings }
    }
}

impl Testbed<Node> {
    /// Builds a pool over the first `members` of these disks, which answer within `slowest` ns.
    ///
    /// # Panics
    /// If it cannot be built: the campaign's own settings are wrong then.
    pub fn pool(image: Image, members: usize, setup: &Setup, slowest: u64, seed: u64) -> Self {
        let disks = Disks::new(image, seed);
        let handles = disks.handles(members, "leg", u64::MAX, slowest);
        let volume = setup.config(members).build(&disks.env, "pool", handles);
        let node = Rc::clone(&pools(&disks.env)[0]);
        disks.with(vec![volume.expect("the campaign's settings fit")], node)
    }

    /// Waits until all extents have moved.
    ///
    /// # Errors
    /// Why they do not.
    pub async fn balanced(&self) -> Result<(), String> {
        self.node.balanced().await.map_err(|error| error.to_string())
    }
}

/// Opens it, which must be refused without a write: what it says.
///
/// # Errors
/// If it opens, or writes.
pub fn refusal(image: &Image, members: usize, setup: &Setup, with: &str) -> Result<String, String> {
    let testbed = Testbed::pool(image.clone(), members, setup, 0, 1);
    match testbed.open() {
        Ok(()) => Err(format!("it opens with {with}")),
        Err(_) if testbed.image() != *image => Err(format!("it refuses {with}, and writes")),
        Err(error) => Ok(error.to_string()),
    }
}
