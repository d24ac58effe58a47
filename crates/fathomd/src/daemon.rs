//! The daemon as a whole: builds the stack, opens its sockets, and stops when it is asked to.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;

use fathom_runtime::{Ring, RingSetup, SECOND, Signal, seed_from_kernel, within};
use fathom_stack::{Lifecycle, Stack, WritebackStatus};
use fathom_volume::Site;

use crate::cancel::cancel_everything;
use crate::connection::{Common, Memory};
use crate::cut::Cancellation;
use crate::exports::{Exports, Served};
use crate::fences::tell_of_fences;
use crate::fuse::Mount;
use crate::legs::{tell_of_caches, tell_of_legs};
use crate::listen::is_nobody_s;
use crate::listeners::{Claims, Listeners};
use crate::log::exit;
use crate::memory::{give_back_when_idle, of_machine, socket_buffer};
use crate::names::{Names, tell_of_lost_names};
use crate::notify::notify;
use crate::settings::{Settings, Tls};
use crate::signals::EarlySignals;
use crate::state::{Phase, State};
use crate::stop::{self, listen_to_signals};
use crate::{check, descriptors, folder_of, ublk};

/// Runs the daemon of a settings file until it is asked to stop. Signals are `early`'s until the executor runs.
///
/// # Errors
/// A message that says what is in the way.
pub fn run(settings: Settings, file: &Path, early: EarlySignals) -> Result<(), String> {
    // A daemon that has these sockets may hang, and whoever looks at its mount then waits for it for ever.
    is_nobody_s(&settings.daemon.socket)?;
    let wrong = settings.in_the_way();
    if !wrong.is_empty() {
        return Err(wrong.join("; "));
    }
    // Before anybody looks at the volumes: what another daemon changes meanwhile looks like damage.
    let claims = Claims::take(&settings.daemon)?;
    ask_first(&settings, file, Purpose::Serve)?;
    // Wide entries carry FUSE's commands.
    let wide = settings.fuse.is_some();
    let setup = RingSetup { wide, busy_poll: settings.daemon.busy_poll, ..RingSetup::default() };
    let site = site(setup, folder_of(file), seed()?)?;
    let built = Stack::build_of_what_is_there(&settings.volumes, &settings.roots(), &site);
    let stack = built.map_err(|error| error.to_string())?;
    let serving = live(settings, file, claims, &stack, early);
    site.runtime().block_on(serving).map_err(|deadlock| deadlock.to_string())?
}

/// Where several of caches, mirrors and pools are, asks first whether one of them refuses the start: each writes on its own open, and
/// a refusal writes nothing. A process of its own asks, as it must have let go of every file before the start takes them.
///
/// # Errors
/// The refusal.
pub fn ask_first(settings: &Settings, file: &Path, to: Purpose) -> Result<(), String> {
    if !settings.volumes.several_write_on_open() {
        return Ok(());
    }
    let asked = Command::new("/proc/self/exe")
        .arg("--foresee")
        .args((to == Purpose::Create).then_some("--create"))
        .arg(file)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    match asked {
        Ok(answer) if answer.status.code() == Some(check::FAILED.into()) && !answer.stdout.is_empty() => {
            Err(String::from_utf8_lossy(&answer.stdout).into_owned())
        }
        // Whatever else is wrong, the start itself tells.
        _ => Ok(()),
    }
}

/// What volumes are opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Serve,
    /// Files that are not there are made.
    Create,
}

/// Whether a cache, a mirror or a pool would refuse the start. Writes nothing, not even what they write on their own opens; the
/// process keeps their files until it ends.
///
/// # Errors
/// The refusal.
pub fn foresee(settings: &Settings, directory: &Path, to: Purpose) -> Result<(), String> {
    // What cannot be opened for reading is for the start itself to tell.
    let Ok(site) = site(RingSetup::default(), directory, 0) else { return Ok(()) };
    let (volumes, roots) = (&settings.volumes, settings.roots());
    let built = match to {
        Purpose::Serve => Stack::build_for_reading(volumes, &roots, &site),
        Purpose::Create => Stack::build_before_creation(volumes, &roots, &site),
    };
    let Ok(stack) = built else { return Ok(()) };
    let outcome = site.runtime().block_on(stack.foresee()).unwrap_or(Ok(()));
    outcome.map_err(|error| error.to_string())
}

/// A seed for everything random, said in the log.
///
/// # Errors
/// The kernel gives none.
pub fn seed() -> Result<u64, String> {
    let seed = seed_from_kernel().map_err(|error| format!("the kernel gives no random numbers: {error}"))?;
    tracing::info!(seed, "random numbers of this run");
    Ok(seed)
}

/// Where the daemon's volumes live. The seed decides what they call themselves: incarnations, legs, groups.
///
/// # Errors
/// Why there is no ring, and what would help.
pub fn site(setup: RingSetup, directory: &Path, seed: u64) -> Result<Site, String> {
    Ok(Site::real(setup, seed).map_err(|error| error.to_string())?.in_directory(directory))
}

/// A volume that went back to an earlier moment is no news to look for: replicas may be ahead of it now.
fn tell_loss(group: &str, status: &WritebackStatus) {
    if let Some(loss) = &status.loss {
        tracing::warn!(
            group,
            lost_incarnation = loss.incarnation,
            least_bytes = loss.pending.bytes,
            most_bytes = loss.bounds.bytes,
            "loss of the cache accepted: {loss}. Replicas may be ahead of these volumes: rebuild them or begin a new timeline"
        );
    }
}

/// What was given up at this opening, what was accepted for nothing, and what protects less than it seems to.
pub fn tell_losses(lifecycle: &Lifecycle) {
    for (mirror, told) in lifecycle.striped_legs() {
        tracing::warn!(mirror, "{told}");
    }
    for (mirror, accepted) in lifecycle.accepting_mirrors() {
        tracing::warn!(mirror, "`{accepted}` is in the settings: the mirror is open, take it out");
    }
    lifecycle.groups().for_each(|(name, status)| tell_loss(name, &status));
    for (group, accepts) in lifecycle.needless_acceptances() {
        tracing::warn!(
            group,
            "`accept_loss = {accepts}` accepts nothing: the group opened without a loss, or it is that of an earlier start. Take it out"
        );
    }
}

/// Why the daemon does not start without signals.
pub fn cannot_listen(error: &std::io::Error) -> String {
    format!("cannot listen to signals: {error}")
}

async fn tell_of_failure(ring: Ring) {
    let error = ring.failed().await;
    tracing::error!(
        %error,
        "io_uring fails: every request to a device is answered with an error from now on, and nothing more is written. \
         Restart the daemon: what was flushed is there"
    );
    notify("STATUS=io_uring fails: restart the daemon");
}

async fn live(
    settings: Settings,
    file: &Path,
    claims: Claims,
    stack: &Stack<'_>,
    early: EarlySignals,
) -> Result<(), String> {
    let (context, pool) = (stack.site().context(), stack.site().pool());
    let ring = context.ring().ok_or("the daemon runs on the real clock only")?.clone();
    let signals = early.hand_over(&ring).map_err(|error| cannot_listen(&error))?;
    let served = settings.exports.iter().map(|export| {
        let volume = stack.get(&export.volume).ok_or_else(|| format!("no volume `{}`", export.volume))?;
        Ok(Served::new(&context, export, volume.clone()))
    });
    let exports = Rc::new(Exports::new(served.collect::<Result<_, String>>()?));
    let tcp = settings.daemon.tcp.as_ref();
    let clients = settings.daemon.most_clients * (1 + usize::from(tcp.is_some()));
    let memory = settings.daemon.client_memory.unwrap_or_else(of_machine);
    let common = Rc::new(Common {
        context: context.clone(),
        pool: pool.clone(),
        exports: Rc::clone(&exports),
        tls: tcp.and_then(|tcp| tcp.tls.as_ref()).map(Tls::server).transpose()?,
        memory: Memory::new(memory, clients),
        socket_buffer: socket_buffer(memory, clients),
    });
    let files = settings.volumes.written_files(&settings.roots(), stack.site().directory());
    let tells = settings.daemon.status.is_some();
    let written = settings.written_roots();
    let state = Rc::new(State {
        context: context.clone(),
        exports,
        volumes: stack.nodes().to_vec(),
        lifecycle: stack.lifecycle(),
        names: Rc::new(Names::new(files, ring.clone(), file, tells)),
        phase: Cell::new(Phase::Serving),
        descriptors: descriptors::of_process(),
        fuse: RefCell::default(),
        connections: RefCell::default(),
        devices: RefCell::default(),
        accepted: Cell::new(0),
        refused: Cell::new(0),
        crowded_out: Cell::new(0),
        gone: Signal::default(),
        stop: Cancellation::default(),
        hurry: Cancellation::default(),
        durable: Cell::new(false),
        settings: settings.daemon,
    });
    context.spawn(listen_to_signals(Rc::clone(&state), signals));
    context.spawn(tell_of_failure(ring.clone()));
    context.spawn(give_back_when_idle(Rc::clone(&state), pool.clone()));
    let Some(ready) = state.stop.unless(state.lifecycle.ready()).await else {
        // Whatever a recovery was at is done again by the next start, as after a power cut.
        tracing::info!("stopped before anything was served");
        cancel_everything(&ring).await;
        return Ok(());
    };
    ready.map_err(|error| error.to_string())?;
    tell_losses(&state.lifecycle);
    for volume in written {
        if let Some(Some(told)) = within(&context, SECOND, stack.undrained(&volume)).await {
            tracing::warn!(volume, "{told}");
        }
    }
    for mirror in state.lifecycle.mirror_nodes() {
        context.spawn(tell_of_legs(context.clone(), Rc::clone(mirror)));
    }
    context.spawn(tell_of_caches(context.clone(), state.lifecycle.clone()));
    context.spawn(tell_of_lost_names(context.clone(), Rc::clone(&state.names)));
    context.spawn(tell_of_fences(context.clone(), state.volumes.clone(), state.lifecycle.clone()));
    let listeners = Listeners::open(claims, &state, &ring, &common)?;
    if let Some(fuse) = &settings.fuse {
        let mount = Mount::open(&context, &common.pool, &common.exports, fuse).await?;
        tracing::info!(mount = %mount.place().display(), transport = mount.transport.get().name(), "mounted");
        *state.fuse.borrow_mut() = Some(mount);
    }
    match ublk::open(&context, pool, state.exports.all()).await {
        Ok(devices) => *state.devices.borrow_mut() = devices,
        Err(why) => {
            stop::unmount(&state, 0).await;
            drop(listeners);
            cancel_everything(&ring).await;
            return Err(why);
        }
    }
    notify("READY=1\nSTATUS=serving");
    tracing::info!(socket = %state.settings.socket.display(), exports = state.exports.all().len(), "serving");
    state.stop.unless(std::future::pending::<()>()).await;
    let result = stop::stop(&state, listeners).await;
    let unanswered = !state.connections.borrow().is_empty();
    if unanswered || !state.devices.borrow().is_empty() {
        // The ring would wait for requests that a device does not answer, and for the commands that ublk's driver keeps
        // until this process ends: its devices are left to the next start, which is what was asked for.
        exit(i32::from(result.is_err()));
    }
    cancel_everything(&ring).await;
    result
}
