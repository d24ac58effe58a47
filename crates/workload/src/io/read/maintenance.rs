//! What a backup or a consistency check has outstanding: a number that follows from buffers, devices, drives and files, whatever the
//! storage could do.

use fathom_settings::{Choice, Section};

use super::only_with;
use crate::io::presets::Preset;
use crate::io::profile::Profile;

/// What a consistency check has a stream of reads for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Per {
    Drive,
    File,
}

impl Choice for Per {
    const CHOICES: &'static [(&'static str, Self)] = &[("drive", Self::Drive), ("file", Self::File)];
}

const MOST: u32 = 4096;

/// What the preset does with that many drives (the volumes of the workload), from the keys `devices`, `buffers`, `files` and
/// `per`.
pub(super) fn derived(section: &mut Section<'_>, preset: Option<&Preset>, drives: usize) -> Profile {
    let mut profile = preset.map_or_else(Profile::default, |preset| (preset.profile)());
    let named = |name: &str| preset.is_some_and(|preset| preset.name == name);
    let drives = u32::try_from(drives).unwrap_or(MOST).max(1);
    let devices = section.or_in("devices", 1, 1..=MOST);
    // Microsoft psssql: three for each device, one more for each, and two for each volume.
    let buffers = section.or_in("buffers", 4 * devices + 2 * drives, 1..=MOST);
    let files = section.or_in("files", 1, 1..=MOST);
    let per = section.or("per", Per::Drive);
    only_with(section, &["devices", "buffers"], named("backup"), "preset = \"backup\"");
    only_with(section, &["files", "per"], named("checkdb"), "preset = \"checkdb\"");
    if section.has("devices") && section.has("buffers") {
        section.error_at("devices", "`buffers` says how many there are", "leave one of them out");
    }
    let given = ["devices", "buffers", "files", "per"].into_iter().find(|key| section.has(key));
    for key in ["workers", "outstanding"].into_iter().filter(|key| section.has(key)) {
        // A check's queue depth per stream is not published: it may be chosen beside the number of streams.
        if let Some(given) = given.filter(|_| named("backup") || key == "workers") {
            section.error_at(key, format!("it follows from `{given}`"), "leave one of them out");
        }
    }
    if named("backup") {
        // A reader for each drive; the buffers are shared.
        profile.workers = drives;
        profile.outstanding = buffers.div_ceil(drives);
    } else if named("checkdb") && given.is_some() {
        profile.workers = drives * if per == Per::File { files } else { 1 };
    }
    profile
}
