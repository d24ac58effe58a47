//! The kernel refuses the ring in the middle of work: clients are answered with errors, the operator is told, and a stop ends.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::common::{Client, Daemon, FLUSH, READ, WRITE, directory, request, sockets, status, until};

/// Operations handed over by one call from which on the kernel refuses it.
const REFUSED_FROM: u32 = 20;

/// Has the kernel answer EPERM to calls of io_uring_enter(2) that hand over many operations, and only to those.
fn refuse_many() -> std::io::Result<()> {
    const ENTER: u32 = libc::SYS_io_uring_enter as u32;
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    // The call's number, and the lower half of its second argument.
    const NUMBER: u32 = 0;
    const TO_SUBMIT: u32 = 16 + 8;
    let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let mut program = [
        step(LOAD, NUMBER, 0, 0),
        step(EQUAL, ENTER, 0, 3),
        step(LOAD, TO_SUBMIT, 0, 0),
        step(AT_LEAST, REFUSED_FROM, 0, 1),
        step(RETURN, refused, 0, 0),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the program lives for the call, which copies it.
    let set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
    };
    if set { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[test]
fn a_refused_ring_fences_the_volumes_answers_eio_and_is_told() {
    let directory = directory();
    // Through the page cache: operations on a disk past it are handed over a few at a time.
    let settings = format!(
        "{}client_patience = \"1s\"\n\
         [volumes.disk]\nkind = \"file\"\npath = \"disk.img\"\nsize = \"8MiB\"\ndirect = \"off\"\n\
         [volumes.memory]\nkind = \"memory\"\nsize = \"8MiB\"\n\
         [exports.disk]\nvolume = \"disk\"\n[exports.memory]\nvolume = \"memory\"\n",
        sockets(&directory)
    );
    fs::write(directory.join("fathomd.toml"), &settings).expect("writable");
    let program = || {
        let mut program = Command::new(env!("CARGO_BIN_EXE_fathomd"));
        program.arg(directory.join("fathomd.toml"));
        program
    };
    assert!(program().arg("--create").stderr(Stdio::null()).status().expect("it was built").success());
    let log = fs::File::create(directory.join("log")).expect("writable");
    let mut start = program();
    start.args(["--log", "json"]).stderr(log);
    // SAFETY: two system calls on memory of their own between fork and exec.
    unsafe { start.pre_exec(refuse_many) };
    let mut daemon = Daemon::of(&directory, start);
    let mut client = Client::open(&daemon, "disk");
    client.write(0, &[1; 4096]);
    client.request(FLUSH, 5, 0, 0, &[]);
    assert_eq!(client.answer(), (0, 5));
    let mut bytes = Vec::new();
    for cookie in 0..64_u64 {
        bytes.extend(request(WRITE, cookie, cookie * 4096, 4096));
        bytes.extend([2; 4096]);
    }
    client.send(&bytes);
    let errors = (0..64).filter(|_| client.answer().0 == 5).count();
    assert!(errors > 0, "some of the writes were refused");
    for (kind, length, payload) in [(WRITE, 4096, vec![3; 4096]), (READ, 4096, vec![]), (FLUSH, 0, vec![])] {
        client.request(kind, 9, 0, length, &payload);
        assert_eq!(client.answer(), (5, 9), "the volume is fenced for command {kind}");
    }
    // What needs no device is served on, also to newcomers.
    let mut other = Client::open(&daemon, "memory");
    other.write(0, &[4; 4096]);
    assert_eq!(other.read(0, 4096), [4; 4096]);
    assert!(status(&daemon)["io_uring_failure"].is_string());
    assert!(daemon.ask("GET", "/metrics").1.contains("\nfathomd_io_uring_failed 1"));
    until("the log tells", || daemon.log().contains("io_uring fails"));
    assert_eq!(daemon.stop().code(), Some(1), "not everything is durable");
    assert!(!daemon.log().contains("panicked"), "{}", daemon.log());

    let mut again = Daemon::start_in(&directory, &settings);
    assert!(matches!(Client::open(&again, "disk").read(0, 4096)[0], 1 | 2), "what was flushed is there");
    assert!(again.stop().success());
}
