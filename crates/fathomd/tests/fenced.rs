//! A write-back group or a volume that is fenced: status, metrics and the log say so.

mod common;

use std::fs;

use common::{Client, Daemon, MEMORY, WRITE, directory, sockets, status, until};

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
    until("the log tells", || daemon.log().contains("a cache group is fenced"));
    drop(daemon);
    let _ = fs::remove_dir_all(directory);
}

#[test]
fn a_volume_whose_server_is_lost_with_unflushed_writes_is_told_before_anybody_asks_it() {
    let mut server = Daemon::start(MEMORY);
    let remote = format!(
        "[volumes.far]\nkind = \"nbd\"\nuri = \"{}\"\n[exports.disk]\nvolume = \"far\"\n",
        server.uri("disk")
    );
    let daemon = Daemon::start(&remote);
    let fenced = |value: u8| {
        let line = format!("{{volume=\"far\",kind=\"nbd\",counter=\"fenced\"}} {value}\n");
        daemon.ask("GET", "/metrics").1.contains(&line)
    };
    assert!(fenced(0));
    let mut client = Client::open(&daemon, "disk");
    client.request(WRITE, 1, 4096, 4096, &[1; 4096]);
    client.answer();
    server.kill();
    until("the log tells", || daemon.log().contains("a volume is fenced: every request to it fails"));
    until("the log tells why", || daemon.log().contains("the server of a volume was lost"));
    assert!(fenced(1));
    let told = status(&daemon);
    let why = told["volumes"][0]["facts"]["fenced"].as_str().expect("a sentence");
    assert!(why.contains("a write that it had answered was not flushed yet"), "{why}");
}
