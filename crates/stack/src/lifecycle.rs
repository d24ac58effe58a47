//! What a stack does between being built and being dropped: it opens, drains, closes. Nodes that keep something beyond
//! the requests they have answered (write-back groups, mirrors) take part; pools open; to all others a flush is enough.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use fathom_layers::mirror::{self, Node as Mirror, Standing, Status as MirrorStatus};
use fathom_layers::pool::{self, Node as Pool};
use fathom_layers::stripe;
use fathom_layers::writeback::{self, Group, Status};
use fathom_volume::{Class, Env, Handle, Request, Result};

use crate::cut_short::Shapes;

fn on_a_stripe(leg: &str, stripe: &str) -> String {
    format!(
        "leg `{leg}` lies on stripe `{stripe}`: another disk in the place of one of its members, blank or an older copy, is not \
         noticed, and what it lacks is not copied. Put mirrors below the stripe instead, or make each leg a pool"
    )
}

/// The life of one stack; cheap to clone. Its executor must run for anything to happen.
#[derive(Clone)]
pub struct Lifecycle {
    groups: Vec<Rc<Group>>,
    mirrors: Vec<Rc<Mirror>>,
    pools: Vec<Rc<Pool>>,
    nodes: Rc<[Handle]>,
    shapes: Rc<Shapes>,
}

impl Lifecycle {
    pub(crate) fn of(env: &Env, nodes: &[Handle], shapes: &Shapes) -> Self {
        Self {
            groups: writeback::groups(env),
            mirrors: mirror::mirrors(env),
            pools: pool::pools(env),
            nodes: nodes.into(),
            shapes: Rc::new(shapes.clone()),
        }
    }

    /// Every mirror, each after the volumes below it.
    pub fn mirror_nodes(&self) -> &[Rc<Mirror>] {
        &self.mirrors
    }

    /// Legs that mirrors and caches can do without, and the volumes below them.
    fn left_behind(&self) -> BTreeSet<String> {
        let legs = self.mirrors().flat_map(|(_, status)| status.legs);
        let away = legs.filter(|leg| leg.standing == Standing::Away).map(|leg| leg.name);
        let caches = self.groups().flat_map(|(_, status)| status.legs);
        let behind = caches.filter(|leg| leg.standing == writeback::Standing::Behind).map(|leg| leg.name);
        self.shapes.with_all_below(away.chain(behind).collect(), |_| true)
    }

    /// Waits until every node can serve requests.
    ///
    /// # Errors
    /// The first that cannot, with the remedy: a cache or a leg that is missing, stale or another's.
    pub async fn ready(&self) -> Result<()> {
        self.opened().await.map_err(|error| self.shapes.name_devices(error))
    }

    async fn opened(&self) -> Result<()> {
        let legs = self.legs();
        // What becomes of a leg is for its mirror to say.
        for pool in self.pools.iter().filter(|pool| !legs.contains(pool.name())) {
            pool.ready().await?;
        }
        for mirror in &self.mirrors {
            mirror.ready().await?;
        }
        for group in &self.groups {
            group.ready().await.map_err(|error| error.at(group.name()))?;
        }
        Ok(())
    }

    /// Makes everything answered durable where it is: every node is flushed, from the top down, legs by their mirror. What a
    /// mirror or a cache has left behind counts for nothing.
    ///
    /// # Errors
    /// The first that fails; the others are flushed all the same.
    pub async fn flush(&self) -> Result<()> {
        self.flush_counting(&Cell::default()).await
    }

    /// The legs of all mirrors.
    pub(crate) fn legs(&self) -> BTreeSet<String> {
        self.mirrors.iter().flat_map(|mirror| self.shapes.children(mirror.name())).collect()
    }

    /// Volumes that a mirror flushes by its own flush, which knows what becomes of a leg that fails.
    fn flushed_by_mirrors(&self) -> BTreeSet<String> {
        // A cache's flush ends in the cache.
        let is_cache = |node: &Handle| node.kind() == writeback::KIND.name;
        let passes_on = |name: &str| !self.nodes.iter().any(|node| node.name() == name && is_cache(node));
        self.shapes.with_all_below(self.legs().into_iter().collect(), passes_on)
    }

    async fn flush_counting(&self, done: &Cell<u64>) -> Result<()> {
        let mut first = Ok(());
        let by_mirrors = self.flushed_by_mirrors();
        for node in self.nodes.iter().rev().filter(|node| !by_mirrors.contains(node.name())) {
            let flushed = node.flush(Request::flush()).await;
            done.set(done.get() + 1);
            // Looked at afterwards: a flush of the mirror may be what leaves a leg behind.
            if flushed.is_err() && !self.left_behind().contains(node.name()) {
                first = first.and(flushed);
            }
        }
        first
    }

    /// Waits until the backing volumes hold everything that was answered before this call. Requests continue.
    ///
    /// # Errors
    /// As [`Lifecycle::flush`].
    pub async fn drain(&self) -> Result<()> {
        self.drain_counting(&Cell::default()).await
    }

    /// The same, which counts the flushes that are done.
    ///
    /// # Errors
    /// As [`Lifecycle::flush`].
    pub async fn drain_counting(&self, flushed: &Cell<u64>) -> Result<()> {
        let mut first = Ok(());
        for group in &self.groups {
            first = first.and(group.settle().await.map_err(|error| error.at(group.name())));
        }
        first.and(self.flush_counting(flushed).await)
    }

    /// A number that grows as groups bring their backing volumes up to date.
    pub fn drained(&self) -> u64 {
        let of =
            |(_, status): (&str, Status)| status.committed + status.applied + status.usage.of(Class::Destage);
        self.groups().map(of).fold(0, u64::wrapping_add)
    }

    /// The planned end: nothing more is accepted, the backing volumes are complete without their caches.
    ///
    /// # Errors
    /// As [`Lifecycle::flush`].
    pub async fn close(&self) -> Result<()> {
        let mut first = Ok(());
        // From the top down: what lies above writes its last to what lies below. A group is as low as its lowest volume.
        for (place, node) in self.nodes.iter().enumerate().rev() {
            if let Some(mirror) = self.mirrors.iter().find(|mirror| mirror.name() == node.name()) {
                first = first.and(mirror.close().await.map_err(|error| error.at(mirror.name())));
            }
            for group in self.groups.iter().filter(|group| self.lowest(group) == Some(place)) {
                first = first.and(group.close().await.map_err(|error| error.at(group.name())));
            }
        }
        first.and(self.flush().await)
    }

    /// The place of a group's lowest volume.
    fn lowest(&self, group: &Group) -> Option<usize> {
        self.nodes.iter().position(|node| group.has(node.name()))
    }

    /// The mirrors that are open, by name.
    pub fn mirrors(&self) -> impl Iterator<Item = (&str, MirrorStatus)> {
        self.mirrors.iter().filter_map(|mirror| mirror.status().map(|status| (mirror.name(), status)))
    }

    /// Mirrors whose settings still say what was accepted at an opening, with the words.
    pub fn accepting_mirrors(&self) -> impl Iterator<Item = (&str, String)> {
        self.mirrors.iter().filter_map(|mirror| Some((mirror.name(), mirror.accepted()?)))
    }

    /// What is to be known of legs that lie on stripes, with the mirror: nothing says which disk a stripe's members were.
    pub fn striped_legs(&self) -> Vec<(&str, String)> {
        let kind = |name: &str| self.nodes.iter().find(|node| node.name() == name).map_or("", Handle::kind);
        // These know their own.
        let passes_on =
            |name: &str| ![pool::KIND.name, mirror::KIND.name, writeback::KIND.name].contains(&kind(name));
        let mut found = Vec::new();
        for mirror in &self.mirrors {
            for leg in self.shapes.children(mirror.name()) {
                let below = self.shapes.with_all_below(vec![leg.clone()], passes_on);
                let stripe = below.into_iter().find(|name| kind(name) == stripe::KIND.name);
                found.extend(stripe.map(|stripe| (mirror.name(), on_a_stripe(&leg, &stripe))));
            }
        }
        found
    }

    /// Groups whose settings accept a loss that was not there, with the number they give: that of an opening that is over.
    pub fn needless_acceptances(&self) -> impl Iterator<Item = (&str, u64)> {
        self.groups.iter().filter_map(|group| {
            let accepts = group.settings().accept_loss?;
            group.status().filter(|status| status.loss.is_none()).map(|_| (group.name(), accepts))
        })
    }

    /// The write-back groups that are open, by name.
    pub fn groups(&self) -> impl Iterator<Item = (&str, Status)> {
        self.groups.iter().filter_map(|group| group.status().map(|status| (group.name(), status)))
    }
}
