//! The daemon's status as JSON. The keys are described in docs/FATHOMD.md.

use std::collections::BTreeMap;

use fathom_layers::mirror::Standing;
use fathom_layers::writeback::Standing as CacheStanding;
use fathom_stack::{MirrorStatus, WritebackLoss, WritebackStatus as Status};
use fathom_volume::{Class, Handle, Kind, KindStatistics};
use serde_json::{Map, Value, json};

use crate::connection::Connection;
use crate::exports::Served;
use crate::fuse::Mount;
use crate::state::State;
use crate::ublk::Device;

/// Upper bounds of the latency counts, ns; what is slower than the last is in the count of all.
pub const BOUNDS: [u64; 14] = [
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    50_000_000,
    100_000_000,
    500_000_000,
    1_000_000_000,
];

/// Everything.
pub fn report(state: &State) -> Value {
    let now = state.context.now();
    let clients: Vec<Value> =
        state.connections.borrow().values().map(|connection| client(connection, now)).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "process": std::process::id(),
        "phase": state.phase.get().name(),
        "uptime_ns": now,
        "io_uring_failure": ring_failure(state).map(|error| error.to_string()),
        "socket": state.settings.socket,
        "fuse": state.fuse.borrow().as_ref().map(|mount| mounted(mount)),
        "clients": clients,
        "clients_accepted": state.accepted.get(),
        "clients_refused": state.refused.get(),
        "clients_crowded_out": state.crowded_out.get(),
        "exports": state.exports.all().iter().map(|served| export(served)).collect::<Vec<_>>(),
        "devices": state.devices.borrow().iter().map(|device| block_device(device)).collect::<Vec<_>>(),
        "latency_bounds_ns": BOUNDS,
        "writeback": state.lifecycle.groups().map(|(name, status)| group(name, &status)).collect::<Vec<_>>(),
        "mirrors": state.lifecycle.mirrors().map(|(name, status)| mirror(name, &status)).collect::<Vec<_>>(),
        "volumes": state.volumes.iter().map(|handle| volume(handle, now)).collect::<Vec<_>>(),
    })
}

/// Why devices are not served any more, if that is so.
pub fn ring_failure(state: &State) -> Option<std::io::Error> {
    state.context.ring().and_then(|ring| ring.failure())
}

fn mounted(mount: &Mount) -> Value {
    json!({
        "mount": mount.place(),
        "by": mount.transport.get().name(),
        "outstanding": mount.outstanding(),
        "answered": mount.answered.get(),
    })
}

fn client(connection: &Connection, now: u64) -> Value {
    json!({
        "id": connection.id,
        "by": connection.transport.name(),
        "export": *connection.export.borrow(),
        "connected_ns": now - connection.since,
        "outstanding": connection.outstanding(),
    })
}

fn export(served: &Served) -> Value {
    json!({
        "name": served.export.name,
        "volume": served.volume.name(),
        "description": served.export.description,
        "size": served.export.size,
        "block": served.export.block,
        "read_only": served.export.read_only,
        "failures": served.failures.get(),
    })
}

fn block_device(device: &Device) -> Value {
    let (outstanding, answered) = device.counts();
    json!({
        "path": device.path(),
        "export": device.served.export.name,
        "recovered": device.recovered,
        "outstanding": outstanding,
        "answered": answered,
    })
}

fn volume(handle: &Handle, now: u64) -> Value {
    let snapshot = handle.statistics().total(now);
    let requests: Map<String, Value> = Kind::ALL
        .iter()
        .filter_map(|kind| snapshot.kind(*kind).map(|counted| (kind.name().to_owned(), requests(counted))))
        .collect();
    let counters: Map<String, Value> =
        handle.counters().into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
    json!({
        "name": handle.name(),
        "kind": handle.kind(),
        "size": handle.geometry().size,
        "outstanding": handle.statistics().outstanding(),
        "outstanding_max": snapshot.outstanding_max,
        "requests": requests,
        "counters": counters,
        "facts": handle.facts().into_iter().collect::<BTreeMap<_, _>>(),
    })
}

fn group(name: &str, status: &Status) -> Value {
    let Status { dirty, dirty_limit, lag, drain_rate, answered, committed, applied, counts, .. } = *status;
    let legs = status.legs.iter().map(|leg| {
        json!({
            "name": leg.name,
            "standing": leg.standing.name(),
            "behind_because": (leg.standing == CacheStanding::Behind).then_some(&leg.why),
        })
    });
    json!({
        "name": name,
        "fenced": status.fenced,
        "dirty_bytes": dirty,
        "dirty_limit_bytes": dirty_limit,
        "lag_ns": lag,
        "drain_bytes_per_second": drain_rate,
        "answered": answered,
        "committed": committed,
        "applied": applied,
        "lost_incarnation": status.loss.map(|loss| loss.incarnation),
        "last_loss": status.last_loss.as_ref().map(loss),
        "legs": legs.collect::<Vec<_>>(),
        "legs_lost": counts.legs_lost,
        "copying_bytes": status.copying,
        "log_bytes": counts.log_bytes,
        "applied_bytes": counts.applied_bytes,
        "delayed_ns": counts.delayed_ns,
        "device_time_ns": Class::ALL.map(|class| (class.name(), status.usage.of(class))).into_iter().collect::<BTreeMap<_, _>>(),
        "background_wait_ns": status.usage.waited,
        "checksum_errors": counts.checksum_errors,
        "scrub_errors": counts.scrub_errors,
        "repaired_bytes": counts.repaired_bytes,
    })
}

fn mirror(name: &str, status: &MirrorStatus) -> Value {
    let legs = status.legs.iter().map(|leg| {
        json!({
            "name": leg.name,
            "state": leg.standing.name(),
            "away_because": (leg.standing == Standing::Away).then_some(&leg.why),
            "device_time_users_ns": leg.used_by_users,
            "device_time_resync_ns": leg.used_by_resync,
        })
    });
    let counts = status.counts;
    json!({
        "name": name,
        "generation": status.generation.to_string(),
        "legs": legs.collect::<Vec<_>>(),
        "bitmap_dirty_bytes": status.dirty,
        "resync_left_bytes": status.left,
        "resync_bytes_per_second": status.rate,
        "resync_eta_ns": status.eta,
        "resync_bytes": counts.resync_bytes,
        "resync_errors": counts.resync_errors,
        "legs_dropped": counts.dropped,
        "legs_rebuilt": counts.rebuilt,
        "old_legs": counts.old,
        "read_failovers": counts.failovers,
        "read_repairs": counts.repairs,
    })
}

/// What an accepted loss cost.
pub fn loss(loss: &WritebackLoss) -> Value {
    json!({
        "incarnation": loss.incarnation,
        "stands_at_write": loss.seq,
        "stands_at_epoch": loss.epoch,
        "known_writes": loss.writes,
        "least_bytes": loss.pending.bytes,
        "least_flushes": loss.pending.epochs,
        "least_span_ns": loss.pending.age,
        "most_bytes": loss.bounds.bytes.max(loss.pending.bytes),
        "most_span_ns": loss.bounds.age.max(loss.pending.age),
        "torn": loss.parts_up_to.is_some(),
    })
}

fn requests(counted: &KindStatistics) -> Value {
    json!({
        "count": counted.count,
        "bytes": counted.bytes,
        "errors": counted.errors,
        "latency_sum_ns": counted.latency_sum,
        "waiting_sum_ns": counted.waiting_sum,
        "latency_counts": counted.within(&BOUNDS),
    })
}
