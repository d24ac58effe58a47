//! A write-back group on recording disks.

use std::rc::Rc;

use fathom_layers::writeback::{Config, Durability, Group, Report, Settings, Status, groups};
use fathom_volume::{Blueprint, Env, Error, Request, Result};

use crate::crash::Image;
use crate::disk::Event;
use crate::history::{SECTOR, State, shown};
use crate::testbed::{Disks, Testbed};

/// Bytes of the superblocks.
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
    /// Bytes of the backing volumes' sectors that are not the usual ones.
    pub backing_sector: Option<u32>,
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
        Self {
            settings,
            volumes: 1,
            sectors: 32,
            segments: 6,
            ring: 64 << 10,
            own_ring: false,
            backing_sector: None,
        }
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

    /// Which of the disks is the cache.
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

/// Bytes of a page, as [`Testbed::write_page`] has them.
pub const PAGE: u64 = 4096;

impl Testbed<Group> {
    /// Builds a group over these disks; it opens when the executor first runs.
    ///
    /// # Panics
    /// If it cannot be built: the campaign's own settings are wrong then.
    pub fn group(setup: &Setup, image: Image, settings: Settings, slowest: u64, seed: u64) -> Self {
        Self::group_in(|env| env, setup, image, settings, slowest, seed)
    }

    /// What the verifier finds on these disks; nothing is written to them.
    ///
    /// # Panics
    /// As [`Testbed::group`], or if something was written.
    pub fn check(setup: &Setup, image: Image) -> Report {
        let testbed = Self::group_in(Env::for_reading, setup, image, setup.settings.clone(), 0, 1);
        let report = testbed.runtime.block_on(testbed.node.check(&testbed.env)).expect("a check ends");
        let changes = |event: &Event| matches!(event, Event::Write { .. } | Event::Flush { .. });
        assert!(!testbed.trace.borrow().iter().any(changes), "a check writes");
        report
    }

    fn group_in(
        kind: fn(Env) -> Env,
        setup: &Setup,
        image: Image,
        settings: Settings,
        slowest: u64,
        seed: u64,
    ) -> Self {
        let mut disks = Disks::new(image, seed);
        disks.env = kind(disks.env);
        disks.faults.iter().take(setup.volumes).for_each(|backing| backing.sector.set(setup.backing_sector));
        let handles = disks.handles(disks.faults.len(), "disk", u64::MAX, slowest);
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
            let mut children = vec![handles[number].clone(), handles[setup.cache()].clone()];
            children.extend(setup.own_ring.then(|| handles[setup.cache() + 1].clone()));
            let volume = config.build(&disks.env, &format!("volume{number}"), children);
            volume.expect("the campaign's settings fit")
        });
        let volumes = volumes.collect();
        let node = Rc::clone(&groups(&disks.env)[0]);
        disks.with(volumes, node)
    }

    /// Writes a page full of one byte.
    ///
    /// # Errors
    /// If it fails.
    ///
    /// # Panics
    /// If it does not end, as the others below.
    pub fn write_page(&self, volume: usize, page: u64, byte: u8) -> Result<()> {
        let buf = self.pool.copy_of(&[byte; PAGE as usize]);
        let request = Request::new(page * PAGE, PAGE);
        self.runtime.block_on(self.volumes[volume].write(request, buf)).expect("it ends")
    }

    /// The first byte of a page.
    ///
    /// # Panics
    /// If it cannot be read.
    pub fn read_page(&self, volume: usize, page: u64) -> u8 {
        let buf = self.pool.get(PAGE as usize);
        let answer = self.volumes[volume].read(Request::new(page * PAGE, PAGE), buf.clone());
        self.runtime.block_on(answer).expect("it ends").expect("it is read");
        buf.with(|bytes| bytes[0])
    }

    /// Flushes.
    ///
    /// # Errors
    /// If it fails.
    pub fn flush(&self) -> Result<()> {
        self.runtime.block_on(self.volumes[0].flush(Request::flush())).expect("it ends")
    }

    /// Has everything put in place.
    ///
    /// # Errors
    /// If that fails.
    pub fn settle(&self) -> Result<()> {
        self.runtime.block_on(self.node.settle()).expect("it ends")
    }

    /// Stops as planned.
    ///
    /// # Errors
    /// If that fails.
    pub fn close(&self) -> Result<()> {
        self.runtime.block_on(self.node.close()).expect("it ends")
    }

    /// The group's status.
    ///
    /// # Panics
    /// If it is not open.
    pub fn status(&self) -> Status {
        self.node.status().expect("it is open")
    }

    /// Reads everything.
    ///
    /// # Errors
    /// If a read fails, or a sector shows what nobody wrote there.
    pub fn read_all(&self, setup: &Setup) -> std::result::Result<State, String> {
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
}

/// The incarnation that a refusal names, if it offers to accept a loss.
pub fn offered_loss(refusal: &Error) -> Option<u64> {
    let text = refusal.to_string();
    let (_, rest) = text.split_once("accept_loss = ")?;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}
