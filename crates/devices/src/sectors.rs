//! Reading the sector sizes of a device that can have any.

use fathom_settings::{Key, Section};
use fathom_units::Bytes;

/// The largest sector in use anywhere, bytes.
pub(crate) const LARGEST: u64 = 64 << 10;

/// Documentation of `logical_sector`.
pub(crate) const LOGICAL: Key =
    Key::optional("logical_sector", "size", "512B", "Offsets and lengths of requests are multiples of it.");
/// Documentation of `physical_sector`.
pub(crate) const PHYSICAL: Key = Key::optional(
    "physical_sector",
    "size",
    "as `logical_sector`",
    "What the device reports to write without reading first.",
);

/// Logical and physical sector in bytes.
pub(crate) fn read(section: &mut Section<'_>) -> (u32, u32) {
    let logical = sector(section, "logical_sector").unwrap_or(512);
    let physical = sector(section, "physical_sector").unwrap_or(logical);
    if physical < logical {
        let message = format!("{physical} bytes are less than the logical sector of {logical}");
        section.error_at("physical_sector", message, "make it the same or larger");
    }
    (logical, physical)
}

fn sector(section: &mut Section<'_>, key: &str) -> Option<u32> {
    let size = section.optional::<Bytes>(key)?.get();
    if size.is_power_of_two() && (512..=LARGEST).contains(&size) {
        return u32::try_from(size).ok();
    }
    let message = format!("{size} bytes are no sector");
    section.error_at(key, message, "sectors are powers of two from 512B to 64KiB; 512B and 4KiB are usual");
    None
}

/// A size in bytes that must be there; a positive multiple of the logical sector.
pub(crate) fn required_size(section: &mut Section<'_>, logical_sector: u32) -> Option<u64> {
    let size = section.required::<Bytes>("size")?.get();
    check_size(section, size, logical_sector)
}

/// As [`required_size`], but it may be left out.
pub(crate) fn optional_size(section: &mut Section<'_>, logical_sector: u32) -> Option<u64> {
    let size = section.optional::<Bytes>("size")?.get();
    check_size(section, size, logical_sector)
}

fn check_size(section: &Section<'_>, size: u64, logical_sector: u32) -> Option<u64> {
    // No larger than what a signed 64-bit offset of the kernel can address.
    if size > 0 && size.is_multiple_of(u64::from(logical_sector)) && i64::try_from(size).is_ok() {
        return Some(size);
    }
    let message = format!("{size} bytes are no size for a device of {logical_sector}-byte sectors");
    section.error_at("size", message, "give a positive multiple of the sector, below 8 EiB");
    None
}
