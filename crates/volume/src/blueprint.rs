//! From settings to live nodes: what a kind of layer or device declares, its settings once read and checked,
//! and what it is given when it is built.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use fathom_runtime::Context;
use fathom_settings::{Key, Section};

use crate::buffer::Pool;
use crate::error::{Error, Result};
use crate::seam::Handle;

/// Everything a live node is handed. One per stack; cheap to clone.
#[derive(Clone)]
pub struct Env {
    /// Clock, randomness, spawn, and in the real driver the ring.
    pub context: Context,
    /// Where buffers come from; with a hollow pool devices keep no data.
    pub pool: Pool,
    directory: Rc<Path>,
    for_reading: bool,
    new_is_blank: bool,
    for_what_is_there: bool,
    for_spare: bool,
    shared: Rc<RefCell<BTreeMap<String, Rc<dyn Any>>>>,
    adjoined: Rc<RefCell<Vec<Handle>>>,
    refused: Rc<RefCell<Vec<Refused>>>,
    new: Option<NewFiles>,
}

/// The files that nodes have made in the place of missing ones. Each is open, with its lock: nobody else has one meanwhile.
#[derive(Clone, Default)]
pub struct NewFiles(Rc<RefCell<Vec<NewFile>>>);

/// A file that a node has made.
pub struct NewFile {
    /// The node.
    pub node: String,
    /// Where it is.
    pub path: PathBuf,
    /// The file; it shares the node's lock.
    pub file: std::fs::File,
}

impl NewFiles {
    /// Those that were made since the last call.
    pub fn take(&self) -> Vec<NewFile> {
        self.0.take()
    }
}

/// A node that was built [for reading](Env::for_reading), and that a start would refuse.
#[derive(Debug, Clone)]
pub struct Refused {
    /// Its name in the settings.
    pub name: String,
    /// The word after `kind =`.
    pub kind: &'static str,
    /// Why.
    pub why: Error,
}

impl Env {
    /// The environment of one stack. Relative paths begin in the working directory.
    pub fn new(context: Context, pool: Pool) -> Self {
        Self {
            context,
            pool,
            directory: Path::new("").into(),
            for_reading: false,
            new_is_blank: false,
            for_what_is_there: false,
            for_spare: false,
            shared: Rc::default(),
            adjoined: Rc::default(),
            refused: Rc::default(),
            new: None,
        }
    }

    /// The same with relative paths that begin in `directory`: a run's scratch space.
    #[must_use]
    pub fn in_directory(mut self, directory: &Path) -> Self {
        self.directory = directory.into();
        self
    }

    /// The same for nodes that may only be looked at: whatever opens something opens it for reading, whatever would write
    /// by itself does not.
    #[must_use]
    pub fn for_reading(mut self) -> Self {
        self.for_reading = true;
        self
    }

    /// The same for reading, as things will be when what is not there yet was made: blank.
    #[must_use]
    pub fn for_reading_before_creation(mut self) -> Self {
        self.new_is_blank = true;
        self.for_reading()
    }

    /// Whether a missing file that would be made is to be taken for a blank one.
    pub fn takes_new_for_blank(&self) -> bool {
        self.new_is_blank
    }

    /// Whether nodes may only be looked at.
    pub fn is_for_reading(&self) -> bool {
        self.for_reading
    }

    /// The same for nodes that create nothing: a missing file is an error, whatever size it should have. Data was
    /// there, or should be, and an empty file in its place would be taken for it.
    #[must_use]
    pub fn for_what_is_there(mut self) -> Self {
        self.for_what_is_there = true;
        self
    }

    /// The same, with a list of what nodes create.
    #[must_use]
    pub fn listing(mut self, new: &NewFiles) -> Self {
        self.new = Some(new.clone());
        self
    }

    /// Notes a file that a node has created and holds the lock of, for whoever [asked](Self::listing).
    pub fn made(&self, node: &str, path: &Path, file: &std::fs::File) {
        // Without a second descriptor nobody can remove it under its lock: it stays.
        if let (Some(new), Ok(file)) = (&self.new, file.try_clone()) {
            new.0.borrow_mut().push(NewFile { node: node.to_owned(), path: path.to_owned(), file });
        }
    }

    /// The same for a node that everything above it can do without, see [`Blueprint::spares`].
    #[must_use]
    pub fn for_spare(mut self, spare: bool) -> Self {
        self.for_spare = spare;
        self
    }

    /// Whether a device that is not there may be built all the same: its requests fail, and each
    /// [`reopen`](crate::Volume::reopen) looks for it.
    pub fn may_be_absent(&self) -> bool {
        self.for_spare
    }

    /// Whether nodes may create what is missing below them.
    pub fn may_create(&self) -> bool {
        !self.for_reading && !self.for_what_is_there
    }

    /// Where a path of the settings points.
    pub fn path(&self, written: &str) -> PathBuf {
        self.directory.join(written)
    }

    /// Puts another seam beside the node that is being built: what that node does by itself is counted there, and seen
    /// like a volume in samples and status. Its name begins with the node's and a full stop.
    pub fn adjoin(&self, handle: Handle) {
        self.adjoined.borrow_mut().push(handle);
    }

    /// The seams that were put beside nodes since the last call.
    pub fn take_adjoined(&self) -> Vec<Handle> {
        self.adjoined.take()
    }

    /// Notes of a node that may only be looked at why a start would refuse it: everything else can be looked at all the same.
    pub fn refuse(&self, name: &str, kind: &'static str, why: Error) {
        self.refused.borrow_mut().push(Refused { name: name.to_owned(), kind, why });
    }

    /// What was [noted](Self::refuse) since the last call.
    pub fn take_refused(&self) -> Vec<Refused> {
        self.refused.take()
    }

    /// What several nodes of one stack share, such as an instance-level cap or the queue of an adapter: made by the
    /// first that asks, handed to all others that ask for the same type under the same name.
    pub fn shared<T: 'static>(&self, name: &str, make: impl FnOnce() -> T) -> Rc<T> {
        let key = format!("{} {name}", std::any::type_name::<T>());
        let found = self.shared.borrow().get(&key).cloned();
        let shared = found.unwrap_or_else(|| {
            let made: Rc<dyn Any> = Rc::new(make());
            self.shared.borrow_mut().insert(key, Rc::clone(&made));
            made
        });
        shared.downcast().expect("the key holds the type's name")
    }
}

/// An empty one of `new` beside any of `old` that holds something would ruin the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBesideOld {
    /// The key of the settings that names those of `new`.
    pub key: &'static str,
    /// Names of children.
    pub new: Vec<String>,
    /// Names of children.
    pub old: Vec<String>,
}

/// The settings of one node, read and checked, not yet live.
pub trait Blueprint: std::fmt::Debug {
    /// Names of the volumes below it, in the order `build` expects them; empty for a device.
    fn children(&self) -> Vec<String>;

    /// Those of its children that it can be built and opened without: it has the same elsewhere. A size that is not known
    /// ([`Geometry::UNKNOWN_SIZE`](crate::Geometry::UNKNOWN_SIZE)) must not count.
    fn spares(&self) -> Vec<String> {
        Vec::new()
    }

    /// Children that must not be made empty beside others that are there; None if each may.
    fn new_beside_old(&self) -> Option<NewBesideOld> {
        None
    }

    /// Whether it writes below by itself, whatever its users do: nothing below it may be read-only.
    fn keeps_metadata(&self) -> bool {
        false
    }

    /// The sizes that its children must have for it to show so many bytes; None for a device, and where sizes do not say it.
    fn sizes_below(&self, bytes: u64) -> Option<Vec<u64>> {
        (self.children().len() == 1 && !self.keeps_metadata()).then(|| vec![bytes])
    }

    /// For a device outside: one of virtual time that looks like it from above, so that what lies above can be tried out. None
    /// where the settings do not say its size.
    fn stand_in(&self) -> Option<Box<dyn Blueprint>> {
        None
    }

    /// Settings that all volumes of its group must have alike: each key with its value in words.
    fn shared_by_group(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The queue that it shares with others of the same name, through which each request goes once; None if it shares none.
    fn gate(&self) -> Option<&str> {
        None
    }

    /// The file or block device that holds its data; None if this program holds it, or another one.
    fn file(&self) -> Option<NamedFile<'_>> {
        None
    }

    /// The export of another server that holds its data; None if that is elsewhere.
    fn remote(&self) -> Option<NamedExport> {
        None
    }

    /// Makes the node live. `name` is its name in the settings and that of its seam.
    ///
    /// # Errors
    /// If the settings do not fit what the children or the machine offer: a message with the remedy.
    fn build(&self, env: &Env, name: &str, children: Vec<Handle>) -> Result<Handle>;
}

/// A file or block device that settings name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedFile<'a> {
    /// As it is written; [`Env::path`] says where it lies.
    pub path: &'a str,
    /// Nothing is written to it: it may have other readers.
    pub read_only: bool,
}

/// An export of another server that settings name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedExport {
    /// The key that names it.
    pub key: &'static str,
    /// Server and export: the same text for the same one, as far as the settings tell.
    pub at: String,
    /// Nothing is written to it: it may have other readers.
    pub read_only: bool,
}

/// One kind of layer or device, as the registry knows it.
#[derive(Clone, Copy)]
pub struct NodeKind {
    /// The word after `kind =`.
    pub name: &'static str,
    /// What it is, in half a sentence.
    pub summary: &'static str,
    /// The manual: what it does, why, example, limits. Markdown.
    pub manual: &'static str,
    /// Its keys beside `kind`; the manual's table and the list of what is accepted.
    pub keys: &'static [Key],
    /// Whether it touches files, devices or the network; such a node has no place in virtual time.
    pub outside: bool,
    /// Reads the settings of one node. None if anything is missing or wrong; then it has said so in the section's
    /// diagnostics. Reads every key before it gives up; need not call [`Section::finish`], its caller does.
    pub read: fn(&mut Section<'_>) -> Option<Box<dyn Blueprint>>,
}

impl std::fmt::Debug for NodeKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "kind `{}`", self.name)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use fathom_runtime::Runtime;

    use super::{Env, Pool};

    #[test]
    fn what_is_shared_is_made_once_per_name_and_type() {
        let env = Env::new(Runtime::virtual_time(1).context(), Pool::hollow());
        let first = env.shared("cap", || Cell::new(1_u32));
        first.set(2);
        assert_eq!(env.clone().shared("cap", || Cell::new(9_u32)).get(), 2);
        assert_eq!(env.shared("other", || Cell::new(9_u32)).get(), 9);
        assert_eq!(env.shared("cap", || "another type").len(), 12);
    }
}
