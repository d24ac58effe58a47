//! Who may use a leg next while a rebuild runs: start-time fair queueing by device time.
//!
//! Every request costs device time: max(bytes / throughput, I/Os / rate). What is on its way to the leg is kept to a
//! window of device time, just enough to fill the leg, so that the queue is here and not in the device. As long as the
//! window has room nobody waits: one class alone has everything. When it is full, the class whose turn it is by start
//! tags goes first; a class's tags advance by cost / weight, so over any time in which both wait, they share the device
//! by weight, to within one request each. (Goyal, Vin and Cheng, SIGCOMM 1996.)
//!
//! A user with one request at a time never waits in this queue and would be crowded out of the device's: while users
//! were seen lately and none waits, the rebuild keeps to its share of the window, up to the request that exceeds it.

use std::collections::VecDeque;

use fathom_runtime::Nanos;
use fathom_volume::Class;

/// What a leg can do, and how it is shared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub throughput: f64,
    /// The rebuild's share in percent of device time.
    pub share: u64,
    /// Device time on its way at most, ns.
    pub window: Nanos,
    /// How long after a user's last request the rebuild is careful, ns.
    pub careful: Nanos,
}

/// An I/O is counted for every started piece of this many bytes.
const QUANTUM: u64 = 256 << 10;

impl Capacity {
    /// Device time of a request, ns, at least 1.
    pub fn cost(&self, bytes: u64) -> Nanos {
        let pieces = bytes.div_ceil(QUANTUM).max(1) as f64;
        let seconds = (bytes as f64 / self.throughput).max(pieces / self.iops);
        (seconds * 1e9).ceil().max(1.0) as Nanos
    }

    fn weight(&self, class: Class) -> u64 {
        match class {
            Class::Foreground => 100 - self.share,
            Class::Resync => self.share,
        }
    }
}

/// A request in the queue.
#[derive(Debug)]
struct Waiting {
    ticket: u64,
    cost: Nanos,
    start: u64,
}

/// The queue of one leg.
#[derive(Debug)]
pub struct Share {
    capacity: Capacity,
    queues: [VecDeque<Waiting>; 2],
    /// Where the next request of a class begins at the earliest.
    finish: [u64; 2],
    /// Start tag of the request that was let through last.
    virtual_time: u64,
    /// Device time on its way, ns.
    in_flight: [Nanos; 2],
    user_seen: Option<Nanos>,
}

impl Share {
    /// An empty queue.
    pub fn new(capacity: Capacity) -> Self {
        Self {
            capacity,
            queues: Default::default(),
            finish: [0; 2],
            virtual_time: 0,
            in_flight: [0; 2],
            user_seen: None,
        }
    }

    /// What the leg can do.
    pub fn capacity(&self) -> &Capacity {
        &self.capacity
    }

    /// A request arrives.
    pub fn enter(&mut self, class: Class, ticket: u64, cost: Nanos, now: Nanos) {
        let index = class as usize;
        let start = self.finish[index].max(self.virtual_time);
        self.finish[index] = start + cost * 100 / self.capacity.weight(class).max(1);
        self.queues[index].push_back(Waiting { ticket, cost, start });
        if class == Class::Foreground {
            self.user_seen = Some(now);
        }
    }

    /// A waiting request is given up; false if it does not wait any more.
    pub fn leave(&mut self, class: Class, ticket: u64) -> bool {
        let queue = &mut self.queues[class as usize];
        let before = queue.len();
        queue.retain(|waiting| waiting.ticket != ticket);
        queue.len() < before
    }

    /// A request that was let through has ended.
    pub fn done(&mut self, class: Class, cost: Nanos, now: Nanos) {
        self.in_flight[class as usize] -= cost;
        if class == Class::Foreground {
            self.user_seen = Some(now);
        }
        if self.is_empty() {
            // Nobody is owed anything for time in which nobody waited.
            self.virtual_time = self.virtual_time.max(self.finish[0]).max(self.finish[1]);
        }
    }

    fn is_empty(&self) -> bool {
        self.in_flight == [0; 2] && self.queues.iter().all(VecDeque::is_empty)
    }

    /// The next request that may go to the leg, if one may: its ticket and cost.
    pub fn next(&mut self, now: Nanos) -> Option<(u64, Nanos)> {
        let total = self.in_flight[0] + self.in_flight[1];
        let start = |class: Class| self.queues[class as usize].front().map(|waiting| waiting.start);
        let class = match (start(Class::Foreground), start(Class::Resync)) {
            (None, None) => return None,
            (Some(_), None) => Class::Foreground,
            (None, Some(_)) => Class::Resync,
            (Some(user), Some(rebuild)) if user <= rebuild => Class::Foreground,
            (Some(_), Some(_)) => Class::Resync,
        };
        let index = class as usize;
        let cost = self.queues[index].front().expect("just looked at").cost;
        if total > 0 && total + cost > self.capacity.window {
            return None;
        }
        let users_about = self.in_flight[0] > 0
            || self.user_seen.is_some_and(|seen| now.saturating_sub(seen) < self.capacity.careful);
        if class == Class::Resync && users_about && self.queues[0].is_empty() && self.in_flight[1] > 0 {
            let floor = self.capacity.window * self.capacity.share / 100;
            if self.in_flight[1] >= floor {
                return None;
            }
        }
        let Waiting { ticket, cost, start } = self.queues[index].pop_front()?;
        self.virtual_time = self.virtual_time.max(start);
        self.in_flight[index] += cost;
        Some((ticket, cost))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fathom_runtime::{MILLISECOND, SECOND};
    use fathom_volume::Class;
    use proptest::prelude::*;

    use super::{Capacity, Share};

    const CAPACITY: Capacity = Capacity {
        iops: 10_000.0,
        throughput: 100e6,
        share: 20,
        window: MILLISECOND,
        careful: 50 * MILLISECOND,
    };

    /// A device that does one ns of cost per ns, fed by both classes with requests of these sizes.
    fn run(user: Option<u64>, rebuild: Option<u64>, span: u64) -> Vec<[u64; 2]> {
        let mut share = Share::new(CAPACITY);
        let sizes = [user, rebuild];
        let classes = [Class::Foreground, Class::Resync];
        let (mut now, mut ticket, mut windows) = (0, 0_u64, vec![[0; 2]]);
        let mut waiting: BTreeMap<u64, usize> = BTreeMap::new();
        let mut device: std::collections::VecDeque<(usize, u64)> = std::collections::VecDeque::new();
        while now < span {
            for (index, size) in sizes.iter().enumerate() {
                let Some(size) = size else { continue };
                while share.queues[index].len() < 4 {
                    ticket += 1;
                    waiting.insert(ticket, index);
                    share.enter(classes[index], ticket, CAPACITY.cost(*size), now);
                }
            }
            while let Some((ticket, cost)) = share.next(now) {
                device.push_back((waiting[&ticket], cost));
            }
            let (index, cost) = device.pop_front().expect("the device is never idle");
            now += cost;
            let window = (now / SECOND) as usize;
            windows.resize(windows.len().max(window + 1), [0; 2]);
            windows[window][index] += cost;
            share.done(classes[index], cost, now);
        }
        windows.truncate((span / SECOND) as usize);
        windows
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Both classes always wait, whatever their requests' sizes: a fifth of every second's device time is the rebuild's.
        #[test]
        fn both_waiting_the_rebuild_has_a_fifth_of_every_second(user in 9..19_u32, rebuild in 12..19_u32) {
            for [users, rebuilds] in run(Some(1 << user), Some(1 << rebuild), 6 * SECOND) {
                let share = 100.0 * rebuilds as f64 / (users + rebuilds) as f64;
                prop_assert!((18.0..=22.0).contains(&share), "{share} % of one second");
            }
        }

        /// Requests of one class keep their order, each is let through once, and no time on its way exceeds the window
        /// but for a request that alone is larger.
        #[test]
        fn everything_gets_through_once_and_in_order(
            steps in prop::collection::vec((0..4_u8, 0..3_000_000_u64), 1..200),
        ) {
            let mut share = Share::new(CAPACITY);
            let (mut now, mut ticket) = (0, 0);
            let mut queued = [std::collections::VecDeque::new(), std::collections::VecDeque::new()];
            let mut flying: Vec<(usize, u64)> = Vec::new();
            let classes = [Class::Foreground, Class::Resync];
            for (step, amount) in steps {
                now += amount / 7;
                match step {
                    0 | 1 => {
                        ticket += 1;
                        let cost = CAPACITY.cost(amount / 3);
                        share.enter(classes[usize::from(step)], ticket, cost, now);
                        queued[usize::from(step)].push_back((ticket, cost));
                    }
                    2 if !flying.is_empty() => {
                        let (index, cost) = flying.swap_remove(amount as usize % flying.len());
                        share.done(classes[index], cost, now);
                    }
                    _ => {
                        let index = usize::from(amount % 2 == 0);
                        if let Some((ticket, _)) = queued[index].pop_back() {
                            prop_assert!(share.leave(classes[index], ticket));
                            prop_assert!(!share.leave(classes[index], ticket));
                        }
                    }
                }
                while let Some((ticket, cost)) = share.next(now) {
                    let index = usize::from(queued[0].front() != Some(&(ticket, cost)));
                    prop_assert_eq!(queued[index].pop_front(), Some((ticket, cost)));
                    flying.push((index, cost));
                    let total: u64 = flying.iter().map(|(_, cost)| cost).sum();
                    prop_assert!(flying.len() == 1 || total <= CAPACITY.window);
                }
                prop_assert!(!flying.is_empty() || queued.iter().all(|queue| queue.is_empty()), "someone waits for nobody");
            }
        }
    }

    #[test]
    fn a_class_alone_has_everything() {
        assert!(
            run(None, Some(64 << 10), 3 * SECOND).iter().all(|[_, rebuild]| *rebuild > SECOND * 99 / 100)
        );
        assert!(run(Some(8 << 10), None, 3 * SECOND).iter().all(|[user, _]| *user > SECOND * 99 / 100));
    }

    #[test]
    fn while_a_user_is_about_the_rebuild_keeps_to_its_part_of_the_window() {
        let mut share = Share::new(CAPACITY);
        let cost = CAPACITY.cost(8 << 10);
        share.enter(Class::Foreground, 1, cost, 0);
        assert_eq!(share.next(0), Some((1, cost)));
        for ticket in 2..9 {
            share.enter(Class::Resync, ticket, cost, 0);
        }
        let mut through = 0;
        while share.next(0).is_some() {
            through += 1;
        }
        assert_eq!(through, 2, "two requests of 0.1 ms are a fifth of 1 ms, and the third waits");
        share.done(Class::Foreground, cost, 0);
        assert_eq!(share.next(10 * MILLISECOND), None);
        assert!(share.next(60 * MILLISECOND).is_some(), "the user has gone");
    }
}
