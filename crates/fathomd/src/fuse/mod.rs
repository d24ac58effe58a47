//! The FUSE mount: every export is a file of one mounted folder, for hosts that want a block device without a network
//! (`losetup --direct-io=on` on the file) or a file to open.
//!
//! `/dev/fuse` is read by [`read`]; where the kernel offers it, requests come through io_uring instead, see
//! [`entries`]. What a request comes to is the same for both, see [`operate`].
//!
//! Requests in flight are handed to the volume side by side; only writes that touch the same sectors follow each other.
//! The kernel does not cache: what a write was answered for has reached the volume, and fsync is the volume's flush.

mod entries;
mod mount;
mod operate;
mod read;
mod tree;

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;

use fathom_fuse::{Init, Operation, Request, ServerLimits, Violation, negotiate};
use fathom_runtime::{Context, Nanos, Ring, SECOND, Semaphore, Signal, until, within};
use fathom_volume::{Buf, Pool};
use fathom_wire::Port;

use crate::cut::CountGuard;
use crate::exports::Exports;
use crate::fuse::operate::Done;
use crate::fuse::tree::Tree;
use crate::settings::Fuse as Settings;

pub use mount::is_mounted;

/// The largest request, in bytes: what the kernel takes at most, 256 pages.
const LARGEST: u32 = 1 << 20;
/// Requests on their way before the kernel holds back those that nobody waits for directly.
const BACKGROUND: u16 = 256;
/// How long the kernel may take for its first request.
const PATIENCE: Nanos = 30 * SECOND;

/// How requests come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Not agreed yet.
    Unknown,
    /// By reading `/dev/fuse`.
    Read,
    /// Through io_uring.
    IoUring,
}

impl Transport {
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "not agreed yet",
            Self::Read => "read",
            Self::IoUring => "io_uring",
        }
    }
}

/// A mounted folder.
pub struct Mount {
    context: Context,
    ring: Ring,
    pool: Pool,
    tree: Tree,
    device: Port,
    mount: PathBuf,
    wants_io_uring: bool,
    pub transport: Cell<Transport>,
    // Requests in the volumes' hands.
    outstanding: Rc<Cell<usize>>,
    /// Requests answered since the mount.
    pub answered: Cell<u64>,
    // Who holds the place reads the device.
    turn: Semaphore,
    readers: Cell<usize>,
    // Entries of the ring that are on their way to the kernel for the first time.
    registered: Cell<usize>,
    trouble: RefCell<Option<String>>,
    // The kernel has said goodbye, or we do.
    over: Cell<bool>,
    // We have unmounted it.
    left: Cell<bool>,
    changed: Signal,
}

impl Mount {
    /// Mounts the exports and waits until the kernel and we have agreed on the protocol.
    ///
    /// # Errors
    /// A sentence that says what is in the way and what to do.
    pub async fn open(
        context: &Context,
        pool: &Pool,
        exports: &Rc<Exports>,
        settings: &Settings,
    ) -> Result<Rc<Self>, String> {
        let mount = Self::mounted(context, pool, exports, settings, settings.io_uring).await?;
        if mount.trouble.borrow().is_none() {
            return Ok(mount);
        }
        // Once agreed, requests wait for the ring for ever: only a new mount goes without.
        let why = mount.trouble.take().unwrap_or_default();
        tracing::warn!(why, "FUSE without io_uring");
        mount.close().await;
        Self::mounted(context, pool, exports, settings, false).await
    }

    async fn mounted(
        context: &Context,
        pool: &Pool,
        exports: &Rc<Exports>,
        settings: &Settings,
        io_uring: bool,
    ) -> Result<Rc<Self>, String> {
        let ring = context.ring().ok_or("FUSE is served on the real clock only")?.clone();
        let (mount, device) = mount::mount(&settings.mount)?;
        let device = Port::new(device, &ring).map_err(|error| format!("cannot use /dev/fuse: {error}"))?;
        let mount = Rc::new(Self {
            context: context.clone(),
            wants_io_uring: io_uring && ring.is_wide(),
            ring,
            pool: pool.clone(),
            tree: Tree::new(exports, settings.mode),
            device,
            mount,
            transport: Cell::new(Transport::Unknown),
            outstanding: Rc::default(),
            answered: Cell::new(0),
            turn: Semaphore::new(1),
            readers: Cell::new(0),
            registered: Cell::new(0),
            trouble: RefCell::default(),
            over: Cell::new(false),
            left: Cell::new(false),
            changed: Signal::default(),
        });
        mount.add_reader();
        let agreed = within(context, PATIENCE, mount.until(|mount| mount.is_agreed())).await;
        if agreed.is_none() || mount.over.get() {
            mount.close().await;
            return Err(format!("the kernel does not speak FUSE at {}", mount.mount.display()));
        }
        if mount.transport.get() == Transport::IoUring {
            entries::accepted(&mount).await;
        }
        Ok(mount)
    }

    /// Where it is mounted.
    pub fn place(&self) -> &PathBuf {
        &self.mount
    }

    fn is_agreed(&self) -> bool {
        match self.transport.get() {
            Transport::Unknown => self.over.get(),
            Transport::Read => true,
            Transport::IoUring => self.over.get() || self.registered.get() == entries::count(),
        }
    }

    async fn until(&self, is_so: impl Fn(&Self) -> bool) {
        until(&self.changed, || is_so(self).then_some(())).await;
    }

    fn add_reader(self: &Rc<Self>) {
        self.readers.set(self.readers.get() + 1);
        self.context.spawn(read::work(Rc::clone(self)));
    }

    /// Answers the first request, which is told apart from all others: it decides how they come.
    fn agree(self: &Rc<Self>, body: &[u8], data: &Buf) -> Result<Done, i32> {
        let agreed = Init::decode(body).map_err(|why| self.violated(why)).and_then(|init| {
            let limits =
                ServerLimits { largest: LARGEST, background: BACKGROUND, io_uring: self.wants_io_uring };
            negotiate(&init, limits).map_err(|error| {
                tracing::error!(%error, "FUSE");
                self.end();
                libc::EPROTO
            })
        })?;
        data.slice(0..agreed.answer.len()).copy_from(&agreed.answer);
        if !agreed.again {
            self.transport.set(if agreed.io_uring { Transport::IoUring } else { Transport::Read });
            if agreed.io_uring {
                entries::register(self);
            }
            self.changed.notify();
        }
        Ok(Done::Payload(agreed.answer.len()))
    }

    /// Has a request done, and counts it.
    async fn perform(&self, request: &Request<'_>, data: &Buf) -> Result<Done, i32> {
        if self.over.get() && !matches!(request.operation, Operation::Release | Operation::Destroy) {
            return Err(libc::ESHUTDOWN);
        }
        let under_way = CountGuard::one(&self.outstanding);
        let done = operate::operate(&self.tree, &self.pool, request, data).await;
        self.answered.set(self.answered.get() + 1);
        drop(under_way);
        if self.over.get() {
            self.changed.notify();
        }
        done
    }

    /// Tells of bytes that are no request, and what its sender is answered.
    fn violated(&self, why: Violation) -> i32 {
        tracing::error!(%why, "the kernel sent what is no FUSE request");
        libc::EIO
    }

    /// The kernel sends no more requests.
    fn gone(&self) {
        if !self.left.get() && !self.over.get() {
            tracing::warn!(
                mount = %self.mount.display(),
                "unmounted by another program: the exports are no files any more; restart the daemon to have them again"
            );
        }
        self.end();
    }

    /// No request is executed any more.
    fn end(&self) {
        self.over.set(true);
        self.changed.notify();
    }

    /// Requests in the volumes' hands.
    pub fn outstanding(&self) -> usize {
        self.outstanding.get()
    }

    /// Unmounts, and serves who still has files open until the last of them is closed.
    pub async fn leave(&self) {
        if self.over.get() {
            return;
        }
        self.left.set(true);
        if let Err(error) = mount::unmount(self.mount.clone(), &self.ring).await {
            tracing::warn!(mount = %self.mount.display(), %error, "cannot unmount");
        }
        self.until(|mount| mount.over.get()).await;
    }

    /// Answers no more requests, and waits for those that the volumes are at.
    pub async fn cut_off(&self) {
        self.end();
        self.until(|mount| mount.outstanding.get() == 0).await;
    }

    /// As [`Mount::leave`] for a second at most, and [`Mount::cut_off`].
    async fn close(&self) {
        within(&self.context, SECOND, self.leave()).await;
        self.cut_off().await;
    }
}
