//! The live tree: volumes built from the devices up, on the executor of a site.

use std::collections::BTreeMap;
use std::rc::Rc;

use fathom_layers::{mirror, pool, writeback};
use fathom_settings::{Diagnostic, Diagnostics, Problem};
use fathom_volume::{
    Blueprint, Env, ErrorKind, Handle, NewFiles, Refused, Request, Result as VolumeResult, Site,
};

use crate::cut_short::Shapes;
use crate::lifecycle::Lifecycle;
use crate::report::{Outcome, StackReport, VolumeReport};
use crate::volumes::Volumes;

/// A live tree of volumes.
pub struct Stack<'a> {
    nodes: Vec<Handle>,
    places: BTreeMap<String, usize>,
    shapes: Shapes,
    env: Env,
    // Outlives the nodes: their buffers and files belong to its executor.
    site: &'a Site,
}

/// A volume of which nothing can be said, and why.
fn unknown(name: &str, kind: &'static str, why: String) -> VolumeReport {
    VolumeReport { name: name.to_owned(), kind, outcome: Outcome::Unknown(why) }
}

/// A volume refused its settings, or what they name is not there.
#[derive(Debug, thiserror::Error)]
#[error("{diagnostic}")]
pub struct BuildError {
    /// What the caller should do next.
    pub kind: ErrorKind,
    /// The volume's place and its own words.
    pub diagnostic: Box<Diagnostic>,
}

impl<'a> Stack<'a> {
    /// Builds these volumes and all below them. They must have passed [`Volumes::check`] and [`Volumes::check_use`].
    ///
    /// # Errors
    /// The first volume that cannot be built; nothing of the others is left.
    pub fn build(volumes: &Volumes, roots: &[String], site: &'a Site) -> Result<Self, BuildError> {
        Self::build_in(volumes, roots, site, |env| env)
    }

    /// The same, with a list of the files that it makes.
    ///
    /// # Errors
    /// As [`Stack::build`].
    pub fn build_listing(
        volumes: &Volumes,
        roots: &[String],
        site: &'a Site,
        new: &NewFiles,
    ) -> Result<Self, BuildError> {
        Self::build_in(volumes, roots, site, |env| env.listing(new))
    }

    /// The same [of what is there](Env::for_what_is_there).
    ///
    /// # Errors
    /// As [`Stack::build`]; also if a file is missing.
    pub fn build_of_what_is_there(
        volumes: &Volumes,
        roots: &[String],
        site: &'a Site,
    ) -> Result<Self, BuildError> {
        Self::build_in(volumes, roots, site, Env::for_what_is_there)
    }

    /// The same, to be [checked](Self::check) only: nothing that is opened can be written.
    ///
    /// # Errors
    /// As [`Stack::build`]; also if something is in use by a program that writes it, or was not made yet.
    pub fn build_for_reading(
        volumes: &Volumes,
        roots: &[String],
        site: &'a Site,
    ) -> Result<Self, BuildError> {
        Self::build_in(volumes, roots, site, Env::for_reading)
    }

    /// The same before a [creation](Self::build_listing): files that it would make are blank.
    ///
    /// # Errors
    /// As [`Stack::build_for_reading`].
    pub fn build_before_creation(
        volumes: &Volumes,
        roots: &[String],
        site: &'a Site,
    ) -> Result<Self, BuildError> {
        Self::build_in(volumes, roots, site, Env::for_reading_before_creation)
    }

    fn build_in(
        volumes: &Volumes,
        roots: &[String],
        site: &'a Site,
        change: impl FnOnce(Env) -> Env,
    ) -> Result<Self, BuildError> {
        let mut stack = Self::empty(site, change);
        for index in volumes.used(roots.iter().map(String::as_str)) {
            let blueprint = Rc::clone(&volumes.nodes[index].blueprint);
            stack.add(volumes, index, blueprint, volumes.is_spare(index, roots))?;
        }
        Ok(stack)
    }

    /// Builds these volumes on a site in virtual time without payload, with memory in the place of what lies outside and has
    /// a size in the settings: finds settings that fit each by itself and not together. Nothing outside is touched; what
    /// stands on something of unknown size is left out. Mistakes go to the diagnostics, each at its volume.
    pub fn try_out(volumes: &Volumes, roots: &[String], site: &'a Site, diagnostics: &Diagnostics) -> Self {
        let mut stack = Self::empty(site, |env| env);
        for index in volumes.used(roots.iter().map(String::as_str)) {
            let node = &volumes.nodes[index];
            let stands = node.blueprint.children().iter().all(|child| stack.places.contains_key(child));
            let outside = node.outside.then(|| node.blueprint.stand_in().map(Rc::from));
            let blueprint = outside.unwrap_or_else(|| Some(Rc::clone(&node.blueprint)));
            if let Some(blueprint) = blueprint.filter(|_| stands)
                && let Err(error) = stack.add(volumes, index, blueprint, false)
            {
                diagnostics.push(*error.diagnostic);
            }
        }
        stack
    }

    fn empty(site: &'a Site, change: impl FnOnce(Env) -> Env) -> Self {
        let env = change(Env::new(site.context(), site.pool().clone()).in_directory(site.directory()));
        Self { nodes: Vec::new(), places: BTreeMap::new(), shapes: Shapes::default(), env, site }
    }

    fn add(
        &mut self,
        volumes: &Volumes,
        index: usize,
        blueprint: Rc<dyn Blueprint>,
        spare: bool,
    ) -> Result<(), BuildError> {
        let node = &volumes.nodes[index];
        let names = blueprint.children();
        let children = names.iter().map(|name| self.nodes[self.places[name]].clone()).collect();
        let env = self.env.clone().for_spare(spare);
        let handle = blueprint.build(&env, &node.name, children).map_err(|error| {
            let problem = Problem::new(error.to_string(), "");
            let diagnostic = Box::new(node.problem(&volumes.source, error.key(), problem));
            BuildError { kind: error.kind(), diagnostic }
        })?;
        self.places.insert(node.name.clone(), self.nodes.len());
        self.shapes.insert(&handle, blueprint);
        self.nodes.push(handle);
        self.nodes.extend(self.env.take_adjoined());
        Ok(())
    }

    /// The volume of that name, if it was built.
    pub fn get(&self, name: &str) -> Option<&Handle> {
        self.places.get(name).map(|place| &self.nodes[*place])
    }

    /// Every volume, each after the volumes below it.
    pub fn nodes(&self) -> &[Handle] {
        &self.nodes
    }

    /// Opening, draining and closing it.
    pub fn lifecycle(&self) -> Lifecycle {
        Lifecycle::of(&self.env, &self.nodes, &self.shapes)
    }

    /// Verifies what every write-back group has on its devices, bit by bit, and whether every mirror and pool can open;
    /// writes nothing. For a stack built [for reading](Self::build_for_reading).
    pub async fn check(&self) -> StackReport {
        let mut report = StackReport::default();
        let refused = self.env.take_refused().into_iter();
        report.volumes.extend(refused.map(|Refused { name, kind, why }| VolumeReport {
            name,
            kind,
            outcome: Outcome::Refused(why.to_string()),
        }));
        let lifecycle = self.lifecycle();
        let (legs, striped) = (lifecycle.legs(), lifecycle.striped_legs());
        for pool in pool::pools(&self.env) {
            let mut found = self.report_on(pool.name(), pool::KIND.name, pool.check()).await;
            if let (true, Outcome::Refused(why)) = (legs.contains(pool.name()), &found.outcome) {
                found.outcome = Outcome::Opens(vec![format!("its mirror has to do without it: {why}")]);
            }
            report.volumes.push(found);
        }
        for mirror in mirror::mirrors(&self.env) {
            let mut found = self.report_on(mirror.name(), mirror::KIND.name, mirror.check()).await;
            if let Outcome::Opens(notes) = &mut found.outcome {
                let striped = striped.iter().filter(|(above, _)| *above == mirror.name());
                notes.extend(striped.map(|(_, told)| told.clone()));
            }
            report.volumes.push(found);
        }
        for group in writeback::groups(&self.env) {
            let names = self.volumes_of(&group);
            let unknown = |why| unknown(group.name(), writeback::KIND.name, why);
            if let Some(why) = self.hidden_by_cache(&names) {
                report.volumes.push(unknown(why));
                continue;
            }
            let found = group.check(&self.env).await;
            let away = if found.is_sound() { None } else { self.away_below(&names).await };
            match away {
                Some(why) => report.volumes.push(unknown(why)),
                None => report.groups.push(self.shapes.name_devices_in(found)),
            }
        }
        let told = [pool::KIND.name, mirror::KIND.name, writeback::KIND.name];
        let tell_themselves = self.nodes.iter().filter(|node| told.contains(&node.kind()));
        let names = tell_themselves.map(|node| node.name().to_owned()).collect();
        let below = self.shapes.with_all_below(names, |_| true);
        for node in self.nodes.iter().filter(|node| self.shapes.is_remote(node.name())) {
            if !below.contains(node.name())
                && let Some(why) = self.away_below(&[node.name()]).await
            {
                report.volumes.push(unknown(node.name(), node.kind(), why));
            }
        }
        report
    }

    /// Whether a group's, a mirror's or a pool's open would be refused. Asked of a stack built
    /// [for reading](Self::build_for_reading) or [before a creation](Self::build_before_creation) where several of them are:
    /// each writes on its own open, and a refusal of any writes nothing. What lies over a cache is left out: what that one
    /// holds cannot be read so.
    ///
    /// # Errors
    /// The first refusal.
    pub async fn foresee(&self) -> VolumeResult<()> {
        let named = |error| self.shapes.name_devices(error);
        let legs = self.lifecycle().legs();
        for pool in pool::pools(&self.env) {
            if self.cache_below(pool.name()).is_none() && !legs.contains(pool.name()) {
                pool.check().await.map_err(named)?;
            }
        }
        for mirror in mirror::mirrors(&self.env) {
            if self.cache_below(mirror.name()).is_none() {
                mirror.check().await.map_err(named)?;
            }
        }
        for group in writeback::groups(&self.env) {
            if self.hidden_by_cache(&self.volumes_of(&group)).is_none() {
                group.foresee(&self.env).await.map_err(named)?;
            }
        }
        Ok(())
    }

    async fn report_on(
        &self,
        name: &str,
        kind: &'static str,
        checked: impl Future<Output = VolumeResult<Vec<String>>>,
    ) -> VolumeReport {
        if let Some(why) = self.hidden_by_cache(&[name]) {
            return unknown(name, kind, why);
        }
        let outcome = match checked.await {
            Ok(notes) => Outcome::Opens(notes),
            Err(error) => match self.away_below(&[name]).await {
                Some(why) => return unknown(name, kind, why),
                None => Outcome::Refused(self.shapes.name_devices(error).to_string()),
            },
        };
        VolumeReport { name: name.to_owned(), kind, outcome }
    }

    /// Why nothing can be said of these volumes while a server below them does not answer. A mirror tells that itself.
    async fn away_below(&self, names: &[&str]) -> Option<String> {
        const LOOK: u64 = 4096;
        let mut remote = Vec::new();
        names.iter().for_each(|name| self.remote_below(name, &mut remote));
        for device in remote {
            let looked = device.read(Request::new(0, LOOK), self.site.pool().get(LOOK as usize)).await;
            if let Some(error) = looked.err().filter(|error| error.kind() == ErrorKind::Gone) {
                let name = device.name();
                return Some(format!("{error}; bring the server of `{name}` back, and check again"));
            }
        }
        None
    }

    /// The exports of servers below a volume, but not below a mirror.
    fn remote_below<'s>(&'s self, name: &str, found: &mut Vec<&'s Handle>) {
        let Some(node) = self.get(name).filter(|node| node.kind() != mirror::KIND.name) else { return };
        if self.shapes.is_remote(name) {
            found.push(node);
        }
        self.shapes.children(name).iter().for_each(|child| self.remote_below(child, found));
    }

    /// The volumes of a group.
    fn volumes_of(&self, group: &writeback::Group) -> Vec<&str> {
        self.nodes.iter().map(Handle::name).filter(|name| group.has(name)).collect()
    }

    /// Why nothing can be said of these volumes: what a cache below one of them holds only its open can show.
    fn hidden_by_cache(&self, names: &[&str]) -> Option<String> {
        let cache = names.iter().find_map(|name| self.cache_below(name))?;
        Some(format!("it lies above the write-back cache `{cache}`, and only a start shows what that holds"))
    }

    /// A write-back cache below this volume.
    fn cache_below(&self, name: &str) -> Option<&str> {
        self.shapes.children(name).iter().find_map(|child| {
            let node = self.get(child)?;
            if node.kind() == writeback::KIND.name { Some(node.name()) } else { self.cache_below(child) }
        })
    }

    pub(crate) fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// What it lives on.
    pub fn site(&self) -> &'a Site {
        self.site
    }
}
