//! Real clients: libnbd's, qemu's and fio's. One that is not installed is reported as skipped.

mod common;

use std::fs;

use common::{Daemon, MEMORY, program, success};

#[test]
fn nbdinfo_reads_what_is_offered_and_what_is_allocated() {
    let daemon = Daemon::start(&format!("{MEMORY}description = \"a disk\"\n"));
    let Some(told) = success("nbdinfo", &["--json", &daemon.uri("disk")]) else { return };
    for part in [
        "\"export-size\": 67108864",
        "\"description\": \"a disk\"",
        "\"can_multi_conn\": true",
        "\"can_fua\": true",
        "\"can_trim\": true",
        "\"can_zero\": true",
        "\"can_fast_zero\": true",
        "\"can_flush\": true",
        "base:allocation",
    ] {
        assert!(told.contains(part), "{part} is missing in {told}");
    }
    let map = success("nbdinfo", &["--map", &daemon.uri("disk")]).expect("it is installed");
    assert!(map.contains("67108864") && map.contains("data"), "{map}");
    let list = success("nbdinfo", &["--list", &daemon.uri("")]).expect("it is installed");
    assert!(list.contains("disk"), "{list}");
}

#[test]
fn an_unknown_export_is_refused_and_a_read_only_one_takes_no_writes() {
    let daemon = Daemon::start(&format!("{MEMORY}[exports.fixed]\nvolume = \"disk\"\nread_only = true\n"));
    let Some(unknown) = program("nbdinfo", &[&daemon.uri("nothing")]) else { return };
    assert!(!unknown.status.success());
    let told = success("nbdinfo", &["--json", &daemon.uri("fixed")]).expect("it is installed");
    assert!(told.contains("\"is_read_only\": true"), "{told}");
    let Some(written) = program("qemu-io", &["-f", "raw", "-c", "write 0 4k", &daemon.uri("fixed")]) else {
        return;
    };
    assert!(!written.status.success() || String::from_utf8_lossy(&written.stderr).contains("read"));
}

#[test]
fn qemu_io_writes_discards_zeroes_and_reads_back() {
    let daemon = Daemon::start(MEMORY);
    let commands = [
        "write -P 0x5a 0 1M",
        "write -f -P 0xa5 512k 8k",
        "read -P 0x5a 0 512k",
        "read -P 0xa5 512k 8k",
        "write -z 64k 64k",
        "read -P 0 64k 64k",
        "discard 0 4k",
        "flush",
        "write -P 3 4096 512",
        "read -P 3 4096 512",
        "write -P 7 16M 33M",
        "read -P 7 16M 33M",
        "aio_write -P 9 2M 64k",
        "aio_write -P 9 2112k 64k",
        "aio_flush",
        "read -P 9 2M 128k",
    ];
    let uri = daemon.uri("disk");
    let arguments: Vec<&str> = ["-f", "raw"]
        .into_iter()
        .chain(commands.iter().flat_map(|command| ["-c", *command]))
        .chain([uri.as_str()])
        .collect();
    if let Some(told) = success("qemu-io", &arguments) {
        assert!(!told.contains("failed") && !told.contains("error"), "{told}");
    }
}

#[test]
fn nbdcopy_takes_a_file_in_and_out_over_several_connections() {
    let daemon = Daemon::start(MEMORY);
    let (source, copy) = (daemon.directory.join("source"), daemon.directory.join("copy"));
    let bytes: Vec<u8> = (0..64_u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(&source, &bytes).expect("the directory is writable");
    let (source, copy) = (source.display().to_string(), copy.display().to_string());
    if success("nbdcopy", &["--connections=4", "--requests=32", "--flush", &source, &daemon.uri("disk")])
        .is_none()
    {
        return;
    }
    success("nbdcopy", &["--connections=4", "--requests=32", &daemon.uri("disk"), &copy]);
    assert!(fs::read(&copy).expect("it was written") == bytes);
}

#[test]
fn qemu_img_converts_into_an_export_and_finds_it_equal() {
    let daemon = Daemon::start(MEMORY);
    let source = daemon.directory.join("source");
    let bytes: Vec<u8> = (0..64_u32 << 20).map(|at| (at >> 16) as u8 & 3).collect();
    fs::write(&source, bytes).expect("the directory is writable");
    let (source, uri) = (source.display().to_string(), daemon.uri("disk"));
    if success("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", &source, &uri]).is_some() {
        let told = success("qemu-img", &["compare", "-f", "raw", "-F", "raw", &source, &uri]);
        assert!(told.expect("it is installed").contains("identical"));
    }
}

#[test]
fn fio_verifies_what_it_wrote_with_overlapping_requests() {
    let daemon = Daemon::start(MEMORY);
    let uri = format!("--uri={}", daemon.uri("disk"));
    // Without it, fio leaves the state of its verification in the current folder.
    let base = [
        "--name=verify",
        "--ioengine=nbd",
        "--thread",
        "--size=64m",
        "--direct=1",
        "--verify_state_save=0",
        &uri,
    ];
    let verified = [
        "--rw=randrw",
        "--bssplit=512/20:4k/40:64k/30:1m/10",
        "--iodepth=32",
        "--verify=crc32c",
        "--io_size=96m",
    ];
    let arguments: Vec<&str> = base.iter().chain(&verified).copied().collect();
    if success("fio", &arguments).is_none() {
        return;
    }
    // Requests that overlap each other: every answer must come, whichever wins.
    let overlapping =
        ["--rw=randwrite", "--bs=8k", "--iodepth=64", "--io_size=64m", "--norandommap", "--numjobs=2"];
    let arguments: Vec<&str> = base.iter().chain(&overlapping).copied().collect();
    success("fio", &arguments);
}
