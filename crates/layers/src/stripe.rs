//! `stripe`: RAID-0, one volume spread over several.
//!
//! # What it does
//! Divides the volume into chunks and assigns them to the members in turn. A request is split into one request per
//! member it touches, and these run in parallel. A flush goes to every member.
//!
//! # Why
//! Members work in parallel, and each adds its own limits: four cloud volumes give four times the IOPS and the
//! throughput of one.
//!
//! # Example
//! ```toml
//! [volumes.data]
//! kind = "stripe"
//! members = ["ebs0", "ebs1", "ebs2", "ebs3"]
//! ```
//!
//! # Limits
//! If one member is lost, the volume is lost. A write that crosses chunks is not atomic: after a power cut some members
//! may have it and others not. The order and number of members and the chunk size are part of the data's layout:
//! changing one scrambles the content. A stripe writes nothing of its own on the members, so it does not notice a member
//! that was put back to an earlier moment, or another volume in its place. A request that touches a member twice is gathered in a buffer of its own, which
//! costs a copy and saves the member a request.

use std::ops::Range;

use fathom_settings::{Key, Section, VolumeName};
use fathom_units::Bytes;
use fathom_volume::{
    Answer, Blueprint, Buf, Env, Error, ErrorKind, Geometry, Handle, NewBesideOld, NodeKind, Pool, Request,
    Result, Volume, manual,
};

use crate::side_by_side::side_by_side;

/// The chunk is a multiple of this, in bytes: the largest page of a database in wide use.
const PAGE: u64 = 16 << 10;

/// Settings of a stripe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Names of the volumes below, in layout order.
    pub members: Vec<String>,
    /// Bytes that go to one member before the next has its turn.
    pub chunk: u64,
}

/// The registry's record.
pub const KIND: NodeKind = NodeKind {
    name: "stripe",
    summary: "RAID-0: one volume spread over several",
    manual: manual!("stripe.rs"),
    keys: &[
        Key::required(
            "members",
            "list of volumes",
            "The volumes below, in layout order; the smallest decides the size.",
        ),
        Key::optional(
            "chunk",
            "size, a multiple of 16KiB",
            "64KiB",
            "Bytes that go to one member before the next has its turn; an aligned 16 KiB page is never divided.",
        ),
    ],
    outside: false,
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Blueprint>),
};

impl Config {
    /// Bytes; holds whole pages and a whole log block of every database in wide use.
    pub const DEFAULT_CHUNK: u64 = 64 << 10;

    /// Reads the settings; None if anything is wrong.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let members = section.required_list::<VolumeName>("members");
        let chunk = section.or("chunk", Bytes::new(Self::DEFAULT_CHUNK)).get();
        if let Err(why) = check_chunk(chunk) {
            section.error_at("chunk", why, "64KiB suits databases");
        }
        let members: Vec<String> = members?.into_iter().map(|VolumeName(name)| name).collect();
        let twice = members.iter().enumerate().find(|(index, member)| members[..*index].contains(member));
        if let Some((_, member)) = twice {
            section.error_at("members", format!("`{member}` is a member twice"), "name each volume once");
        }
        section.is_clean().then_some(Self { members, chunk })
    }
}

fn check_chunk(chunk: u64) -> std::result::Result<(), String> {
    let fits = chunk > 0 && chunk.is_multiple_of(PAGE) && chunk <= u64::from(Geometry::UNLIMITED_TRANSFER);
    if fits { Ok(()) } else { Err(format!("a chunk of {chunk} bytes is no multiple of 16 KiB up to 1 GiB")) }
}

/// Which byte is where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    chunk: u64,
    members: u64,
}

/// A range of one member, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Index of the member.
    pub member: usize,
    /// First byte on the member.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

impl Layout {
    /// Chunks of that many bytes over that many members; neither may be 0.
    pub fn new(chunk: u64, members: usize) -> Self {
        assert!(chunk > 0 && members > 0, "a stripe has members and a chunk");
        Self { chunk, members: members as u64 }
    }

    /// The member of a byte of the volume, and the byte's offset on it.
    #[inline]
    pub fn locate(&self, offset: u64) -> (usize, u64) {
        let (chunk, within) = (offset / self.chunk, offset % self.chunk);
        ((chunk % self.members) as usize, chunk / self.members * self.chunk + within)
    }

    /// The byte of the volume at an offset of a member.
    pub fn volume_offset(&self, member: usize, offset: u64) -> u64 {
        let (row, within) = (offset / self.chunk, offset % self.chunk);
        (row * self.members + member as u64) * self.chunk + within
    }

    /// Whether a range lies within one chunk.
    #[inline]
    pub fn is_whole(&self, offset: u64, length: u64) -> bool {
        self.members == 1 || offset % self.chunk + length <= self.chunk
    }

    /// A range of the volume as one range per member it touches, ordered by the volume's byte each begins with. A range
    /// of the volume is one range of each member: only its first and last chunk may be cut.
    pub fn runs(&self, offset: u64, length: u64) -> impl Iterator<Item = Run> + use<> {
        let (layout, end) = (*self, offset + length);
        let first = offset / self.chunk;
        let last = (end - 1) / self.chunk;
        (first..=last.min(first + self.members - 1)).map(move |chunk| {
            let (member, start) = layout.locate(offset.max(chunk * layout.chunk));
            // The last chunk of this member at or before the last of the range.
            let final_chunk = last - (last - chunk) % layout.members;
            let (_, final_byte) = layout.locate((end - 1).min((final_chunk + 1) * layout.chunk - 1));
            Run { member, offset: start, length: final_byte + 1 - start }
        })
    }

    /// The pieces of a run: where each is in the run, and where in a range of the volume that begins at `start`.
    pub fn pieces(&self, run: Run, start: u64) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<> {
        let layout = *self;
        let mut done = 0;
        std::iter::from_fn(move || {
            if done == run.length {
                return None;
            }
            let at = run.offset + done;
            let together = if layout.members == 1 { u64::MAX } else { layout.chunk - at % layout.chunk };
            let length = together.min(run.length - done);
            let from = (layout.volume_offset(run.member, at) - start) as usize;
            let in_run = done as usize..(done + length) as usize;
            done += length;
            Some((in_run, from..from + length as usize))
        })
    }
}

/// A live stripe.
pub struct Stripe {
    members: Vec<Handle>,
    layout: Layout,
    geometry: Geometry,
    // Bytes of the longest request every member takes.
    largest: u64,
    pool: Pool,
}

/// One request to a member.
struct Transfer {
    run: Run,
    buf: Buf,
    // The buffer is not a slice of the request's: its pieces are apart there.
    gathered: bool,
}

impl Stripe {
    /// A stripe over live members.
    ///
    /// # Errors
    /// If the chunk does not fit the members; a sentence with the remedy.
    pub fn new(pool: &Pool, chunk: u64, members: Vec<Handle>) -> std::result::Result<Self, String> {
        let geometry = combine(chunk, &members)?;
        let layout = Layout::new(chunk, members.len());
        let limits = members.iter().map(|member| member.geometry().max_transfer);
        let largest = limits.min().map_or(0, |limit| limit - limit % geometry.logical_sector);
        Ok(Self { members, layout, geometry, largest: u64::from(largest), pool: pool.clone() })
    }

    /// The member and the offset on it, if that one request is all it takes.
    #[inline]
    fn single(&self, request: &Request) -> Option<(&Handle, u64)> {
        let one = self.layout.is_whole(request.offset, request.length) && request.length <= self.largest;
        one.then(|| self.layout.locate(request.offset))
            .map(|(member, offset)| (&self.members[member], offset))
    }

    fn transfers(&self, request: &Request, whole: &Buf) -> Vec<Transfer> {
        let mut transfers = Vec::with_capacity(self.members.len());
        for run in self.layout.runs(request.offset, request.length) {
            for done in (0..run.length).step_by(self.largest as usize) {
                let length = self.largest.min(run.length - done);
                let run = Run { offset: run.offset + done, length, ..run };
                transfers.push(self.transfer(run, request, whole));
            }
        }
        transfers
    }

    fn transfer(&self, run: Run, request: &Request, whole: &Buf) -> Transfer {
        let mut pieces = self.layout.pieces(run, request.offset);
        match (pieces.next(), pieces.next()) {
            (Some((_, only)), None) => Transfer { run, buf: whole.slice(only), gathered: false },
            _ => Transfer { run, buf: self.pool.get(run.length as usize), gathered: true },
        }
    }

    /// Sends each run of a request without data to its member.
    async fn each<'a>(
        &'a self,
        request: &Request,
        send: impl Fn(&'a Handle, Request) -> Answer<'a>,
    ) -> Result<()> {
        if self.layout.is_whole(request.offset, request.length) {
            let (member, offset) = self.layout.locate(request.offset);
            return send(&self.members[member], request.part(offset, request.length)).await;
        }
        let runs = self.layout.runs(request.offset, request.length);
        let part = |run: Run| send(&self.members[run.member], request.part(run.offset, run.length));
        side_by_side(runs.map(part).collect()).await
    }
}

impl Volume for Stripe {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        if let Some((member, offset)) = self.single(request) {
            return member.read(request.part(offset, request.length), into).await;
        }
        let transfers = self.transfers(request, &into);
        let send = |Transfer { run, buf, .. }: &Transfer| {
            self.members[run.member].read(request.part(run.offset, run.length), buf.clone())
        };
        side_by_side(transfers.iter().map(send).collect()).await?;
        for transfer in transfers.iter().filter(|transfer| transfer.gathered) {
            for (in_run, in_request) in self.layout.pieces(transfer.run, request.offset) {
                into.slice(in_request).copy_from_buf(&transfer.buf.slice(in_run));
            }
        }
        Ok(())
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        if let Some((member, offset)) = self.single(request) {
            return member.write(request.part(offset, request.length), from).await;
        }
        let transfers = self.transfers(request, &from);
        for transfer in transfers.iter().filter(|transfer| transfer.gathered) {
            for (in_run, in_request) in self.layout.pieces(transfer.run, request.offset) {
                transfer.buf.slice(in_run).copy_from_buf(&from.slice(in_request));
            }
        }
        let send = |Transfer { run, buf, .. }: Transfer| {
            self.members[run.member].write(request.part(run.offset, run.length), buf)
        };
        side_by_side(transfers.into_iter().map(send).collect()).await
    }

    async fn flush(&self, request: &Request) -> Result<()> {
        side_by_side(self.members.iter().map(|member| member.flush(request.flush_for())).collect()).await
    }

    fn went_back(&self) -> bool {
        self.members.iter().any(Handle::went_back)
    }

    fn trims_to_zeroes(&self) -> bool {
        self.members.iter().all(Handle::trims_to_zeroes)
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        self.each(request, |member, part| member.trim(part)).await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.each(request, |member, part| member.write_zeroes(part)).await
    }

    fn reopen(&self) {
        self.members.iter().for_each(Handle::reopen);
    }

    fn expect(&self, offset: u64, length: u64) {
        for run in self.layout.runs(offset, length) {
            self.members[run.member].expect(run.offset, run.length);
        }
    }
}

/// What the members are together.
fn combine(chunk: u64, members: &[Handle]) -> std::result::Result<Geometry, String> {
    check_chunk(chunk)?;
    let all = || members.iter().map(Handle::geometry);
    let least =
        |of: fn(&Geometry) -> u64| all().map(of).min().ok_or("a stripe without members; name at least one");
    let most = |of: fn(&Geometry) -> u32| all().map(of).max().unwrap_or(0);
    let rows = least(|member| member.size)? / chunk;
    if rows == 0 {
        return Err(format!(
            "the smallest member holds less than one chunk of {chunk} bytes; make the chunk smaller"
        ));
    }
    let physical_sector = most(|member| member.physical_sector);
    if !chunk.is_multiple_of(u64::from(physical_sector)) {
        return Err(format!(
            "a chunk of {chunk} bytes is no multiple of a member's physical sector ({physical_sector})"
        ));
    }
    let depths = || all().map(|member| member.queue_depth);
    let row = chunk * members.len() as u64;
    Ok(Geometry {
        size: rows * row,
        logical_sector: most(|member| member.logical_sector),
        physical_sector,
        optimal_transfer: u32::try_from(row).unwrap_or(0),
        max_transfer: Geometry::UNLIMITED_TRANSFER,
        queue_depth: if depths().any(|depth| depth == 0) { 0 } else { depths().fold(0, u32::saturating_add) },
        volatile_cache: all().any(|member| member.volatile_cache),
        // Larger aligned writes can cross a chunk.
        atomic_write: least(|member| u64::from(member.atomic_write))?.min(1 << chunk.trailing_zeros()) as u32,
    })
}

impl Blueprint for Config {
    fn children(&self) -> Vec<String> {
        self.members.clone()
    }

    fn new_beside_old(&self) -> Option<NewBesideOld> {
        Some(NewBesideOld { key: "members", new: self.members.clone(), old: self.members.clone() })
    }

    fn sizes_below(&self, bytes: u64) -> Option<Vec<u64>> {
        let members = self.members.len();
        let rows = bytes.div_ceil(self.chunk * members as u64);
        Some(vec![rows * self.chunk; members])
    }

    fn build(&self, env: &Env, name: &str, children: Vec<Handle>) -> Result<Handle> {
        let stripe = Stripe::new(&env.pool, self.chunk, children).map_err(|why| {
            Error::new(ErrorKind::Misuse, format!("volume `{name}` (stripe): {why}")).about("chunk")
        })?;
        Handle::new(&env.context, name, "stripe", stripe)
    }
}

#[cfg(test)]
mod tests;
