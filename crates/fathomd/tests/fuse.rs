//! Exports as files: what they hold, what they refuse, stop, kill, loop devices and file systems, both transports.

mod common;

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use common::host::{Loop, Mounted, can_mount};
use common::{Client, Daemon, MEMORY, directory, files, sockets, success, until};

/// The same in a second shape: only to be read.
const FIXED: &str = "[exports.fixed]\nvolume = \"disk\"\nread_only = true\n";

fn serve(settings: &str) -> Daemon {
    let directory = directory();
    Daemon::start_in(&directory, &format!("{}{}{settings}", sockets(&directory), files(&directory)))
}

/// Starts again what is in the directory.
fn serve_again(directory: &Path) -> Daemon {
    let settings = fs::read_to_string(directory.join("fathomd.toml")).expect("it is there");
    Daemon::start_in(directory, &settings)
}

fn open(daemon: &Daemon, name: &str) -> File {
    let path = daemon.mount().join(name);
    OpenOptions::new().read(true).write(true).open(path).expect("it can be opened")
}

fn read(file: &File, offset: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, offset).expect("read");
    bytes
}

fn fallocate(file: &File, mode: i32, offset: i64, length: i64) -> Result<(), i32> {
    // SAFETY: integers only.
    let status = unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, length) };
    if status == 0 { Ok(()) } else { Err(std::io::Error::last_os_error().raw_os_error().expect("errno")) }
}

fn status(daemon: &Daemon) -> serde_json::Value {
    serde_json::from_str(&daemon.ask("GET", "/status").1).expect("JSON")
}

#[test]
fn an_unmount_by_somebody_else_is_told_and_nbd_clients_continue() {
    if !can_mount() {
        return;
    }
    let mut daemon = serve(MEMORY);
    let mut client = Client::open(&daemon, "disk");
    success("umount", &[&daemon.mount().display().to_string()]);
    until("the log tells", || daemon.log().contains("unmounted by another program"));
    assert_eq!(client.read(0, 512), [0; 512]);
    drop(client);
    assert!(daemon.stop().success());
    assert_eq!(daemon.log().matches("unmounted by another program").count(), 1);
    let mut daemon = serve(MEMORY);
    assert!(daemon.stop().success());
    assert!(!daemon.log().contains("unmounted by another program"), "a stop of its own is none");
}

#[test]
fn a_file_and_an_nbd_export_are_the_same_volume() {
    if !can_mount() {
        return;
    }
    let mut daemon = serve(&format!("{MEMORY}{FIXED}"));
    let file = open(&daemon, "disk");
    file.write_all_at(&[1; 8192], 4096).expect("written");
    let mut client = Client::open(&daemon, "disk");
    assert_eq!(client.read(4096, 8192), [1; 8192]);
    client.write(8192, &[2; 512]);
    assert_eq!(read(&file, 8192, 512), [2; 512]);
    let large: Vec<u8> = (0..5_u32 << 20).map(|at| (at / 512) as u8).collect();
    file.write_all_at(&large, 1 << 20).expect("written in several requests");
    assert!(read(&file, 1 << 20, large.len()) == large);
    assert_eq!(read(&file, (1 << 20) + 511, 2), [0, 1], "whole sectors are read around odd bytes");
    drop(file);
    assert!(daemon.stop().success());
    assert!(!daemon.mount().join("disk").exists(), "unmounted");
}

#[test]
fn the_folder_shows_exports_and_takes_no_others() {
    if !can_mount() {
        return;
    }
    let daemon = serve(&format!("{MEMORY}{FIXED}"));
    let file = open(&daemon, "disk");
    let mut names: Vec<_> = fs::read_dir(daemon.mount())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort();
    assert_eq!(names, ["disk", "fixed"]);
    let about = file.metadata().expect("told");
    assert_eq!((about.len(), about.permissions().mode() & 0o777, about.blocks()), (64 << 20, 0o600, 131_072));
    let fixed = fs::metadata(daemon.mount().join("fixed")).expect("told");
    assert_eq!(fixed.permissions().mode() & 0o777, 0o400);
    let kind =
        |path: &str| OpenOptions::new().write(true).open(daemon.mount().join(path)).err().map(|e| e.kind());
    assert_eq!(kind("fixed"), Some(ErrorKind::ReadOnlyFilesystem));
    assert_eq!(kind("nothing"), Some(ErrorKind::NotFound));
    let (disk, new) = (daemon.mount().join("disk"), daemon.mount().join("new"));
    let changes = [
        File::create(&new).map(drop),
        fs::create_dir(&new),
        std::os::unix::fs::symlink(&disk, &new),
        fs::hard_link(&disk, &new),
        fs::rename(&disk, &new),
        fs::remove_file(&disk),
    ];
    for changed in changes {
        let refused = changed.expect_err("the folder is as it is");
        assert_eq!(refused.raw_os_error(), Some(libc::EPERM), "{refused}");
    }
}

#[test]
fn a_file_keeps_its_size_and_takes_parts_of_sectors() {
    if !can_mount() {
        return;
    }
    let daemon = serve(MEMORY);
    let file = open(&daemon, "disk");
    let errno = |done: std::io::Result<()>| done.err().and_then(|error| error.raw_os_error());
    assert_eq!(errno(file.set_len(1 << 20)), Some(libc::EPERM));
    assert_eq!(errno(file.set_len(64 << 20)), None, "the size it has");
    file.write_all_at(&[3; 1024], 0).expect("whole sectors");
    file.write_all_at(&[4; 513], 100).expect("parts of two");
    let expected = [[3; 100].as_slice(), &[4; 513], &[3; 411]].concat();
    assert!(read(&file, 0, 1024) == expected);
    assert_eq!(errno(file.write_all_at(&[0; 1024], (64 << 20) - 512)), Some(libc::ENOSPC));
    assert_eq!(file.read_at(&mut [0; 512], 64 << 20).expect("the end"), 0);
    assert_eq!(file.read_at(&mut [0; 1024], (64 << 20) - 512).expect("what is left"), 512);
}

#[test]
fn what_is_punched_or_zeroed_reads_as_zeroes() {
    if !can_mount() {
        return;
    }
    let daemon = serve(MEMORY);
    let file = open(&daemon, "disk");
    file.write_all_at(&[7; 64 << 10], 0).expect("written");
    let (keep, punch, zero) =
        (libc::FALLOC_FL_KEEP_SIZE, libc::FALLOC_FL_PUNCH_HOLE, libc::FALLOC_FL_ZERO_RANGE);
    assert_eq!(fallocate(&file, keep | punch, 4096, 8192), Ok(()));
    assert_eq!(fallocate(&file, keep | zero, 32 << 10, 512), Ok(()));
    assert_eq!(fallocate(&file, keep, 0, 64 << 20), Ok(()), "everything is there already");
    // In part: within a sector, over the border of two, and around whole ones.
    let parts = [(20_001, 5), (20_475, 10), (21_000, 5000), (27_000, 648), (28_160, 600)];
    for (offset, length) in parts {
        assert_eq!(fallocate(&file, keep | punch, offset, length), Ok(()), "{offset} {length}");
    }
    assert_eq!(fallocate(&file, keep, 0, (64 << 20) + 512), Err(libc::ENOSPC));
    let mut expected = vec![7; 64 << 10];
    expected[4096..12288].fill(0);
    expected[32 << 10..(32 << 10) + 512].fill(0);
    for (offset, length) in parts {
        expected[offset as usize..(offset + length) as usize].fill(0);
    }
    assert!(read(&file, 0, 64 << 10) == expected);
}

#[test]
fn fsync_is_the_volume_s_flush() {
    if !can_mount() {
        return;
    }
    let daemon = serve(MEMORY);
    let file = open(&daemon, "disk");
    let flushes = || status(&daemon)["volumes"][0]["requests"]["flush"]["count"].as_u64().unwrap_or(0);
    let before = flushes();
    file.write_all_at(&[1; 512], 0).expect("written");
    file.sync_all().expect("synced");
    file.sync_data().expect("synced");
    assert_eq!(flushes(), before + 2);
}

#[test]
fn a_stop_cuts_off_who_keeps_a_file_open() {
    if !can_mount() {
        return;
    }
    let directory = directory();
    let patience = "client_patience = \"300ms\"\n";
    let settings = format!("{}{patience}{}{MEMORY}", sockets(&directory), files(&directory));
    let mut daemon = Daemon::start_in(&directory, &settings);
    let file = open(&daemon, "disk");
    file.write_all_at(&[1; 4096], 0).expect("written");
    assert!(daemon.stop().success(), "the data is durable all the same");
    assert!(daemon.log().contains("cut off") && daemon.log().contains("everything acknowledged is durable"));
    assert!(!daemon.mount().join("disk").exists());
    assert!(file.read_at(&mut [0; 512], 0).is_err());
}

#[test]
fn the_mount_of_a_killed_daemon_is_taken_away_and_a_living_one_s_is_not() {
    if !can_mount() {
        return;
    }
    let mut first = serve(MEMORY);
    drop(open(&first, "disk"));
    first.kill();
    let left = fs::read_dir(first.mount()).expect_err("nobody answers");
    let errno = left.raw_os_error().expect("the kernel's");
    assert!([libc::ENOTCONN, libc::ECONNABORTED, libc::ECANCELED].contains(&errno), "{left}");
    let second = serve_again(&first.directory);
    assert_eq!(read(&open(&second, "disk"), 0, 512), [0; 512]);
    let other = directory();
    let settings = format!("{}[fuse]\nmount = \"{}\"\n{MEMORY}", sockets(&other), second.mount().display());
    let mut third = Daemon::start_in(&other, &settings);
    assert!(!third.wait().success());
    assert!(third.log().contains("another fathomd serves"), "{}", third.log());
    assert_eq!(read(&open(&second, "disk"), 0, 512), [0; 512], "the one that was there serves on");
}

#[test]
fn nobody_waits_for_the_mount_of_a_daemon_that_hangs() {
    if !can_mount() {
        return;
    }
    let first = serve(MEMORY);
    first.signal("-STOP");
    let same = first.directory.join("fathomd.toml").display().to_string();
    let other = directory();
    let settings = format!("{}[fuse]\nmount = \"{}\"\n{MEMORY}", sockets(&other), first.mount().display());
    let elsewhere = other.join("fathomd.toml").display().to_string();
    fs::write(&elsewhere, settings).expect("writable");
    let run = |arguments: &[&str]| {
        let ended = Command::new("timeout")
            .args(["-s", "KILL", "60", env!("CARGO_BIN_EXE_fathomd")])
            .args(arguments)
            .output()
            .expect("timeout is there");
        let text =
            [ended.stdout, ended.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        (ended.status.code(), text)
    };
    let checked = run(&["--check", &same]);
    assert_eq!(checked.0, Some(0), "{}", checked.1);
    let second = run(&[&same]);
    assert!(second.0 == Some(1) && second.1.contains("another fathomd serves"), "{second:?}");
    let third = run(&[&elsewhere]);
    assert!(third.0 == Some(1) && third.1.contains("does not answer"), "{third:?}");
    first.signal("-CONT");
    assert_eq!(read(&open(&first, "disk"), 0, 512), [0; 512], "the one that was there serves on");
    fs::remove_dir_all(other).expect("it is ours");
}

/// A file system on a loop device keeps what was written and synced, through unmount, stop and start.
fn keeps_files(sector: u32, kind: &str) {
    if !can_mount() {
        return;
    }
    let directory = directory();
    let image = directory.join("image").display().to_string();
    let settings = format!(
        "{}{}[volumes.file]\nkind = \"file\"\npath = \"{image}\"\nsize = \"400MiB\"\n\
         [volumes.large]\nkind = \"sector\"\nbacking = \"file\"\nlogical_sector = \"4KiB\"\nphysical_sector = \"4KiB\"\n\
         [exports.disk]\nvolume = \"{}\"\n",
        sockets(&directory),
        files(&directory),
        if sector == 512 { "file" } else { "large" },
    );
    let text: Vec<u8> = (0..3_u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut daemon = Daemon::make_in(&directory, &settings);
    drop(open(&daemon, "disk"));
    {
        let Some(device) = Loop::attach(&daemon.mount().join("disk"), sector) else { return };
        let Some(system) = Mounted::make(&device, kind, directory.join("system")) else { return };
        let file = File::create(system.0.join("text")).expect("created");
        file.write_all_at(&text, 0).expect("written");
        file.sync_all().expect("synced");
    }
    assert!(daemon.stop().success());
    let daemon = serve_again(&directory);
    drop(open(&daemon, "disk"));
    let device = Loop::attach(&daemon.mount().join("disk"), sector).expect("as before");
    let check = if kind == "ext4" { ("e2fsck", "-fn") } else { ("xfs_repair", "-n") };
    success(check.0, &[check.1, &device.0]);
    let system = Mounted::mount(&device, directory.join("system"));
    assert!(fs::read(system.0.join("text")).expect("it is there") == text);
}

#[test]
fn ext4_on_a_loop_device_with_512_byte_sectors_keeps_its_files() {
    keeps_files(512, "ext4");
}

#[test]
fn xfs_on_a_loop_device_with_4096_byte_sectors_keeps_its_files() {
    keeps_files(4096, "xfs");
}

#[test]
fn requests_come_through_io_uring_where_the_kernel_offers_it() {
    const SWITCH: &str = "/sys/module/fuse/parameters/enable_uring";
    if !can_mount() {
        return;
    }
    let Ok(before) = fs::read_to_string(SWITCH) else {
        println!("skipped: this kernel has no FUSE over io_uring");
        return;
    };
    fs::write(SWITCH, "1").expect("root may");
    let mut daemon = serve(MEMORY);
    let file = open(&daemon, "disk");
    fs::write(SWITCH, before).expect("root may");
    assert_eq!(status(&daemon)["fuse"]["by"], "io_uring");
    let bytes: Vec<u8> = (0..4_u32 << 20).map(|at| (at / 512) as u8).collect();
    file.write_all_at(&bytes, 512).expect("written");
    assert!(read(&file, 512, bytes.len()) == bytes);
    assert_eq!(read(&file, 1023, 2), [0, 1]);
    assert_eq!(fallocate(&file, libc::FALLOC_FL_KEEP_SIZE | libc::FALLOC_FL_PUNCH_HOLE, 512, 512), Ok(()));
    assert_eq!(read(&file, 0, 1024), [0; 1024]);
    file.sync_all().expect("synced");
    assert_eq!(fs::read_dir(daemon.mount()).expect("a folder").count(), 1);
    drop(file);
    assert!(daemon.stop().success());
    // Without the setting nothing of the kind is agreed.
    let shy = serve(&format!("io_uring = false\n{MEMORY}"));
    drop(open(&shy, "disk"));
    assert_eq!(status(&shy)["fuse"]["by"], "read");
}

#[test]
fn who_may_not_mount_is_told_what_to_do() {
    if !can_mount() {
        return;
    }
    let directory = directory();
    let settings = format!("{}{}{MEMORY}", sockets(&directory), files(&directory));
    let file = directory.join("fathomd.toml");
    fs::write(&file, settings).expect("writable");
    let everybody = fs::Permissions::from_mode(0o777);
    fs::set_permissions(&directory, everybody).expect("it is ours");
    // Without the capability root may not mount either.
    let told = Command::new("setpriv")
        .args(["--bounding-set=-sys_admin", "--inh-caps=-sys_admin", env!("CARGO_BIN_EXE_fathomd")])
        .arg(&file)
        .output();
    match told {
        Ok(told) => {
            assert_eq!(told.status.code(), Some(1));
            let text = String::from_utf8_lossy(&told.stderr).into_owned();
            assert!(text.contains("CAP_SYS_ADMIN"), "{text}");
        }
        Err(error) => println!("skipped: setpriv: {error}"),
    }
    fs::remove_dir_all(directory).expect("it was ours");
}
