//! A write-back group that is fenced: status and metrics say so.

mod common;

use std::fs;

use common::{Client, Daemon, WRITE, directory, sockets, status, until};

#[test]
fn status_and_metrics_say_that_a_group_is_fenced_and_why() {
    let directory = directory();
    let settings = |rule: &str| {
        let file =
            |name| format!("[volumes.{name}]\nkind = \"file\"\npath = \"{name}.img\"\nsize = \"64MiB\"\n");
        format!(
            "{}{}{}[volumes.broken]\nkind = \"fault\"\nbacking = \"slow\"\n[[volumes.broken.rules]]\n{rule}\n\
             [volumes.disk]\nkind = \"writeback\"\nbacking = \"broken\"\ncache = \"fast\"\nsegment = \"1MiB\"\n\
             [exports.disk]\nvolume = \"disk\"\n",
            sockets(&directory),
            file("slow"),
            file("fast")
        )
    };
    let mut daemon = Daemon::make_in(&directory, &settings("fault = \"delay\"\ndelay = \"1us\""));
    assert!(status(&daemon)["writeback"][0]["fenced"].is_null());
    assert!(daemon.ask("GET", "/metrics").1.contains("\nfathomd_writeback_fenced{group=\"disk\"} 0\n"));
    assert!(daemon.stop().success());
    std::mem::forget(daemon);
    let broken = settings("fault = \"error\"\nkinds = [\"write\"]\nafter = 5");
    let daemon = Daemon::start_in(&directory, &broken);
    let mut client = Client::open(&daemon, "disk");
    let mut page = 0;
    until("the group is fenced", || {
        page += 1;
        client.request(WRITE, 2, page % 1000 * 4096, 4096, &[1; 4096]);
        client.answer();
        !status(&daemon)["writeback"][0]["fenced"].is_null()
    });
    let why = status(&daemon)["writeback"][0]["fenced"].as_str().expect("a sentence").to_owned();
    assert!(why.contains("group `disk` is fenced"), "{why}");
    assert!(daemon.ask("GET", "/metrics").1.contains("\nfathomd_writeback_fenced{group=\"disk\"} 1\n"));
    drop(daemon);
    let _ = fs::remove_dir_all(directory);
}
