//! A group on recording disks: built from an image of its disks, opened, read.

use std::cell::RefCell;
use std::rc::Rc;

use fathom_layers::writeback::{Config, Durability, Group, Report, Settings, groups};
use fathom_runtime::Runtime;
use fathom_volume::{Blueprint, Env, Error, Handle, Pool, Request};

use crate::crash::Image;
use crate::disk::{Content, Event, FailingFlushes, Trace, disk};
use crate::history::{SECTOR, State, shown};

/// Superblocks, and where a device's first bytes are looked at.
const SUPERBLOCKS: usize = 8 << 10;

/// What is under test.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Of the group.
    pub settings: Settings,
    /// Volumes in the group.
    pub volumes: usize,
    /// Sectors of each.
    pub sectors: usize,
    /// Segments of the log.
    pub segments: usize,
    /// Bytes of the redo ring.
    pub ring: usize,
    /// Whether the redo ring has a disk of its own.
    pub own_ring: bool,
}

impl Setup {
    /// Small enough that everything wraps around soon.
    pub fn small(settings: Settings) -> Self {
        let settings = Settings {
            segment: 16 << 10,
            batch: 16 << 10,
            lag_target: 300_000,
            lag_max: 1_000_000_000,
            memory: 0,
            mark_every: 100_000,
            log_depth: 4,
            destage_depth: 4,
            ..settings
        };
        Self { settings, volumes: 1, sectors: 32, segments: 6, ring: 64 << 10, own_ring: false }
    }

    /// Blank disks: backing volumes, then the cache, then the ring if it has one.
    pub fn blank(&self) -> Image {
        let tail = if self.own_ring { 0 } else { self.ring + SUPERBLOCKS };
        let mut image = vec![vec![0; self.sectors * SECTOR + tail]; self.volumes];
        image.push(vec![0; SUPERBLOCKS + self.segments * self.settings.segment as usize]);
        if self.own_ring {
            image.push(vec![0; self.ring + SUPERBLOCKS]);
        }
        image
    }

    /// The cache's place among the disks.
    pub fn cache(&self) -> usize {
        self.volumes
    }

    /// The same disks with a blank cache.
    pub fn without_cache(&self, image: &Image) -> Image {
        let mut image = image.clone();
        image[self.cache()].fill(0);
        image
    }
}

/// The setup of a seed: groups of one to three volumes, both durabilities, ring on the tail or on its own; batches that
/// come from the log, from memory, and from both.
pub fn setup_of(seed: u64) -> Setup {
    let durability = if seed.is_multiple_of(3) { Durability::Origin } else { Durability::Cache };
    let mut setup = Setup::small(Settings { durability, ..Settings::default() });
    setup.settings.memory = [0, 8 << 10, 16 << 10, 24 << 10, 1 << 20][(seed % 5) as usize];
    Setup { volumes: 1 + (seed % 3) as usize, own_ring: seed % 4 == 1, ..setup }
}

/// A group on an executor of its own.
pub struct Stand {
    /// The volumes of the group.
    pub volumes: Vec<Handle>,
    /// The group.
    pub group: Rc<Group>,
    /// Where buffers come from.
    pub pool: Pool,
    /// What happened.
    pub trace: Trace,
    /// Flushes that are to fail.
    pub failing: FailingFlushes,
    contents: Vec<Content>,
    env: Env,
    /// The executor.
    pub runtime: Runtime,
}

impl Stand {
    /// Builds a group over these disks; it opens when the executor first runs.
    ///
    /// # Panics
    /// If it cannot be built: the campaign's own settings are wrong then.
    pub fn build(setup: &Setup, image: Image, settings: Settings, slowest: u64, seed: u64) -> Self {
        Self::build_in(|env| env, setup, image, settings, slowest, seed)
    }

    /// What the verifier finds on these disks; nothing is written to them.
    ///
    /// # Panics
    /// As [`Stand::build`], or if something was written.
    pub fn look(setup: &Setup, image: Image) -> Report {
        let stand = Self::build_in(Env::for_reading, setup, image, setup.settings.clone(), 0, 1);
        let report = stand.runtime.block_on(stand.group.check(&stand.env)).expect("a check ends");
        let wrote = stand.trace.borrow().iter().any(|event| matches!(event, Event::Write { .. }));
        assert!(!wrote, "a check writes");
        report
    }

    fn build_in(
        kind: fn(Env) -> Env,
        setup: &Setup,
        image: Image,
        settings: Settings,
        slowest: u64,
        seed: u64,
    ) -> Self {
        let runtime = Runtime::virtual_time(seed);
        let context = runtime.context();
        let pool = Pool::new(&context, 0);
        let env = kind(Env::new(context.clone(), pool.clone()));
        let (trace, failing) = (Trace::default(), FailingFlushes::default());
        let contents: Vec<Content> = image.into_iter().map(|bytes| Rc::new(RefCell::new(bytes))).collect();
        let disks: Vec<Handle> = contents
            .iter()
            .enumerate()
            .map(|(number, content)| disk(&context, number, content, &trace, &failing, slowest))
            .collect();
        let volumes = (0..setup.volumes).map(|number| {
            let config = Config {
                backing: format!("disk{number}"),
                cache: format!("disk{}", setup.cache()),
                cache_copy: None,
                backing_size: None,
                ring: setup.own_ring.then(|| format!("disk{}", setup.cache() + 1)),
                group: Some("group".to_owned()),
                settings: Settings { ring_size: Some(setup.ring as u64), ..settings.clone() },
            };
            let mut children = vec![disks[number].clone(), disks[setup.cache()].clone()];
            children.extend(setup.own_ring.then(|| disks[setup.cache() + 1].clone()));
            config.build(&env, &format!("volume{number}"), children).expect("the campaign's settings fit")
        });
        let volumes = volumes.collect();
        let group = Rc::clone(&groups(&env)[0]);
        Self { volumes, group, pool, trace, failing, contents, env, runtime }
    }

    /// Opens the group.
    ///
    /// # Errors
    /// Why it refuses.
    pub fn open(&self) -> Result<(), Error> {
        self.runtime.block_on(self.group.ready()).expect("an open ends")
    }

    /// Reads everything.
    ///
    /// # Errors
    /// If a read fails, or a sector shows what nobody wrote there.
    pub fn read_all(&self, setup: &Setup) -> Result<State, String> {
        let mut state = Vec::with_capacity(setup.volumes * setup.sectors);
        for (number, volume) in self.volumes.iter().enumerate() {
            let size = setup.sectors * SECTOR;
            let most = (volume.geometry().max_transfer as usize).min(size);
            for offset in (0..size).step_by(most) {
                let buf = self.pool.get(most.min(size - offset));
                let request = Request::new(offset as u64, buf.len() as u64);
                let answer = self.runtime.block_on(volume.read(request, buf.clone())).expect("a read ends");
                answer.map_err(|error| format!("a read fails: {error}"))?;
                buf.with(|bytes| {
                    for (index, bytes) in bytes.chunks(SECTOR).enumerate() {
                        let sector = offset / SECTOR + index;
                        let found = shown(number as u16, sector, bytes);
                        state.push(found.ok_or_else(|| {
                            format!("sector {sector} of volume {number} shows what nobody wrote")
                        })?);
                    }
                    Ok::<_, String>(())
                })?;
            }
        }
        Ok(state)
    }

    /// What the disks hold now.
    pub fn image(&self) -> Image {
        self.contents.iter().map(|content| content.borrow().clone()).collect()
    }

    /// Notes something that happened to the user.
    pub fn note(&self, event: Event) {
        self.trace.borrow_mut().push(event);
    }
}

/// The incarnation that a refusal names, if it offers to accept a loss.
pub fn offered_loss(refusal: &Error) -> Option<u64> {
    let text = refusal.to_string();
    let (_, rest) = text.split_once("accept_loss = ")?;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}
