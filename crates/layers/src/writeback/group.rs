//! A consistency group before and while it is open: volumes register as they are built, the group opens when the
//! executor first runs, and every request waits for that.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use fathom_runtime::Signal;
use fathom_units::Bytes;
use fathom_volume::{Env, Error, ErrorKind, Geometry, Handle, Result};

use super::config::{Config, Settings};
use super::layout::{CacheLayout, OriginLayout, batch_limits, on_cache, on_own_volume, on_tail, usual_ring};
use super::live::{Counts, LegStatus, Live, Member, Parts, check, foresee, most_payload, open};
use super::loss::Loss;
use super::report::Report;
use super::superblock::MOST_MEMBERS;
use crate::share::Usage;

/// One consistency group of a stack.
pub struct Group {
    name: String,
    settings: Settings,
    caches: Vec<Handle>,
    cache_layout: CacheLayout,
    ring: Option<Handle>,
    members: RefCell<Vec<Registered>>,
    opened: RefCell<Option<Result<Rc<Live>>>>,
    begun: Cell<bool>,
    changed: Signal,
}

/// A volume of the group, and its number once it is open.
struct Registered {
    member: Member,
    tail: Option<OriginLayout>,
    index: Rc<Cell<u16>>,
}

/// Every group of one stack.
#[derive(Default)]
pub struct Groups(RefCell<Vec<Rc<Group>>>);

/// What a group tells about itself. Sizes are bytes, times ns.
#[derive(Debug, Clone)]
pub struct Status {
    /// Log that the backing volumes lack.
    pub dirty: u64,
    /// The most that may be.
    pub dirty_limit: u64,
    /// Age of the oldest write that the backing volumes lack.
    pub lag: u64,
    /// Log destaged per second, lately; 0 if not known.
    pub drain_rate: u64,
    /// Number of the last write answered.
    pub answered: u64,
    /// Number of the last write in the redo ring.
    pub committed: u64,
    /// Number of the last write in place.
    pub applied: u64,
    /// What an accepted loss cost, if one was accepted when the group was opened.
    pub loss: Option<Loss>,
    /// What the last accepted loss cost, however long ago.
    pub last_loss: Option<Loss>,
    /// What each cache device is good for.
    pub legs: Vec<LegStatus>,
    /// Bytes of the log that a returning cache device still lacks.
    pub copying: u64,
    /// Why nothing more is accepted, if the group is fenced.
    pub fenced: Option<String>,
    /// Counters since it was opened.
    pub counts: Counts,
    /// What passed to the backing volumes, and how long users waited for it.
    pub usage: Usage,
    /// How long it has been open, ns.
    pub open: fathom_runtime::Nanos,
}

/// Every write-back group of this stack.
pub fn groups(env: &Env) -> Vec<Rc<Group>> {
    env.shared::<Groups>("write-back groups", Groups::default).0.borrow().clone()
}

/// What a volume learns when it joins its group.
pub(super) struct Joined {
    pub group: Rc<Group>,
    /// Its number in the group, once that is open.
    pub index: Rc<Cell<u16>>,
    /// Bytes it shows.
    pub size: u64,
    /// Bytes of the longest request.
    pub max_transfer: u64,
}

/// Adds a volume to its group; the first makes it.
pub(super) fn join(env: &Env, name: &str, config: &Config, mut children: Vec<Handle>) -> Result<Joined> {
    let misuse = |why: String| Error::new(ErrorKind::Misuse, format!("volume `{name}` (writeback): {why}"));
    let ring = if config.ring.is_some() { children.pop() } else { None };
    let caches = children.split_off(1);
    let backing = children.pop().expect("a write-back volume stands on a backing volume");
    if let Some((key, what, help)) = config.settings.contradictions().into_iter().next() {
        return Err(misuse(format!("{key}: {what}; {help}")).about(key));
    }
    let group_name = config.group.clone().unwrap_or_else(|| name.to_owned());
    let groups = env.shared::<Groups>("write-back groups", Groups::default);
    let found = groups.0.borrow().iter().find(|group| group.name == group_name).cloned();
    let group = match found {
        Some(group) => group,
        None => {
            let group = Group::new(&group_name, config, caches.clone(), ring.clone())
                .map_err(|(key, why)| misuse(why).about(key))?;
            let group = Rc::new(group);
            groups.0.borrow_mut().push(Rc::clone(&group));
            if env.is_for_reading() {
                group.looked_at_only();
            } else {
                let (opening, env) = (Rc::clone(&group), env.clone());
                let context = env.context.clone();
                context.spawn(async move { opening.open(&env).await });
            }
            group
        }
    };
    group.add(name, config, backing, &caches, ring.as_ref()).map_err(misuse)
}

impl Group {
    fn new(
        name: &str,
        config: &Config,
        caches: Vec<Handle>,
        ring: Option<Handle>,
    ) -> std::result::Result<Self, (&'static str, String)> {
        let size = config.settings.size;
        if let Some(cache) = caches.iter().find(|cache| cache.geometry().logical_sector > 4096) {
            return Err(("cache", format!("cache device `{}` has sectors above 4 KiB", cache.name())));
        }
        let is_there = |cache: &&Handle| cache.geometry().size < Geometry::UNKNOWN_SIZE;
        let Some(largest) = caches.iter().filter(is_there).max_by_key(|cache| cache.geometry().size) else {
            return Err(("cache", "neither cache device is there; bring one back".to_owned()));
        };
        let (largest, has) = (largest.name(), largest.geometry().size);
        if let Some(size) = size.filter(|size| *size > has) {
            let why = format!(
                "`size` is {size} bytes, and cache device `{largest}` holds {has}: give it the size it had, or set \
                 `size = \"{:#}\"`; if its log holds writes, the start then says what that would cost",
                Bytes::new(has)
            );
            return Err(("size", why));
        }
        let (segment, read_cache) = (config.settings.segment, config.settings.read_cache.unwrap_or(0));
        // Of two devices one may have been cut short: an open knows whether the other one will do.
        let shape = |cache: &Handle| {
            let has = cache.geometry().size;
            on_cache(size.unwrap_or(has), segment, read_cache).filter(|_| size.unwrap_or(0) <= has)
        };
        let shapes = caches.iter().filter(is_there).filter_map(shape);
        // A stated size has room for it, see [`Settings::contradictions`].
        let cache_layout = shapes.min_by_key(|shape| shape.length).ok_or_else(|| {
            let key = if on_cache(has, segment, 0).is_some() { "read_cache" } else { "cache" };
            let why = format!(
                "cache device `{largest}` of {has} bytes holds fewer than four segments of {segment} beside a read cache of \
                 {read_cache}: give it the size it had or a larger one, or set a smaller `segment` or `read_cache`"
            );
            (key, why)
        })?;
        Ok(Self {
            name: name.to_owned(),
            settings: config.settings.clone(),
            caches,
            cache_layout,
            ring,
            members: RefCell::default(),
            opened: RefCell::default(),
            begun: Cell::new(false),
            changed: Signal::default(),
        })
    }

    /// The group's name in the settings.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a volume of that name is in it.
    pub fn has(&self, name: &str) -> bool {
        self.members.borrow().iter().any(|registered| registered.member.name == name)
    }

    /// What its volumes agreed on.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    fn add(
        self: Rc<Self>,
        name: &str,
        config: &Config,
        backing: Handle,
        caches: &[Handle],
        ring: Option<&Handle>,
    ) -> std::result::Result<Joined, String> {
        if self.begun.get() {
            return Err(format!("group `{}` is open already; build all of its volumes first", self.name));
        }
        if !caches.iter().map(Handle::name).eq(self.caches.iter().map(Handle::name))
            || ring.map(Handle::name) != self.ring.as_ref().map(Handle::name)
        {
            return Err(format!(
                "the volumes of group `{}` share their caches and their ring; name the same in each",
                self.name
            ));
        }
        if config.settings != self.settings {
            return Err(format!(
                "the settings differ from those of the other volumes of group `{}`",
                self.name
            ));
        }
        if self.members.borrow().len() >= MOST_MEMBERS {
            return Err(format!(
                "group `{}` has {MOST_MEMBERS} volumes already, the most there can be",
                self.name
            ));
        }
        let has = backing.geometry().size;
        let whole = config.backing_size.unwrap_or(has);
        if whole > has {
            return Err(format!("`backing_size` is {whole} bytes, and `{}` holds {has}", backing.name()));
        }
        let ring_size = config.settings.ring_size.unwrap_or_else(|| usual_ring(whole));
        let tail = match &self.ring {
            Some(_) => None,
            None => Some(on_tail(whole, ring_size).ok_or_else(|| {
                format!(
                    "backing volume `{}` of {whole} bytes has no room for a redo ring of {ring_size}; if it was larger, give it the \
                     size and the content that it had; else set a smaller `ring_size`, at least 64KiB, or a `ring` of its own",
                    backing.name()
                )
            })?),
        };
        let ring_length = match (&self.ring, tail) {
            (Some(ring), _) => on_own_volume(ring.geometry().size).map_or(0, |layout| layout.ring_length),
            (None, tail) => tail.map_or(0, |tail| tail.ring_length),
        };
        if ring_length == 0 {
            let name = self.ring.as_ref().map_or(backing.name(), Handle::name);
            return Err(format!(
                "the redo ring's volume `{name}` is smaller than 72 KiB; give it the size it had, or a larger one"
            ));
        }
        let size = tail.map_or(whole, |tail| tail.user);
        let (batch, _) = batch_limits(ring_length, config.settings.batch);
        let max_transfer = most_payload(&self.cache_layout, batch);
        let index = Rc::new(Cell::new(0));
        let member = Member { name: name.to_owned(), backing, size, mark: tail.map(|tail| tail.superblocks) };
        self.members.borrow_mut().push(Registered { member, tail, index: Rc::clone(&index) });
        Ok(Joined { group: self, index, size, max_transfer })
    }

    /// Nothing is served where nothing may be written: an open writes.
    fn looked_at_only(&self) {
        let message = format!("group `{}` is only looked at here, not opened", self.name);
        *self.opened.borrow_mut() = Some(Err(Error::new(ErrorKind::Misuse, message)));
    }

    /// Looks at everything the group has on its devices and writes nothing; for an environment
    /// [for reading](Env::for_reading).
    pub async fn check(&self, env: &Env) -> Report {
        self.begun.set(true);
        check(self.parts(env)).await
    }

    /// Whether an open would be refused, for an environment [for reading](Env::for_reading): what lies below writes on its own
    /// open, and nothing may be written if this group is refused.
    ///
    /// # Errors
    /// The refusal.
    pub async fn foresee(&self, env: &Env) -> Result<()> {
        self.begun.set(true);
        foresee(self.parts(env)).await
    }

    async fn open(&self, env: &Env) {
        self.begun.set(true);
        let parts = self.parts(env);
        let outcome = open(parts).await;
        *self.opened.borrow_mut() = Some(outcome);
        self.changed.notify();
    }

    fn parts(&self, env: &Env) -> Parts {
        let mut members = self.members.borrow_mut();
        members.sort_by(|one, other| one.member.name.cmp(&other.member.name));
        for (index, registered) in members.iter().enumerate() {
            registered.index.set(index as u16);
        }
        let first = members.first().expect("the first volume made the group");
        let (ring, origin_layout) = match &self.ring {
            Some(ring) => (ring.clone(), on_own_volume(ring.geometry().size)),
            None => (first.member.backing.clone(), first.tail),
        };
        Parts {
            context: env.context.clone(),
            pool: env.pool.clone(),
            name: self.name.clone(),
            settings: self.settings.clone(),
            members: members.iter().map(|registered| registered.member.clone()).collect(),
            caches: self.caches.clone(),
            cache_layout: self.cache_layout,
            ring,
            origin_layout: origin_layout.expect("checked when the volume joined"),
        }
    }

    /// The open group.
    ///
    /// # Errors
    /// Why it could not be opened, with the remedy.
    pub(super) async fn live(&self) -> Result<Rc<Live>> {
        loop {
            let wait = self.changed.wait();
            if let Some(outcome) = &*self.opened.borrow() {
                return outcome.clone();
            }
            wait.await;
        }
    }

    /// Waits until the group is open.
    ///
    /// # Errors
    /// Why it could not be opened, with the remedy.
    pub async fn ready(&self) -> Result<()> {
        self.live().await.map(drop)
    }

    /// Waits until the backing volumes hold everything that was answered before this call. The group stays open.
    ///
    /// # Errors
    /// If the group is fenced.
    pub async fn settle(&self) -> Result<()> {
        self.live().await?.settle().await
    }

    /// Accepts no more writes, destages everything and takes the owner mark off: the backing volumes are then complete
    /// without the cache.
    ///
    /// # Errors
    /// If the group could not be opened, or is fenced.
    pub async fn close(&self) -> Result<()> {
        self.live().await?.close().await
    }

    /// What it tells about itself; None until it is open.
    pub fn status(&self) -> Option<Status> {
        let opened = self.opened.borrow();
        let live = opened.as_ref()?.as_ref().ok()?;
        let state = live.state.borrow();
        Some(Status {
            dirty: state.dirty(),
            dirty_limit: live.dirty_limit(&state),
            lag: live.lag(),
            drain_rate: state.drain_rate.learned(),
            answered: state.completed.seq,
            committed: state.committed.seq,
            applied: state.applied.seq,
            loss: live.loss,
            last_loss: live.last_loss(),
            legs: live.leg_states(),
            copying: state.copying,
            fenced: state.fence.as_ref().map(ToString::to_string),
            counts: state.counts,
            usage: live.usage(),
            open: live.context.now() - live.opened_at,
        })
    }
}
