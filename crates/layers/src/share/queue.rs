//! Who may use a device next: users always, background work when there is room or when it is owed.

use std::collections::VecDeque;

use fathom_runtime::{MILLISECOND, Nanos};
use fathom_volume::Class;

use super::device::{Cost, Device, Done, SMALL, Stated};

/// Background work may be owed so much before it counts as not wanting its part.
const MOST_OWED: i64 = 2 * SMALL as i64;
/// What part of the guaranteed time filling a cache has while its lines do not pay for themselves, in percent: so much that it
/// is noticed when they begin to.
const TRIAL: u64 = 10;
/// How long after a user's last request one more is expected, unless stated.
const CAREFUL: Nanos = 50 * MILLISECOND;

const CLASSES: usize = Class::ALL.len();

/// A request in the queue.
#[derive(Debug)]
struct Waiting {
    ticket: u64,
    cost: Cost,
}

/// A request that may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// What it costs.
    pub cost: Cost,
    /// What was on its way before it.
    pub before: Cost,
}

/// How a device is shared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// What is stated of the device.
    pub stated: Stated,
    /// Percent of the device's time that background work is guaranteed while users want all of it.
    pub guaranteed: u64,
    /// How long after a user's last request one more is expected, ns.
    pub careful: Nanos,
}

impl Default for Rules {
    /// Nothing is stated, and background work is guaranteed a fifth.
    fn default() -> Self {
        Self { stated: Stated::default(), guaranteed: 20, careful: CAREFUL }
    }
}

/// The queue before one device. Only background work ever waits in it.
#[derive(Debug)]
pub struct Queue {
    device: Device,
    rules: Rules,
    waiting: [VecDeque<Waiting>; CLASSES],
    in_flight: [Cost; CLASSES],
    /// What background work is owed, or has had beyond that.
    owed: i64,
    /// How much of it filling may take, and the percent of the usual part that it earns.
    fills_owed: i64,
    fills: u64,
    /// The guaranteed part as it was set first: who needs more of it leaves filling no more.
    usual: u64,
    user_seen: Option<Nanos>,
    /// Whether background work may fill the window beside users.
    gaps: bool,
    /// Class that was let through last.
    last: usize,
}

impl Queue {
    /// An empty queue.
    pub fn new(rules: Rules) -> Self {
        Self {
            device: Device::new(rules.stated),
            rules,
            waiting: Default::default(),
            in_flight: [0; CLASSES],
            owed: 0,
            fills_owed: 0,
            fills: 100,
            usual: rules.guaranteed,
            user_seen: None,
            gaps: false,
            last: 0,
        }
    }

    /// What is known of the device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Changes the guaranteed part, in percent.
    pub fn guarantee(&mut self, percent: u64) {
        self.rules.guaranteed = percent.clamp(1, 99);
    }

    /// Whether background work may fill what users leave of the window, instead of its part of it.
    pub fn fill_gaps(&mut self, fill: bool) {
        self.gaps = fill;
    }

    /// Whether filling a cache pays: what it costs is less than what its lines save. It takes its part of the time from users who
    /// would have more for it.
    pub fn fills_pay(&mut self, pay: bool) {
        self.fills = if pay { 100 } else { TRIAL };
    }

    /// Background work on its way to the device.
    pub fn background(&self) -> Cost {
        self.in_flight[1..].iter().sum()
    }

    fn on_way(&self) -> Cost {
        self.in_flight.iter().sum()
    }

    fn users_about(&self, now: Nanos) -> bool {
        self.in_flight[0] > 0
            || self.user_seen.is_some_and(|seen| now.saturating_sub(seen) < self.rules.careful)
    }

    /// Whether the device has as much as it needs.
    pub fn is_full(&self) -> bool {
        self.on_way() >= self.device.window()
    }

    /// A user's request goes to the device.
    pub fn user(&mut self, bytes: u64, now: Nanos) -> Sent {
        let sent = Sent { cost: self.device.cost(bytes), before: self.on_way() };
        self.in_flight[0] += sent.cost;
        self.user_seen = Some(now);
        sent
    }

    /// A background request arrives.
    pub fn enter(&mut self, class: Class, ticket: u64, bytes: u64) {
        let cost = self.device.cost(bytes);
        self.waiting[class as usize].push_back(Waiting { ticket, cost });
    }

    /// A waiting request is given up; false if it does not wait any more.
    pub fn leave(&mut self, class: Class, ticket: u64) -> bool {
        let queue = &mut self.waiting[class as usize];
        let before = queue.len();
        queue.retain(|waiting| waiting.ticket != ticket);
        queue.len() < before
    }

    /// A request has ended. Nothing is learned from one without `done`: it was given up, or it failed.
    pub fn done(&mut self, class: Class, sent: Sent, done: Option<Done>, now: Nanos) {
        self.in_flight[class as usize] -= sent.cost;
        if class == Class::Foreground {
            self.user_seen = Some(now);
            let share = self.rules.guaranteed;
            let earned = (sent.cost * share / (100 - share)) as i64;
            self.owed = (self.owed + earned).min(MOST_OWED);
            let earned = (sent.cost * self.usual * self.fills / (100 - self.usual) / 100) as i64;
            self.fills_owed = (self.fills_owed + earned).min(MOST_OWED);
        }
        if let Some(done) = done {
            let users_about = self.users_about(now);
            let left = self.on_way();
            let mixed = self.in_flight[0] > 0 && self.background() > 0;
            self.device.learn(done, left, mixed, users_about, now);
        }
    }

    /// How long scrubs leave the device to users after one that has ended, ns. Users with one request at a time, or whose
    /// requests are gathered into one, leave a gap behind each: scrubs that took every gap had half of the device.
    pub fn rest(&self, done: &Done, now: Nanos) -> Nanos {
        if !self.users_about(now) {
            return 0;
        }
        let busy = done.latency as f64 * (done.cost as f64 / self.device.window() as f64).min(1.0);
        busy as Nanos * (100 - self.rules.guaranteed) / self.rules.guaranteed
    }

    /// The next background request that may go to the device, if one may.
    pub fn next(&mut self, now: Nanos) -> Option<(u64, Sent)> {
        let on_way = self.on_way();
        // A user with one request at a time would be crowded out of the device's own queue: while users are about, the
        // part of the window that is not theirs is all there is.
        let part = if self.users_about(now) && !self.gaps { self.rules.guaranteed } else { 100 };
        let window = self.device.window();
        let fits = on_way < window && (self.background() == 0 || self.background() * 100 < window * part);
        let room = on_way == 0 || fits;
        let fill = Class::Fill as usize;
        let is_owed = |class: usize| self.owed > 0 && (class != fill || self.fills_owed > 0);
        let may = |class: &usize| !self.waiting[*class].is_empty() && (room || is_owed(*class));
        let class = (0..CLASSES).map(|step| (self.last + 1 + step) % CLASSES).find(may)?;
        self.last = class;
        let Waiting { ticket, cost } = self.waiting[class].pop_front()?;
        // What is there for the taking is not charged beyond what was owed.
        let charged = self.owed - cost as i64;
        self.owed = if room { charged.max(self.owed.min(0)) } else { charged };
        if class == fill && !room {
            self.fills_owed -= cost as i64;
        }
        self.in_flight[class] += cost;
        Some((ticket, Sent { cost, before: on_way }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};

    use fathom_runtime::{MILLISECOND, Random, SECOND};
    use fathom_volume::Class;
    use proptest::prelude::*;

    use super::{Queue, Rules};
    use crate::share::device::{Done, Stated};

    const STATED: Stated =
        Stated { iops: Some(10_000.0), throughput: Some(100e6), window: Some(MILLISECOND) };

    fn rules(stated: bool) -> Rules {
        if stated { Rules { stated: STATED, ..Rules::default() } } else { Rules::default() }
    }

    fn device_time(bytes: u64) -> u64 {
        (bytes * 10).max(100_000)
    }

    /// A device that does one request after the other, 10,000 a second or 100 MB/s, with so many users' requests of a
    /// size always on their way and background work of a size always waiting: device time of both, second by second.
    fn run(stated: bool, users: u64, user: u64, background: Option<u64>, seconds: u64) -> Vec<[u64; 2]> {
        let mut queue = Queue::new(rules(stated));
        let mut at_device: VecDeque<(Class, u64, super::Sent, u64)> = VecDeque::new();
        let (mut now, mut ticket, mut used) = (0, 0, vec![[0; 2]; seconds as usize + 1]);
        let (mut flying, mut waiting) = (0, 0);
        while now < seconds * SECOND {
            while flying < users {
                at_device.push_back((Class::Foreground, user, queue.user(user, now), now));
                flying += 1;
            }
            while let Some(bytes) = background.filter(|_| waiting < 4) {
                (ticket, waiting) = (ticket + 1, waiting + 1);
                queue.enter(Class::Resync, ticket, bytes);
            }
            while let Some((_, sent)) = queue.next(now) {
                at_device.push_back((Class::Resync, background.unwrap_or(0), sent, now));
                waiting -= 1;
            }
            let Some((class, bytes, sent, begun)) = at_device.pop_front() else { break };
            now += device_time(bytes);
            used[(now / SECOND).min(seconds) as usize][usize::from(class != Class::Foreground)] +=
                device_time(bytes);
            flying -= u64::from(class == Class::Foreground);
            let latency = now - begun;
            let done = Done { write: false, bytes, cost: sent.cost, before: sent.before, latency };
            queue.done(class, sent, Some(done), now);
        }
        used.truncate(seconds as usize);
        used
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Users who fill the device leave a fifth of every second to background work, whatever the sizes, also where
        /// nobody has stated what the device can do.
        #[test]
        fn users_who_fill_the_device_leave_a_fifth_of_it(
            users in 24..64_u64, user in 12..16_u32, background in 12..19_u32, stated in any::<bool>(),
        ) {
            let seconds = run(stated, users, 1 << user, Some(1 << background), 8);
            // What a request costs is learned within the first seconds.
            for [users, background] in &seconds[if stated { 1 } else { 4 }..] {
                let share = 100.0 * *background as f64 / (users + background) as f64;
                let tolerance = if stated { 2.0 } else { 4.0 };
                prop_assert!((20.0 - share).abs() <= tolerance, "{share} % of one second");
            }
        }

        /// Requests of one class keep their order, each is let through once, nobody waits for nobody, and without users
        /// no more is on its way than fills the device, one request, and what users owed it meanwhile.
        #[test]
        fn everything_gets_through_once_and_in_order(
            steps in prop::collection::vec((0..5_u8, 0..300_000_u64), 1..200),
        ) {
            let mut queue = Queue::new(rules(true));
            let (mut now, mut ticket) = (0, 0);
            // The last to find room may be large, and something may be owed.
            let most = queue.device().cost(300_000) + 2 * crate::share::device::SMALL;
            let classes = [Class::Resync, Class::Destage];
            let mut queued = [VecDeque::new(), VecDeque::new()];
            let mut flying: Vec<(Class, super::Sent)> = Vec::new();
            let mut earned = 0;
            for (step, amount) in steps {
                now += amount;
                if queue.background() == 0 {
                    earned = 0;
                }
                match step {
                    0 | 1 => {
                        ticket += 1;
                        queue.enter(classes[usize::from(step)], ticket, amount);
                        queued[usize::from(step)].push_back(ticket);
                    }
                    2 if !flying.is_empty() => {
                        let (class, sent) = flying.swap_remove(amount as usize % flying.len());
                        queue.done(class, sent, None, now);
                        if class == Class::Foreground {
                            earned += sent.cost * rules(true).guaranteed / (100 - rules(true).guaranteed);
                        }
                    }
                    3 => flying.push((Class::Foreground, queue.user(amount, now))),
                    _ => {
                        let index = usize::from(amount % 2 == 0);
                        if let Some(ticket) = queued[index].pop_back() {
                            prop_assert!(queue.leave(classes[index], ticket));
                            prop_assert!(!queue.leave(classes[index], ticket));
                        }
                    }
                }
                while let Some((ticket, sent)) = queue.next(now) {
                    let index = usize::from(queued[0].front() != Some(&ticket));
                    prop_assert_eq!(queued[index].pop_front(), Some(ticket));
                    let users = flying.iter().any(|(class, _)| *class == Class::Foreground);
                    prop_assert!(users || sent.before < queue.device().window() + most + earned);
                    flying.push((classes[index], sent));
                }
                prop_assert!(!flying.is_empty() || queued.iter().all(VecDeque::is_empty), "someone waits for nobody");
            }
        }
    }

    /// A cloud volume: 3,000 IOPS, 125 MiB/s, and answers that overtake each other. The part that copies of 256 KiB have.
    fn copied(percent: u64, users: usize) -> f64 {
        let mut queue = Queue::new(Rules { guaranteed: percent, ..Rules::default() });
        let mut random = Random::new(7, "answers");
        let mut answers: BTreeMap<(u64, u64), (Class, super::Sent, u64)> = BTreeMap::new();
        let (mut now, mut free, mut sent_so_far, mut used) = (0, 0_u64, 0_u64, [0_u64; 2]);
        (0..16).for_each(|ticket| queue.enter(Class::Resync, ticket, 262_144));
        while now < 20 * SECOND {
            let on_way = answers.values().filter(|(class, ..)| *class == Class::Foreground).count();
            let mut sent: Vec<_> =
                (on_way..users).map(|_| (Class::Foreground, queue.user(8192, now))).collect();
            sent.extend(std::iter::from_fn(|| queue.next(now)).map(|(_, sent)| (Class::Resync, sent)));
            for (class, sent) in sent {
                let is_copy = usize::from(class == Class::Resync);
                free = free.max(now) + [333_333, 2_000_000][is_copy];
                used[is_copy] += if now > 5 * SECOND { [333_333, 2_000_000][is_copy] } else { 0 };
                sent_so_far += 1;
                answers.insert((free + 350_000 + random.below(700_000), sent_so_far), (class, sent, now));
            }
            let Some(((at, _), (class, sent, begun))) = answers.pop_first() else { break };
            now = at;
            let bytes = if class == Class::Resync { 262_144 } else { 8192 };
            let latency = now - begun;
            let done = Done { write: false, bytes, cost: sent.cost, before: sent.before, latency };
            queue.done(class, sent, Some(done), now);
            if class == Class::Resync {
                queue.enter(Class::Resync, sent_so_far, bytes);
            }
        }
        100.0 * used[1] as f64 / (used[0] + used[1]) as f64
    }

    #[test]
    fn large_requests_have_their_part_and_no_more_where_answers_overtake_each_other() {
        for (percent, users, within) in
            [(20, 16, 1.0), (20, 64, 1.0), (20, 256, 1.0), (50, 16, 4.0), (50, 64, 4.0)]
        {
            let part = copied(percent, users);
            assert!((part - percent as f64).abs() <= within, "{part} of {percent} % beside {users} users");
        }
    }

    #[test]
    fn background_work_alone_has_everything() {
        for stated in [true, false] {
            for [_, background] in run(stated, 0, 0, Some(64 << 10), 3) {
                assert!(background > SECOND * 99 / 100);
            }
        }
    }

    #[test]
    fn a_user_never_finds_a_burst_before_him() {
        // One request at a time, and all the time in the world for background work between them.
        let mut queue = Queue::new(rules(true));
        for ticket in 0..100 {
            queue.enter(Class::Destage, ticket, 8192);
        }
        while queue.next(0).is_some() {}
        // 1 ms of requests of 0.1 ms.
        assert_eq!(queue.background(), 10 * queue.device().cost(8192));
        queue.user(8192, 0);
        assert_eq!(queue.next(0), None, "there is no room, and nothing is owed");
    }

    #[test]
    fn gaps_are_filled_for_whom_the_guaranteed_part_is_not_enough() {
        let mut queue = Queue::new(rules(true));
        // The window is ten requests.
        for _ in 0..3 {
            queue.user(8192, 0);
        }
        (0..20).for_each(|ticket| queue.enter(Class::Destage, ticket, 8192));
        let let_through = |queue: &mut Queue| std::iter::from_fn(|| queue.next(0)).count();
        assert_eq!(let_through(&mut queue), 2, "a fifth of the window");
        queue.fill_gaps(true);
        assert_eq!(let_through(&mut queue), 5, "what users leave of it");
    }

    /// Users always fill the device, and lines of a cache always wait: the part of its time that they have.
    fn filled(pays: bool) -> f64 {
        let mut queue = Queue::new(rules(true));
        queue.fills_pay(pays);
        let (mut device, mut used) = (VecDeque::new(), [0_u64; 2]);
        (0..20).for_each(|_| device.push_back((Class::Foreground, queue.user(8192, 0))));
        for ticket in 0..20_000 {
            queue.enter(Class::Fill, ticket, 65_536);
            while let Some((_, sent)) = queue.next(0) {
                device.push_back((Class::Fill, sent));
            }
            let (class, sent) = device.pop_front().expect("users are always there");
            used[usize::from(class == Class::Fill)] += sent.cost;
            queue.done(class, sent, None, 0);
            if class == Class::Foreground {
                device.push_back((Class::Foreground, queue.user(8192, 0)));
            }
        }
        used[1] as f64 / used.iter().sum::<u64>() as f64
    }

    #[test]
    fn filling_has_its_part_while_it_pays_and_a_trial_otherwise() {
        assert!((filled(true) - 0.2).abs() < 0.01, "{}", filled(true));
        assert!((filled(false) - 0.024).abs() < 0.005, "{}", filled(false));
    }

    #[test]
    fn filling_leaves_to_others_what_they_are_guaranteed_beyond_the_usual() {
        let mut queue = Queue::new(rules(true));
        queue.guarantee(60);
        let (mut device, mut used) = (VecDeque::new(), [0_u64; 3]);
        (0..20).for_each(|_| device.push_back((Class::Foreground, queue.user(8192, 0))));
        for ticket in 0..20_000 {
            queue.enter(Class::Fill, 2 * ticket, 65_536);
            queue.enter(Class::Destage, 2 * ticket + 1, 8192);
            while let Some((ticket, sent)) = queue.next(0) {
                device.push_back((if ticket % 2 == 0 { Class::Fill } else { Class::Destage }, sent));
            }
            let (class, sent) = device.pop_front().expect("users are always there");
            let of = [Class::Foreground, Class::Fill, Class::Destage].iter().position(|one| *one == class);
            used[of.expect("one of these")] += sent.cost;
            queue.done(class, sent, None, 0);
            if class == Class::Foreground {
                device.push_back((Class::Foreground, queue.user(8192, 0)));
            }
        }
        // Users are owed four tenths; filling a quarter of what they have.
        let whole = used.iter().sum::<u64>() as f64;
        let [users, fills, destaged] = used.map(|used| used as f64 / whole);
        assert!((users - 0.4).abs() < 0.02 && (fills - 0.1).abs() < 0.02 && destaged > 0.48, "{used:?}");
    }
}
