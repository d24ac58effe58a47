//! Real clients: libnbd's, qemu's and fio's. One that is not installed is reported as skipped.

use std::fs;

use crate::common::{Daemon, MEMORY, program, success};

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

/// What libnbd's shell is asked to do: structured and simple replies, block status, the errors of each command, options.
const SHELL: &str = r#"
import errno, nbd, sys
uri, size = sys.argv[1], 64 << 20
h = nbd.NBD()
h.add_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
h.connect_uri(uri)
assert h.get_structured_replies_negotiated() and h.can_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
if hasattr(h, "get_extended_headers_negotiated"):
    assert not h.get_extended_headers_negotiated(), "asked for and declined"
assert h.get_size() == size and h.can_multi_conn() and h.can_fast_zero()
block = bytes(range(256)) * 16
h.pwrite(block, 8192, nbd.CMD_FLAG_FUA)
chunks = []
got = h.pread_structured(12288, 4096, lambda data, at, status, error: chunks.append((at, len(data), status)))
assert got == bytes(4096) + block + bytes(4096) and chunks == [(4096, 12288, nbd.READ_DATA)], chunks
extents = []
h.block_status(size, 0, lambda context, at, entries, error: extents.append((context, at, entries)))
assert extents[0][0] == nbd.CONTEXT_BASE_ALLOCATION and sum(extents[0][2][::2]) == size, extents
h.zero(4096, 8192, nbd.CMD_FLAG_NO_HOLE)
assert h.pread(4096, 8192) == bytes(4096)
h.trim(1 << 20, 0); h.cache(4096, 0); h.flush()
cookies = [h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray([n] * 4096)), n * 4096) for n in range(64)]
while h.aio_in_flight():
    h.poll(-1)
assert all(h.aio_command_completed(cookie) for cookie in cookies)
assert all(h.pread(4096, n * 4096) == bytes([n] * 4096) for n in range(64))
h.set_strict_mode(0)
wrong = {
    "read": (lambda: h.pread(512, size), errno.EINVAL),
    "unaligned": (lambda: h.pread(512, 100), errno.EINVAL),
    "write": (lambda: h.pwrite(bytes(512), size), errno.ENOSPC),
    "zero": (lambda: h.zero(1024, size - 512), errno.ENOSPC),
    "trim": (lambda: h.trim(1024, size - 512), errno.EINVAL),
    "cache": (lambda: h.cache(512, size), errno.EINVAL),
    "status": (lambda: h.block_status(512, size, lambda *told: 0), errno.EINVAL),
    "flag": (lambda: h.pwrite(bytes(512), 0, 1 << 8), errno.EINVAL),
}
for name, (ask, code) in wrong.items():
    try:
        ask()
        raise SystemExit(f"{name} was not refused")
    except nbd.Error as error:
        assert error.errnum == code, (name, error)
assert h.pread(512, 0) == bytes(512)
h.shutdown()

h = nbd.NBD()
h.set_request_structured_replies(False)
h.connect_uri(uri)
assert not h.get_structured_replies_negotiated() and h.pread(4096, 4096) == bytes([1] * 4096)
h.shutdown()

h = nbd.NBD()
h.set_opt_mode(True)
h.connect_uri(uri)
names = []
h.opt_list(lambda name, description: names.append(name))
assert names == ["disk"], names
h.set_export_name("nothing")
try:
    h.opt_info()
    raise SystemExit("an unknown export")
except nbd.Error:
    pass
h.set_export_name("disk")
h.opt_info()
assert h.get_size() == size
h.opt_go()
assert h.pread(512, 0) == bytes(512)
h.shutdown()
"#;

#[test]
fn libnbd_s_shell_finds_what_the_protocol_promises() {
    let daemon = Daemon::start(MEMORY);
    // The system's, for which the module is packaged.
    let python = "/usr/bin/python3";
    if !program(python, &["-c", "import nbd"]).is_some_and(|told| told.status.success()) {
        println!("skipped: python3-libnbd is not installed");
        return;
    }
    success(python, &["-c", SHELL, &daemon.uri("disk")]);
}

#[test]
fn qemu_io_and_nbdcopy_go_through_tcp_with_several_connections() {
    let directory = crate::common::directory();
    let free =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
    let settings =
        format!("{}tcp = \"{free}\"\ntcp_in_the_clear = true\n{MEMORY}", crate::common::sockets(&directory));
    let daemon = Daemon::start_in(&directory, &settings);
    let uri = format!("nbd://{free}/disk");
    let commands =
        ["-f", "raw", "-c", "write -P 5 1M 2M", "-c", "read -P 5 1M 2M", "-c", "discard 1M 1M", &uri];
    if let Some(told) = success("qemu-io", &commands) {
        assert!(!told.contains("failed"), "{told}");
    }
    let (one, other) =
        (directory.join("one").display().to_string(), directory.join("other").display().to_string());
    if success("nbdcopy", &["--connections=4", &uri, &one]).is_some() {
        success("nbdcopy", &[&daemon.uri("disk"), &other]);
        assert!(fs::read(&one).expect("it was copied") == fs::read(&other).expect("it was copied"));
    }
}
