//! No flushed write is lost, wherever the power is cut while extents move.

use std::cell::RefCell;

use fathom_runtime::{MILLISECOND, Random, SECOND};
use fathom_volume::{Request, Result};
use proptest::prelude::*;

use super::bench::{DISK, KIB, Testbed, config, disks, testbed};

/// What each block of 4 KiB may show: the number of a write from the promised one on.
#[derive(Default)]
struct History {
    issued: Vec<u32>,
    completed: Vec<u32>,
    promised: Vec<u32>,
}

const BLOCKS: u64 = 24 * 16;

async fn user(testbed: &Testbed, history: &RefCell<History>, user: u64) -> Result<()> {
    let mut random = testbed.env.context.random(&format!("user {user}"));
    loop {
        if random.chance(0.2) {
            let seen = history.borrow().completed.clone();
            testbed.pool.flush(Request::flush()).await?;
            let mut history = history.borrow_mut();
            history
                .promised
                .iter_mut()
                .zip(seen)
                .for_each(|(promised, seen)| *promised = seen.max(*promised));
            continue;
        }
        // Users have blocks of their own, so that the last write of a block is known.
        let block = random.below(BLOCKS / 3) * 3 + user;
        let number = {
            let mut history = history.borrow_mut();
            history.issued[block as usize] += 1;
            history.issued[block as usize]
        };
        let buf = testbed.env.pool.get(4096);
        buf.with_mut(|bytes| {
            bytes.chunks_mut(4).for_each(|word| word.copy_from_slice(&number.to_le_bytes()))
        });
        testbed.pool.write(Request::new(block * 4096, 4096), buf).await?;
        history.borrow_mut().completed[block as usize] = number;
    }
}

/// Reads and checks every block, and takes what it shows for what is promised from here on.
async fn check_blocks(testbed: &Testbed, history: &RefCell<History>) {
    for block in 0..BLOCKS {
        let bytes = testbed.read(block * 4096, 4096).await;
        let mut history = history.borrow_mut();
        let index = block as usize;
        for sector in bytes.chunks(512) {
            let number = u32::from_le_bytes(sector[..4].try_into().expect("four bytes"));
            assert!(
                sector.chunks(4).all(|word| word == number.to_le_bytes()),
                "block {block}: no write's bytes"
            );
            let range = history.promised[index]..=history.issued[index];
            assert!(range.contains(&number), "block {block} shows write {number}, must show {range:?}");
        }
        // Sectors of one block may show different writes; none of them may go back from here.
        let number = |sector: &[u8]| u32::from_le_bytes(sector[..4].try_into().expect("four bytes"));
        let least = bytes.chunks(512).map(number).min().expect("a block has sectors");
        history.promised[index] = least;
        history.completed[index] = least;
    }
}

/// Lives of a pool whose power is cut after so many writes and flushes: whether the extents were done moving at the end.
fn crash_after(seed: u64, writes: u64, kept: f64) -> bool {
    let disks = disks(3, DISK);
    let mut config = config(2, 1, 24 * 64 * KIB);
    config.settings.resync_depth = 2;
    let zeroes = || vec![0; BLOCKS as usize];
    let history = RefCell::new(History { issued: zeroes(), completed: zeroes(), promised: zeroes() });
    let mut random = Random::new(seed, "power");
    let mut done = false;
    for life in 0..3 {
        let testbed = testbed(&config, &disks, seed.wrapping_add(life));
        disks[0].power.set(if life < 2 { writes } else { u64::MAX });
        testbed.run(async {
            if testbed.node.ready().await.is_err() {
                return;
            }
            check_blocks(&testbed, &history).await;
            let users = fathom_runtime::join(
                (0..3).map(|number| Box::pin(user(&testbed, &history, number))).collect::<Vec<_>>(),
            );
            if life < 2 {
                assert!(
                    users.await.iter().all(|(_, ended)| ended.is_err()),
                    "users work until the power is cut"
                );
            } else {
                let end = Box::pin(async {
                    testbed.node.balanced().await.expect("it opens");
                    testbed.env.context.sleep(MILLISECOND).await;
                });
                let either = fathom_runtime::first(end, users);
                fathom_runtime::within(&testbed.env.context, 60 * SECOND, either).await.expect("moves end");
                check_blocks(&testbed, &history).await;
                done = true;
            }
        });
        disks.iter().for_each(|disk| disk.restart(&mut random, kept));
    }
    done
}

#[test]
fn no_flushed_write_is_lost_wherever_the_power_is_cut_while_extents_move() {
    // The first life makes the pool: its first writes are the map and the superblocks.
    let cuts = (0..24).chain((24..400).step_by(31));
    for (writes, kept) in cuts.zip([0.0, 1.0, 0.5].into_iter().cycle()) {
        assert!(crash_after(1600 + writes, writes, kept), "{writes} writes, {kept} kept");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn no_flushed_write_is_lost_with_any_seed(seed in any::<u64>(), writes in 0..1500_u64, kept in 0.0..1.0) {
        prop_assert!(crash_after(seed, writes, kept));
    }
}
