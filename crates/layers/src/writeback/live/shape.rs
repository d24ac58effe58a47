//! The shape of the log: what the settings give on the devices that are there, or what a dirty log has.

use fathom_units::Bytes;
use fathom_volume::{Action, Error, ErrorKind, Remedy, Result, Setting};

use crate::writeback::layout::{CacheLayout, on_cache};
use crate::writeback::superblock::{CacheSuper, OriginSuper};

use super::opening::Opening;

impl Opening {
    /// Settles the shape. Of two cache devices one may be too small for the log that the other one holds (it was cut short, or
    /// stands in for a larger one): it is left alone until a planned stop.
    ///
    /// # Errors
    /// If a device is smaller than the settings say and no other one holds a log.
    pub fn settle_shape(
        &mut self,
        origin: Option<&OriginSuper>,
        caches: &[Option<CacheSuper>],
    ) -> Result<()> {
        let held = origin.and_then(|origin| self.held_shape(origin, caches));
        self.parts.cache_layout = held.unwrap_or(self.parts.cache_layout);
        let needs = self.parts.cache_layout.end();
        for leg in 0..caches.len() {
            let device = &self.parts.caches[leg];
            let (name, has) = (device.name().to_owned(), device.geometry().size);
            if has >= needs || self.has_failed(leg) {
                continue;
            }
            let why = format!(
                "cache device `{name}` has {:#} and the log needs {:#}",
                Bytes::new(has),
                Bytes::new(needs)
            );
            if held.is_none() {
                return Err(self.smaller_than_set(name, has, needs, &why));
            }
            self.leg_fails(leg, Error::new(ErrorKind::Misuse, why))?;
        }
        Ok(())
    }

    /// The shape of a dirty log that counts, if the settings give it on its own device.
    fn held_shape(&self, origin: &OriginSuper, caches: &[Option<CacheSuper>]) -> Option<CacheLayout> {
        let settings = &self.parts.settings;
        let counts = |cache: &CacheSuper| {
            origin.owner != 0 && cache.dirty && cache.uuid == origin.uuid && origin.legs.contains(&cache.leg)
        };
        caches.iter().zip(&self.parts.caches).find_map(|(cache, device)| {
            let size = settings.size.unwrap_or(device.geometry().size);
            let shape = on_cache(size, settings.segment, settings.read_cache.unwrap_or(0))?;
            let cache = cache.as_ref().filter(|cache| counts(cache) && shape.is_of(cache));
            cache.filter(|_| shape.end() <= device.geometry().size).map(|_| shape)
        })
    }

    fn smaller_than_set(&self, device: String, has: u64, needs: u64, why: &str) -> Error {
        let (small, large) = (Bytes::new(has), Bytes::new(needs));
        let smaller = self.set(
            vec![("size", Some(Setting::Bytes(has)))],
            format!("set `size = \"{small:#}\"` after a planned stop"),
            None,
        );
        let text = format!("give `{device}` at least {large:#}");
        let larger = Remedy { action: Action::Resize { device, bytes: Some(needs) }, text, loses: None };
        self.refuse(ErrorKind::Misuse, "cache_too_small", why, vec![larger, smaller])
    }
}
