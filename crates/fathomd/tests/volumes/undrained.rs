//! Devices of a write-back cache that are served without it.

use std::path::Path;

use crate::common::check::{check, text};
use crate::common::{Client, Daemon, directory, sockets};

const FILES: &str = "[volumes.slow]\nkind = \"file\"\npath = \"slow.img\"\nsize = \"32MiB\"\n\
     [volumes.fast]\nkind = \"file\"\npath = \"fast.img\"\nsize = \"8MiB\"\n";
const CACHED: &str = "[volumes.disk]\nkind = \"writeback\"\nbacking = \"slow\"\ncache = \"fast\"\nsegment = \"64KiB\"\n\
     lag_target = \"10min\"\nlag_max = \"60min\"\n[exports.disk]\nvolume = \"disk\"\n";
const NOT_DRAINED: &str = "belongs to a write-back cache that was not drained";

fn alone(directory: &Path, volume: &str, more: &str) -> String {
    format!("{}{FILES}[exports.disk]\nvolume = \"{volume}\"\n{more}", sockets(directory))
}

/// Whether a start and a check of these settings tell it; both go on.
fn is_told(daemon: &mut Daemon, settings: &str) -> bool {
    daemon.again(settings);
    Client::open(daemon, "disk").read(0, 512);
    let log = daemon.log();
    assert!(daemon.stop().success());
    let found = check(&daemon.directory.join("fathomd.toml"), &[]);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found));
    let told = text(&found).contains(NOT_DRAINED);
    assert_eq!(log.contains(NOT_DRAINED), told, "{log}{}", text(&found));
    told
}

#[test]
fn a_backing_volume_or_a_cache_that_is_served_alone_before_it_was_drained_is_told() {
    let directory = directory();
    let cached = format!("{}{FILES}{CACHED}", sockets(&directory));
    let mut daemon = Daemon::make_in(&directory, &cached);
    Client::open(&daemon, "disk").write(8192, &[5; 4096]);
    daemon.kill();
    for volume in ["slow", "fast"] {
        assert!(is_told(&mut daemon, &alone(&directory, volume, "")), "{volume}");
        assert!(!is_told(&mut daemon, &alone(&directory, volume, "read_only = true\n")), "{volume}");
    }
    daemon.again(&cached);
    assert!(!daemon.log().contains(NOT_DRAINED));
    assert_eq!(Client::open(&daemon, "disk").read(8192, 4096), [5; 4096]);
    assert!(daemon.stop().success());
    for volume in ["slow", "fast"] {
        assert!(!is_told(&mut daemon, &alone(&directory, volume, "")), "{volume} is drained");
    }
}
