//! Files that lose their names while they are served: removed, moved or replaced. Whoever reads and writes notices nothing, and
//! what is written ends with the process, or with the last name elsewhere.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use fathom_runtime::{Context, Nanos, Ring, SECOND};

use crate::blocking::blocking;

/// How often the names are looked at.
const EVERY: Nanos = 5 * SECOND;

/// Numbers of a file system and of a file in it.
type Identity = (u64, u64);

/// The files that volumes write to: the volume's name, and the file's.
pub struct Names {
    files: Vec<(String, PathBuf)>,
    ring: Ring,
    /// What to do before one is copied: a cache goes on writing to it after its users have left.
    before_a_copy: String,
    /// For each, the file that was open under its name, and whether that has lost it.
    known: RefCell<BTreeMap<usize, (Identity, bool)>>,
}

/// What to do before a file is copied that was removed, with a command for a shell.
fn before_a_copy(settings: &Path, tells: bool) -> String {
    if !tells {
        return "wait until no cache holds writes (there is no `status` socket to drain them by): \
                fathomd_writeback_dirty_bytes of `metrics` is 0 then, or several times `lag_target` have passed"
            .to_owned();
    }
    let settings = settings.to_string_lossy();
    // No path of a file that was opened has a NUL.
    let settings = shlex::try_quote(&settings).unwrap_or_else(|_| settings.clone());
    format!("drain the caches (fathom volume drain {settings}) and wait for its end")
}

/// What was seen at one moment.
struct Seen {
    /// The regular file that each name leads to.
    at: Vec<Option<Identity>>,
    /// Descriptors of this process by what they have open.
    open: BTreeMap<Identity, String>,
}

impl Names {
    /// `settings`: the daemon's file. `tells`: whether it has a status socket, which `fathom volume drain` asks.
    pub fn new(files: Vec<(String, PathBuf)>, ring: Ring, settings: &Path, tells: bool) -> Self {
        let before_a_copy = before_a_copy(settings, tells);
        Self { files, ring, before_a_copy, known: RefCell::default() }
    }

    /// Looks at all of them and tells of those that were lost since the last look, or are there again.
    pub async fn look(&self) {
        let paths: Vec<PathBuf> = self.files.iter().map(|(_, path)| path.clone()).collect();
        // A file system that does not answer keeps the thread, and nobody else.
        let Ok(seen) = blocking(&self.ring, move || see(&paths)).await else { return };
        let mut known = self.known.borrow_mut();
        for (index, ((volume, path), at)) in self.files.iter().zip(seen.at).enumerate() {
            let path = path.display();
            if let Some(here) = at.filter(|here| seen.open.contains_key(here)) {
                if known.insert(index, (here, false)).is_some_and(|(_, was_lost)| was_lost) {
                    tracing::info!(volume, %path, "the file that is served is under its name again");
                }
                continue;
            }
            // A leg that was dropped is not open any more: its mirror tells.
            let Some((before, lost)) = known.get_mut(&index) else { continue };
            let Some(descriptor) = seen.open.get(before).filter(|_| !*lost) else { continue };
            *lost = true;
            let process = std::process::id();
            tracing::error!(
                volume,
                %path,
                copy = format!("/proc/{process}/fd/{descriptor}"),
                "the file that is served was removed, moved or replaced: what is written to it is not where the next start looks, \
                 and may end with this process. Move it back; or stop its users, {}, copy it (cp --sparse=always) from `copy`, \
                 and stop this daemon after that",
                self.before_a_copy
            );
        }
    }

    /// The files that are served and have lost their names, as far as the last look has seen.
    pub fn lost(&self) -> Vec<String> {
        let known = self.known.borrow();
        let lost = known.iter().filter(|(_, (_, lost))| *lost).map(|(index, _)| &self.files[*index]);
        lost.map(|(volume, path)| format!("{} of volume `{volume}`", path.display())).collect()
    }
}

/// Looks at them from time to time, as long as the daemon runs.
pub async fn tell_of_lost_names(context: Context, names: Rc<Names>) {
    while !names.files.is_empty() {
        names.look().await;
        context.sleep(EVERY).await;
    }
}

fn see(paths: &[PathBuf]) -> Seen {
    let identity = |there: Metadata| there.is_file().then(|| (there.dev(), there.ino()));
    let of = |path: &Path| fs::metadata(path).ok().and_then(identity);
    let descriptors = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let open = descriptors
        .filter_map(|entry| Some((of(&entry.path())?, entry.file_name().to_string_lossy().into_owned())));
    Seen { at: paths.iter().map(|path| of(path)).collect(), open: open.collect() }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn the_command_before_a_copy_is_one_that_a_shell_takes() {
        let told = super::before_a_copy(Path::new("/etc/a b/it's.toml"), true);
        assert!(told.contains("fathom volume drain \"/etc/a b/it's.toml\""), "{told}");
        assert!(
            super::before_a_copy(Path::new("/etc/fathom/fathomd.toml"), true)
                .contains("drain /etc/fathom/fathomd.toml)")
        );
    }
}
