//! The rules on histories made by hand: each must see what it is for.

use super::{Content, History, Rule, View};

/// Three writes to sectors 0, 1, 0 after each other; the first is flushed.
fn history() -> History {
    let mut history = History::new(7, 512);
    for (number, sector) in [(1, 0), (2, 1), (3, 0)] {
        assert_eq!(history.send(0, sector, 1, false, false), number);
        history.answer(number);
        if number == 1 {
            let sent = history.tick();
            history.flushed(sent);
        }
    }
    history
}

fn view(sectors: [Content; 2]) -> View {
    vec![sectors.to_vec()]
}

fn judge(history: &History, sectors: [Content; 2], rule: Rule) -> Result<(), String> {
    history.check(&view(sectors), rule, &|op| op.durable.is_some()).map(|_| ())
}

#[test]
fn every_prefix_that_is_long_enough_passes() {
    let history = history();
    for sectors in
        [[Content::Op(1), Content::Zero], [Content::Op(1), Content::Op(2)], [Content::Op(3), Content::Op(2)]]
    {
        assert_eq!(judge(&history, sectors, Rule::Prefix), Ok(()));
    }
}

#[test]
fn a_flushed_write_that_is_missing_is_seen() {
    for rule in [Rule::Prefix, Rule::Disk, Rule::Intervals] {
        let told = judge(&history(), [Content::Zero, Content::Zero], rule).expect_err("write 1 was flushed");
        assert!(told.contains("write 1 of 3 (durable"), "{told}");
    }
}

#[test]
fn a_gap_in_the_order_is_no_prefix_and_may_be_a_disk() {
    let history = history();
    let gap = [Content::Op(3), Content::Zero];
    assert!(judge(&history, gap, Rule::Prefix).expect_err("write 2 is missing").contains("write 2"));
    assert_eq!(judge(&history, gap, Rule::Disk), Ok(()));
    assert_eq!(judge(&history, gap, Rule::Intervals), Ok(()));
}

#[test]
fn a_write_beyond_a_flush_needs_all_before_the_flush() {
    let mut history = history();
    let sent = history.tick();
    history.flushed(sent);
    history.ops.iter_mut().for_each(|op| op.durable = None);
    history.send(0, 0, 1, false, false);
    let gap = [Content::Op(4), Content::Zero];
    assert!(
        judge(&history, gap, Rule::Intervals).expect_err("write 2 is before the flush").contains("write 2")
    );
    assert_eq!(judge(&history, gap, Rule::Disk), Ok(()));
}

#[test]
fn a_zero_that_one_op_can_have_written_brings_all_before_it() {
    let mut history = history();
    let trim = history.send(0, 0, 1, true, false);
    history.answer(trim);
    let told = judge(&history, [Content::Zero, Content::Zero], Rule::Prefix)
        .expect_err("write 2 came before the trim");
    assert!(told.contains("write 2"), "{told}");
    assert_eq!(judge(&history, [Content::Zero, Content::Op(2)], Rule::Prefix), Ok(()));
}

#[test]
fn writes_at_the_same_time_come_in_any_order_but_whole() {
    let mut history = History::new(7, 512);
    for _ in 0..2 {
        history.send(0, 0, 2, false, false);
    }
    for number in [1, 2] {
        history.answer(number);
    }
    let sent = history.tick();
    history.flushed(sent);
    assert_eq!(judge(&history, [Content::Op(1), Content::Op(1)], Rule::Prefix), Ok(()));
    assert!(judge(&history, [Content::Op(1), Content::Zero], Rule::Prefix).is_err());
}

#[test]
fn what_was_seen_not_to_be_there_must_not_come_back() {
    let mut history = history();
    let shown = view([Content::Op(1), Content::Zero]);
    let there = history.check(&shown, Rule::Prefix, &|op| op.durable.is_some()).expect("a prefix");
    assert_eq!(history.settle(&shown, &there, Rule::Prefix, false), 1024);
    let told = judge(&history, [Content::Op(1), Content::Op(2)], Rule::Prefix).expect_err("write 2 was gone");
    assert!(told.contains("seen not to be there"), "{told}");
}

#[test]
fn foreign_torn_and_misplaced_bytes_are_seen() {
    let mut history = History::new(7, 512);
    history.send(0, 3, 1, false, false);
    let mut bytes = history.payload(1);
    let mut spare = [0; 512];
    assert_eq!(history.recognise(0, 3, &bytes, &mut spare), Ok(Content::Op(1)));
    assert!(history.recognise(0, 4, &bytes, &mut spare).is_err());
    assert!(history.recognise(1, 3, &bytes, &mut spare).is_err());
    bytes[500] ^= 1;
    assert!(history.recognise(0, 3, &bytes, &mut spare).is_err());
    assert!(history.recognise(0, 3, &[9; 512], &mut spare).is_err());
}

#[test]
fn zeroes_that_were_seen_to_be_gone_hide_nothing() {
    let mut history = History::new(7, 512);
    for (first, count, zeroes) in [(1, 1, false), (0, 1, false), (0, 2, true)] {
        let number = history.send(0, first, count, zeroes, false);
        history.answer(number);
    }
    // Sector 1 says that the zeroes are gone, and so the zero in sector 0 is older than write 2.
    let seen = view([Content::Zero, Content::Op(1)]);
    let there = history.check(&seen, Rule::Prefix, &|_| false).expect("write 1 alone is a prefix");
    assert_eq!(history.settle(&seen, &there, Rule::Prefix, false), 512);
    assert!(history.op(2).dead && history.op(3).dead);
    let number = history.send(0, 1, 1, false, false);
    history.answer(number);
    let seen = view([Content::Zero, Content::Op(number)]);
    assert!(history.check(&seen, Rule::Prefix, &|op| op.answered.is_some()).is_ok());
}

#[test]
fn a_failed_write_may_be_there_or_not_and_never_comes_back_over_a_later_one() {
    let mut history = History::new(7, 512);
    for number in [1, 2] {
        assert_eq!(history.send(0, 0, 2, false, false), number);
        if number == 1 {
            history.answer(number)
        } else {
            history.fail(number)
        }
        let sent = history.tick();
        history.flushed(sent);
    }
    // A disk may have written it in part; a log has all of it or nothing.
    for (sectors, whole) in [
        ([Content::Op(1), Content::Op(1)], true),
        ([Content::Op(2), Content::Op(2)], true),
        ([Content::Op(2), Content::Op(1)], false),
    ] {
        assert_eq!(judge(&history, sectors, Rule::Disk), Ok(()));
        assert_eq!(judge(&history, sectors, Rule::Prefix).is_ok(), whole, "{sectors:?}");
    }
    assert!(judge(&history, [Content::Zero, Content::Op(2)], Rule::Disk).is_err(), "write 1 was flushed");
    let number = history.send(0, 0, 1, false, false);
    history.answer(number);
    let sent = history.tick();
    history.flushed(sent);
    let told =
        judge(&history, [Content::Op(2), Content::Op(1)], Rule::Disk).expect_err("write 3 was flushed");
    assert!(told.contains("shows write 2 and not write 3"), "{told}");
}

#[test]
fn a_daemon_that_acknowledges_a_write_that_failed_is_seen_by_the_next_read_and_after_the_cut() {
    let mut history = history();
    // The disk answered write 4 with an error and holds write 3; the daemon answered with success.
    let number = history.send(0, 0, 1, false, true);
    history.answer(number);
    let sent = history.tick();
    let told = history.as_new_as(0, 0, Content::Op(3), sent).expect_err("write 4 was answered");
    assert!(told.contains("write 4 of 4"), "{told}");
    assert_eq!(history.as_new_as(0, 0, Content::Op(number), sent), Ok(()));
    for rule in [Rule::Prefix, Rule::Disk, Rule::Intervals] {
        let told = judge(&history, [Content::Op(3), Content::Op(2)], rule).expect_err("write 4 had FUA");
        assert!(told.contains("shows write 3 and not write 4"), "{told}");
    }
}
