//! `--check`: the settings, and whether their volumes can be opened. Nothing is written.

use std::path::Path;

use fathom_runtime::RingSetup;
use fathom_settings::Diagnostic;
use fathom_stack::{Outcome, Stack, StackReport, VolumeReport, WritebackReport};
use fathom_volume::{Action, Moment, Refusal, Remedy, Setting};
use serde_json::{Map, Value, json};

use crate::daemon::site;
use crate::settings::{Settings, Wrong};
use crate::status;

/// The daemon could not start, not everything is durable, or a check found a fault.
pub const FAILED: u8 = 1;
/// The volumes could not be looked at: in use, or not there.
const NOT_LOOKED_AT: u8 = 3;

/// What a check found; the settings themselves were read.
pub struct Found {
    exports: usize,
    /// What would keep the daemon from listening or mounting: sockets, ports, keys, the mount.
    paths: Vec<String>,
    /// What the volumes are, or why they were not looked at.
    report: Result<StackReport, String>,
}

impl Found {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match &self.report {
            _ if !self.paths.is_empty() => FAILED,
            Ok(report) if !report.is_sound() => FAILED,
            Ok(report) if report.is_complete() => 0,
            _ => NOT_LOOKED_AT,
        }
    }
}

/// Verifies what the settings describe: opens every volume for reading. With `settings_only` nothing is looked at: the
/// settings may be for another machine, or for a service that makes its folders.
pub fn check(settings: &Settings, directory: &Path, settings_only: bool) -> Found {
    let exports = settings.exports.len();
    if settings_only {
        return Found { exports, paths: Vec::new(), report: Ok(StackReport::default()) };
    }
    let report = site(RingSetup::default(), directory, 0).and_then(|site| {
        let stack = Stack::build_for_reading(&settings.volumes, &settings.roots(), &site)
            .map_err(|error| error.to_string())?;
        let looked = async {
            let mut report = stack.check().await;
            for name in settings.written_roots() {
                if let (Some(told), Some(node)) = (stack.undrained(&name).await, stack.get(&name)) {
                    let outcome = Outcome::Opens(vec![told]);
                    report.volumes.push(VolumeReport { name, kind: node.kind(), outcome });
                }
            }
            report
        };
        site.runtime().block_on(looked).map_err(|deadlock| deadlock.to_string())
    });
    let paths = settings.in_the_way();
    Found { exports, paths, report }
}

/// For people.
pub fn to_text(file: &str, found: &Found) -> String {
    let exports = if found.exports == 1 { "export" } else { "exports" };
    let sound = match found.code() {
        FAILED => "the start would be refused",
        0 => "settings are sound",
        _ => "not everything could be looked at",
    };
    let mut text = format!("{file}: {} {exports}, {sound}\n", found.exports);
    text.extend(found.paths.iter().map(|told| format!("error: {told}\n")));
    match &found.report {
        Ok(report) => text.push_str(&report.to_string()),
        Err(why) => text.push_str(&format!("the volumes were not looked at: {why}\n")),
    }
    text
}

/// For programs.
pub fn to_json(file: &str, found: &Found) -> String {
    let (volumes, groups, why) = match &found.report {
        Ok(report) => {
            (report.volumes.iter().map(volume).collect(), report.groups.iter().map(group).collect(), None)
        }
        Err(why) => (Vec::new(), Vec::new(), Some(why)),
    };
    let value = json!({
        "settings": file,
        "mistakes": [],
        "exports": found.exports,
        "sound": found.code() == 0,
        "not_looked_at": why,
        "paths": found.paths,
        "volumes": volumes,
        "writeback": groups,
    });
    format!("{value:#}\n")
}

/// The same of settings that are wrong: nothing was looked at.
pub fn mistakes_to_json(file: &str, wrong: &Wrong) -> String {
    let mistakes = match wrong {
        Wrong::File(_, error) => vec![json!({"message": error.to_string(), "help": ""})],
        Wrong::Text(diagnostics) => diagnostics.list().iter().map(mistake).collect(),
    };
    let value = json!({
        "settings": file,
        "mistakes": mistakes,
        "exports": null,
        "sound": false,
        "not_looked_at": "the settings are wrong",
        "paths": [],
        "volumes": [],
        "writeback": [],
    });
    format!("{value:#}\n")
}

fn mistake(found: &Diagnostic) -> Value {
    let Diagnostic { position, path, message, help, .. } = found;
    json!({"line": position.line, "column": position.column, "key": path, "message": message, "help": help})
}

fn volume(report: &VolumeReport) -> Value {
    let (sound, notes, refused) = match &report.outcome {
        Outcome::Opens(notes) => (Some(true), notes.clone(), None),
        Outcome::Refused(why) => (Some(false), Vec::new(), Some(why)),
        Outcome::Unknown(why) => (None, vec![why.clone()], None),
    };
    json!({"name": report.name, "kind": report.kind, "sound": sound, "notes": notes, "refused": refused})
}

fn group(report: &WritebackReport) -> Value {
    let finding = |finding: &fathom_stack::WritebackFinding| {
        json!({
            "weight": finding.weight.name(),
            "what": finding.what,
            "refusal": finding.refusal.as_ref().map(refusal),
        })
    };
    json!({
        "name": report.group,
        "sound": report.is_sound(),
        "created": report.created,
        "generation": report.generation,
        "incarnation": report.incarnation,
        "owner": report.owner,
        "stands_at_write": report.seq,
        "ring_batches": report.ring_batches,
        "ring_bytes": report.ring_bytes,
        "log_records": report.log_records,
        "log_extents": report.log_extents,
        "log_bytes": report.log_bytes,
        "log_ends_at_write": report.log_seq,
        "last_loss": report.last_loss.as_ref().map(status::loss),
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}

/// What a refusal advises: docs/WRITEBACK.md describes it.
fn refusal(refusal: &Refusal) -> Value {
    json!({"code": refusal.code, "remedies": refusal.remedies.iter().map(remedy).collect::<Vec<_>>()})
}

fn remedy(remedy: &Remedy) -> Value {
    let mut value = match &remedy.action {
        Action::BringBack { device } => json!({"action": "bring_back", "device": device}),
        Action::Resize { device, bytes } => json!({"action": "resize", "device": device, "bytes": bytes}),
        Action::AddRing { volumes, bytes, keys } => {
            json!({"action": "add_ring", "volumes": volumes, "bytes": bytes, "keys": written(keys)})
        }
        Action::Set { volumes, keys } => json!({"action": "set", "volumes": volumes, "keys": written(keys)}),
    };
    value["text"] = json!(remedy.text);
    value["loses"] = json!(remedy.loses.map(|loses| {
        json!({
            "least_writes": loses.least_writes,
            "least_bytes": loses.least_bytes,
            "most_writes": loses.most_writes,
            "most_bytes": loses.most_bytes,
            "torn": loses.moment != Moment::One,
            "unless": (loses.moment == Moment::OneIfRestored).then_some("all_restored"),
        })
    }));
    value
}

/// Keys with their values, as they are written in the settings.
fn written(keys: &[(&'static str, Option<Setting>)]) -> Map<String, Value> {
    keys.iter().map(|(key, value)| ((*key).to_owned(), json!(value.map(setting)))).collect()
}

fn setting(value: Setting) -> Value {
    match value {
        Setting::Count(count) => json!(count),
        Setting::Flag(flag) => json!(flag),
        Setting::Bytes(bytes) => json!(format!("{bytes}B")),
    }
}
