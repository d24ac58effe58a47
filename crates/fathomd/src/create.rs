//! `--create`: makes what the settings describe, as far as it is not there.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use fathom_runtime::RingSetup;
use fathom_stack::Stack;
use fathom_volume::{Handle, Kind, NewFile, NewFiles};

use crate::daemon::{Purpose, ask_first, seed, site, tell_losses};
use crate::folder_of;
use crate::listen::keep_out;
use crate::settings::Settings;

/// Opens everything once and closes it, while no daemon serves the same socket: it would not notice, where no lock keeps two
/// programs from one volume (`nbd`). Files that were made for volumes which then refuse to open are removed again: an empty
/// one in the place of a file that is only not mounted would be in the way.
///
/// # Errors
/// A message that says what is in the way.
pub fn create(settings: &Settings, file: &Path) -> Result<(), String> {
    let _kept_out = keep_out(&settings.daemon.socket)?;
    ask_first(settings, file, Purpose::Create)?;
    let site = site(RingSetup::default(), folder_of(file), seed()?)?;
    let (volumes, roots) = (&settings.volumes, settings.roots());
    volumes.check_new(&roots, &site).map_err(|error| error.to_string())?;
    let new = NewFiles::default();
    let stack = match Stack::build_listing(volumes, &roots, &site, &new) {
        Ok(stack) => stack,
        Err(error) => {
            // Nothing has run yet, so nothing was written.
            new.take().iter().for_each(remove);
            return Err(error.to_string());
        }
    };
    let lifecycle = stack.lifecycle();
    let made = site.runtime().block_on(async {
        lifecycle.ready().await?;
        tell_losses(&lifecycle);
        lifecycle.close().await
    });
    let made = made.map_err(|deadlock| deadlock.to_string())?.map_err(|error| error.to_string());
    if made.is_err() {
        let now = site.context().now();
        let is_unused = |file: &&NewFile| stack.get(&file.node).is_some_and(|node| is_unused(node, now));
        new.take().iter().filter(is_unused).for_each(remove);
    }
    made
}

/// Whether nothing was written to a volume.
fn is_unused(volume: &Handle, now: u64) -> bool {
    let total = volume.statistics().total(now);
    let written = [Kind::Write, Kind::WriteZeroes, Kind::Trim];
    let is_written = |kind: &Kind| total.kind(*kind).is_some_and(|counted| counted.count > 0);
    volume.statistics().outstanding() == 0 && !written.iter().any(is_written)
}

/// Removes a file that this process has made, while it has the lock: whoever waits for that finds the file gone.
fn remove(new: &NewFile) {
    let place = |found: std::fs::Metadata| (found.dev(), found.ino());
    let (there, own) = (std::fs::symlink_metadata(&new.path).map(place), new.file.metadata().map(place));
    if !matches!((there, own), (Ok(there), Ok(own)) if there == own) {
        return;
    }
    let file = new.path.display();
    match std::fs::remove_file(&new.path) {
        Ok(()) => tracing::info!(%file, "removed again: nothing was written to it"),
        Err(error) => tracing::warn!(%file, %error, "made for nothing, and not removed again"),
    }
}
