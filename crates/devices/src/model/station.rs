//! The pure core of `model`: when would the device answer? Servers in parallel, one queue first come, first served,
//! and a volatile cache that is written back when no request waits.
//!
//! The answer to a request follows from the requests before it alone: with one queue and known service times, the
//! next request starts on the server that is free first (Kiefer and Wolfowitz 1955). So each request is asked once, at
//! its arrival, and the shell sleeps once. A device that chooses the nearest of its requests positions faster the more
//! it has; how many those are at the arrival shortens the time, and the order stays.
//!
//! Where reads and writes leave something to do beyond their answers, all servers do that together, one request after the other,
//! for as many requests as there are servers. If each were busy by itself until long after its answer, a few requests at a time
//! would take all servers at once and then wait for all of them at once, at the same mean, again and again.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use fathom_runtime::{Nanos, Random};
use fathom_volume::{Kind, Request};

use super::shape::Sampler;
use super::{Service, ServiceTime};

/// When it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    /// How long the request waits for a server, or for room in the cache.
    pub waited: Nanos,
    /// The instant of the answer.
    pub at: Nanos,
}

pub(super) struct Station {
    service: Service,
    sampler: Sampler,
    random: Random,
    // When each server is free, the earliest first.
    free: BinaryHeap<Reverse<Nanos>>,
    // When the device is done with each of the last requests, as many as there are servers. Of one that is busy longer than until
    // its answers, to reads and to writes.
    done: Option<VecDeque<Nanos>>,
    // Where the last request ended: the one that starts there pays no positioning.
    head: u64,
    // Bytes that a rotating medium writes at least.
    physical_sector: u64,
    // When the heads were there.
    passed: Nanos,
    choice: Option<Choice>,
    cache: Option<Cache>,
}

/// Of requests that a device chooses the next one from.
struct Choice {
    // When each that has a server ends.
    ends: BinaryHeap<Reverse<Nanos>>,
    // What a share that is left of positioning with all of `QUEUE` is raised to, by how many there are.
    powers: [f64; ServiceTime::QUEUE + 1],
}

struct Cache {
    size: u64,
    // Bytes accepted and not yet on the medium, less those promised to writes that wait for room.
    dirty: u64,
    // Accepted, no server yet; in order of arrival.
    queued: VecDeque<Drain>,
    // On a server: when it ends and how many bytes that frees.
    ending: BinaryHeap<Reverse<(Nanos, u64)>>,
    // No write is accepted before this: an earlier one waits for room until then.
    room_from: Nanos,
    // When all that has a server is on the medium.
    last_end: Nanos,
}

struct Drain {
    arrived: Nanos,
    busy: Nanos,
    bytes: u64,
}

impl Station {
    pub fn new(service: Service, physical_sector: u32, random: Random) -> Self {
        let outlasts = |time: &ServiceTime| time.work > time.base || time.work_per_byte > time.per_byte;
        let is_busy_longer = outlasts(&service.read) && outlasts(&service.write);
        let cache = service.volatile_cache.map(|size| Cache {
            size,
            dirty: 0,
            queued: VecDeque::new(),
            ending: BinaryHeap::new(),
            room_from: 0,
            last_end: 0,
        });
        Self {
            sampler: Sampler::new(&service.shape),
            random,
            free: (0..service.servers).map(|_| Reverse(0)).collect(),
            done: (is_busy_longer && cache.is_none()).then(|| vec![0; service.servers as usize].into()),
            head: 0,
            physical_sector: u64::from(physical_sector),
            passed: 0,
            choice: Choice::of(&service),
            cache,
            service,
        }
    }

    /// The answer to a request that arrives at `now`. Arrivals are given in order of time.
    #[inline]
    pub fn ask(&mut self, now: Nanos, kind: Kind, request: &Request) -> Answer {
        if let Some(cache) = &mut self.cache {
            cache.settle(now, &mut self.free);
        }
        if kind == Kind::Flush {
            return self.flush(now);
        }
        let fits = |cache: &Cache| request.length <= cache.size;
        let cached = kind == Kind::Write && !request.fua && self.cache.as_ref().is_some_and(fits);
        let (latency, busy) = self.times(now, kind, request, cached);
        match &mut self.cache {
            Some(cache) if cached => {
                let accepted = cache.accept(now, request.length, busy, &mut self.free);
                Answer { waited: accepted - now, at: accepted + latency }
            }
            cache => {
                let start = match &mut self.done {
                    Some(done) => occupy_together(&mut self.free, done, now, latency, busy),
                    None => occupy(&mut self.free, now, busy),
                };
                self.passed = start + busy;
                if let Some(choice) = &mut self.choice {
                    choice.ends.push(Reverse(start + busy));
                }
                // A write that must be on the medium ends when the server has done with it.
                let forced = cache.is_some() && kind == Kind::Write;
                let span = if forced { busy } else { latency };
                Answer { waited: start - now, at: start + span }
            }
        }
    }

    /// Bytes accepted into the volatile cache and not yet on the medium at `now`.
    #[cfg(test)]
    fn dirty(&mut self, now: Nanos) -> u64 {
        self.cache.as_mut().map_or(0, |cache| {
            cache.settle(now, &mut self.free);
            cache.dirty
        })
    }

    fn flush(&mut self, now: Nanos) -> Answer {
        let drained = self.cache.as_mut().map_or(now, |cache| cache.drain(&mut self.free).max(now));
        Answer { waited: 0, at: drained + self.service.flush }
    }

    // How long the requester waits once a server has the request, or room in the cache, and how long the server is busy.
    #[inline]
    fn times(&mut self, now: Nanos, kind: Kind, request: &Request, cached: bool) -> (Nanos, Nanos) {
        let (time, length) = match kind {
            Kind::Read => (&self.service.read, request.length),
            Kind::Write => (&self.service.write, request.length),
            // Trim and write-zeroes move no data.
            Kind::Trim | Kind::WriteZeroes | Kind::Flush => (&self.service.write, 0),
        };
        let factor = self.sampler.draw(&mut self.random);
        let jumps = request.offset != self.head;
        let ServiceTime { base, per_byte, work, work_per_byte, turn, positioning, seek, queued, .. } = *time;
        let waiting = self.cache.as_ref().map_or(0, |cache| cache.queued.len());
        let left = self.choice.as_mut().map_or(1.0, |choice| choice.left(now, waiting, queued));
        let positioning = match jumps {
            true if seek > 0.0 => (positioning + time.seek_over(request.offset.abs_diff(self.head))) * left,
            true => positioning * left,
            false => 0.0,
        };
        let turning = if turn > 0.0 && kind == Kind::Write {
            self.turning(now, request, (jumps, cached), turn, base * factor)
        } else {
            0.0
        };
        self.head = request.end();
        let moved = length as f64;
        // The heads move when the write goes from the cache to the medium.
        let moving = if cached { 0.0 } else { positioning * factor + turning };
        let latency = base * factor + moving + per_byte * moved;
        let busy = ((work + positioning) * factor + turning + work_per_byte * moved).max(latency);
        (nanos(latency), nanos(busy))
    }

    // How long a write waits for the medium to turn, beyond the half turn of a jump; ns.
    fn turning(
        &self,
        now: Nanos,
        request: &Request,
        (jumps, cached): (bool, bool),
        turn: f64,
        command: f64,
    ) -> f64 {
        let is_whole = |bytes: u64| bytes.is_multiple_of(self.physical_sector);
        if jumps {
            // The rest of a sector is read in one turn, and the whole written in the next.
            return if is_whole(request.offset) && is_whole(request.length) { 0.0 } else { turn };
        }
        // What came while the one before was being written follows it at once, as does what the cache holds.
        if cached || now < self.passed {
            return 0.0;
        }
        turn - ((now - self.passed) as f64 + command) % turn
    }
}

impl Choice {
    /// None of a device that has none.
    fn of(service: &Service) -> Option<Self> {
        let all = (ServiceTime::QUEUE as f64).ln();
        (service.read.queued < 1.0 || service.write.queued < 1.0).then(|| Self {
            ends: BinaryHeap::new(),
            powers: std::array::from_fn(|count| (count.max(1) as f64).ln() / all),
        })
    }

    /// What is left of positioning for one that arrives at `now`, with so many write-backs waiting.
    fn left(&mut self, now: Nanos, waiting: usize, queued: f64) -> f64 {
        while self.ends.peek().is_some_and(|Reverse(end)| *end <= now) {
            self.ends.pop();
        }
        queued.powf(self.powers[(self.ends.len() + waiting + 1).min(ServiceTime::QUEUE)])
    }
}

/// To the nearest; `time` is not negative. By way of i64, which is one instruction where u64 and `round` are many.
#[inline]
fn nanos(time: f64) -> Nanos {
    (time + 0.5) as i64 as Nanos
}

/// Gives the server that is free first to a request that is ready at `ready`; when it starts.
#[inline]
fn occupy(free: &mut BinaryHeap<Reverse<Nanos>>, ready: Nanos, busy: Nanos) -> Nanos {
    let mut first = free.peek_mut().expect("a station has at least one server");
    let start = first.0.max(ready);
    *first = Reverse(start + busy);
    start
}

/// Gives the server that is free first to a request that is ready at `now`, as soon as the device is done with the one as many
/// before it as there are servers; when it starts.
#[inline]
fn occupy_together(
    free: &mut BinaryHeap<Reverse<Nanos>>,
    done: &mut VecDeque<Nanos>,
    now: Nanos,
    latency: Nanos,
    busy: Nanos,
) -> Nanos {
    let last = done.back().copied().expect("a station has at least one server");
    let room = done.pop_front().expect("just seen");
    let start = occupy(free, now.max(room), latency);
    done.push_back(last.max(start) + (busy + done.len() as Nanos / 2) / (done.len() as Nanos + 1));
    start
}

impl Cache {
    /// What happened up to `now`: write-back started wherever a server was free, and made room where it ended.
    fn settle(&mut self, now: Nanos, free: &mut BinaryHeap<Reverse<Nanos>>) {
        while let Some(drain) = self.queued.front() {
            let first = free.peek().map_or(0, |server| server.0);
            if first.max(drain.arrived) >= now {
                break;
            }
            self.start_drain(free);
        }
        while let Some(Reverse((end, bytes))) = self.ending.peek().copied()
            && end <= now
        {
            self.ending.pop();
            self.dirty -= bytes;
        }
    }

    /// Gives the oldest queued write-back a server, ahead of requests that come later.
    fn start_drain(&mut self, free: &mut BinaryHeap<Reverse<Nanos>>) {
        let Some(Drain { arrived, busy, bytes }) = self.queued.pop_front() else { return };
        let end = occupy(free, arrived, busy) + busy;
        self.ending.push(Reverse((end, bytes)));
        self.last_end = self.last_end.max(end);
    }

    /// Starts everything; when it is all on the medium.
    fn drain(&mut self, free: &mut BinaryHeap<Reverse<Nanos>>) -> Nanos {
        while !self.queued.is_empty() {
            self.start_drain(free);
        }
        self.last_end
    }

    /// Takes a write in; when there is room for it.
    fn accept(
        &mut self,
        now: Nanos,
        bytes: u64,
        busy: Nanos,
        free: &mut BinaryHeap<Reverse<Nanos>>,
    ) -> Nanos {
        while self.dirty + bytes > self.size {
            if self.ending.is_empty() {
                self.start_drain(free);
            }
            let Some(Reverse((end, freed))) = self.ending.pop() else { break };
            self.dirty -= freed;
            self.room_from = self.room_from.max(end);
        }
        self.dirty += bytes;
        let accepted = now.max(self.room_from);
        self.queued.push_back(Drain { arrived: accepted, busy, bytes });
        accepted
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use fathom_runtime::{MILLISECOND, Nanos, Random};
    use fathom_volume::{Kind, Request};
    use proptest::prelude::*;

    use super::super::shape::Shape;
    use super::super::{Service, ServiceTime};
    use super::{Answer, Station};

    fn service(servers: u32, volatile_cache: Option<u64>) -> Service {
        let read = ServiceTime::new(MILLISECOND, None);
        // Into the cache in 0.1 ms, on the medium in 2 ms.
        let write = ServiceTime { base: 1e5, work: 2e6, ..read };
        Service { read, write, flush: 50, servers, shape: Shape::Constant, volatile_cache }
    }

    fn station(service: Service) -> Station {
        Station::new(service, 512, Random::new(1, "station"))
    }

    fn ask(station: &mut Station, now: Nanos, kind: Kind) -> Answer {
        station.ask(now, kind, &Request::new(0, 4096))
    }

    proptest! {
        #[test]
        fn first_come_first_served_and_no_server_idles_while_one_waits(
            servers in 1_u32..6, gaps in prop::collection::vec(0_u64..1_000_000, 1..200), seed: u64
        ) {
            let shape = Shape::Exponential;
            let mut station = Station::new(Service { shape, ..service(servers, None) }, 512, Random::new(seed, "s"));
            let mut now = 0;
            // Arrival, start and end of each read; a read's server is busy until its answer.
            let mut spans: Vec<(Nanos, Nanos, Nanos)> = Vec::new();
            for gap in gaps {
                now += gap;
                let answer = ask(&mut station, now, Kind::Read);
                spans.push((now, now + answer.waited, answer.at));
            }
            prop_assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].1), "one overtook another");
            for &(arrival, start, _) in &spans {
                let busy_at = |at: Nanos| spans.iter().filter(|span| span.1 <= at && at < span.2).count();
                prop_assert!(busy_at(start) <= servers as usize);
                if start > arrival {
                    prop_assert_eq!(busy_at(arrival), servers as usize);
                    prop_assert_eq!(busy_at(start - 1), servers as usize);
                }
            }
        }

        #[test]
        fn a_volatile_cache_holds_no_more_than_its_size_and_drains_at_the_mediums_pace(
            servers in 1_u32..4, gaps in prop::collection::vec(0_u64..3_000_000, 1..300)
        ) {
            let (size, bytes) = (10 * 4096, 4096);
            let mut station = station(service(servers, Some(size)));
            let (mut now, mut last) = (0, 0);
            let mut accepted = Vec::new();
            for gap in &gaps {
                now += gap;
                let answer = ask(&mut station, now, Kind::Write);
                prop_assert!(station.dirty(now) <= size);
                prop_assert!(answer.at >= last, "one write overtook another");
                last = answer.at;
                accepted.push(now + answer.waited);
            }
            // In any window, what was accepted fits the room there was and what the servers can have drained.
            for (first, start) in accepted.iter().enumerate() {
                for (count, end) in accepted[first..].iter().enumerate() {
                    let drained = (end - start).div_ceil(2 * MILLISECOND) * u64::from(servers);
                    prop_assert!((count as u64 + 1) <= size / bytes + drained + u64::from(servers));
                }
            }
            let flushed = ask(&mut station, now, Kind::Flush).at;
            prop_assert_eq!(station.dirty(flushed), 0);
        }
    }

    /// A drive of 575 MB/s that reads 256 KiB in 0.55 ms: with four at a time the transfers take turns.
    #[test]
    fn large_requests_of_a_few_users_are_answered_evenly_at_the_pace_of_the_transfers() {
        let time = ServiceTime {
            base: 1e5,
            per_byte: 1.7,
            work: 2e4,
            work_per_byte: 21.0,
            ..ServiceTime::new(0, None)
        };
        let both = Service { read: time, write: time, servers: 12, ..service(12, None) };
        let mut station = station(both);
        let ask = |station: &mut Station, now| station.ask(now, Kind::Read, &Request::new(0, 256 << 10)).at;
        let mut flying: BinaryHeap<Reverse<Nanos>> = (0..4).map(|_| Reverse(ask(&mut station, 0))).collect();
        let (mut latencies, mut now) = (Vec::new(), 0);
        for _ in 0..2000 {
            Reverse(now) = flying.pop().expect("four are on their way");
            let answer = ask(&mut station, now);
            latencies.push(answer - now);
            flying.push(Reverse(answer));
        }
        let pace = 2000.0 / now as f64 * (2e4 + 21.0 * f64::from(256 << 10)) / 12.0;
        assert!((pace - 1.0).abs() < 0.02, "{pace} of what the servers do");
        // The first dozen is taken at once; after that all wait alike.
        let even = 4.0 * (2e4 + 21.0 * f64::from(256 << 10)) / 12.0;
        for latency in &latencies[20..] {
            assert!((*latency as f64 / even - 1.0).abs() < 0.05, "{latency} ns instead of {even}");
        }
    }

    #[test]
    fn a_full_cache_accepts_at_the_pace_of_the_medium() {
        let mut station = station(service(2, Some(4 * 4096)));
        let answers: Vec<Nanos> = (0..100).map(|_| ask(&mut station, 0, Kind::Write).at).collect();
        assert_eq!(answers[..4], [100_000; 4]);
        // Two servers, 2 ms each: 96 writes wait for room, two every 2 ms.
        assert_eq!(answers[99], 48 * 2_000_000 + 100_000);
    }

    #[test]
    fn reads_go_before_queued_write_back_until_a_flush() {
        let mut station = station(service(1, Some(1 << 20)));
        for _ in 0..10 {
            ask(&mut station, 0, Kind::Write);
        }
        // One write-back began at 0 and holds the server to 2 ms; the nine others give way.
        let read = ask(&mut station, 1_000_000, Kind::Read);
        assert_eq!((read.waited, read.at), (1_000_000, 3_000_000));
        let flush = ask(&mut station, 1_000_000, Kind::Flush);
        assert_eq!(flush.at, 3_000_000 + 9 * 2_000_000 + 50);
        assert_eq!(ask(&mut station, 1_000_000, Kind::Read).at, flush.at - 50 + 1_000_000);
    }

    #[test]
    fn fua_waits_for_the_medium_and_an_idle_flush_for_nothing() {
        let mut station = station(service(1, Some(1 << 20)));
        assert_eq!(station.ask(0, Kind::Write, &Request::new(0, 4096).with_fua(true)).at, 2_000_000);
        assert_eq!(ask(&mut station, 5_000_000, Kind::Flush).at, 5_000_050);
    }

    #[test]
    fn only_a_jump_pays_for_positioning() {
        let mut disk = service(1, None);
        disk.read.positioning = 8e6;
        let mut station = station(disk);
        let mut read = |now, offset| station.ask(now, Kind::Read, &Request::new(offset, 4096)).at - now;
        assert_eq!(read(0, 8192), 9_000_000);
        assert_eq!(read(10_000_000, 12288), 1_000_000);
        assert_eq!(read(20_000_000, 0), 9_000_000);
    }

    #[test]
    fn a_seek_grows_with_the_root_of_its_distance() {
        let mut disk = service(1, None);
        (disk.read.seek, disk.read.span) = (8e6, 4e12);
        let mean = |area: u64| {
            let mut random = Random::new(7, "places");
            let mut at = 0;
            let mut over = || {
                let next = random.below(area);
                let time = disk.read.seek_over(next.abs_diff(std::mem::replace(&mut at, next)));
                time / 8e6
            };
            (0..20_000).map(|_| over()).sum::<f64>() / 20_000.0
        };
        assert!((mean(4_000_000_000_000) - 1.0).abs() < 0.01, "of the whole drive it is the average seek");
        assert!((0.1..0.12).contains(&mean(1 << 30)), "within a GiB hardly more than the least move");
        let mut station = station(disk);
        let mut read = |now, offset| station.ask(now, Kind::Read, &Request::new(offset, 4096)).at - now;
        assert_eq!(read(0, 0), 1_000_000);
        assert_eq!(read(10_000_000, 4096), 1_000_000, "no move");
        assert!((15_000_000..16_000_000).contains(&read(20_000_000, 4_000_000_000_000)), "a full stroke");
    }

    #[test]
    fn a_choice_of_requests_shortens_positioning_and_none_does_not() {
        let mut disk = service(1, None);
        (disk.read.positioning, disk.read.queued) = (8e6, 0.4);
        let mut station = station(disk);
        let mut spans = (0..64).map(|place| {
            let answer = station.ask(0, Kind::Read, &Request::new(place << 20, 4096));
            answer.at - answer.waited
        });
        // The first request begins where the heads are.
        assert_eq!(spans.next(), Some(1_000_000));
        let jumps: Vec<Nanos> = spans.collect();
        assert_eq!(jumps[0], 1_000_000 + (8e6 * 0.4_f64.powf(0.2)).round() as Nanos, "two of 32");
        assert!(jumps.is_sorted_by(|a, b| a >= b));
        assert_eq!(jumps[30..], [4_200_000; 33], "all 32 and more");
        assert_eq!(station.ask(1_000_000_000, Kind::Read, &Request::new(0, 4096)).at, 1_009_000_000);
    }

    /// Turns of 8 ms; the command takes 0.1 ms, a sector passes in no time.
    fn rotating(volatile_cache: Option<u64>) -> Station {
        let mut disk = service(1, volatile_cache);
        disk.write = ServiceTime { turn: 8e6, ..ServiceTime::new(MILLISECOND / 10, None) };
        Station::new(disk, 4096, Random::new(1, "station"))
    }

    #[test]
    fn one_write_after_the_other_waits_for_its_place_to_come_round() {
        let mut disk = rotating(Some(1 << 20));
        let mut write = |now: Nanos, place: u64| {
            disk.ask(now, Kind::Write, &Request::new(4096 * place, 4096).with_fua(true)).at
        };
        let first = write(0, 1);
        assert_eq!(first, 100_000);
        assert_eq!(write(first, 2), first + 8 * MILLISECOND, "a turn later, whatever the pause");
        assert_eq!(write(first + 8_020_000, 3), first + 16 * MILLISECOND);
        assert_eq!(
            write(first + 15 * MILLISECOND, 4),
            first + 16 * MILLISECOND + 100_000,
            "it was there in time"
        );
    }

    #[test]
    fn a_part_of_a_sector_is_read_in_one_turn_and_written_in_the_next() {
        let mut disk = rotating(None);
        let mut write = |now, offset| disk.ask(now, Kind::Write, &Request::new(offset, 512)).at - now;
        assert_eq!(write(0, 1 << 20), 8_100_000);
        assert_eq!(write(30 * MILLISECOND, 8704), 8_100_000);
        let cached = rotating(Some(1 << 20)).ask(0, Kind::Write, &Request::new(8704, 512)).at;
        assert_eq!(cached, 100_000, "the cache pays later");
    }

    #[test]
    fn a_write_into_the_cache_waits_for_no_heads() {
        let mut disk = service(1, Some(1 << 20));
        disk.write.positioning = 8e6;
        let mut station = station(disk);
        let write = |offset| Request::new(offset, 4096);
        assert_eq!(station.ask(0, Kind::Write, &write(8192)).at, 100_000);
        assert_eq!(station.ask(0, Kind::Flush, &write(0)).at, 10_000_050);
        assert_eq!(station.ask(20_000_000, Kind::Write, &write(0).with_fua(true)).at, 30_000_000);
    }
}
