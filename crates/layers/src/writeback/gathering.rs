//! When the writes that wait become a record of the log.
//!
//! A record costs the same to submit and to answer, whatever it holds: telling a virtual disk of a request takes as long as
//! copying a hundred pages. Writers in a closed loop meet in groups, each of which comes back together when its record is
//! answered. A record for every group that comes keeps the groups apart for ever, those of one write among them. So a group
//! waits for the records before it while it is smaller than what they hold: it is joined by whoever comes meanwhile, and at
//! any depth two groups are left, one on its way while the other one is answered and comes back.

/// So few writes on their way hold nobody back: a device serves as many at once.
const FEW: usize = 4;
/// So much payload goes at once, in bytes: what a record costs by itself does not show beside it.
const LARGE: u64 = 256 << 10;

/// Whether so many waiting writes, with so much payload, make a record, while records on their way hold so many.
pub fn is_due(waiting: usize, payload: u64, on_way: usize) -> bool {
    waiting > 0 && (on_way < FEW || waiting >= on_way || payload >= LARGE)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::{FEW, LARGE, is_due};

    /// Writers in a closed loop, each with one write at a time, on a device that answers each record after 100 steps:
    /// records, and writes that were on their way on average.
    fn closed_loop(writers: usize, back_after: usize, due: impl Fn(usize, usize) -> bool) -> (usize, f64) {
        let mut on_way: VecDeque<(usize, usize)> = VecDeque::new();
        let mut away = on_way.clone();
        // They begin one after the other, as far apart as can be.
        away.extend((0..writers).map(|writer| (writer * 100 / writers, 1)));
        let (mut waiting, mut records, mut sum) = (0, 0, 0);
        let steps = 100_000;
        for now in 0..steps {
            while on_way.front().is_some_and(|(ends, _)| *ends <= now) {
                away.extend(on_way.pop_front().map(|(_, count)| (now + back_after, count)));
            }
            while away.front().is_some_and(|(back, _)| *back <= now) {
                waiting += away.pop_front().map_or(0, |(_, count)| count);
            }
            let flying: usize = on_way.iter().map(|(_, count)| count).sum();
            if due(waiting, flying) {
                on_way.push_back((now + 100, std::mem::take(&mut waiting)));
                records += 1;
            }
            sum += on_way.iter().map(|(_, count)| count).sum::<usize>();
        }
        (records, sum as f64 / steps as f64)
    }

    #[test]
    fn writers_who_come_one_by_one_end_in_two_groups() {
        for writers in [8, 16, 64] {
            let (records, on_way) = closed_loop(writers, 30, |waiting, flying| is_due(waiting, 0, flying));
            let (apart, _) = closed_loop(writers, 30, |waiting, _| waiting > 0);
            assert!(apart * 100 >= 100_000 * writers.min(30) / 3, "records of their own: {apart}");
            let rounds = 100_000 / 130;
            assert!(
                records <= 2 * rounds + writers,
                "{writers} writers: {records} records in {rounds} rounds"
            );
            assert!(on_way >= writers as f64 * 0.45, "{writers} writers: {on_way} on their way");
        }
    }

    #[test]
    fn few_writers_are_not_held_back() {
        for writers in 1..=FEW {
            let (_, on_way) = closed_loop(writers, 30, |waiting, flying| is_due(waiting, 0, flying));
            let (_, free) = closed_loop(writers, 30, |waiting, _| waiting > 0);
            assert!(on_way >= 0.99 * free, "{writers} writers: {on_way} on their way, {free} without waits");
        }
    }

    #[test]
    fn nothing_is_no_record_and_much_goes_at_once() {
        assert!(!is_due(0, 0, 0));
        assert!(is_due(1, LARGE, 100) && !is_due(1, LARGE - 512, 100));
    }
}
