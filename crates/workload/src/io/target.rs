//! A profile laid over a volume: how many places there are for each size, and whether it fits at all.

use fathom_volume::{Geometry, Handle};

use super::profile::{Places, Profile};
use crate::draw::Sizes;
use crate::outcome::{Failure, Reason};

/// The part of a volume that requests go to, in units of the profile's alignment.
#[derive(Debug, Clone)]
pub struct Target {
    /// The volume.
    pub volume: Handle,
    /// First byte.
    pub start: u64,
    /// Bytes; a multiple of `unit`.
    pub length: u64,
    /// Offsets are multiples of it.
    pub unit: u64,
    /// Places for each size of reads and of writes: offsets `start + unit * (0..places)`.
    pub read_places: Vec<u64>,
    /// As `read_places`.
    pub write_places: Vec<u64>,
}

impl Target {
    /// Lays a profile over a volume.
    ///
    /// # Errors
    /// [`Reason::Settings`] if a size, the alignment or the area does not suit the volume.
    pub fn new(volume: &Handle, profile: &Profile) -> Result<Self, Failure> {
        let geometry = volume.geometry();
        let wrong = |what: String| Failure::new(Reason::Settings, format!("{volume:?}: {what}"));
        let unit = profile.unit();
        let sector = u64::from(geometry.logical_sector);
        for (name, bytes) in [("start", profile.start), ("align", unit)] {
            if bytes % sector != 0 || (name == "align" && bytes == 0) {
                let help = format!("make it a multiple of the logical sector, {sector} bytes");
                return Err(wrong(format!("{name} is {bytes} bytes; {help}")));
            }
        }
        let rest = geometry.size.checked_sub(profile.start);
        let Some(length) = rest.map(|rest| profile.length.unwrap_or(rest).min(rest) / unit * unit) else {
            return Err(wrong(format!("start ({}) lies beyond its end ({})", profile.start, geometry.size)));
        };
        let read_places = places(geometry, &profile.read_sizes, profile.read > 0.0, length, unit).map_err(wrong)?;
        let write_places = places(geometry, &profile.write_sizes, profile.read < 1.0, length, unit).map_err(wrong)?;
        Ok(Self { volume: volume.clone(), start: profile.start, length, unit, read_places, write_places })
    }

    /// The bytes of the area that the `index`-th of `count` workers goes through one after the other: its part, or all
    /// of it if the parts would be too small for the largest size.
    pub fn region(&self, index: u64, count: u64, largest: u64) -> std::ops::Range<u64> {
        let part = self.length / self.unit / count * self.unit;
        if part < largest {
            return self.start..self.start + self.length;
        }
        let start = self.start + index * part;
        start..start + part
    }
}

fn places(geometry: &Geometry, sizes: &Sizes, used: bool, length: u64, unit: u64) -> Result<Vec<u64>, String> {
    if !used {
        return Ok(vec![0; sizes.list().len()]);
    }
    let of_size = |size: &u64| {
        let sector = u64::from(geometry.logical_sector);
        if *size == 0 || size % sector != 0 {
            return Err(format!("requests of {size} bytes; make it a multiple of the logical sector, {sector} bytes"));
        }
        if *size > u64::from(geometry.max_transfer) {
            let most = geometry.max_transfer;
            return Err(format!(
                "requests of {size} bytes, and it takes at most {most} at once; make them smaller, or put an `adapter` layer on it, which splits them"
            ));
        }
        if *size > length {
            return Err(format!("requests of {size} bytes do not fit into the {length} bytes used of it"));
        }
        Ok((length - size) / unit + 1)
    };
    sizes.list().iter().map(of_size).collect()
}

/// Checks what the type of a profile cannot: shares, counts, parameters of distributions.
///
/// # Errors
/// [`Reason::Settings`].
pub fn check(profile: &Profile) -> Result<(), Failure> {
    let wrong = |what: &str| Err(Failure::new(Reason::Settings, format!("workload: {what}")));
    if profile.workers == 0 || profile.outstanding == 0 || profile.workers.checked_mul(profile.outstanding).is_none() {
        return wrong("workers and outstanding must be at least 1, their product below 2^32");
    }
    if profile.read < 0.0 || profile.trim < 0.0 || profile.read + profile.trim > 1.0 + 1e-9 {
        return wrong("the shares of reads and trims must not be negative and not pass 100 % together");
    }
    match profile.places {
        Places::Zipf(theta) if !(theta >= 0.0 && theta.is_finite()) => wrong("theta must be finite and not negative"),
        Places::HotSpot { requests, space } if !((0.0..=1.0).contains(&requests) && space > 0.0 && space < 1.0) => {
            wrong("the hot space must be more than 0 % and less than 100 % of the space, its requests 0 to 100 %")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::Runtime;
    use fathom_volume::{Geometry, Handle};

    use super::Target;
    use crate::draw::Sizes;
    use crate::io::profile::Profile;
    use crate::testing::Timed;

    fn plain(size: u64) -> Handle {
        let geometry = Geometry { max_transfer: 1 << 20, ..Geometry::plain(size) };
        Timed::with_geometry(geometry, 0).handle(&Runtime::virtual_time(0).context(), "disk")
    }

    #[test]
    fn the_last_place_of_each_size_ends_within_the_area() {
        let sizes = Sizes::weighted(&[(4096, 1.0), (12_288, 1.0)]).expect("sound weights");
        let profile = Profile { read_sizes: sizes, start: 4096, length: Some(40_960), ..Profile::default() };
        let target = Target::new(&plain(1 << 20), &profile).expect("it fits");
        assert_eq!((target.unit, target.length), (4096, 40_960));
        assert_eq!(target.read_places, [10, 8]);
    }

    #[test]
    fn what_does_not_suit_the_volume_is_refused_with_its_name() {
        let with = |profile: Profile| Target::new(&plain(1 << 21), &profile).map(drop).map_err(|failure| failure.message);
        let sized = |bytes| Profile { read_sizes: Sizes::fixed(bytes), ..Profile::default() };
        for (profile, word) in [
            (sized(1000), "logical sector"),
            (sized(0), "logical sector"),
            (sized(2 << 20), "adapter"),
            (Profile { start: 4 << 20, ..Profile::default() }, "beyond its end"),
            (Profile { length: Some(2048), ..Profile::default() }, "do not fit"),
            (Profile { align: Some(100), ..Profile::default() }, "align"),
        ] {
            let message = with(profile).expect_err(word);
            assert!(message.contains(word) && message.contains("disk"), "{message}");
        }
    }

    #[test]
    fn regions_of_workers_do_not_overlap_and_tiny_ones_are_shared() {
        let target = Target::new(&plain(1 << 20), &Profile::default()).expect("it fits");
        let regions: Vec<_> = (0..3).map(|index| target.region(index, 3, 4096)).collect();
        assert!(regions.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert!(regions[2].end <= 1 << 20);
        assert_eq!(target.region(1, 300, 65_536), 0..1 << 20);
    }
}
