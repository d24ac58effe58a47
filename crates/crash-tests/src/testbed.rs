//! What is under test, on recording disks and an executor of its own: built from an image of the disks, opened, read.

use std::cell::RefCell;
use std::rc::Rc;

use fathom_layers::{mirror, pool, writeback};
use fathom_runtime::Runtime;
use fathom_volume::{Env, Error, Handle, Pool, Request};

use crate::crash::Image;
use crate::disk::{Content, Disk, Event, Faults, Trace};
use crate::oracle::{GROUP, GROUPS, SECTOR, offset, shown, stamp};

/// Disks that nothing is built on yet.
pub struct Disks {
    /// What volumes are built in.
    pub env: Env,
    /// What happened.
    pub trace: Trace,
    /// What is wrong, by disk.
    pub faults: Vec<Faults>,
    contents: Vec<Content>,
    runtime: Runtime,
}

impl Disks {
    /// Disks that hold this.
    pub fn new(image: Image, seed: u64) -> Self {
        let runtime = Runtime::virtual_time(seed);
        let context = runtime.context();
        let env = Env::new(context.clone(), Pool::new(&context));
        let faults = image.iter().map(|_| Faults::default()).collect();
        let contents = image.into_iter().map(|bytes| Rc::new(RefCell::new(bytes))).collect();
        Self { env, trace: Trace::default(), faults, contents, runtime }
    }

    /// Handles of the first disks, `NAME0` and so on, whose first `user` bytes are the users' and which answer within
    /// `slowest` ns.
    pub fn handles(&self, count: usize, name: &str, user: u64, slowest: u64) -> Vec<Handle> {
        let disk = |(number, (content, faults)): (usize, (&Content, &Faults))| {
            let id = (number, &*format!("{name}{number}"));
            Disk::handle(&self.env.context, id, (content, user), &self.trace, faults, slowest)
        };
        self.contents.iter().zip(&self.faults).take(count).enumerate().map(disk).collect()
    }

    /// With what was built on them.
    pub fn with<N>(self, volumes: Vec<Handle>, node: Rc<N>) -> Testbed<N> {
        let Self { env, trace, faults, contents, runtime } = self;
        Testbed { volumes, node, trace, faults, pool: env.pool.clone(), contents, env, runtime }
    }
}

/// Something under test that opens.
pub trait Node {
    /// Waits until it is open.
    ///
    /// # Errors
    /// Why it refuses.
    fn opened(&self) -> impl Future<Output = Result<(), Error>>;
}

impl Node for writeback::Group {
    fn opened(&self) -> impl Future<Output = Result<(), Error>> {
        self.ready()
    }
}

impl Node for mirror::Node {
    fn opened(&self) -> impl Future<Output = Result<(), Error>> {
        self.ready()
    }
}

impl Node for pool::Node {
    fn opened(&self) -> impl Future<Output = Result<(), Error>> {
        self.ready()
    }
}

/// What is under test.
pub struct Testbed<N> {
    /// What users hold.
    pub volumes: Vec<Handle>,
    /// The write-back group, the mirror or the pool.
    pub node: Rc<N>,
    /// What happened.
    pub trace: Trace,
    /// What is wrong, by disk.
    pub faults: Vec<Faults>,
    /// Where buffers come from.
    pub pool: Pool,
    /// What the disks hold.
    pub contents: Vec<Content>,
    /// What the volumes were built in.
    pub env: Env,
    /// The executor.
    pub runtime: Runtime,
}

impl<N: Node> Testbed<N> {
    /// Opens it.
    ///
    /// # Errors
    /// Why it refuses.
    ///
    /// # Panics
    /// If the open does not end.
    pub fn open(&self) -> Result<(), Error> {
        self.runtime.block_on(self.node.opened()).expect("an open ends")
    }
}

impl<N> Testbed<N> {
    /// Runs a case's steps to their end.
    ///
    /// # Errors
    /// What they say, or that they wait for ever.
    pub fn run<T>(&self, steps: impl Future<Output = Result<T, String>>) -> Result<T, String> {
        self.runtime.block_on(steps).map_err(|error| error.to_string())?
    }

    /// Runs a request, or what a node does, to its end.
    ///
    /// # Errors
    /// The node's, or that it waits for ever.
    pub fn wait<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, String> {
        self.run(async { work.await.map_err(|error| error.to_string()) })
    }

    /// Lets time pass.
    ///
    /// # Panics
    /// If it does not.
    pub fn sleep(&self, span: u64) {
        self.runtime.block_on(self.runtime.context().sleep(span)).expect("time passes");
    }

    /// What the disks hold now.
    pub fn image(&self) -> Image {
        self.contents.iter().map(|content| content.borrow().clone()).collect()
    }

    /// Notes something that happened to the user.
    pub fn note(&self, event: Event) {
        self.trace.borrow_mut().push(event);
    }

    /// Whether anything was written to a disk.
    pub fn wrote(&self) -> bool {
        self.trace.borrow().iter().any(|event| matches!(event, Event::Write { .. }))
    }

    /// Makes a write of the oracle over a whole group of sectors.
    ///
    /// # Errors
    /// The volume's.
    pub async fn write_group(&self, id: u32, group: usize) -> Result<(), String> {
        let bytes: Vec<u8> = (0..GROUP).flat_map(|index| stamp(id, group * GROUP + index)).collect();
        let request = Request::new(offset(group) as u64, bytes.len() as u64);
        self.volumes[0].write(request, self.pool.copy_of(&bytes)).await.map_err(|error| error.to_string())
    }

    /// Which write of the oracle each sector shows to a reader.
    ///
    /// # Errors
    /// If a read fails, or a sector shows what nobody wrote.
    pub async fn read_groups(&self) -> Result<Vec<u32>, String> {
        let mut all = Vec::with_capacity(GROUP * GROUPS);
        for group in 0..GROUPS {
            let buf = self.pool.get(GROUP * SECTOR);
            let request = Request::new(offset(group) as u64, buf.len() as u64);
            let answer = self.volumes[0].read(request, buf.clone()).await;
            answer.map_err(|error| format!("a read fails: {error}"))?;
            buf.with(|bytes| {
                for (index, bytes) in bytes.chunks(SECTOR).enumerate() {
                    all.push(shown(group * GROUP + index, bytes)?);
                }
                Ok::<_, String>(())
            })?;
        }
        Ok(all)
    }
}
