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
        made.sign(&made.certificate());
        owner.give(&key);
        made
    }

    /// The authority signs the server's request for two days from now on.
    fn sign(&self, certificate: &Path) {
        let mut openssl = Command::new("openssl");
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

    /// The server's certificate as if it had been made ten days ago for two: it has expired.
    ///
    /// Before OpenSSL 3.4 only `openssl ca` takes both dates.
    pub fn expired(&self) -> PathBuf {
        let (certificate, settings, database) =
            (self.file("expired"), self.file("settings"), self.file("database"));
        let text = format!(
            "[ca]\ndefault_ca = own\n[own]\ndatabase = {}\nnew_certs_dir = {}\nrand_serial = yes\n\
             default_md = sha256\npolicy = any\n[any]\ncommonName = supplied\n",
            database.display(),
            self.directory.path().display()
        );
        std::fs::write(&settings, text).expect("writable");
        std::fs::write(&database, "").expect("writable");
        let mut openssl = Command::new("openssl");
        openssl.args(["ca", "-batch", "-notext"]);
        openssl.args(["-startdate", &days_ago(10), "-enddate", &days_ago(8)]);
        for (option, path) in [
            ("-config", &settings),
            ("-in", &self.file("request")),
            ("-out", &certificate),
            ("-cert", &self.authority()),
            ("-keyfile", &self.file("authority-key")),
            ("-extfile", &self.file("names")),
        ] {
            openssl.arg(option).arg(path);
        }
        succeed(&mut openssl);
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

/// That moment as `openssl ca` takes it.
fn days_ago(days: u32) -> String {
    let mut date = Command::new("date");
    let told =
        date.args(["-u", "-d", &format!("{days} days ago"), "+%Y%m%d%H%M%SZ"]).output().expect("date runs");
    assert!(told.status.success(), "{told:?}");
    String::from_utf8(told.stdout).expect("digits").trim().to_owned()
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
