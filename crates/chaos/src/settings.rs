//! The settings file of a stack.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::device::Role;
use crate::stack::{MADE_ON, Shape, Stack, kib};

/// Whether a remedy's key is a mirror's.
fn is_of_mirror(key: &str) -> bool {
    matches!(key, "force" | "discard")
}

impl Stack {
    /// The settings file. Devices in `turned` trade places.
    pub fn settings(&self, turned: Option<(usize, usize)>) -> String {
        let at = |name: &str| self.folder.join(name).display().to_string();
        let mut text = format!(
            "[daemon]\nsocket = \"{}\"\nstatus = \"{}\"\nbusy_poll = false\nat_stop = \"{}\"\n",
            at("nbd.sock"),
            at("status.sock"),
            if self.drains { "drain" } else { "keep" }
        );
        for (number, device) in self.devices.iter().enumerate().filter(|(number, _)| self.names(*number)) {
            let from = match turned {
                Some((one, other)) if number == one => &self.devices[other],
                Some((one, other)) if number == other => &self.devices[one],
                _ => device,
            };
            let _ = writeln!(text, "[volumes.{}]", device.name);
            if self.files {
                let _ = writeln!(text, "kind = \"file\"\npath = \"{}\"", at(&from.name));
                continue;
            }
            let socket = at(&format!("{}.sock", from.name));
            let _ =
                writeln!(text, "kind = \"nbd\"\nuri = \"nbd+unix:///?socket={socket}\"\nreconnect = \"0s\"");
            if device.role == Role::Leg {
                let _ = writeln!(text, "size = \"{}\"\nlogical_sector = {}", kib(from.size), self.sector);
            }
        }
        let legs: Vec<String> = self.having(&[Role::Leg]).iter().map(|leg| format!("\"leg{leg}\"")).collect();
        let mut mirror = |name: &str| {
            let _ = writeln!(
                text,
                "[volumes.{name}]\nkind = \"mirror\"\nlegs = [{}]\n{}",
                legs.join(", "),
                self.mirror
            );
            for ((_, key), value) in self.more.iter().filter(|((_, key), _)| is_of_mirror(key)) {
                value.iter().for_each(|value| text.push_str(&format!("{key} = {value}\n")));
            }
        };
        match self.shape {
            Shape::Mirror(_) => mirror("data"),
            Shape::OverMirror(_) => mirror("back"),
            Shape::Pool(_) => {
                let list = |from: usize, to: usize| {
                    (from..to).map(|member| format!("\"member{member}\"")).collect::<Vec<_>>().join(", ")
                };
                let _ = writeln!(
                    text,
                    "[volumes.data]\nkind = \"pool\"\nmembers = [{}]\n{}",
                    list(0, MADE_ON),
                    self.pool
                );
                if self.joined > MADE_ON {
                    let _ = writeln!(text, "added = [{}]", list(MADE_ON, self.joined));
                }
            }
            Shape::OverStripe => {
                text.push_str("[volumes.back]\nkind = \"stripe\"\nmembers = [\"half0\", \"half1\"]\nchunk = \"16KiB\"\n");
            }
            _ => {}
        }
        if self.has_cache() {
            let volumes: &[(&str, &str)] = match self.shape {
                Shape::Pair => &[("data", "back0"), ("logs", "back1")],
                _ => &[("data", "back")],
            };
            for (name, backing) in volumes {
                let _ = writeln!(
                    text,
                    "[volumes.{name}]\nkind = \"writeback\"\nbacking = \"{backing}\"\ncache = \"fast\""
                );
                let more: BTreeMap<&str, &Option<String>> = self
                    .more
                    .iter()
                    .filter(|((volume, key), _)| !is_of_mirror(key) && (volume.is_empty() || volume == name))
                    .map(|((_, key), value)| (key.as_str(), value))
                    .collect();
                for line in self.cache.lines() {
                    if !line.split_once(" = ").is_some_and(|(key, _)| more.contains_key(key)) {
                        let _ = writeln!(text, "{line}");
                    }
                }
                for (key, value) in more {
                    value.iter().for_each(|value| text.push_str(&format!("{key} = {value}\n")));
                }
                match self.shape {
                    Shape::Pair => text.push_str("group = \"both\"\n"),
                    Shape::TwoCaches => text.push_str("cache_copy = \"fast1\"\n"),
                    Shape::OwnRing => text.push_str("ring = \"ring\"\n"),
                    _ => {}
                }
            }
        }
        for export in &self.exports {
            let _ = writeln!(text, "[exports.{export}]\nvolume = \"{export}\"");
        }
        text
    }
}
