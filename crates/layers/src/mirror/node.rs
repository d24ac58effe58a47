//! A mirror before and while it is open: it opens when the executor first runs, and every request waits for that.

use std::cell::RefCell;
use std::rc::Rc;

use fathom_runtime::Nanos;
use fathom_volume::{Class, Env, Handle, Result};

use super::config::Config;
use super::live::{Counts, Leg, Live, Standing};
use super::membership::{Accepted, setting};
use super::open::{Parts, open};
use super::superblock::{Generation, Layout};
use crate::opening::Opening;
use crate::tap::{Owner, tap};

/// One mirror of a stack.
pub struct Node {
    name: String,
    opening: Opening<Live>,
}

/// Every mirror of one stack.
#[derive(Default)]
struct Mirrors(RefCell<Vec<Rc<Node>>>);

/// Every mirror of this stack, each after the volumes below it.
pub fn mirrors(env: &Env) -> Vec<Rc<Node>> {
    env.shared::<Mirrors>("mirrors", Mirrors::default).0.borrow().clone()
}

/// What a leg is and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegStatus {
    /// Its name in the settings.
    pub name: String,
    /// Its state.
    pub standing: Standing,
    /// Device time that users took of it while something was rebuilt, ns by the leg's figures.
    pub used_by_users: Nanos,
    /// The same of the rebuild.
    pub used_by_resync: Nanos,
    /// Why it was dropped last, or was not there; empty if it never was.
    pub why: String,
}

/// A mirror's status. Sizes are bytes, times ns.
#[derive(Debug, Clone)]
pub struct Status {
    /// Which generation it is in.
    pub generation: Generation,
    /// By the order in the settings.
    pub legs: Vec<LegStatus>,
    /// Bytes of regions that may differ.
    pub dirty: u64,
    /// Bytes of regions left to copy.
    pub left: u64,
    /// Bytes per second copied lately; 0 if nothing is.
    pub rate: u64,
    /// How long the rebuild takes at that rate; None if nothing is rebuilt or nothing is known.
    pub eta: Option<Nanos>,
    /// Counters since it was opened.
    pub counts: Counts,
}

/// A mirror that opens as soon as the executor runs.
pub(super) fn join(
    env: &Env,
    name: &str,
    config: &Config,
    layout: Layout,
    legs: Vec<Handle>,
) -> Result<Rc<Node>> {
    let owner = Owner::<Live>::default();
    let tap = tap(env, name, layout.size, &owner)?;
    let node = Rc::new(Node { name: name.to_owned(), opening: Opening::default() });
    env.shared::<Mirrors>("mirrors", Mirrors::default).0.borrow_mut().push(Rc::clone(&node));
    let parts = Parts {
        context: env.context.clone(),
        pool: env.pool.clone(),
        name: name.to_owned(),
        settings: config.settings.clone(),
        layout,
        legs,
        tap,
        for_reading: env.is_for_reading(),
    };
    let joined = Rc::clone(&node);
    let for_reading = env.is_for_reading();
    env.context.spawn(async move {
        let live = open(parts).await.map(Rc::new);
        if let Ok(live) = &live {
            let _ = owner.set(Rc::downgrade(live));
            if !for_reading {
                live.start();
            }
        }
        joined.opening.give(live);
    });
    Ok(node)
}

impl Node {
    /// The mirror's name in the settings.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The open mirror.
    ///
    /// # Errors
    /// Why it could not be opened, with the remedy.
    pub(super) async fn live(&self) -> Result<Rc<Live>> {
        self.opening.get().await
    }

    /// The mirror, if it is open by now.
    pub(super) fn now(&self) -> Option<Rc<Live>> {
        self.opening.now()
    }

    /// Waits until the mirror is open.
    ///
    /// # Errors
    /// Why it could not be opened, with the remedy.
    pub async fn ready(&self) -> Result<()> {
        self.live().await.map(drop)
    }

    /// What is worth knowing before a start, of a mirror [for reading](Env::for_reading).
    ///
    /// # Errors
    /// Why a start is refused, with the remedy.
    pub async fn check(&self) -> Result<Vec<String>> {
        let live = self.live().await?;
        if live.newest.borrow().current == Generation::default() {
            return Ok(vec!["it was not made yet; its first start makes it".to_owned()]);
        }
        let note = |leg: &Leg| match leg.standing.get() {
            Standing::InSync => None,
            Standing::Rebuilding => Some(format!("leg `{}` will be rebuilt", leg.handle.name())),
            Standing::Away => {
                Some(format!("leg `{}` is not there; the others serve without it", leg.handle.name()))
            }
        };
        Ok(live.legs.iter().filter_map(note).collect())
    }

    /// Flushes every leg and takes the bits of equal regions off, so that the next opening copies nothing of what was
    /// written before this call. The mirror stays open.
    ///
    /// # Errors
    /// If it could not be opened, or no leg in sync can be flushed.
    pub async fn rest(&self) -> Result<()> {
        self.live().await?.rest().await
    }

    /// The planned end: as [`Node::rest`], and the next opening can distinguish the legs from copies made before this call.
    ///
    /// # Errors
    /// As [`Node::rest`].
    pub async fn close(&self) -> Result<()> {
        self.live().await?.close().await
    }

    /// Waits until every leg that is there is in sync.
    ///
    /// # Errors
    /// If it could not be opened.
    pub async fn rebuilt(&self) -> Result<()> {
        let live = self.live().await?;
        loop {
            let wait = live.changed.wait();
            if !live.rebuilding() {
                return live.settle().await;
            }
            wait.await;
        }
    }

    /// What its settings accept, as it is written there; None if that is nothing, or it is not open.
    pub fn accepted(&self) -> Option<String> {
        let live = self.now()?;
        let Accepted { force, discard } = &live.settings.accepted;
        let force = force.as_ref().map(|force| format!("force = \"{force}\""));
        let told: Vec<String> =
            force.into_iter().chain((!discard.is_empty()).then(|| setting(discard))).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }

    /// Waits until something may have become of a leg; forever if it is not open.
    pub async fn changed(&self) {
        match self.now() {
            Some(live) => live.changed.wait().await,
            None => std::future::pending().await,
        }
    }

    /// Its status; None until it is open.
    pub fn status(&self) -> Option<Status> {
        let live = self.now()?;
        let regions = live.regions.borrow();
        let bytes = |count: usize| (count as u64 * live.settings.region).min(live.layout.size);
        let left = if live.rebuilding() { bytes(regions.left()) } else { 0 };
        let rate = if left > 0 { live.rate() } else { 0 };
        let leg = |leg: &Leg| LegStatus {
            name: leg.handle.name().to_owned(),
            // A leg that the others do not know as being in sync yet does not count yet.
            standing: if leg.standing.get() == Standing::InSync && !leg.counts() {
                Standing::Rebuilding
            } else {
                leg.standing.get()
            },
            used_by_users: leg.gate.usage().of(Class::Foreground),
            used_by_resync: leg.gate.usage().of(Class::Resync),
            why: leg.why.borrow().clone(),
        };
        Some(Status {
            generation: live.newest.borrow().current,
            legs: live.legs.iter().map(leg).collect(),
            dirty: bytes(regions.dirty()),
            left,
            rate,
            eta: (rate > 0).then(|| (u128::from(left) * 1_000_000_000 / u128::from(rate)) as Nanos),
            counts: live.counts.get(),
        })
    }
}

impl Live {
    /// Bytes per second copied in the last ten seconds.
    fn rate(&self) -> u64 {
        let progress = self.progress.borrow();
        let (Some((begun, before)), total) = (progress.front(), self.counts.get().resync_bytes) else {
            return 0;
        };
        let span = self.context.now().saturating_sub(*begun);
        if span == 0 { 0 } else { (u128::from(total - before) * 1_000_000_000 / u128::from(span)) as u64 }
    }
}
