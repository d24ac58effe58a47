//! What a host makes of a file: a loop device, a file system on it. Taken apart in order when dropped, also by a failed
//! test: the file system before the loop device, the loop device before the daemon.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{program, success, until};

/// Whether this machine and user can mount FUSE; says so if not.
pub fn can_mount() -> bool {
    let root = Command::new("id").arg("-u").output().is_ok_and(|told| told.stdout == b"0\n");
    let can = root && Path::new("/dev/fuse").exists();
    if !can {
        println!("skipped: mounting needs root and /dev/fuse");
    }
    can
}

/// A loop device.
pub struct Loop(pub String);

impl Loop {
    /// Attaches a file, past the page cache; None, with a note, where the kernel has no loop devices.
    pub fn attach(file: &Path, sector: u32) -> Option<Self> {
        if !Path::new("/dev/loop-control").exists() {
            println!("skipped: this kernel has no loop devices");
            return None;
        }
        let (sector, file) = (sector.to_string(), file.display().to_string());
        let arguments = ["--find", "--show", "--direct-io=on", "--sector-size", &sector, &file];
        Some(Self(success("losetup", &arguments)?.trim().to_owned()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let name = self.0.clone();
        let _ = program("losetup", &["-d", &name]);
        // The kernel takes it apart a little later.
        let backing = PathBuf::from(name.replace("/dev/", "/sys/block/")).join("loop/backing_file");
        if !std::thread::panicking() {
            until("the loop device is gone", || !backing.exists());
        }
    }
}

/// A mounted file system.
pub struct Mounted(pub PathBuf);

impl Mounted {
    /// Makes a file system and mounts it; None, with a note, where its program is not installed.
    pub fn make(device: &Loop, kind: &str, at: PathBuf) -> Option<Self> {
        let force = if kind == "xfs" { "-f" } else { "-F" };
        success(&format!("mkfs.{kind}"), &["-q", force, &device.0])?;
        Some(Self::mount(device, at))
    }

    /// Mounts what is there.
    pub fn mount(device: &Loop, at: PathBuf) -> Self {
        fs::create_dir_all(&at).expect("the directory is writable");
        success("mount", &[&device.0, &at.display().to_string()]).expect("mount is there");
        Self(at)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let target = self.0.display().to_string();
        let is_off = || program("umount", &[&target]).is_none_or(|done| done.status.success());
        if std::thread::panicking() {
            let _ = is_off();
        } else {
            // A program that another test is about to start has this one's open files for a moment.
            until("the file system can be unmounted", is_off);
        }
    }
}
