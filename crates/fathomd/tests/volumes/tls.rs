//! TLS with real certificates and libnbd's clients.

use std::fs;
use std::net::TcpListener;

use crate::common::certificates::certificates;
use crate::common::{Daemon, MEMORY, directory, program, sockets, success, until};

#[test]
fn data_goes_through_tls_and_strangers_do_not() {
    let directory = directory();
    if certificates(&directory).is_none() || program("nbdinfo", &["--version"]).is_none() {
        return;
    }
    let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a free port");
    let file = |name: &str| directory.join(name).display().to_string();
    let settings = format!(
        "{}tcp = \"{free}\"\ntls = {{ certificate = \"{}\", key = \"{}\", client_authority = \"{}\" }}\n{MEMORY}",
        sockets(&directory),
        file("server-cert.pem"),
        file("server-key.pem"),
        file("ca-cert.pem"),
    );
    let daemon = Daemon::start_in(&directory, &settings);
    let uri = format!("nbds://localhost:{}/disk?tls-certificates={}", free.port(), directory.display());
    let (source, copy) = (directory.join("source"), directory.join("copy"));
    let bytes: Vec<u8> = (0..64_u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(&source, &bytes).expect("writable");
    success("nbdcopy", &[&source.display().to_string(), &uri]);
    success("nbdcopy", &[&uri, &copy.display().to_string()]);
    assert!(fs::read(&copy).expect("it was written") == bytes);

    let stranger = directory.join("stranger");
    fs::create_dir(&stranger).expect("writable");
    fs::copy(directory.join("ca-cert.pem"), stranger.join("ca-cert.pem")).expect("writable");
    let without = format!("nbds://localhost:{}/disk?tls-certificates={}", free.port(), stranger.display());
    assert!(!program("nbdinfo", &[&without]).expect("installed").status.success(), "no certificate");
    let clear = format!("nbd://localhost:{}/disk", free.port());
    assert!(!program("nbdinfo", &[&clear]).expect("installed").status.success(), "no TLS");
    until("the log tells", || daemon.log().contains("peer sent no certificates"));
}
