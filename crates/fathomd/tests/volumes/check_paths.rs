//! Sockets, ports, keys and mounts at which no daemon can start: `fathomd --check` finds them.
#![allow(clippy::disallowed_methods, reason = "real processes are waited for by the real clock")]

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};

use crate::common::certificates::certificates;
use crate::common::check::{check, refused, text};
use crate::common::{Daemon, MEMORY, directory, host, sockets, success};

#[test]
fn locks_and_folders_that_nobody_can_write_are_refused() {
    let directory = directory();
    let at = |name: &str| directory.join(name).display().to_string();
    let socket = |path: &str| format!("[daemon]\nsocket = \"{path}\"\n{MEMORY}");
    fs::create_dir(at("one.sock.lock")).expect("writable");
    refused(&directory, &socket(&at("one.sock")), 1, "one.sock.lock is no file: move it");
    success("mkfifo", &[&at("pipe.sock.lock")]);
    refused(&directory, &socket(&at("pipe.sock")), 1, "pipe.sock.lock is no file: move it");
    symlink(at("none/lock"), at("two.sock.lock")).expect("writable");
    refused(&directory, &socket(&at("two.sock")), 1, "two.sock.lock is a link: remove it");
    let precious = directory.join("precious");
    fs::write(&precious, "text").expect("writable");
    fs::set_permissions(&precious, Permissions::from_mode(0o644)).expect("writable");
    symlink(&precious, at("three.sock.lock")).expect("writable");
    refused(&directory, &socket(&at("three.sock")), 1, "three.sock.lock is a link: remove it");
    fs::hard_link(&precious, at("four.sock.lock")).expect("writable");
    refused(&directory, &socket(&at("four.sock")), 1, "four.sock.lock has other names");
    assert_eq!(fs::metadata(&precious).expect("it is there").permissions().mode() & 0o777, 0o644);
    // Root may write everywhere but on a file system that nobody may write.
    if !host::can_mount() {
        return;
    }
    fs::create_dir(at("bound")).expect("writable");
    fs::write(directory.join("bound/old.sock.lock"), "").expect("writable");
    success("mount", &["--bind", &at("bound"), &at("bound")]);
    success("mount", &["-o", "remount,bind,ro", &at("bound")]);
    let mount = |path: &str| format!("{}[fuse]\nmount = \"{path}\"\n{MEMORY}", sockets(&directory));
    let told = std::panic::catch_unwind(|| {
        refused(&directory, &socket(&at("bound/three.sock")), 1, "bound cannot be written: Read-only");
        refused(&directory, &mount(&at("bound/files")), 1, "bound cannot be written: Read-only");
    });
    success("umount", &[&at("bound")]);
    told.expect("both are refused");
}

#[test]
fn a_mount_that_cannot_be_made_is_refused() {
    let directory = directory();
    let at = |name: &str| directory.join(name).display().to_string();
    fs::write(at("plain"), "text").expect("writable");
    symlink(at("none"), at("dangling")).expect("writable");
    symlink(at("round"), at("round")).expect("writable");
    for (place, words) in [
        ("plain/files", "plain is no folder"),
        ("plain/more/files", "plain/more"),
        ("dangling", "dangling is a link to nothing"),
        ("dangling/files", "dangling does not exist"),
        ("round", "round cannot be looked at"),
    ] {
        let settings = format!("{}[fuse]\nmount = \"{}\"\n{MEMORY}", sockets(&directory), at(place));
        refused(&directory, &settings, 1, words);
    }
    // Root may write there by its rights, and nobody can.
    for folder in ["/proc", "/sys"] {
        let settings = format!("{}[fuse]\nmount = \"{folder}/files\"\n{MEMORY}", sockets(&directory));
        refused(&directory, &settings, 1, &format!("the folder {folder} is the kernel's"));
    }
}

#[test]
fn keys_that_are_missing_or_of_another_certificate_are_refused() {
    let directory = directory();
    if certificates(&directory).is_none() {
        return;
    }
    let file = |name: &str| directory.join(name).display().to_string();
    fs::write(file("garbage"), "no certificate").expect("writable");
    let with = |certificate: &str, key: &str, authority: &str| {
        format!(
            "{}tcp = \"127.0.0.1:0\"\ntls = {{ certificate = \"{}\", key = \"{}\", client_authority = \"{}\" }}\n{MEMORY}",
            sockets(&directory),
            file(certificate),
            file(key),
            file(authority)
        )
    };
    for (certificate, key, authority, words) in [
        ("none", "server-key.pem", "ca-cert.pem", "none: "),
        ("server-cert.pem", "none", "ca-cert.pem", "none: "),
        ("server-cert.pem", "server-key.pem", "none", "none: "),
        ("garbage", "server-key.pem", "ca-cert.pem", "garbage: no certificate in it"),
        ("server-cert.pem", "garbage", "ca-cert.pem", "garbage: "),
        ("server-cert.pem", "server-key.pem", "garbage", "garbage: no certificate in it"),
        ("server-cert.pem", "client-key.pem", "ca-cert.pem", "server-cert.pem: "),
    ] {
        refused(&directory, &with(certificate, key, authority), 1, words);
    }
    // To open a FIFO waits until somebody writes into it.
    success("mkfifo", &[&file("pipe")]);
    for (certificate, key, authority) in [
        ("pipe", "server-key.pem", "ca-cert.pem"),
        ("server-cert.pem", "pipe", "ca-cert.pem"),
        ("server-cert.pem", "server-key.pem", "pipe"),
    ] {
        refused(&directory, &with(certificate, key, authority), 1, "pipe: this is no regular file");
    }
    fs::write(file("fathomd.toml"), with("server-cert.pem", "server-key.pem", "ca-cert.pem"))
        .expect("writable");
    let found = check(&directory.join("fathomd.toml"), &[]);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found));
}

#[test]
fn a_socket_that_another_program_answers_is_refused_before_a_volume_is_opened() {
    let directory = directory();
    let at = |name: &str| directory.join(name).display().to_string();
    let settings = |socket: &str, status: &str| {
        format!(
            "[daemon]\nsocket = \"{}\"\nstatus = \"{}\"\n[volumes.backing]\nkind = \"file\"\npath = \"backing.img\"\n\
             [volumes.cache]\nkind = \"file\"\npath = \"cache.img\"\n\
             [volumes.disk]\nkind = \"writeback\"\nbacking = \"backing\"\ncache = \"cache\"\nsegment = \"64KiB\"\n\
             [exports.disk]\nvolume = \"disk\"\n",
            at(socket),
            at(status)
        )
    };
    for name in ["backing.img", "cache.img"] {
        fs::write(at(name), vec![0; 8 << 20]).expect("writable");
    }
    let other = UnixListener::bind(at("other.sock")).expect("writable");
    for (socket, status) in [("other.sock", "status.sock"), ("nbd.sock", "other.sock")] {
        refused(&directory, &settings(socket, status), 1, "another program listens at");
        assert!(UnixStream::connect(at("other.sock")).is_ok(), "it is still there");
    }
    for name in ["backing.img", "cache.img"] {
        assert!(fs::read(at(name)).expect("it is there").iter().all(|byte| *byte == 0), "{name} was written");
    }
    // Nobody answers there any more.
    drop(other);
    let daemon = Daemon::make_in(&directory, &settings("other.sock", "status.sock"));
    assert!(daemon.log().contains("\"serving\""), "{}", daemon.log());
    let found = check(&directory.join("fathomd.toml"), &[]);
    assert!(!text(&found).contains("another program"), "{}", text(&found));
    drop(daemon);
}

#[test]
fn ports_of_others_are_refused_and_one_s_own_are_not() {
    let directory = directory();
    let listening = || TcpListener::bind("127.0.0.1:0").expect("a free port");
    let place = |listener: &TcpListener| listener.local_addr().expect("it has one").to_string();
    let (other, free) = (listening(), place(&listening()));
    let with = |tcp: &str, metrics: &str| {
        format!(
            "{}tcp = \"{tcp}\"\ntcp_in_the_clear = true\nmetrics = \"{metrics}\"\n{MEMORY}",
            sockets(&directory)
        )
    };
    let taken = place(&other);
    for (tcp, metrics) in [(&taken, &free), (&free, &taken)] {
        refused(&directory, &with(tcp, metrics), 1, &format!("cannot listen at {taken}"));
    }
    refused(
        &directory,
        &with("no-such-host.invalid:10809", &free),
        1,
        "cannot listen at no-such-host.invalid:10809",
    );
    refused(&directory, &with("192.0.2.1:10809", &free), 1, "cannot listen at 192.0.2.1:10809");
    let port = free.rsplit(':').next().expect("a port");
    fs::write(directory.join("fathomd.toml"), with(&free, &format!("0.0.0.0:{port}"))).expect("writable");
    let both = check(&directory.join("fathomd.toml"), &[]);
    assert_eq!(both.status.code(), Some(1), "{}", text(&both));
    assert!(text(&both).contains("is taken by `tcp`"), "{}", text(&both));

    // A daemon's own ports are in use, and its settings are sound all the same.
    let metrics = place(&listening());
    let daemon = Daemon::start_in(&directory, &with(&free, &metrics));
    assert!(daemon.log().contains("\"serving\""), "{}", daemon.log());
    let found = check(&directory.join("fathomd.toml"), &[]);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found));
    // With another socket it is another daemon.
    let second = fs::read_to_string(directory.join("fathomd.toml")).expect("it is there");
    fs::write(directory.join("second.toml"), second.replace(".sock", "2.sock")).expect("writable");
    let found = check(&directory.join("second.toml"), &[]);
    assert_eq!(found.status.code(), Some(1), "{}", text(&found));
    drop(daemon);
}
