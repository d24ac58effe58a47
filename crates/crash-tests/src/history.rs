//! The oracle: the operations of the users in the order of the log, and what each prefix of it looks like.

use fathom_layers::writeback::record::{Change, Extent, Header};

use crate::disk::Event;

/// Bytes of a sector.
pub const SECTOR: usize = 512;

/// What a sector shows: the operation that wrote it, counted from 1; 0 for zeroes.
pub type State = Vec<u32>;

/// Operations in the order of the log.
#[derive(Debug, Clone)]
pub struct History {
    /// Sectors of one volume.
    pub sectors: usize,
    /// What the volumes show after each prefix, side by side; the first is that of nothing.
    pub states: Vec<State>,
    /// How many operations an answered flush covers.
    pub promised: usize,
    /// How many are on media that have no power: more than promised, after a power cut that spared them.
    pub durable: usize,
}

/// One operation of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    /// Counted from 1; never used twice.
    pub id: u32,
    /// What it does where.
    pub extent: Extent,
    /// Whether it is durable when it is answered.
    pub fua: bool,
}

impl History {
    /// Of volumes nobody has written.
    pub fn new(volumes: usize, sectors: usize) -> Self {
        Self { sectors, states: vec![vec![0; volumes * sectors]], promised: 0, durable: 0 }
    }

    /// How many operations there were.
    pub fn len(&self) -> usize {
        self.states.len() - 1
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends an operation.
    pub fn push(&mut self, op: &Op) {
        let mut state = self.states.last().expect("the state of nothing").clone();
        let first = usize::from(op.extent.volume) * self.sectors + op.extent.offset as usize / SECTOR;
        let shown = if op.extent.change == Change::Write { op.id } else { 0 };
        state[first..first + op.extent.length as usize / SECTOR].fill(shown);
        self.states.push(state);
    }

    /// Forgets what a power cut took: all behind a prefix.
    pub fn truncate(&mut self, prefix: usize) {
        self.states.truncate(prefix + 1);
        self.promised = self.promised.min(prefix);
        self.durable = self.durable.min(prefix);
    }

    /// The longest prefix that looks like this.
    pub fn prefix(&self, shown: &State) -> Option<usize> {
        self.states.iter().rposition(|state| state == shown)
    }
}

/// The bytes of a sector that an operation wrote.
pub fn stamp(id: u32, volume: u16, sector: usize, into: &mut [u8]) {
    let word = (u64::from(id) << 32) | (u64::from(volume) << 16) | sector as u64;
    into.chunks_exact_mut(8).for_each(|bytes| bytes.copy_from_slice(&word.to_le_bytes()));
}

/// What a sector shows; None if nobody wrote that there.
pub fn shown(volume: u16, sector: usize, bytes: &[u8]) -> Option<u32> {
    let word = u64::from_le_bytes(bytes[..8].try_into().ok()?);
    if !bytes.chunks_exact(8).all(|other| other == &bytes[..8]) {
        return None;
    }
    let place = (u64::from(volume) << 16) | sector as u64;
    if word == 0 { Some(0) } else { (word & 0xFFFF_FFFF == place).then_some((word >> 32) as u32) }
}

/// The order of operations in the log, read from what was written to the cache device: places in `ops`.
///
/// # Errors
/// If the log holds what nobody asked for.
pub fn log_order(trace: &[Event], cache: usize, ops: &[Op]) -> Result<Vec<usize>, String> {
    let mut records: Vec<Header> = trace
        .iter()
        .filter_map(|event| match event {
            Event::Write { disk, bytes, .. } if *disk == cache => Header::decode(bytes),
            _ => None,
        })
        .collect();
    records.sort_by_key(|header| header.head.position);
    let mut taken = vec![false; ops.len()];
    let mut order = Vec::with_capacity(ops.len());
    for extent in records.iter().flat_map(|header| &header.extents) {
        let found = ops.iter().zip(&taken).position(|(op, taken)| !taken && op.extent == *extent);
        let found = found.ok_or_else(|| format!("the log holds {extent:?}, and nobody asked for that"))?;
        taken[found] = true;
        order.push(found);
    }
    Ok(order)
}
