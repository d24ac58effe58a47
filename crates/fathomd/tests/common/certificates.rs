//! Certificates made on the spot.

use std::fs;
use std::path::Path;

use super::success;

/// An authority, a server's and a client's certificate in a directory, under the names that libnbd expects; None where
/// there is no openssl.
pub fn certificates(at: &Path) -> Option<()> {
    let file = |name: &str| at.join(name).display().to_string();
    fs::write(at.join("extensions"), "subjectAltName=DNS:localhost,IP:127.0.0.1").expect("writable");
    let (key, certificate) = (file("ca-key.pem"), file("ca-cert.pem"));
    let new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    let authority = ["-x509", "-days", "2", "-subj", "/CN=authority", "-keyout", &key, "-out", &certificate];
    success("openssl", &[&new[..], &authority[..]].concat())?;
    for name in ["server", "client"] {
        let (own, asked) = (file(&format!("{name}-key.pem")), file("asked"));
        success(
            "openssl",
            &[&new[..], &["-subj", "/CN=localhost", "-keyout", &own, "-out", &asked]].concat(),
        )?;
        let (signed, extensions) = (file(&format!("{name}-cert.pem")), file("extensions"));
        let by = ["-CA", &certificate, "-CAkey", &key, "-CAcreateserial", "-extfile", &extensions];
        let sign = ["x509", "-req", "-days", "2", "-in", &asked, "-out", &signed];
        success("openssl", &[&sign[..], &by[..]].concat())?;
    }
    Some(())
}
