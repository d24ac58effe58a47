//! What the daemon counts, in Prometheus' text format (version 0.0.4). Names are described in docs/FATHOMD.md.

use std::fmt::Write;

use fathom_stack::{MirrorStatus, WritebackStatus};
use fathom_volume::{Class, Handle, Kind, KindStatistics, Snapshot};

use crate::state::State;
use crate::status::{BOUNDS, ring_failure};

/// All metrics.
pub fn text(state: &State) -> String {
    let now = state.context.now();
    let mut out = String::new();
    head(&mut out, "fathomd_up_seconds", "gauge", "Time since the start.");
    line(&mut out, "fathomd_up_seconds", "", seconds(now));
    head(&mut out, "fathomd_io_uring_failed", "gauge", "1 if the kernel no longer does requests to devices.");
    line(&mut out, "fathomd_io_uring_failed", "", u32::from(ring_failure(state).is_some()));
    head(&mut out, "fathomd_clients", "gauge", "Clients connected.");
    line(&mut out, "fathomd_clients", "", state.connections.borrow().len());
    head(&mut out, "fathomd_clients_accepted_total", "counter", "Clients let in.");
    line(&mut out, "fathomd_clients_accepted_total", "", state.accepted.get());
    head(&mut out, "fathomd_clients_refused_total", "counter", "Clients turned away.");
    line(&mut out, "fathomd_clients_refused_total", "", state.refused.get());
    let name = "fathomd_clients_crowded_out_total";
    head(&mut out, name, "counter", "Clients cut off before they had chosen an export because others came.");
    line(&mut out, name, "", state.crowded_out.get());
    head(&mut out, "fathomd_export_failures_total", "counter", "Requests that the export's volume failed.");
    for served in state.exports.all() {
        let label = format!("export=\"{}\"", escape(&served.export.name));
        line(&mut out, "fathomd_export_failures_total", &label, served.failures.get());
    }
    let volumes: Vec<(&Handle, Snapshot)> =
        state.volumes.iter().map(|handle| (handle, handle.statistics().total(now))).collect();
    head(&mut out, "fathomd_volume_outstanding", "gauge", "Requests submitted and not completed.");
    for (handle, _) in &volumes {
        line(&mut out, "fathomd_volume_outstanding", &labels(handle), handle.statistics().outstanding());
    }
    writeback(&mut out, state);
    cache_legs(&mut out, state);
    device_time(&mut out, state);
    mirrors(&mut out, state);
    requests(&mut out, &volumes);
    latency(&mut out, &volumes);
    head(&mut out, "fathomd_volume_counter", "untyped", "What a layer counts beside its requests.");
    for (handle, _) in &volumes {
        for (name, count) in handle.counters() {
            let label = format!("{},counter=\"{}\"", labels(handle), escape(name));
            line(&mut out, "fathomd_volume_counter", &label, count);
        }
    }
    out
}

fn writeback(out: &mut String, state: &State) {
    type Value = fn(&WritebackStatus) -> f64;
    let families: [(&str, &str, &str, Value); 10] = [
        ("fenced", "gauge", "1 if the group accepts nothing more until the daemon is restarted.", |status| {
            f64::from(status.fenced.is_some())
        }),
        ("dirty_bytes", "gauge", "Log that the backing volumes lack.", |status| status.dirty as f64),
        ("dirty_limit_bytes", "gauge", "The most that may be.", |status| status.dirty_limit as f64),
        ("lag_seconds", "gauge", "Age of the oldest write that the backing volumes lack.", |status| {
            seconds(status.lag)
        }),
        ("log_bytes_total", "counter", "Bytes written to the log.", |status| status.counts.log_bytes as f64),
        ("applied_bytes_total", "counter", "Bytes put in place.", |status| {
            status.counts.applied_bytes as f64
        }),
        (
            "background_wait_seconds_total",
            "counter",
            "Users' waiting for background work ahead of them, estimated.",
            |status| seconds(status.usage.waited),
        ),
        ("checksum_errors_total", "counter", "Reads of the cache device that found other bytes.", |status| {
            status.counts.checksum_errors as f64
        }),
        ("scrub_errors_total", "counter", "Records that the scrub found damaged.", |status| {
            status.counts.scrub_errors as f64
        }),
        ("repaired_bytes_total", "counter", "Rewritten on one of two cache devices.", |status| {
            status.counts.repaired_bytes as f64
        }),
    ];
    for (name, kind, help, value) in families {
        let name = format!("fathomd_writeback_{name}");
        head(out, &name, kind, help);
        for (group, status) in state.lifecycle.groups() {
            line(out, &name, &format!("group=\"{}\"", escape(group)), value(&status));
        }
    }
}

fn cache_legs(out: &mut String, state: &State) {
    let name = "fathomd_writeback_leg";
    head(out, name, "gauge", "1 for the state a cache device is in.");
    for (group, status) in state.lifecycle.groups() {
        for leg in &status.legs {
            let (name_of_leg, standing) = (escape(&leg.name), leg.standing.name());
            let label = format!("group=\"{}\",leg=\"{name_of_leg}\",state=\"{standing}\"", escape(group));
            line(out, name, &label, 1);
        }
    }
}

fn device_time(out: &mut String, state: &State) {
    let name = "fathomd_writeback_device_seconds_total";
    head(out, name, "counter", "Time of the backing volumes by class of request, as learned.");
    for (group, status) in state.lifecycle.groups() {
        for class in Class::ALL {
            let label = format!("group=\"{}\",class=\"{}\"", escape(group), class.name());
            line(out, name, &label, seconds(status.usage.of(class)));
        }
    }
}

fn mirrors(out: &mut String, state: &State) {
    type Value = fn(&MirrorStatus) -> f64;
    let families: [(&str, &str, &str, Value); 5] = [
        ("bitmap_dirty_bytes", "gauge", "Bytes of regions whose copies may differ.", |status| {
            status.dirty as f64
        }),
        ("resync_left_bytes", "gauge", "Bytes left to copy.", |status| status.left as f64),
        ("resync_bytes_total", "counter", "Bytes copied.", |status| status.counts.resync_bytes as f64),
        ("legs_dropped_total", "counter", "Legs that failed and were dropped.", |status| {
            status.counts.dropped as f64
        }),
        ("read_repairs_total", "counter", "Failed reads repaired with another leg's bytes.", |status| {
            status.counts.repairs as f64
        }),
    ];
    for (name, kind, help, value) in families {
        let name = format!("fathomd_mirror_{name}");
        head(out, &name, kind, help);
        for (mirror, status) in state.lifecycle.mirrors() {
            line(out, &name, &format!("mirror=\"{}\"", escape(mirror)), value(&status));
        }
    }
    head(out, "fathomd_mirror_leg", "gauge", "1 for the state a leg is in.");
    for (mirror, status) in state.lifecycle.mirrors() {
        for leg in &status.legs {
            let (mirror, name, state) = (escape(mirror), escape(&leg.name), leg.standing.name());
            line(
                out,
                "fathomd_mirror_leg",
                &format!("mirror=\"{mirror}\",leg=\"{name}\",state=\"{state}\""),
                1,
            );
        }
    }
}

fn requests(out: &mut String, volumes: &[(&Handle, Snapshot)]) {
    type Count = fn(&KindStatistics) -> u64;
    let families: [(&str, &str, Count); 3] = [
        ("fathomd_volume_requests_total", "Requests completed.", |counted| counted.count),
        ("fathomd_volume_bytes_total", "Bytes of completed requests.", |counted| counted.bytes),
        ("fathomd_volume_errors_total", "Requests that failed.", |counted| counted.errors),
    ];
    for (name, help, count) in families {
        head(out, name, "counter", help);
        each(volumes, |label, counted| line(out, name, label, count(counted)));
    }
    let name = "fathomd_volume_waiting_seconds_total";
    head(out, name, "counter", "Time that requests waited for their turn.");
    each(volumes, |label, counted| line(out, name, label, seconds(counted.waiting_sum)));
}

fn latency(out: &mut String, volumes: &[(&Handle, Snapshot)]) {
    let name = "fathomd_volume_latency_seconds";
    head(out, name, "histogram", "Latency of completed requests.");
    each(volumes, |label, counted| {
        for (bound, count) in BOUNDS.iter().zip(counted.within(&BOUNDS)) {
            line(out, &format!("{name}_bucket"), &format!("{label},le=\"{}\"", seconds(*bound)), count);
        }
        line(out, &format!("{name}_bucket"), &format!("{label},le=\"+Inf\""), counted.count);
        line(out, &format!("{name}_sum"), label, seconds(counted.latency_sum));
        line(out, &format!("{name}_count"), label, counted.count);
    });
}

fn each(volumes: &[(&Handle, Snapshot)], mut show: impl FnMut(&str, &KindStatistics)) {
    for (handle, snapshot) in volumes {
        for kind in Kind::ALL {
            if let Some(counted) = snapshot.kind(kind) {
                show(&format!("{},request=\"{}\"", labels(handle), kind.name()), counted);
            }
        }
    }
}

fn labels(handle: &Handle) -> String {
    format!("volume=\"{}\",kind=\"{}\"", escape(handle.name()), handle.kind())
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn line(out: &mut String, name: &str, label: &str, value: impl std::fmt::Display) {
    let _ = match label {
        "" => writeln!(out, "{name} {value}"),
        label => writeln!(out, "{name}{{{label}}} {value}"),
    };
}

/// Label values: backslash, quote and line feed are escaped (exposition format).
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
