//! Claims about the pool.

use fathom_conformance::{Fixture, Suite};
use fathom_runtime::{Runtime, SECOND};
use fathom_volume::{Blueprint, Env, Geometry, Kind, Pool as Buffers, Request};

use super::Config;
use super::bench::{
    DISK, Disk, HEAD, KIB, MIB, config, disks, filled, holds_the_pattern, pattern, testbed, volatile,
};
use crate::testing::read;

fn suite(config: Config, members: Vec<Geometry>) {
    let build = move |bench: &Fixture| {
        let disk = |(index, geometry): (usize, &Geometry)| bench.disk(&format!("m{index}"), geometry.clone());
        config.build(&bench.env, "pool", members.iter().enumerate().map(disk).collect())
    };
    Suite::new(build).check();
}

#[test]
fn it_conforms_while_extents_move_and_when_the_power_is_cut_then() {
    let members = || vec![volatile(3 * MIB / 2), volatile(3 * MIB / 2), volatile(2 * MIB + 512)];
    suite(config(2, 1, 2 * MIB + 512), members());
    // So slow that it goes on through every claim and every life.
    let mut slow = config(2, 1, 2 * MIB + 512);
    slow.settings.resync_limit = Some(20e6);
    suite(slow, members());
}

#[test]
fn it_conforms_over_large_sectors_short_transfers_and_one_member() {
    let large = Geometry {
        logical_sector: 4096,
        physical_sector: 4096,
        atomic_write: 4096,
        max_transfer: 24 << 10,
        ..volatile(2 * MIB)
    };
    suite(config(1, 2, MIB + 4096), vec![large.clone(), large, volatile(MIB)]);
    suite(config(1, 0, 2 * MIB - 512), vec![volatile(3 * MIB)]);
}

#[test]
fn extents_move_to_an_added_member_until_all_are_equally_full_and_stay_there() {
    let disks = disks(3, DISK);
    let config = filled(&disks);
    let first = testbed(&config, &disks, 2);
    first.run(async {
        first.node.balanced().await.expect("it opens");
        holds_the_pattern(&first).await;
    });
    assert_eq!(first.pool.facts()[0].1, "m0 27 % full, m1 27 % full, m2 27 % full");
    assert_eq!((first.counter("extents_moved"), first.counter("resync_bytes")), (8, 8 * 64 * KIB));
    assert_eq!((first.counter("resync_left_bytes"), first.counter("resync_errors")), (0, 0));
    // Opened again, nothing is left to move, and everything is where the map says.
    let again = testbed(&config, &disks, 3);
    again.run(async {
        again.node.balanced().await.expect("it opens");
        holds_the_pattern(&again).await;
    });
    assert_eq!(again.counter("extents_moved"), 0);
    // Named among the first ones, it is the same member at the same position.
    let mut named = config;
    named.members.append(&mut named.added);
    let named = testbed(&named, &disks, 4);
    named.run(holds_the_pattern(&named));
}

#[test]
fn a_new_pool_is_blank_at_its_ends_whatever_its_members_held() {
    let disks = disks(2, DISK);
    let size = 2 * MIB + 10 * 64 * KIB;
    disks.iter().for_each(|disk| disk.current.borrow_mut()[HEAD as usize..].fill(7));
    let testbed = testbed(&config(2, 0, size), &disks, 1);
    testbed.run(async {
        for (at, blank) in [
            (0, true),
            (MIB - 512, true),
            (MIB, false),
            (size - MIB - 512, false),
            (size - MIB, true),
            (size - 512, true),
        ] {
            let found = testbed.read(at, 512).await;
            assert!(found.iter().all(|byte| *byte == if blank { 0 } else { 7 }), "at {at}: {}", found[0]);
        }
    });
}

#[test]
fn a_limit_is_kept() {
    let disks = disks(3, DISK);
    let mut config = filled(&disks);
    config.settings.resync_limit = Some(1e6);
    let testbed = testbed(&config, &disks, 2);
    testbed.run(async {
        testbed.node.ready().await.expect("it opens");
        testbed.env.context.sleep(SECOND / 4).await;
        let moved = testbed.counter("resync_bytes");
        assert!((200_000..=250_000 + 16 * KIB).contains(&moved), "{moved} bytes in a quarter of a second");
        holds_the_pattern(&testbed).await;
    });
}

#[test]
fn full_members_and_members_without_room_are_told() {
    let full = disks(2, DISK);
    let filled_up = testbed(&config(2, 0, 60 * 64 * KIB), &full, 1);
    filled_up.run(filled_up.node.balanced()).expect("nothing moves in a full pool");
    assert_eq!(filled_up.counter("extents_moved"), 0);
    let too_large = testbed(&config(1, 1, 31 * 64 * KIB), &disks(2, DISK), 1).refusal();
    assert!(too_large.contains("takes 31 extents, and `members` have 30 slots"), "{too_large}");
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Buffers::hollow());
    let tiny = disks(1, HEAD + 32 * KIB)[0].handle(&env, "m0");
    let error = config(1, 0, MIB).build(&env, "pool", vec![tiny]).expect_err("it holds no extent");
    assert!(
        error.to_string().contains("make the extents of a new pool smaller") && error.key() == Some("extent"),
        "{error}"
    );
}

#[test]
fn a_member_that_fails_keeps_nothing_from_its_users_and_moves_go_on_when_it_is_well() {
    // What fails on the new member: the copy, or the flush before it counts; or reads of the old ones.
    for (kind, which) in [(Kind::Write, 2), (Kind::Flush, 2), (Kind::Read, 0)] {
        let disks = disks(3, DISK);
        let config = filled(&disks);
        let testbed = testbed(&config, &disks, 5);
        testbed.run(async {
            testbed.node.ready().await.expect("it opens");
            disks[which].fails.set(Some(kind));
            testbed.env.context.sleep(SECOND / 2).await;
            assert!(testbed.counter("resync_errors") > 0, "{kind:?}");
            if kind != Kind::Read {
                assert_eq!(testbed.counter("extents_moved"), 0, "{kind:?}");
                for extent in 0..24 {
                    testbed.write(extent * 64 * KIB + 4096, 77, 4096).await.expect("the old place takes it");
                    testbed.write(extent * 64 * KIB + 4096, pattern(extent), 4096).await.expect("and again");
                }
                holds_the_pattern(&testbed).await;
            }
            disks[which].fails.set(None);
            testbed.node.balanced().await.expect("it goes on");
            holds_the_pattern(&testbed).await;
        });
        assert_eq!(testbed.counter("extents_moved"), 8, "{kind:?}");
    }
}

/// A member whose map cannot be written: which slot counts is unknown, so both must hold everything.
#[test]
fn while_the_map_cannot_be_written_both_places_hold_everything() {
    let disks = disks(3, DISK);
    let mut config = filled(&disks);
    config.settings.resync_depth = 1;
    // Users write to extents on the second member; the first one, with the map, fails writes.
    let first = testbed(&config, &disks, 6);
    first.run(async {
        first.node.ready().await.expect("it opens");
        disks[0].fails.set(Some(Kind::Write));
        first.env.context.sleep(SECOND / 2).await;
        assert!(first.counter("resync_errors") > 0 && first.counter("extents_moved") == 0);
        let mut taken = Vec::new();
        for extent in 0..24 {
            let written = first.write(extent * 64 * KIB, 99, 64 * KIB).await.is_ok();
            taken.extend(written.then_some(extent));
        }
        assert!((10..=13).contains(&taken.len()), "half of them lie on the second member: {taken:?}");
        let second = disks[2].current.borrow()[HEAD as usize..].to_vec();
        let own = second.iter().position(|byte| *byte != 0).map(|at| second[at]);
        assert!(own.is_some(), "an extent is copied and waits for the map");
        // Whichever the map names: opened from here, everything that was answered is there.
        disks[0].fails.set(None);
        first.pool.flush(Request::flush()).await.expect("it flushes");
        for extent in &taken {
            assert!(first.read(extent * 64 * KIB, 64 * KIB).await.iter().all(|byte| *byte == 99));
        }
        first.node.balanced().await.expect("it goes on");
        for extent in taken {
            assert!(first.read(extent * 64 * KIB, 64 * KIB).await.iter().all(|byte| *byte == 99));
        }
    });
}

#[test]
fn members_that_do_not_belong_together_are_refused_and_nothing_is_written() {
    let disks = disks(3, DISK);
    let config = filled(&disks);
    let moved = testbed(&config, &disks, 2);
    moved.run(moved.node.balanced()).expect("it opens");
    let blank = || self::disks(1, DISK).remove(0);
    let foreign = blank();
    foreign.current.borrow_mut()[100] = 1;
    let (short, cut) = (blank(), 5 * (64 << 10));
    *short.current.borrow_mut() = disks[1].current.borrow()[..cut].to_vec();
    short.durable.borrow_mut().truncate(cut);
    let mut larger = config.clone();
    larger.settings.size += 64 * KIB;
    let pick = |which: &[&Disk]| which.iter().map(|disk| (*disk).clone()).collect::<Vec<_>>();
    let [a, b, c] = [&disks[0], &disks[1], &disks[2]];
    let two = Config { added: Vec::new(), ..config.clone() };
    let before: Vec<Vec<u8>> = disks.iter().map(|disk| disk.current.borrow().clone()).collect();
    let table = [
        (&config, pick(&[a, c, b]), "`m1` is the pool's member number 3, but is listed as number 2"),
        (&config, pick(&[&blank(), b, c]), "`m0` holds nothing, and others belong to a pool"),
        (&config, pick(&[a, &blank(), c]), "`m1` holds nothing, but should have 8 extents"),
        (&config, pick(&[a, &foreign, c]), "`m1` holds data at byte 100 that is not a pool's"),
        (&config, pick(&[a, &short, c]), "`m1` has 327680 bytes: the volume has become smaller"),
        (&two, pick(&[a, b]), "extents are on its member number 3, and the settings name 2"),
        (&larger, pick(&[a, b, c]), "it was made with size 1536KiB"),
    ];
    for (config, which, words) in table {
        let said = testbed(config, &which, 3).refusal();
        assert!(said.starts_with("pool `pool`: ") && said.contains(words), "{said}");
    }
    let other = self::disks(2, DISK);
    let theirs = testbed(&self::config(2, 0, 64 * KIB), &other, 9);
    theirs.run(theirs.node.ready()).expect("it is made");
    let said = testbed(&config, &pick(&[a, b, &other[1]]), 3).refusal();
    assert!(said.contains("`m2` belongs to another pool"), "{said}");
    let after: Vec<Vec<u8>> = disks.iter().map(|disk| disk.current.borrow().clone()).collect();
    assert!(before == after, "a refusal writes nothing");
    // Both copies of the map's only block.
    disks[0].current.borrow_mut()[2 * 4096 + 100] ^= 1;
    disks[0].current.borrow_mut()[3 * 4096 + 100] ^= 1;
    let said = testbed(&config, &disks, 3).refusal();
    assert!(said.contains("both copies of block 0 of the map on `m0` are damaged"), "{said}");
}

#[test]
fn one_damaged_block_of_its_own_is_mended_from_the_other_one() {
    let disks = disks(3, DISK);
    let config = filled(&disks);
    let moved = testbed(&config, &disks, 2);
    moved.run(moved.node.balanced()).expect("it opens");
    // Both superblocks of a member, both copies of the map's only block.
    for (seed, (member, block)) in (3..).zip([(0, 0), (0, 1), (2, 0), (2, 1), (0, 2), (0, 3)]) {
        let range = block * 4096..(block + 1) * 4096;
        disks[member].current.borrow_mut()[range.clone()].fill(0xEE);
        let again = testbed(&config, &disks, seed);
        again.run(holds_the_pattern(&again));
        let mended = disks[member].current.borrow()[range].to_vec();
        assert!(mended.iter().any(|byte| *byte != 0xEE), "block {block} of m{member}");
    }
}

#[test]
fn a_member_that_is_an_older_copy_of_itself_is_refused_and_nothing_is_written() {
    let disks = disks(3, DISK);
    let config = filled(&disks);
    let copies: Vec<Vec<u8>> = disks.iter().map(|disk| disk.current.borrow().clone()).collect();
    let moved = testbed(&config, &disks, 2);
    moved.run(async {
        moved.node.balanced().await.expect("it opens");
        for extent in 0..24 {
            moved.write(extent * 64 * KIB, pattern(extent), 64 * KIB).await.expect("it writes");
        }
    });
    for (member, copy) in copies.iter().enumerate() {
        let now = disks[member].current.replace(copy.clone());
        let before: Vec<Vec<u8>> = disks.iter().map(|disk| disk.current.borrow().clone()).collect();
        let said = testbed(&config, &disks, 3).refusal();
        assert!(said.contains(&format!("`m{member}` is an older copy")), "{said}");
        let after: Vec<Vec<u8>> = disks.iter().map(|disk| disk.current.borrow().clone()).collect();
        assert!(before == after, "a refusal writes nothing");
        disks[member].current.replace(now);
    }
    // All of them as they were at one moment are the pool of then.
    disks.iter().zip(&copies).for_each(|(disk, copy)| disk.current.borrow_mut().copy_from_slice(copy));
    let then = testbed(&config, &disks, 4);
    then.run(holds_the_pattern(&then));
}

#[test]
fn members_of_two_copies_that_went_on_apart_are_not_mixed() {
    let disks = disks(3, DISK);
    let config = filled(&disks);
    let held = || disks.iter().map(|disk| disk.current.borrow().clone()).collect::<Vec<_>>();
    let put = |bytes: &[Vec<u8>]| {
        disks.iter().zip(bytes).for_each(|(disk, bytes)| disk.current.borrow_mut().copy_from_slice(bytes));
    };
    let balanced = testbed(&config, &disks, 2);
    balanced.run(async { balanced.node.balanced().await.expect("it opens") });
    drop(balanced);
    let first = held();
    let went_on = |seeds: std::ops::Range<u64>| {
        put(&first);
        for seed in seeds {
            let opened = testbed(&config, &disks, seed);
            opened.run(opened.write(0, pattern(seed), 64 * KIB)).expect("it writes");
        }
        held()
    };
    let ours = went_on(10..11);
    for theirs in [went_on(20..21), went_on(30..32)] {
        for which in 1..7 {
            let of = |member: usize| if which >> member & 1 == 1 { &theirs } else { &ours };
            let mixed: Vec<Vec<u8>> = (0..3).map(|member| of(member)[member].clone()).collect();
            put(&mixed);
            let said = testbed(&config, &disks, 40).refusal();
            assert!(said.contains("different copies") || said.contains("an older copy"), "{which}: {said}");
            assert!(mixed == held(), "a refusal writes nothing");
        }
        put(&theirs);
        testbed(&config, &disks, 41).run(async {});
    }
}

#[test]
fn a_member_that_holds_no_extent_may_be_away_and_come_back() {
    let disks = disks(3, DISK);
    let mut config = filled(&disks);
    config.settings.rebalance = false;
    let two = Config { added: Vec::new(), ..config.clone() };
    for (seed, (config, count)) in (2..).zip([(&config, 3), (&two, 2), (&two, 2), (&config, 3)]) {
        let testbed = testbed(config, &disks[..count], seed);
        testbed.run(holds_the_pattern(&testbed));
    }
}

#[test]
fn larger_sectors_than_the_pool_was_made_with_and_a_member_of_a_pool_to_be_are_refused() {
    let disks = disks(3, DISK);
    let config = filled(&disks);
    disks[2].sector.set(4096);
    // It was a member of it before anybody looked at its sectors; to be new it must be blank.
    disks[2].current.borrow_mut()[..8192].fill(0);
    let said = testbed(&config, &disks, 2).refusal();
    let words = "`m2` has sectors of 4096 bytes, and the pool was made with sectors of 512";
    assert!(said.contains(words), "{said}");
    disks[2].sector.set(512);
    let other = self::disks(2, DISK);
    let theirs = testbed(&self::config(2, 0, 64 * KIB), &other, 9);
    theirs.run(theirs.node.ready()).expect("it is made");
    // Only its first superblock is written.
    disks[2].current.borrow_mut()[..4096].copy_from_slice(&other[1].current.borrow()[..4096]);
    let said = testbed(&config, &disks, 3).refusal();
    assert!(said.contains("`m2` was being taken into another pool"), "{said}");
}

#[test]
fn settings_are_read_and_mistakes_are_told_at_their_keys() {
    let text = "members = [\"a\", \"b\"]\nadded = [\"c\"]\nsize = \"1TiB\"\nextent = \"64MiB\"\nresync_limit = \"50MB/s\"\n";
    let config = read(text, Config::read).expect("it is right");
    assert_eq!((config.members.len(), config.added.as_slice()), (2, ["c".to_owned()].as_slice()));
    assert_eq!((config.settings.extent, config.settings.resync_limit), (64 * MIB, Some(50e6)));
    assert_eq!(config.settings.resync_io, 256 * KIB);
    assert_eq!(config.children(), ["a", "b", "c"]);
    for (text, words) in [
        ("members = [\"a\"]\nsize = \"1GiB\"\nadded = [\"a\"]\n", "added: `a` is a member twice"),
        ("members = [\"a\", \"a\"]\nsize = \"1GiB\"\n", "members: `a` is a member twice"),
        ("members = []\nsize = \"1GiB\"\n", "members: the list is empty"),
        ("members = [\"a\"]\n", "size"),
        ("members = [\"a\"]\nsize = \"0KiB\"\n", "size: a pool that shows nothing"),
        ("members = [\"a\"]\nsize = \"1GiB\"\nextent = \"100KiB\"\n", "extent: extents of 102400 bytes"),
        (
            "members = [\"a\"]\nsize = \"1TiB\"\nextent = \"64KiB\"\n",
            "extent: 1099511627776 bytes are more than 1048576",
        ),
        (
            "members = [\"a\"]\nsize = \"1GiB\"\nresync_io = \"1GiB\"\n",
            "resync_io: requests of 1073741824 bytes",
        ),
        ("members = [\"a\"]\nsize = \"1GiB\"\nresync_share = \"0%\"\n", "resync_share: "),
    ] {
        let mistakes = read(text, Config::read).expect_err("it is wrong");
        assert!(mistakes.len() == 1 && mistakes[0].contains(words), "{mistakes:?}");
    }
}
