//! A group that is being opened: what it is opened with, and which devices are left alone.

use std::cell::RefCell;
use std::rc::Rc;

use fathom_runtime::Context;
use fathom_volume::{Error, Handle, Pool, Result};

use crate::writeback::Settings;
use crate::writeback::layout::{CacheLayout, OriginLayout};
use crate::writeback::record::Extent;
use crate::writeback::superblock::OriginSuper;

use super::member_marks::MemberMarks;
use super::redo_ring::RedoRing;
use super::superblocks::Instead;

/// Everything a group is opened with. Members are sorted by name.
pub struct Parts {
    pub context: Context,
    pub pool: Pool,
    pub name: String,
    pub settings: Settings,
    pub members: Vec<Member>,
    /// One, or two that hold the same.
    pub caches: Vec<Handle>,
    pub cache_layout: CacheLayout,
    /// The redo ring's volume and layout.
    pub ring: Handle,
    pub origin_layout: OriginLayout,
}

impl Parts {
    /// Whether all of these lie within the group's volumes.
    pub fn hold(&self, extents: &[Extent]) -> bool {
        extents.iter().all(|extent| {
            let member = self.members.get(usize::from(extent.volume));
            member.is_some_and(|member| extent.offset + extent.length <= member.size)
        })
    }
}

/// One volume of a group.
#[derive(Clone)]
pub struct Member {
    pub name: String,
    pub backing: Handle,
    /// Bytes it shows.
    pub size: u64,
    /// Its own superblocks, if the redo ring is not on a volume of its own.
    pub mark: Option<[u64; 2]>,
}

pub struct Opening {
    pub parts: Parts,
    pub origins: Rc<Vec<Handle>>,
    /// What the volumes say of their moments.
    pub marks: MemberMarks,
    /// Why a cache device is left alone, if another one is there.
    failed: RefCell<Vec<Option<Error>>>,
    /// What stands on each cache device of which no superblock was read.
    instead: RefCell<Vec<Instead>>,
}

impl Opening {
    pub fn new(parts: Parts) -> Self {
        let origins = Rc::new(parts.members.iter().map(|member| member.backing.clone()).collect());
        let failed = RefCell::new(vec![None; parts.caches.len()]);
        let instead = RefCell::new(vec![Instead::Nothing; parts.caches.len()]);
        let marks = MemberMarks::new(&parts.pool, &parts.members);
        Self { parts, origins, marks, failed, instead }
    }

    pub fn set_instead(&self, leg: usize, found: Instead) {
        self.instead.borrow_mut()[leg] = found;
    }

    /// What stands where the superblocks of a cache device belong, if neither could be read.
    pub fn instead(&self, leg: usize) -> Instead {
        self.instead.borrow()[leg]
    }

    pub fn has_failed(&self, leg: usize) -> bool {
        self.failed.borrow()[leg].is_some()
    }

    /// Why a cache device is left alone, if it is.
    pub fn failure(&self, leg: usize) -> Option<String> {
        self.failed.borrow()[leg].as_ref().map(ToString::to_string)
    }

    /// Goes on without a cache device, unless it is the last.
    pub fn leg_fails(&self, leg: usize, error: Error) -> Result<()> {
        self.failed.borrow_mut()[leg] = Some(error.clone());
        let is_last = self.failed.borrow().iter().all(Option::is_some);
        if is_last { Err(self.failing_cache(leg, &error)) } else { Ok(()) }
    }

    pub fn ring(&self, origin: &OriginSuper) -> RedoRing {
        RedoRing { volume: self.parts.ring.clone(), start: origin.start, length: origin.length }
    }
}
