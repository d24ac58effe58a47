//! Build facts that Cargo knows only at build time: commit, profile, optimisation.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rustc-env=FATHOM_COMMIT={}", commit().unwrap_or_else(|| "unknown".to_owned()));
    println!("cargo::rustc-env=FATHOM_PROFILE={}", profile().unwrap_or_else(|| "unknown".to_owned()));
    for name in ["OPT_LEVEL", "TARGET"] {
        println!("cargo::rustc-env=FATHOM_{name}={}", std::env::var(name).unwrap_or_default());
    }
    for name in ["HEAD", "logs/HEAD"] {
        let path = Path::new("../../.git").join(name);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
}

/// The commit the sources are at, with a plus sign if they were changed since; None outside a git checkout.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no", "--", "..", "../../Cargo.lock"])?;
    Some(if changed.is_empty() { commit } else { format!("{commit}+") })
}

/// The profile's name is the directory below `target` (or `target/TRIPLE`) that the build goes to.
fn profile() -> Option<String> {
    let out = std::env::var("OUT_DIR").ok()?;
    let parts: Vec<&str> = out.split('/').collect();
    let build = parts.iter().rposition(|part| *part == "build")?;
    parts.get(build.checked_sub(1)?).map(|name| (*name).to_owned())
}
