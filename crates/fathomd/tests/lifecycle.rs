//! Start, stop, restart, status, metrics, locks.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use common::{Client, Daemon, FLUSH, MEMORY, READ, directory, program, request, sockets, until};

#[test]
fn sigterm_answers_what_was_sent_and_ends_with_success() {
    let mut daemon = Daemon::start(MEMORY);
    let mut client = Client::open(&daemon, "disk");
    client.write(0, &[1; 4096]);
    let bytes: Vec<u8> = (0..200).flat_map(|cookie| request(READ, cookie, 0, 4096)).collect();
    client.send(&bytes);
    daemon.signal("-TERM");
    for _ in 0..200 {
        assert_eq!(client.answer().0, 0);
        assert_eq!(client.receive(4096), [1; 4096]);
    }
    assert!(client.is_closed());
    assert!(daemon.wait().success());
    assert!(!daemon.socket().exists(), "the socket is gone");
    assert!(daemon.log().contains("everything acknowledged is durable"));
}

#[test]
fn a_client_that_fetches_nothing_does_not_hold_up_a_stop() {
    let directory = directory();
    let settings = format!("{}client_patience = \"200ms\"\n{MEMORY}", sockets(&directory));
    let mut daemon = Daemon::start_in(&directory, &settings);
    let mut slow = Client::open(&daemon, "disk");
    for cookie in 0..32 {
        slow.request(READ, cookie, 0, 1 << 20, &[]);
    }
    assert!(daemon.stop().success());
    assert!(daemon.log().contains("cut off"));
}

#[test]
fn sighup_changes_nothing() {
    let daemon = Daemon::start(MEMORY);
    let mut client = Client::open(&daemon, "disk");
    daemon.signal("-HUP");
    until("the log tells", || daemon.log().contains("SIGHUP"));
    assert_eq!(client.read(0, 512), [0; 512]);
}

#[test]
fn the_socket_is_the_owner_s_unless_asked_otherwise() {
    let daemon = Daemon::start(MEMORY);
    let mode = |name: &str| {
        fs::metadata(daemon.directory.join(name)).expect("it is there").permissions().mode() & 0o777
    };
    assert_eq!((mode("nbd.sock"), mode("status.sock")), (0o600, 0o600));
    let directory = directory();
    let daemon =
        Daemon::start_in(&directory, &format!("{}socket_mode = \"0660\"\n{MEMORY}", sockets(&directory)));
    let mode = fs::metadata(daemon.socket()).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode, 0o660);
}

#[test]
fn images_and_locks_are_the_owner_s_whatever_the_umask() {
    for umask in ["000", "022", "077"] {
        let directory = directory();
        let settings = format!(
            "{}[volumes.disk]\nkind = \"file\"\npath = \"disk.img\"\nsize = \"8MiB\"\n\
             [volumes.log]\nkind = \"file\"\npath = \"log.img\"\nsize = \"128MiB\"\n\
             [volumes.cached]\nkind = \"writeback\"\nbacking = \"disk\"\ncache = \"log\"\n\
             [exports.disk]\nvolume = \"cached\"\n",
            sockets(&directory)
        );
        fs::write(directory.join("fathomd.toml"), &settings).expect("writable");
        // A lock file that an earlier version left.
        fs::write(directory.join("nbd.sock.lock"), "").expect("writable");
        let made = format!("umask {umask}; exec {} --create fathomd.toml", env!("CARGO_BIN_EXE_fathomd"));
        let told = Command::new("sh").args(["-c", &made]).current_dir(&directory).output().expect("a shell");
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        let daemon = Daemon::start_in(&directory, &settings);
        for name in ["disk.img", "log.img", "nbd.sock.lock", "status.sock.lock", "nbd.sock", "status.sock"] {
            let mode = fs::metadata(daemon.directory.join(name)).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name} under umask {umask}");
        }
    }
}

#[test]
fn a_second_daemon_on_the_same_socket_is_refused_and_the_first_serves_on() {
    let first = Daemon::start(MEMORY);
    let second = Command::new(env!("CARGO_BIN_EXE_fathomd"))
        .arg(first.directory.join("fathomd.toml"))
        .output()
        .expect("the daemon was built");
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("another fathomd"));
    assert_eq!(Client::open(&first, "disk").read(0, 512), [0; 512]);
}

#[test]
fn what_a_killed_daemon_left_is_replaced_and_what_is_another_s_is_not() {
    let mut daemon = Daemon::start(MEMORY);
    daemon.kill();
    assert!(daemon.socket().exists(), "a killed daemon leaves its socket");
    let settings = fs::read_to_string(daemon.directory.join("fathomd.toml")).expect("it is there");
    let mut again = Daemon::start_in(&daemon.directory, &settings);
    assert_eq!(Client::open(&again, "disk").read(0, 512), [0; 512]);
    again.kill();
    fs::remove_file(daemon.socket()).expect("it was there");
    let foreign = UnixListener::bind(daemon.socket()).expect("the path is free");
    let mut refused = Daemon::start_in(&daemon.directory, &settings);
    assert!(!refused.wait().success());
    assert!(daemon.socket().exists());
    drop(foreign);
}

#[test]
fn status_and_metrics_count_what_was_done() {
    let mut daemon = Daemon::start(MEMORY);
    let mut client = Client::open(&daemon, "disk");
    client.write(0, &[1; 8192]);
    client.write(8192, &[1; 8192]);
    client.request(FLUSH, 5, 0, 0, &[]);
    assert_eq!(client.answer(), (0, 5));
    let (line, body) = daemon.ask("GET", "/status");
    assert_eq!(line, "HTTP/1.1 200 OK");
    let status: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(status["phase"], "serving");
    assert_eq!(status["clients"][0]["export"], "disk");
    assert_eq!(status["volumes"][0]["requests"]["write"]["count"], 2);
    assert_eq!(status["volumes"][0]["requests"]["write"]["bytes"], 16384);
    let (_, metrics) = daemon.ask("GET", "/metrics");
    for expected in [
        "fathomd_clients 1",
        "fathomd_volume_requests_total{volume=\"disk\",kind=\"memory\",request=\"write\"} 2",
        "fathomd_volume_latency_seconds_count{volume=\"disk\",kind=\"memory\",request=\"flush\"} 1",
    ] {
        assert!(metrics.lines().any(|line| line == expected), "{expected} is missing in\n{metrics}");
    }
    assert_eq!(daemon.ask("POST", "/drain").0, "HTTP/1.1 200 OK");
    assert_eq!(daemon.ask("GET", "/nothing").0, "HTTP/1.1 404 Not Found");
    assert_eq!(daemon.ask("POST", "/stop").0, "HTTP/1.1 202 Accepted");
    assert!(daemon.wait().success());
}

#[test]
fn wrong_settings_are_refused_with_the_line_they_stand_in() {
    let directory = directory();
    let file = directory.join("wrong.toml");
    fs::write(&file, format!("{}most_cleints = 3\n{MEMORY}", sockets(&directory))).expect("writable");
    let told = Command::new(env!("CARGO_BIN_EXE_fathomd")).arg(&file).output().expect("the daemon was built");
    assert_eq!(told.status.code(), Some(2));
    let text = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(text.contains("did you mean `most_clients`") && text.contains("wrong.toml:4"), "{text}");
    fs::remove_dir_all(directory).expect("it was ours");
}

#[test]
fn a_settings_file_without_an_end_is_refused() {
    let told =
        Command::new(env!("CARGO_BIN_EXE_fathomd")).arg("/dev/zero").output().expect("the daemon was built");
    assert_eq!(told.status.code(), Some(2));
    let text = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(text.contains("/dev/zero") && text.contains("more than 16 MiB"), "{text}");
}

#[test]
fn the_manual_page_of_the_program_names_its_settings_file() {
    let told = program(env!("CARGO_BIN_EXE_fathomd"), &["--help"]).expect("the daemon was built");
    assert!(String::from_utf8_lossy(&told.stdout).contains("[exports.*]"));
}

#[test]
fn a_file_that_is_gone_is_not_served_as_an_empty_one() {
    let directory = directory();
    let settings = format!(
        "{}[volumes.disk]\nkind = \"file\"\npath = \"disk.img\"\nsize = \"1MiB\"\n[exports.disk]\nvolume = \"disk\"\n",
        sockets(&directory)
    );
    let mut daemon = Daemon::start_in(&directory, &settings);
    assert!(!daemon.wait().success(), "it was never made");
    assert!(!directory.join("disk.img").exists());
    let mut daemon = Daemon::make_in(&directory, &settings);
    assert!(daemon.stop().success());
    fs::rename(directory.join("disk.img"), directory.join("away")).expect("it was made");
    let mut daemon = Daemon::start_in(&directory, &settings);
    assert!(!daemon.wait().success(), "it is away");
    assert!(
        daemon.log().contains("volumes.disk.path") && daemon.log().contains("--create"),
        "{}",
        daemon.log()
    );
    assert!(!directory.join("disk.img").exists(), "nothing was made in its place");
    fs::rename(directory.join("away"), directory.join("disk.img")).expect("it is back");
    assert!(Daemon::start_in(&directory, &settings).stop().success());
}

#[test]
fn a_block_device_without_a_driver_is_refused_with_the_remedy_and_leaves_no_socket() {
    if Path::new("/dev/ublk-control").exists() {
        eprintln!("skipped: this kernel has the driver; `make ublk-test` shows what it does there");
        return;
    }
    let mut daemon = Daemon::start(&format!("{MEMORY}ublk = 0\n"));
    assert_eq!(daemon.wait().code(), Some(1));
    assert!(daemon.log().contains("modprobe ublk_drv"), "{}", daemon.log());
    assert!(!daemon.socket().exists());
}
