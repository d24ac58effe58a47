//! Servers with a queue, for instance the processors that the sessions of a database share.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::select::first;
use crate::sync::{Oneshot, Semaphore, Signal};
use crate::{Context, Nanos};

/// Who is served when there are more requests than servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discipline {
    /// First come, first served.
    Fifo,
    /// Everyone at once, each at an equal part of the servers' pace and at most at that of one server.
    Shared,
}

/// What a station has done since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Requests that came.
    pub arrived: u64,
    /// Time of busy servers, added up, ns.
    pub busy: Nanos,
    /// Time of requests beyond the number of servers, added up, ns.
    pub queued: Nanos,
    /// Most requests at once.
    pub most: u32,
}

impl Usage {
    /// The part of `servers` servers that was busy over a span, ns; 0 to 1.
    pub fn utilisation(&self, servers: u32, span: Nanos) -> f64 {
        if span == 0 { 0.0 } else { self.busy as f64 / (span as f64 * f64::from(servers)) }
    }

    /// Requests that waited for a server over a span, ns, on average.
    pub fn mean_queue(&self, span: Nanos) -> f64 {
        if span == 0 { 0.0 } else { self.queued as f64 / span as f64 }
    }
}

/// Equal servers with one queue; clones are the same station.
#[derive(Clone)]
pub struct Station(Rc<Inner>);

struct Inner {
    context: Context,
    servers: u32,
    discipline: Discipline,
    free: Semaphore,
    sharing: RefCell<Sharing>,
    changed: Signal,
    present: Cell<u32>,
    usage: Cell<Usage>,
    since: Cell<Nanos>,
}

/// Requests that share the servers. Each ends when `attained`, what one that was always there would have got, is what it was
/// at its arrival and its work.
#[derive(Default)]
struct Sharing {
    attained: f64,
    since: Nanos,
    // By the bits of that end, which are ordered as the positive numbers are, then by arrival.
    ends: BTreeMap<(u64, u64), Rc<Oneshot<()>>>,
    driven: bool,
}

impl Station {
    /// A station with that many servers, at least one.
    pub fn new(context: &Context, servers: u32, discipline: Discipline) -> Self {
        assert!(servers > 0, "a station has at least one server");
        Self(Rc::new(Inner {
            context: context.clone(),
            servers,
            discipline,
            free: Semaphore::new(servers as usize),
            sharing: RefCell::default(),
            changed: Signal::default(),
            present: Cell::new(0),
            usage: Cell::default(),
            since: Cell::new(context.now()),
        }))
    }

    /// Waits until a server has done that much work, in ns of one server.
    pub async fn serve(&self, work: Nanos) {
        let _present = self.enter();
        match self.0.discipline {
            Discipline::Fifo => {
                let _server = self.0.free.acquire().await;
                self.0.context.sleep(work).await;
            }
            Discipline::Shared => self.share(work).await,
        }
    }

    /// What it has done up to now.
    pub fn usage(&self) -> Usage {
        self.count(0);
        self.0.usage.get()
    }

    /// Adds up to now, then changes the number of requests.
    fn count(&self, change: i32) {
        let now = self.0.context.now();
        let (span, present) = (now - self.0.since.replace(now), self.0.present.get());
        let busy = present.min(self.0.servers);
        let after = present.saturating_add_signed(change);
        let mut usage = self.0.usage.get();
        usage.busy += span * u64::from(busy);
        usage.queued += span * u64::from(present - busy);
        usage.arrived += u64::from(change > 0);
        usage.most = usage.most.max(after);
        self.0.usage.set(usage);
        self.0.present.set(after);
    }

    fn enter(&self) -> CountedCustomer<'_> {
        self.count(1);
        CountedCustomer(self)
    }

    async fn share(&self, work: Nanos) {
        let done = Rc::new(Oneshot::default());
        let key = {
            let mut sharing = self.0.sharing.borrow_mut();
            sharing.pass(self.0.context.now(), self.0.servers);
            let key = ((sharing.attained + work as f64).to_bits(), self.0.usage.get().arrived);
            sharing.ends.insert(key, Rc::clone(&done));
            if !std::mem::replace(&mut sharing.driven, true) {
                self.0.context.spawn(self.clone().drive());
            }
            key
        };
        self.0.changed.notify();
        let _place = Slot { station: self, key };
        done.wait().await;
    }

    /// Ends requests when they are done, as long as there are any.
    async fn drive(self) {
        loop {
            let changed = self.0.changed.wait();
            let span = {
                let mut sharing = self.0.sharing.borrow_mut();
                sharing.pass(self.0.context.now(), self.0.servers);
                match sharing.next(self.0.servers) {
                    Some(span) => span,
                    None => return *sharing = Sharing::default(),
                }
            };
            first(self.0.context.sleep(span), changed).await;
        }
    }
}

impl Sharing {
    fn pace(&self, servers: u32) -> f64 {
        (f64::from(servers) / self.ends.len() as f64).min(1.0)
    }

    /// What was attained up to now.
    fn pass(&mut self, now: Nanos, servers: u32) {
        if !self.ends.is_empty() {
            self.attained += (now - self.since) as f64 * self.pace(servers);
        }
        self.since = now;
    }

    /// Completes finished customers; ns until the next one finishes, if any is left.
    fn next(&mut self, servers: u32) -> Option<Nanos> {
        loop {
            let end = f64::from_bits(self.ends.first_key_value()?.0.0);
            // A thousandth of a nanosecond covers the rounding.
            if end > self.attained + 1e-3 {
                return Some(((end - self.attained) / self.pace(servers)).ceil() as Nanos);
            }
            if let Some((_, done)) = self.ends.pop_first() {
                done.give(());
            }
        }
    }
}

/// A customer of the station, counted until it is dropped.
struct CountedCustomer<'a>(&'a Station);

impl Drop for CountedCustomer<'_> {
    fn drop(&mut self) {
        self.0.count(-1);
    }
}

/// A request that shares the servers; dropped, it leaves them to the others.
struct Slot<'a> {
    station: &'a Station,
    key: (u64, u64),
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut sharing = self.station.0.sharing.borrow_mut();
        if sharing.ends.contains_key(&self.key) {
            sharing.pass(self.station.0.context.now(), self.station.0.servers);
            sharing.ends.remove(&self.key);
            self.station.0.changed.notify();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Discipline, Station};
    use crate::{Nanos, Runtime, within};

    /// Serves (arrival, work) pairs; when each ends, with the usage at the end.
    fn run(servers: u32, discipline: Discipline, requests: &[(Nanos, Nanos)]) -> (Vec<Nanos>, super::Usage) {
        let runtime = Runtime::virtual_time(1);
        let context = runtime.context();
        let station = Station::new(&context, servers, discipline);
        let begun: Vec<_> = requests
            .iter()
            .map(|(at, work)| {
                let (station, context, at, work) = (station.clone(), context.clone(), *at, *work);
                context.clone().spawn(async move {
                    context.sleep_until(at).await;
                    station.serve(work).await;
                    context.now()
                })
            })
            .collect();
        let ends = runtime.block_on(async {
            let mut ends = Vec::new();
            for request in begun {
                ends.push(request.await);
            }
            ends
        });
        (ends.expect("nothing waits for ever"), station.usage())
    }

    #[test]
    fn first_come_first_served() {
        let (ends, usage) = run(2, Discipline::Fifo, &[(0, 10), (1, 10), (2, 10), (3, 1)]);
        assert_eq!(ends, [10, 11, 20, 12]);
        assert_eq!((usage.arrived, usage.busy, usage.queued, usage.most), (4, 31, 8 + 8, 4));
        assert!((usage.utilisation(2, 20) - 31.0 / 40.0).abs() < 1e-12 && usage.mean_queue(20) == 0.8);
    }

    #[test]
    fn shared_servers_give_everyone_an_equal_part() {
        assert_eq!(run(1, Discipline::Shared, &[(0, 10), (0, 30)]).0, [20, 40]);
        assert_eq!(run(1, Discipline::Shared, &[(0, 10), (5, 10)]).0, [15, 20]);
        assert_eq!(run(2, Discipline::Shared, &[(0, 10), (0, 10), (0, 10)]).0, [15, 15, 15]);
        // Nobody is faster than one server.
        let (ends, usage) = run(4, Discipline::Shared, &[(0, 10), (5, 10), (100, 7)]);
        assert_eq!(ends, [10, 15, 107]);
        assert_eq!((usage.busy, usage.queued), (27, 0));
    }

    #[test]
    fn who_gives_up_leaves_the_servers_to_the_others() {
        for (discipline, end) in [(Discipline::Fifo, 20), (Discipline::Shared, 16)] {
            let runtime = Runtime::virtual_time(1);
            let context = runtime.context();
            let station = Station::new(&context, 1, discipline);
            let (other, later) = (station.clone(), context.clone());
            let given_up = context.spawn(async move { within(&later, 10, other.serve(1000)).await });
            let done = runtime.block_on(async {
                context.sleep(1).await;
                station.serve(10).await;
                (context.now(), given_up.await)
            });
            assert_eq!(done, Ok((end, None)), "{discipline:?}");
            assert_eq!(station.usage().busy, end);
        }
    }

    /// With equal work and random arrivals at half the pace of one server a request takes 1.5 times its work in a queue
    /// (Pollaczek and Khinchine), and twice its work where all are served at once, whatever the distribution of the work.
    #[test]
    fn the_means_are_those_of_queueing_theory() {
        for (discipline, expected) in [(Discipline::Fifo, 1.5), (Discipline::Shared, 2.0)] {
            let runtime = Runtime::virtual_time(7);
            let mut random = runtime.context().random("arrivals");
            let mut at = 0.0;
            let requests: Vec<(Nanos, Nanos)> = (0..40_000)
                .map(|_| {
                    at += random.exponential(20_000.0);
                    (at as Nanos, 10_000)
                })
                .collect();
            let (ends, usage) = run(1, discipline, &requests);
            let taken: u64 = ends.iter().zip(&requests).map(|(end, (begin, _))| end - begin).sum();
            let mean = taken as f64 / requests.len() as f64 / 10_000.0;
            assert!((mean / expected - 1.0).abs() < 0.05, "{discipline:?}: {mean}");
            let last = ends.iter().copied().max().unwrap_or(0);
            assert!((usage.utilisation(1, last) - 0.5).abs() < 0.02);
        }
    }
}
