//! Files under load: random operations against a model, requests that overlap, and what other servers get wrong: overlapping
//! requests that damage each other, dirty blocks dropped where a cache is full, an end without a flush.

mod common;

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use common::host::can_mount;
use common::{Client, Daemon, MEMORY, directory, files, sockets, success};

const SIZE: usize = 8 << 20;

/// A write-back cache much smaller than what is written through it.
const CACHED: &str = "[volumes.backing]\nkind = \"file\"\npath = \"backing\"\nsize = \"256MiB\"\n\
     [volumes.fast]\nkind = \"file\"\npath = \"fast\"\nsize = \"96MiB\"\n\
     [volumes.disk]\nkind = \"writeback\"\nbacking = \"backing\"\ncache = \"fast\"\n\
     [exports.disk]\nvolume = \"disk\"\n";

fn serve(settings: &str) -> Daemon {
    let directory = directory();
    let text = format!("{}{}{settings}", sockets(&directory), files(&directory));
    Daemon::make_in(&directory, &text)
}

fn open(daemon: &Daemon) -> File {
    OpenOptions::new().read(true).write(true).open(daemon.mount().join("disk")).expect("it can be opened")
}

/// Numbers of a seed (xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit
    }
}

/// The mix of operations of fsx, without truncation: a volume has its size.
fn exercise(file: &File, seed: u64, operations: usize) {
    println!("seed {seed}");
    let mut chance = Chance(seed);
    file.write_all_at(&vec![0; SIZE], 0).expect("blank");
    let mut model = vec![0_u8; SIZE];
    for operation in 0..operations {
        let most = if chance.below(8) == 0 { 1_500_000 } else { 20_000 };
        let length = 1 + chance.below(most);
        let offset = chance.below(SIZE - length);
        // A third is aligned, as file systems ask.
        let (offset, length) = if chance.below(3) == 0 {
            (offset / 4096 * 4096, length.next_multiple_of(4096).min(SIZE - offset / 4096 * 4096))
        } else {
            (offset, length)
        };
        let range = offset..offset + length;
        match chance.below(10) {
            0..4 => {
                let bytes: Vec<u8> = (0..length).map(|at| (at as u8) ^ (operation as u8)).collect();
                file.write_all_at(&bytes, offset as u64).expect("written");
                model[range].copy_from_slice(&bytes);
            }
            4..8 => {
                let mut bytes = vec![0; length];
                file.read_exact_at(&mut bytes, offset as u64).expect("read");
                assert!(
                    bytes == model[range],
                    "operation {operation} at {offset}, {length} bytes, seed {seed}"
                );
            }
            8 => {
                let (first, end) = (offset / 512 * 512, (offset + length) / 512 * 512);
                let mode = [libc::FALLOC_FL_PUNCH_HOLE, libc::FALLOC_FL_ZERO_RANGE][chance.below(2)];
                if end > first {
                    let mode = mode | libc::FALLOC_FL_KEEP_SIZE;
                    // SAFETY: integers only.
                    let status = unsafe {
                        libc::fallocate(file.as_raw_fd(), mode, first as i64, (end - first) as i64)
                    };
                    assert_eq!(status, 0, "fallocate at {first}");
                    model[first..end].fill(0);
                }
            }
            _ => file.sync_data().expect("synced"),
        }
    }
    let mut bytes = vec![0; SIZE];
    file.read_exact_at(&mut bytes, 0).expect("read");
    assert!(bytes == model, "at the end, seed {seed}");
}

#[test]
fn random_operations_leave_what_a_model_says() {
    if can_mount() {
        exercise(&open(&serve(MEMORY)), 1, 600);
        exercise(&open(&serve(CACHED)), 2, 300);
    }
}

#[test]
fn requests_that_overlap_leave_whole_sectors_that_everybody_sees_alike() {
    const AREA: usize = 64 << 10;
    if !can_mount() {
        return;
    }
    let daemon = serve(MEMORY);
    let file = open(&daemon);
    std::thread::scope(|scope| {
        for writer in 1..=4_u8 {
            let (file, daemon) = (&file, &daemon);
            scope.spawn(move || {
                let mut chance = Chance(u64::from(writer) * 77);
                let mut client = Client::open(daemon, "disk");
                for _ in 0..300 {
                    let offset = chance.below(AREA / 512 - 16) * 512;
                    // Half of them go by NBD: two fronts, one volume.
                    if chance.below(2) == 0 {
                        file.write_all_at(&[writer; 8192], offset as u64).expect("written");
                    } else {
                        client.write(offset as u64, &[writer; 8192]);
                    }
                }
            });
        }
    });
    let mut bytes = vec![0; AREA];
    file.read_exact_at(&mut bytes, 0).expect("read");
    for (index, sector) in bytes.chunks(512).enumerate() {
        assert!(sector.iter().all(|byte| *byte == sector[0]), "sector {index} is mixed");
    }
    assert!(bytes.iter().any(|byte| *byte > 0));
    assert!(Client::open(&daemon, "disk").read(0, AREA as u32) == bytes, "NBD tells the same");
}

#[test]
fn fio_verifies_what_it_wrote_into_a_file_at_depth() {
    if !can_mount() {
        return;
    }
    let daemon = serve(MEMORY);
    let name = format!("--filename={}", daemon.mount().join("disk").display());
    let arguments = [
        "--name=verify",
        "--ioengine=io_uring",
        "--thread",
        "--size=64m",
        "--direct=1",
        &name,
        "--rw=randrw",
        "--bssplit=512/20:4k/40:64k/30:1m/10",
        "--iodepth=32",
        "--verify=crc32c",
        // Without it, fio leaves the state of its verification in the current folder.
        "--verify_state_save=0",
        "--io_size=96m",
    ];
    success("fio", &arguments);
}

#[test]
fn a_full_cache_drops_nothing_and_a_stop_leaves_the_backing_volume_complete() {
    if !can_mount() {
        return;
    }
    let mut daemon = serve(CACHED);
    let file = open(&daemon);
    let block = |index: u64| -> Vec<u8> {
        (0..256_u64 << 10).map(|at| ((at / 512 + index * 31).wrapping_mul(0x9E37_79B9) >> 13) as u8).collect()
    };
    const BLOCKS: u64 = 600;
    // 150 MiB through a cache of 96 MiB, none of it ever synced.
    for index in 0..BLOCKS {
        file.write_all_at(&block(index), index << 18).expect("written");
    }
    let mut bytes = vec![0; 256 << 10];
    for index in (0..BLOCKS).step_by(7) {
        file.read_exact_at(&mut bytes, index << 18).expect("read");
        assert!(bytes == block(index), "block {index} through the cache");
    }
    drop(file);
    assert!(daemon.stop().success());
    let backing = File::open(daemon.directory.join("backing")).expect("it is there");
    for index in 0..BLOCKS {
        backing.read_exact_at(&mut bytes, index << 18).expect("read");
        assert!(bytes == block(index), "block {index} of the backing volume alone");
    }
}
