//! An authority and a server's certificate for `localhost`, made anew by openssl for each test.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::servers::{Owner, succeed};

/// Files in a directory that the server's user may read.
pub struct Certificates {
    directory: TempDir,
}

impl Certificates {
    /// For a server that runs as that user.
    pub fn of(user: &str) -> Self {
        let owner = Owner::of(user);
        let made = Self { directory: owner.directory() };
        for authority in ["authority", "stranger"] {
            let (key, certificate) = (made.file(&format!("{authority}-key")), made.file(authority));
            let subject = format!("/CN={authority}");
            openssl(
                &["-x509", "-days", "2", "-subj", &subject],
                &[("-keyout", &key), ("-out", &certificate)],
            );
        }
        let names = made.file("names");
        std::fs::write(&names, "subjectAltName=DNS:localhost").expect("writable");
        let (key, request) = (made.key(), made.file("request"));
        openssl(&["-subj", "/CN=localhost"], &[("-keyout", &key), ("-out", &request)]);
        made.sign(Command::new("openssl"), &made.certificate());
        owner.give(&key);
        made
    }

    /// The authority signs the server's request for two days from now on, as that program sees the time.
    fn sign(&self, mut openssl: Command, certificate: &Path) {
        openssl.args(["x509", "-req", "-days", "2", "-CAcreateserial"]);
        for (option, path) in [
            ("-in", &self.file("request")),
            ("-out", &certificate.to_owned()),
            ("-CA", &self.authority()),
            ("-CAkey", &self.file("authority-key")),
            ("-extfile", &self.file("names")),
        ] {
            openssl.arg(option).arg(path);
        }
        succeed(&mut openssl);
    }

    /// The server's certificate as it was made ten days ago for two: it has expired.
    pub fn expired(&self) -> PathBuf {
        let mut then = Command::new("faketime");
        then.args(["-f", "-10d", "openssl"]);
        let certificate = self.file("expired");
        self.sign(then, &certificate);
        certificate
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The server's certificate.
    pub fn certificate(&self) -> PathBuf {
        self.file("certificate")
    }

    /// The server's key.
    pub fn key(&self) -> PathBuf {
        self.file("key")
    }

    /// Who signed it.
    pub fn authority(&self) -> PathBuf {
        self.file("authority")
    }

    /// Somebody who did not.
    pub fn stranger(&self) -> PathBuf {
        self.file("stranger")
    }
}

/// A new key, and a certificate or the request for one.
fn openssl(words: &[&str], files: &[(&str, &Path)]) {
    let mut command = Command::new("openssl");
    command.args(["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]).args(words);
    for (option, path) in files {
        command.arg(option).arg(path);
    }
    succeed(&mut command);
}
