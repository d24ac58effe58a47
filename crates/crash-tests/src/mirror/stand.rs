//! A mirror on recording legs: built from an image of its disks, opened, read.

use std::cell::RefCell;
use std::rc::Rc;

use fathom_layers::mirror::{Config, Initial, Node, ReadPolicy, Settings, Standing, mirrors};
use fathom_runtime::Runtime;
use fathom_volume::{Blueprint, Env, Error, Handle, Pool, Request};

use super::disk::{Faults, Leg};
use super::oracle::{GROUP, GROUPS, REGION, SECTOR, place, shown};
use crate::crash::Image;
use crate::disk::{Content, Event, Trace};

/// Bytes that a mirror shows.
pub const USER: usize = (GROUPS + 1) * REGION;
/// Superblocks and one block of the bitmap.
const METADATA: usize = 12 << 10;

/// Blank legs.
pub fn blank(legs: usize) -> Image {
    vec![vec![0; USER + METADATA]; legs]
}

/// Settings under which everything happens soon.
pub fn hasty() -> Settings {
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

/// Which write each sector of a volume shows to a reader.
///
/// # Errors
/// If a read fails, or a sector shows what nobody wrote.
pub async fn read_all(volume: &Handle, pool: &Pool) -> Result<Vec<u32>, String> {
    let mut all = Vec::with_capacity(GROUP * GROUPS);
    for group in 0..GROUPS {
        let buf = pool.get(GROUP * SECTOR);
        let request = Request::new(place(group) as u64, buf.len() as u64);
        volume.read(request, buf.clone()).await.map_err(|error| format!("a read fails: {error}"))?;
        buf.with(|bytes| {
            for (index, bytes) in bytes.chunks(SECTOR).enumerate() {
                all.push(shown(group * GROUP + index, bytes)?);
            }
            Ok::<_, String>(())
        })?;
    }
    Ok(all)
}

/// A mirror on an executor of its own.
pub struct Stand {
    /// What users hold.
    pub mirror: Handle,
    /// The mirror.
    pub node: Rc<Node>,
    /// What happened.
    pub trace: Trace,
    /// What is wrong, by leg.
    pub faults: Vec<Faults>,
    /// Where buffers come from.
    pub pool: Pool,
    contents: Vec<Content>,
    /// The executor.
    pub runtime: Runtime,
}

impl Stand {
    /// Builds a mirror over these legs; those whose bit is not in `there` are gone.
    ///
    /// # Panics
    /// If it cannot be built: the campaign's own settings are wrong then.
    pub fn build(image: Image, there: usize, settings: &Settings, slowest: u64, seed: u64) -> Self {
        let runtime = Runtime::virtual_time(seed);
        let context = runtime.context();
        let pool = Pool::new(&context, 0);
        let env = Env::new(context.clone(), pool.clone());
        let trace = Trace::default();
        let faults: Vec<Faults> = image.iter().map(|_| Faults::default()).collect();
        let contents: Vec<Content> = image.into_iter().map(|bytes| Rc::new(RefCell::new(bytes))).collect();
        for (leg, faults) in faults.iter().enumerate() {
            faults.gone.set(there & (1 << leg) == 0);
            // Of no leg at all nothing can be built.
            faults.absent.set(faults.gone.get() && there != 0);
        }
        let legs: Vec<Handle> = contents
            .iter()
            .zip(&faults)
            .enumerate()
            .map(|(number, (content, faults))| {
                Leg::handle(&context, number, (content, USER as u64), &trace, faults, slowest)
            })
            .collect();
        let config = Config {
            legs: legs.iter().map(|leg| leg.name().to_owned()).collect(),
            settings: settings.clone(),
        };
        let mirror = config.build(&env, "mirror", legs).expect("the campaign's settings fit");
        let node = Rc::clone(&mirrors(&env)[0]);
        Self { mirror, node, trace, faults, pool, contents, runtime }
    }

    /// Opens it.
    ///
    /// # Errors
    /// Why it refuses.
    pub fn open(&self) -> Result<(), Error> {
        self.runtime.block_on(self.node.ready()).expect("an open ends")
    }

    /// Which write each sector shows to a reader.
    ///
    /// # Errors
    /// If a read fails, or a sector shows what nobody wrote.
    pub async fn read_all(&self) -> Result<Vec<u32>, String> {
        read_all(&self.mirror, &self.pool).await
    }

    /// Puts a blank disk in a leg's place.
    pub fn replace(&self, leg: usize) {
        let bytes: Rc<[u8]> = vec![0; self.contents[leg].borrow().len()].into();
        self.contents[leg].borrow_mut().copy_from_slice(&bytes);
        let mut trace = self.trace.borrow_mut();
        let arrived = trace.len();
        trace.push(Event::Write { disk: leg, offset: 0, bytes, fua: true });
        trace.push(Event::Written(arrived));
    }

    /// The places of legs that are in sync.
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

    /// What the legs hold now.
    pub fn image(&self) -> Image {
        self.contents.iter().map(|content| content.borrow().clone()).collect()
    }
}
