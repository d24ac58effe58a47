//! The marks on the tails of a group's volumes, which say from which moment each of them is. The first volume has none: it
//! carries the group's superblock, which says what each mark must say at least.
//!
//! A mark is written when a batch is in place on its volume, before the superblock is advanced. So after a power cut a mark
//! says what the superblock requires, or more, and nothing that the redo ring does not hold: less is an older copy of that
//! volume, and more an older copy of the first. An opening is said the other way round, first in the superblock: a mark
//! never names an incarnation that the superblock has not heard of.

use std::cell::RefCell;

use fathom_volume::{Handle, Pool, Result};

use crate::codec::Uuid;
use crate::side_by_side::side_by_side;
use crate::writeback::record::Extent;
use crate::writeback::superblock::{Life, MemberEntry, MemberMark, OriginSuper, name_hash};

use super::Live;
use super::opening::Member;
use super::superblocks::{Copies, write};

/// One volume's mark.
struct Marked {
    volume: Handle,
    at: [u64; 2],
    mark: MemberMark,
    /// Whether the volume does not have it yet.
    due: bool,
}

/// The marks of a group; those of the first volume and beside a ring of its own are missing.
pub struct MemberMarks {
    pool: Pool,
    /// By volume of the group.
    marks: RefCell<Vec<Option<Marked>>>,
}

/// A volume whose mark says something else than was to be expected.
pub struct OtherMoment {
    pub device: String,
    pub mark: MemberMark,
    /// What the group's superblock says of it.
    pub entry: MemberEntry,
}

impl MemberMarks {
    /// Marks that say nothing yet.
    pub fn new(pool: &Pool, members: &[Member]) -> Self {
        let marked = |(index, member): (usize, &Member)| {
            let at = member.mark.filter(|_| index > 0)?;
            let name = name_hash(&member.name);
            let mark = MemberMark { uuid: [0; 16], name, counter: 0, opened: 0, seq: 0, life: 0 };
            Some(Marked { volume: member.backing.clone(), at, mark, due: false })
        };
        let marks = members.iter().enumerate().map(marked).collect();
        Self { pool: pool.clone(), marks: RefCell::new(marks) }
    }

    /// The first marks of a new group.
    pub async fn create(&self, uuid: Uuid) -> Result<()> {
        for marked in self.marks.borrow_mut().iter_mut().flatten() {
            (marked.mark.uuid, marked.due) = (uuid, true);
        }
        self.write().await
    }

    /// Reads the mark of one volume: whether it is that volume of that group. What was found instead is the answer if not.
    pub async fn read(
        &self,
        index: usize,
        uuid: Uuid,
    ) -> Result<std::result::Result<(), Option<MemberMark>>> {
        let place =
            self.marks.borrow()[index].as_ref().map(|marked| (marked.volume.clone(), marked.at, marked.mark));
        let Some((volume, at, expected)) = place else { return Ok(Ok(())) };
        let copies = Copies::read(&self.pool, &volume, at).await?;
        let belongs = |mark: &MemberMark| (mark.uuid, mark.name) == (uuid, expected.name);
        // A copy that another group left behind does not count beside one of this group.
        let own = copies.newest(|block| MemberMark::decode(block).filter(belongs), |mark| mark.counter);
        // Without payload nothing can be read back.
        let own = own.or_else(|| self.pool.is_hollow().then_some(MemberMark { uuid, ..expected }));
        let Some(mark) = own else {
            return Ok(Err(copies.newest(MemberMark::decode, |mark| mark.counter)));
        };
        if let Some(marked) = &mut self.marks.borrow_mut()[index] {
            marked.mark = mark;
        }
        Ok(Ok(()))
    }

    /// Everything of a batch is in place up to this write.
    pub fn placed(&self, extents: &[Extent], seq: u64) {
        let mut marks = self.marks.borrow_mut();
        for extent in extents {
            if let Some(Some(marked)) = marks.get_mut(usize::from(extent.volume)) {
                // What is rolled forward may stand on a later write already.
                marked.due |= marked.mark.seq < seq;
                marked.mark.seq = marked.mark.seq.max(seq);
            }
        }
    }

    /// This incarnation has opened all volumes.
    fn opened(&self, incarnation: u64, life: Life) {
        for marked in self.marks.borrow_mut().iter_mut().flatten() {
            (marked.mark.opened, marked.mark.life, marked.due) = (incarnation, life, true);
        }
    }

    /// Writes the marks that have changed, side by side; they are durable then.
    pub async fn write(&self) -> Result<()> {
        let mut due = Vec::new();
        for marked in self.marks.borrow_mut().iter_mut().flatten().filter(|marked| marked.due) {
            marked.due = false;
            marked.mark.counter += 1;
            due.push((marked.volume.clone(), marked.at, marked.mark));
        }
        let writes = due.into_iter().map(|(volume, at, mark)| {
            Box::pin(
                async move { write(&self.pool, &volume, at, mark.counter, |bytes| mark.encode(bytes)).await },
            )
        });
        side_by_side(writes.collect()).await
    }

    /// Has the group's superblock require what the marks say.
    pub fn require(&self, origin: &mut OriginSuper) {
        let marks = self.marks.borrow();
        // Where older volumes are brought up to date they say so one after the other.
        let oldest = marks.iter().flatten().map(|marked| marked.mark.opened).min();
        origin.marked = oldest.unwrap_or(origin.marked);
        for marked in marks.iter().flatten() {
            let mark = &marked.mark;
            for entry in origin.members.iter_mut().filter(|entry| entry.name == mark.name) {
                entry.seq = mark.seq;
            }
        }
    }

    /// Has the group's superblock know the names that the marks carry until the next one is written.
    pub fn remember(&self, origin: &mut OriginSuper) {
        for marked in self.marks.borrow().iter().flatten() {
            for entry in origin.members.iter_mut().filter(|entry| entry.name == marked.mark.name) {
                entry.life = marked.mark.life;
            }
        }
    }

    /// The volumes that are older than the group's superblock says.
    pub fn older(&self, origin: &OriginSuper) -> Vec<OtherMoment> {
        self.differing(origin, |mark, entry| mark.opened < origin.marked || mark.seq < entry.seq)
    }

    /// The volumes that have seen a later incarnation, or on which a later write was put in place.
    pub fn beyond(&self, origin: &OriginSuper, incarnation: u64, seq: u64) -> Vec<OtherMoment> {
        self.differing(origin, |mark, _| mark.opened > incarnation || mark.seq > seq)
    }

    /// The volumes that another copy of the group opened.
    pub fn of_copies(&self, origin: &OriginSuper) -> Vec<OtherMoment> {
        // One that is older than the first, or ahead of it, is told so.
        let openings = origin.marked..=origin.incarnation;
        self.differing(origin, |mark, entry| {
            let is_known = [0, origin.life, entry.life].contains(&mark.life);
            origin.life != 0 && openings.contains(&mark.opened) && !is_known
        })
    }

    /// The last write that was put in place on any of them, as far as they say.
    pub fn newest_write(&self) -> u64 {
        self.marks.borrow().iter().flatten().map(|marked| marked.mark.seq).max().unwrap_or(0)
    }

    fn differing(
        &self,
        origin: &OriginSuper,
        differs: impl Fn(&MemberMark, &MemberEntry) -> bool,
    ) -> Vec<OtherMoment> {
        let marks = self.marks.borrow();
        let found = marks.iter().flatten().filter_map(|marked| {
            let mark = marked.mark;
            let entry = *origin.members.iter().find(|entry| entry.name == mark.name)?;
            let device = marked.volume.name().to_owned();
            differs(&mark, &entry).then_some(OtherMoment { device, mark, entry })
        });
        found.collect()
    }

    fn is_empty(&self) -> bool {
        self.marks.borrow().iter().flatten().next().is_none()
    }
}

impl Live {
    /// Says on each volume that this incarnation opened it, and then that all say so: a copy from before this opening is told
    /// from the volume even if nothing is put in place on it.
    pub async fn mark_opened(&self) -> Result<()> {
        if self.member_marks.is_empty() {
            return Ok(());
        }
        self.member_marks.opened(self.incarnation, self.life);
        self.member_marks.write().await?;
        self.update_origin(|origin| self.member_marks.require(origin)).await
    }
}
