//! A pool on recording disks: built from an image of its members, opened, read.

use std::cell::RefCell;
use std::rc::Rc;

use fathom_layers::codec::BLOCK;
use fathom_layers::pool::{Config, Node, Settings, pools};
use fathom_runtime::Runtime;
use fathom_volume::{Blueprint, Env, Error, Handle, Pool};

use crate::crash::Image;
use crate::disk::{Content, Trace};
use crate::mirror::disk::{Faults, Leg};
use crate::mirror::oracle::{GROUPS, REGION};

/// Extents of the pool: its size is that of the oracle's regions.
pub const EXTENTS: usize = GROUPS + 1;
/// Bytes at the beginning of a member that hold no extent: superblocks and map, up to the next multiple of an extent.
pub const HEAD: usize = REGION;
/// Where the two copies of the map's only block begin on the first member.
pub const MAP: [usize; 2] = [2 * BLOCK, 3 * BLOCK];

/// A pool by its members.
#[derive(Debug, Clone)]
pub struct Made {
    /// Places of each member, those that are added later behind the others.
    pub places: Vec<usize>,
    /// How many it is made on.
    pub filled: usize,
    /// Extents that move at once.
    pub depth: usize,
    /// Whether they move.
    pub rebalance: bool,
}

impl Made {
    /// Of members with so many places, the last one added later.
    pub fn of(places: &[usize]) -> Self {
        Self { places: places.to_vec(), filled: places.len() - 1, depth: 1, rebalance: true }
    }

    /// Blank members.
    pub fn blank(&self) -> Image {
        self.places.iter().map(|places| vec![0; HEAD + places * REGION]).collect()
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
        Config { members: names(0, self.filled), added: names(self.filled, members), settings }
    }
}

/// A pool on an executor of its own.
pub struct Stand {
    /// What users hold.
    pub volume: Handle,
    /// The pool.
    pub node: Rc<Node>,
    /// What happened.
    pub trace: Trace,
    /// What is wrong, by member.
    pub faults: Vec<Faults>,
    /// Where buffers come from.
    pub pool: Pool,
    contents: Vec<Content>,
    /// The executor.
    pub runtime: Runtime,
}

impl Stand {
    /// Builds a pool over the first `members` of these disks, which answer within `slowest` ns.
    ///
    /// # Panics
    /// If it cannot be built: the campaign's own settings are wrong then.
    pub fn build(image: Image, members: usize, made: &Made, slowest: u64, seed: u64) -> Self {
        let runtime = Runtime::virtual_time(seed);
        let context = runtime.context();
        let pool = Pool::new(&context, 0);
        let env = Env::new(context.clone(), pool.clone());
        let trace = Trace::default();
        let faults: Vec<Faults> = image.iter().map(|_| Faults::default()).collect();
        let contents: Vec<Content> = image.into_iter().map(|bytes| Rc::new(RefCell::new(bytes))).collect();
        let disk = |(number, (content, faults)): (usize, (&Content, &Faults))| {
            Leg::handle(&context, number, (content, u64::MAX), &trace, faults, slowest)
        };
        let disks = contents.iter().zip(&faults).take(members).enumerate().map(disk).collect();
        let volume = made.config(members).build(&env, "pool", disks).expect("the campaign's settings fit");
        let node = Rc::clone(&pools(&env)[0]);
        Self { volume, node, trace, faults, pool, contents, runtime }
    }

    /// Opens it.
    ///
    /// # Errors
    /// Why it refuses.
    pub fn open(&self) -> Result<(), Error> {
        self.runtime.block_on(self.node.ready()).expect("an open ends")
    }

    /// What the members hold now.
    pub fn image(&self) -> Image {
        self.contents.iter().map(|content| content.borrow().clone()).collect()
    }
}

/// Opens it, which must be refused without a write: what it says.
///
/// # Errors
/// If it opens, or writes.
pub fn refusal(image: &Image, members: usize, made: &Made, with: &str) -> Result<String, String> {
    let stand = Stand::build(image.clone(), members, made, 0, 1);
    match stand.open() {
        Ok(()) => Err(format!("it opens with {with}")),
        Err(_) if stand.image() != *image => Err(format!("it refuses {with}, and writes")),
        Err(error) => Ok(error.to_string()),
    }
}
