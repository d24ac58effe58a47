//! Disks whose metadata say anything at all: fields are changed and the checksums made right again, as a bug or an enemy
//! would leave them. Whatever they say, an open ends, a check ends and writes nothing, and what opens can be used: no
//! field leads to a panic or an endless loop.

use std::cell::OnceCell;

use fathom_layers::codec::{BLOCK, seal};
use fathom_layers::writeback::Settings;
use fathom_layers::writeback::record::{Change, Extent};
use fathom_runtime::Random;
use fathom_volume::{Handle, Pool, Request};

use crate::crash::{Image, Media, Policy};
use crate::group::Setup;
use crate::history::{History, SECTOR};
use crate::life::{Step, record};
use crate::mirror;
use crate::testbed::Testbed;

/// Offsets of the descriptor's length and checksum in a commit block (`writeback/redo.rs`).
const DESCRIPTOR: (usize, usize) = (56, 120);

/// A changed field. Every number is taken modulo what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edit {
    /// Which disk.
    pub disk: u8,
    /// Which of its blocks that are not blank.
    pub block: u8,
    /// Where in the block, in half words of 4 bytes.
    pub field: u16,
    /// Whether the value is added to 8 bytes or replaces them; otherwise it replaces 4.
    pub how: u8,
    /// The value.
    pub value: u64,
}

impl Edit {
    /// Edits out of any bytes, 13 for each; at most 16 of them.
    pub fn all(bytes: &[u8]) -> Vec<Self> {
        let edit = |bytes: &[u8]| Self {
            disk: bytes[0],
            block: bytes[1],
            field: u16::from_le_bytes([bytes[2], bytes[3]]),
            how: bytes[4],
            value: u64::from_le_bytes(bytes[5..13].try_into().expect("eight bytes")),
        };
        bytes.chunks_exact(13).take(16).map(edit).collect()
    }

    fn make(self, image: &mut Image) {
        let count = image.len();
        let disk = &mut image[usize::from(self.disk) % count];
        let told: Vec<usize> = (0..disk.len() / BLOCK)
            .filter(|block| disk[block * BLOCK..(block + 1) * BLOCK].iter().any(|byte| *byte != 0))
            .collect();
        let Some(block) = told.get(usize::from(self.block) % told.len().max(1)) else { return };
        // Most fields testbed at the beginning of their block.
        let places = if self.how.is_multiple_of(2) { 64 } else { BLOCK / 4 - 1 };
        let at = block * BLOCK + usize::from(self.field) % places * 4;
        let word = u64::from_le_bytes(disk[at..at + 8].try_into().expect("eight bytes"));
        match self.how % 3 {
            0 => disk[at..at + 8].copy_from_slice(&self.value.to_le_bytes()),
            1 => disk[at..at + 8].copy_from_slice(&word.wrapping_add(self.value).to_le_bytes()),
            _ => disk[at..at + 4].copy_from_slice(&(self.value as u32).to_le_bytes()),
        }
    }
}

/// Makes checksums right that cover a block, and those of descriptors.
fn mend(image: &mut Image) {
    for disk in image {
        for at in (0..disk.len() / BLOCK).map(|block| block * BLOCK) {
            if disk[at..].starts_with(b"FTHMWRDO") {
                let (length, crc) = (at + DESCRIPTOR.0, at + DESCRIPTOR.1);
                let length = u64::from_le_bytes(disk[length..length + 8].try_into().expect("eight bytes"));
                let end = usize::try_from(length).ok().and_then(|length| (at + BLOCK).checked_add(length));
                let found = end.and_then(|end| disk.get(at + BLOCK..end)).map(crc_fast::crc32_iscsi);
                if let Some(found) = found {
                    disk[crc..crc + 4].copy_from_slice(&found.to_le_bytes());
                }
            }
            if disk[at..].starts_with(b"FTHM") {
                seal(&mut disk[at..at + BLOCK]);
            }
        }
    }
}

fn edited(image: &Image, edits: &[Edit]) -> Image {
    let mut image = image.clone();
    edits.iter().for_each(|edit| edit.make(&mut image));
    mend(&mut image);
    image
}

/// Sends requests to a volume; they may fail.
async fn use_it(volume: &Handle, pool: &Pool) {
    let size = volume.geometry().size;
    let most = u64::from(volume.geometry().max_transfer).min(size);
    for offset in (0..size).step_by(most as usize) {
        let length = most.min(size - offset);
        let _ = volume.read(Request::new(offset, length), pool.get(length as usize)).await;
    }
    let _ = volume.write(Request::new(0, SECTOR as u64), pool.zeroes(SECTOR)).await;
    let _ = volume.trim(Request::new(size - SECTOR as u64, SECTOR as u64)).await;
    let _ = volume.flush(Request::flush()).await;
}

/// The setup of the cached disks, and moments of a life: with a dirty log, with batches in the redo ring, at rest.
fn moments() -> (Setup, Vec<Image>) {
    let setup = Setup { volumes: 2, ..Setup::small(Settings::default()) };
    let write = |volume, sector: u64, sectors: u64| {
        let (offset, length) = (sector * SECTOR as u64, sectors * SECTOR as u64);
        Step::Change(Extent { volume, change: Change::Write, offset, length }, false)
    };
    let bursts = [
        vec![write(0, 0, 8), write(1, 8, 16)],
        vec![Step::Flush],
        vec![write(0, 4, 2), Step::Destage],
        vec![write(1, 0, 8), write(0, 20, 1)],
        vec![Step::Flush],
    ];
    let blank = Media::new(&setup.blank());
    let life = record(&setup, &blank, &History::new(setup.volumes, setup.sectors), &bursts, 1);
    let life = life.expect("nothing is wrong with these disks");
    let mut media = blank;
    let mut images = Vec::new();
    for number in 1..=life.trace.len() {
        media.step(&life.trace);
        if number.is_multiple_of(life.trace.len() / 8) {
            images.push(media.cut(Policy::KeepAll, &mut Random::new(1, "nothing is drawn")));
        }
    }
    (setup, images)
}

/// A mirror's legs: one that was left behind, with dirty regions.
fn legs() -> Image {
    let image = mirror::testbed::blank(2);
    let testbed = Testbed::mirror(image, 3, &mirror::testbed::fast(), 0, 1);
    testbed.open().expect("blank legs open");
    let work = async {
        use_it(&testbed.volumes[0], &testbed.pool).await;
        testbed.faults[1].gone.set(true);
        use_it(&testbed.volumes[0], &testbed.pool).await;
    };
    testbed.runtime.block_on(work).expect("it ends");
    testbed.image()
}

thread_local! {
    static MOMENTS: OnceCell<(Setup, Vec<Image>)> = const { OnceCell::new() };
    static LEGS: OnceCell<Image> = const { OnceCell::new() };
}

/// Opens, checks and uses a cached group at some moment of its life after these edits.
///
/// # Panics
/// If anything does not end, or a check writes.
pub fn cached(moment: u8, edits: &[Edit]) {
    MOMENTS.with(|all| {
        let (setup, images) = all.get_or_init(moments);
        let image = edited(&images[usize::from(moment) % images.len()], edits);
        let report = Testbed::check(setup, image.clone());
        let testbed = Testbed::group(setup, image, setup.settings.clone(), 0, 1);
        // An open reads no more than it needs: what the check finds wrong may open all the same.
        if let Err(refusal) = testbed.open() {
            assert!(!report.is_sound(), "the check finds nothing, and the open refuses: {refusal}");
        }
        let work = async {
            for volume in &testbed.volumes {
                use_it(volume, &testbed.pool).await;
            }
            let _ = testbed.node.settle().await;
            let _ = testbed.node.close().await;
        };
        testbed.runtime.block_on(work).expect("it ends");
    });
}

/// Opens and uses a mirror after these edits.
///
/// # Panics
/// If anything does not end.
pub fn mirrored(there: u8, edits: &[Edit]) {
    LEGS.with(|legs_of| {
        let image = edited(legs_of.get_or_init(legs), edits);
        let there = if there.is_multiple_of(4) { 3 } else { usize::from(there % 4) };
        let testbed = Testbed::mirror(image, there, &mirror::testbed::fast(), 0, 1);
        if testbed.open().is_err() {
            return;
        }
        let work = async {
            use_it(&testbed.volumes[0], &testbed.pool).await;
            testbed.runtime.context().sleep(2_000_000).await;
            let _ = testbed.node.rest().await;
        };
        testbed.runtime.block_on(work).expect("it ends");
    });
}
