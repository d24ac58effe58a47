//! The planned stop: durability first, clients second. What was answered is made durable while clients still fetch their answers,
//! and no wait is without an end: clients have `client_patience`, devices have to complete something within `stall_patience`,
//! and the operator may be in a hurry.

use std::cell::Cell;
use std::rc::Rc;

use fathom_runtime::{Nanos, SECOND, within};
use fathom_volume::{Handle, Kind};

use crate::cut::CountGuard;
use crate::listeners::Listeners;
use crate::log::exit;
use crate::notify::notify;
use crate::settings::AtStop;
use crate::signals::{SignalRequest, Signals};
use crate::state::{Phase, State};
use crate::ublk;

/// Exit code of a stop that was ended before everything was drained, by a third signal or by devices that do not answer.
const UNDRAINED: i32 = 4;
/// How often the service manager is told that a stop is under way.
const STILL_STOPPING: Nanos = 5 * SECOND;
/// What clients that are cut off have under way is waited for so long: a device may be at it.
const LAST_REQUESTS: Nanos = 2 * SECOND;
/// How often devices are polled.
const POLL: Nanos = SECOND / 4;

/// Does what signals ask until the daemon ends.
pub async fn listen_to_signals(state: Rc<State>, signals: Signals) {
    loop {
        match signals.next().await {
            Ok(SignalRequest::Stop) if !state.stop.is_said() => state.ask_to_stop("signal"),
            Ok(SignalRequest::Stop) if !state.hurry.is_said() => {
                tracing::warn!("a second signal: clients are cut off at once; a third one ends the daemon");
                state.hurry.say();
            }
            Ok(SignalRequest::Stop) => give_up(&state, "a third signal"),
            Ok(other) => {
                other.is_told();
            }
            Err(error) => {
                tracing::error!(%error, "cannot listen to signals any more");
                return;
            }
        }
    }
}

/// Answers what clients have sent, makes everything durable, and says how that went.
///
/// # Errors
/// What is not durable.
pub async fn stop(state: &Rc<State>, listeners: Listeners) -> Result<(), String> {
    state.phase.set(Phase::Draining);
    notify("STOPPING=1\nSTATUS=draining");
    state.context.spawn(tell_the_service_manager(Rc::clone(state)));
    state.context.spawn(flush(Rc::clone(state)));
    listeners.close();
    state.connections().iter().for_each(|connection| connection.stop_reading());
    let patience = state.settings.client_patience;
    if !within_patience(state, patience, all_gone(state)).await {
        let clients = state.connections().len();
        tracing::warn!(clients, "clients that do not fetch their answers are cut off");
        state.connections().iter().for_each(|connection| connection.end());
        if within(&state.context, LAST_REQUESTS, all_gone(state)).await.is_none() {
            tracing::warn!(
                unanswered = unanswered(state),
                "their requests are still with the devices: the stop continues without their answers"
            );
        }
    }
    unmount(state, patience).await;
    let closed = unless_stalled(state, completed, async {
        match state.settings.at_stop {
            AtStop::Drain => {
                ublk::close(&state.devices.take()).await;
                state.lifecycle.close().await
            }
            AtStop::Keep => state.lifecycle.flush().await,
        }
    });
    let Some(closed) = closed.await else { give_up(state, &stalled(state)) };
    let result = match closed {
        Ok(()) => have_their_names(state).await,
        Err(error) => Err(error.to_string()),
    };
    match &result {
        Ok(()) => {
            // The first flush may be heard of after this.
            state.durable.set(true);
            tracing::info!("everything acknowledged is durable; stopped");
        }
        Err(error) => tracing::error!(error, "stopped, and not everything is durable"),
    }
    drop(listeners);
    result
}

/// Whether the next start finds the files that were served.
///
/// # Errors
/// Those that it does not find.
async fn have_their_names(state: &State) -> Result<(), String> {
    let _ = within(&state.context, LAST_REQUESTS, state.names.look()).await;
    let lost = state.names.lost();
    if lost.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} was removed, moved or replaced while it was served: what it held is not where the next start looks",
        lost.join(", ")
    ))
}

/// Takes the files away; who has one open is served that much longer, in ns.
pub async fn unmount(state: &State, patience: Nanos) {
    let Some(mount) = state.fuse.take() else { return };
    if !within_patience(state, patience, mount.leave()).await {
        tracing::warn!(
            mount = %mount.place().display(),
            "files are still open, by a loop device perhaps: they are cut off"
        );
    }
    if within(&state.context, LAST_REQUESTS, mount.cut_off()).await.is_none() {
        let unanswered = mount.outstanding();
        tracing::warn!(unanswered, "requests of files are still with the devices: the stop continues");
    }
}

/// Waits for what is up to clients: no longer than `patience` ns, and not at all once the operator is in a hurry. Whether
/// it came.
async fn within_patience(state: &State, patience: Nanos, future: impl Future<Output = ()>) -> bool {
    state.hurry.unless(within(&state.context, patience, future)).await.flatten().is_some()
}

/// Waits until the backing volumes hold everything that was answered before, as long as that gets on. If it does not, the drain
/// continues with nobody waiting for it, and keeps its `place`.
///
/// # Errors
/// What is not drained, and whether that is because no device completes anything.
pub async fn drain(state: &Rc<State>, place: CountGuard) -> Result<(), (String, bool)> {
    let flushed = Rc::new(Cell::new(0));
    let (counting, lifecycle) = (Rc::clone(&flushed), state.lifecycle.clone());
    let drained = state.context.spawn(async move {
        let _place = place;
        lifecycle.drain_counting(&counting).await
    });
    // What clients have done meanwhile says nothing about it.
    match unless_stalled(state, |state| flushed.get() + state.lifecycle.drained(), drained).await {
        Some(drained) => drained.map_err(|error| (error.to_string(), false)),
        None => Err((format!("{}: not drained", stalled(state)), true)),
    }
}

fn stalled(state: &State) -> String {
    let patience = std::time::Duration::from_nanos(state.settings.stall_patience);
    format!("no device has completed anything for {patience:?}")
}

/// What is up to devices; None if they complete nothing that `completed` counts for `stall_patience`.
async fn unless_stalled<T>(
    state: &State,
    completed: impl Fn(&State) -> u64,
    future: impl Future<Output = T>,
) -> Option<T> {
    let mut future = std::pin::pin!(future);
    let (mut seen, mut since) = (completed(state), state.context.now());
    loop {
        if let Some(output) = within(&state.context, POLL, future.as_mut()).await {
            return Some(output);
        }
        let (now, so_far) = (state.context.now(), completed(state));
        if so_far != seen {
            (seen, since) = (so_far, now);
        } else if now - since >= state.settings.stall_patience {
            return None;
        }
    }
}

/// Changes and flushes that the volumes have completed. Reads do not count: a scrub would hide that nothing else moves.
fn completed(state: &State) -> u64 {
    let now = state.context.now();
    let of = |volume: &Handle| {
        let total = volume.statistics().total(now);
        let kinds = Kind::ALL.iter().filter(|kind| **kind != Kind::Read).filter_map(|kind| total.kind(*kind));
        kinds.map(|counted| counted.count).sum::<u64>()
    };
    state.volumes.iter().map(of).sum()
}

async fn flush(state: Rc<State>) {
    match state.lifecycle.flush().await {
        Ok(()) => {
            if !state.durable.replace(true) {
                tracing::info!("what was answered is durable so far");
            }
        }
        // The close that follows finds it, too.
        Err(error) => tracing::error!(%error, "what was answered cannot be made durable"),
    }
}

async fn tell_the_service_manager(state: Rc<State>) {
    // Every wait ends by itself: the manager has to end only a daemon that is silent.
    let more = (state.settings.stall_patience + 2 * STILL_STOPPING) / 1000;
    loop {
        let dirty: u64 = state.lifecycle.groups().map(|(_, group)| group.dirty).sum();
        notify(&format!("EXTEND_TIMEOUT_USEC={more}\nSTATUS=draining, {} KiB left in caches", dirty >> 10));
        state.context.sleep(STILL_STOPPING).await;
    }
}

async fn all_gone(state: &State) {
    while !state.connections.borrow().is_empty() {
        state.gone.wait().await;
    }
}

fn unanswered(state: &State) -> usize {
    state.connections().iter().map(|connection| connection.outstanding()).sum()
}

/// Ends the daemon with what is durable, and says what was not drained.
fn give_up(state: &State, why: &str) -> ! {
    for (group, status) in state.lifecycle.groups() {
        if status.dirty > 0 {
            let dirty_bytes = status.dirty;
            tracing::error!(
                group,
                dirty_bytes,
                "not drained: it stays in the cache, and the next start resumes from there"
            );
        }
    }
    for volume in &state.volumes {
        let outstanding = volume.statistics().outstanding();
        if outstanding > 0 {
            tracing::error!(volume = volume.name(), outstanding, "requests that were not completed");
        }
    }
    let mount = state.fuse.borrow().as_ref().map(|mount| mount.outstanding());
    tracing::error!(
        why,
        clients = state.connections().len(),
        unanswered = unanswered(state) + mount.unwrap_or_default(),
        flushed_at_stop = state.durable.get(),
        "ended at once, not drained: durable is what clients have flushed, and what the flush at the stop covered"
    );
    let paths = [Some(&state.settings.socket), state.settings.status.as_ref()];
    for path in paths.into_iter().flatten() {
        // The next start replaces one that stays.
        let _ = std::fs::remove_file(path);
    }
    exit(UNDRAINED);
}
