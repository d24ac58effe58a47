//! One device, from the first command to the last.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::rc::Rc;

use fathom_runtime::{Context, MILLISECOND, Nanos, Ring};
use fathom_ublk::control::{
    IOCTL_ENCODE, Info, Operation, PATH, Parameters, State, USER_RECOVERY, USER_RECOVERY_REISSUE,
};
use fathom_volume::Pool;

use super::control;
use super::queue::Queue;
use crate::exports::Served;

/// Requests in flight per device.
const DEPTH: u16 = 128;
/// The largest transfer, bytes: as common disks take them. Each tag holds a buffer of that size.
const LARGEST: u32 = 512 << 10;
/// The longest trim or write-zeroes, bytes.
const LARGEST_DISCARD: u32 = 1 << 30;
/// The page: the block layer takes no larger logical block.
const LARGEST_BLOCK: u32 = 4096;
const FEATURES: u64 = USER_RECOVERY | USER_RECOVERY_REISSUE | IOCTL_ENCODE;
/// How often, and how far apart, something is tried that the kernel is about to make possible.
const TRIES: u32 = 200;
const PAUSE: Nanos = 50 * MILLISECOND;

/// `/dev/ublkbN`, served by this process.
pub struct Device {
    number: u32,
    /// Whether it was taken over from a daemon that had died or left it.
    pub recovered: bool,
    /// What it serves.
    pub served: Rc<Served>,
    ring: Ring,
    // None once it is closed.
    queue: RefCell<Option<Rc<Queue>>>,
}

impl Device {
    /// Adds and starts the device that the export asks for, or takes it over if a daemon has left it.
    ///
    /// # Errors
    /// What is in the way, and the remedy.
    pub async fn open(context: &Context, pool: &Pool, served: &Rc<Served>) -> Result<Self, String> {
        let ring = context.ring().ok_or("there are no devices in virtual time")?.clone();
        let number = served.ublk.ok_or("no `ublk` number is set")?;
        let block = served.volume.geometry().logical_sector;
        if block > LARGEST_BLOCK {
            return Err(format!(
                "blocks of {block} bytes, and a device takes at most {LARGEST_BLOCK}: serve by NBD"
            ));
        }
        let features = control::features(&ring).await.map_err(|error| no_driver(&error))?;
        if features & FEATURES != FEATURES {
            return Err(
                "the kernel's driver cannot hand a device over to a new process; Linux 6.5 can".to_owned()
            );
        }
        let told = |what: &str, error: io::Error| format!("/dev/ublkb{number}: {what}: {error}");
        let found = control::info(&ring, number).await.map_err(|error| told("its state", error))?;
        let recovered = found.is_some();
        let info = match found {
            None => add(&ring, number, served).await.map_err(|error| told("adding it", error))?,
            Some(info) => adopt(context, &ring, info, served).await?,
        };
        let queue = async {
            let file = channel(context, number).await?;
            Queue::start(context, &ring, pool, served, file, (info.depth, info.largest))
        };
        let queue = match queue.await {
            Ok(queue) => queue,
            Err(error) => {
                // A device that was found stays as it was found.
                if !recovered && let Err(left) = control::plain(&ring, Operation::Delete, number).await {
                    tracing::error!(device = number, error = %left, "ublk: cannot be removed");
                }
                return Err(told("opening its channel", error));
            }
        };
        let device =
            Self { number, recovered, served: Rc::clone(served), ring, queue: RefCell::new(Some(queue)) };
        let last = if recovered { Operation::EndRecovery } else { Operation::Start };
        if let Err(error) = control::by_us(&device.ring, last, number).await {
            if let Err(left) = device.close().await {
                tracing::error!(device = number, error = %left, "ublk: cannot be removed");
            }
            return Err(told("starting it", error));
        }
        tracing::info!(device = device.path(), export = served.export.name, recovered, "serving");
        Ok(device)
    }

    /// `/dev/ublkbN`.
    pub fn path(&self) -> String {
        format!("/dev/ublkb{}", self.number)
    }

    /// Requests being done and requests done so far.
    pub fn counts(&self) -> (usize, u64) {
        let queue = self.queue.borrow();
        queue.as_ref().map_or((0, 0), |queue| (queue.outstanding.get(), queue.answered.get()))
    }

    /// Stops and removes it. Requests in flight are answered first; whoever still uses it gets errors afterwards.
    ///
    /// # Errors
    /// The driver's.
    pub async fn close(&self) -> io::Result<()> {
        control::plain(&self.ring, Operation::Stop, self.number).await?;
        let queue = self.queue.take();
        if let Some(queue) = queue {
            queue.over().await;
            // The tasks have dropped theirs: this closes the channel, without which the device cannot be removed.
            drop(queue);
        }
        control::plain(&self.ring, Operation::Delete, self.number).await
    }
}

/// What to do where the driver is not there; None where it is.
pub fn driver_is_missing() -> Option<String> {
    let found = std::fs::metadata(PATH);
    found.err().filter(|error| error.kind() == ErrorKind::NotFound).map(|error| no_driver(&error))
}

fn no_driver(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => format!(
            "{PATH} is not there: load the driver with `modprobe ublk_drv` (Linux 6.5 or later), or serve by NBD"
        ),
        ErrorKind::PermissionDenied => format!("{PATH}: {error}: the daemon needs CAP_SYS_ADMIN for it"),
        _ => format!("{PATH}: {error}: io_uring commands to it need Linux 6.5 or later"),
    }
}

async fn add(ring: &Ring, number: u32, served: &Served) -> io::Result<Info> {
    let asked = Info {
        queues: 1,
        depth: DEPTH,
        state: State::Dead,
        largest: LARGEST,
        device: number,
        process: 0,
        flags: FEATURES,
    };
    let granted = control::add(ring, asked).await?;
    let described = control::set_parameters(ring, number, parameters(served, granted.largest)).await;
    if let Err(error) = described {
        // The reason is the first error's.
        let _ = control::plain(ring, Operation::Delete, number).await;
        return Err(error);
    }
    Ok(granted)
}

fn parameters(served: &Served, largest: u32) -> Parameters {
    let geometry = served.volume.geometry();
    let optimal = geometry.optimal_transfer.max(geometry.physical_sector);
    Parameters {
        size: geometry.size,
        logical_block: geometry.logical_sector,
        physical_block: geometry.physical_sector,
        // A power of two; what does not fit into one is rounded down.
        optimal_transfer: 1 << optimal.ilog2(),
        largest_transfer: largest,
        // What was answered may still be in a cache below: the host is to flush.
        volatile_cache: true,
        read_only: served.export.read_only,
        largest_discard: LARGEST_DISCARD,
    }
}

/// Takes a device over that is there already, if that harms nobody; what it is like.
async fn adopt(context: &Context, ring: &Ring, found: Info, served: &Served) -> Result<Info, String> {
    let device = format!("/dev/ublkb{}", found.device);
    let info =
        abandoned(context, ring, found).await.map_err(|error| format!("{device}: its state: {error}"))?;
    match info.state {
        State::Quiesced => {}
        State::Live => {
            return Err(format!(
                "{device} is served by process {}: stop that first, or set another `ublk` number",
                info.process
            ));
        }
        State::Dead | State::Unknown(_) => {
            return Err(format!(
                "{device} was added by a program that does not serve it: remove it, or set another `ublk` number"
            ));
        }
    }
    let geometry = served.volume.geometry();
    let shape = control::shape(ring, info.device)
        .await
        .map_err(|error| format!("{device} waits for a server, and its size cannot be read: {error}"))?;
    if shape != (geometry.size, geometry.logical_sector) {
        let (size, block) = shape;
        return Err(format!(
            "{device} waits for its server with {size} bytes in blocks of {block}, and `{}` has {} in blocks of {}: \
             serve the volume it belongs to, or set another `ublk` number",
            served.volume.name(),
            geometry.size,
            geometry.logical_sector
        ));
    }
    // The driver is busy until the former server's last reference is gone.
    let mut tries = TRIES;
    loop {
        match control::plain(ring, Operation::StartRecovery, info.device).await {
            Ok(()) => return Ok(info),
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && tries > 0 => {
                tries -= 1;
                context.sleep(PAUSE).await;
            }
            Err(error) => {
                return Err(format!(
                    "{device} waits for a server, and the driver does not hand it over: {error}"
                ));
            }
        }
    }
}

/// The device's state once the driver has noticed that its server has died, if it has.
async fn abandoned(context: &Context, ring: &Ring, mut info: Info) -> io::Result<Info> {
    for _ in 0..TRIES {
        // SAFETY: signal 0 is sent to nobody; integers only.
        let lives = unsafe { libc::kill(info.process, 0) } == 0;
        if info.state != State::Live || lives {
            break;
        }
        context.sleep(PAUSE).await;
        info = control::info(ring, info.device).await?.ok_or(ErrorKind::NotFound)?;
    }
    Ok(info)
}

/// `/dev/ublkcN`, which the kernel, or udev, may take a moment to make, and the former server a moment to let go.
async fn channel(context: &Context, number: u32) -> io::Result<File> {
    let path = format!("/dev/ublkc{number}");
    for _ in 1..TRIES {
        match File::options().read(true).write(true).open(&path) {
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied)
                    || error.raw_os_error() == Some(libc::EBUSY) =>
            {
                context.sleep(PAUSE).await;
            }
            done => return done,
        }
    }
    File::options().read(true).write(true).open(&path)
}
