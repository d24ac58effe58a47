//! A profile applied to a volume: how many positions there are for each size, and whether it fits at all.

use fathom_volume::Handle;

use super::profile::{AddressPattern, Profile};
use fathom_job::draw::Sizes;
use fathom_job::outcome::{Failure, Reason};

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
    /// Positions for each size of reads and of writes: offsets `start + unit * (0..positions)`.
    pub read_positions: Vec<u64>,
    /// As `read_positions`.
    pub write_positions: Vec<u64>,
}

/// What of a profile does not suit a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// Its key in the settings.
    pub key: &'static str,
    /// What is wrong, and with which volume.
    pub message: String,
    /// What to do.
    pub help: String,
}

impl From<Misfit> for Failure {
    fn from(misfit: Misfit) -> Self {
        Self::new(Reason::Settings, format!("workload: {}: {}; {}", misfit.key, misfit.message, misfit.help))
    }
}

impl Target {
    /// Lays a profile over a volume.
    ///
    /// # Errors
    /// If a size, the alignment or the area does not suit the volume.
    pub fn new(volume: &Handle, profile: &Profile) -> Result<Self, Misfit> {
        let geometry = volume.geometry();
        let wrong = |key, message: String, help: String| {
            Err(Misfit { key, message: format!("{message} for {volume:?}"), help })
        };
        let unit = profile.unit();
        let sector = u64::from(geometry.logical_sector);
        let aligned = format!("make it a multiple of its logical sector, {sector} bytes");
        if !profile.start.is_multiple_of(sector) {
            return wrong("start", format!("{} bytes do not suit", profile.start), aligned);
        }
        if profile.align.is_some() && (unit == 0 || !unit.is_multiple_of(sector)) {
            return wrong("align", format!("{unit} bytes do not suit"), aligned);
        }
        let lists = [
            ("size", &profile.read_sizes, profile.read > 0.0),
            ("write_size", &profile.write_sizes, profile.read < 1.0),
        ];
        let used = || lists.iter().filter(|(_, _, used)| *used);
        for (key, size) in
            used().flat_map(|(key, sizes, _)| sizes.list().iter().map(move |size| (*key, *size)))
        {
            if size == 0 || !size.is_multiple_of(sector) {
                return wrong(key, format!("requests of {size} bytes do not suit"), aligned);
            }
            if size > u64::from(geometry.max_transfer) {
                let help = format!(
                    "it takes at most {} at once: make them smaller, or put an `adapter` layer on it, which splits them",
                    geometry.max_transfer
                );
                return wrong(key, format!("requests of {size} bytes are too large"), help);
            }
        }
        let Some(rest) = geometry.size.checked_sub(profile.start).filter(|rest| *rest > 0) else {
            return wrong(
                "start",
                format!("{} bytes are too much", profile.start),
                format!("it ends at {}", geometry.size),
            );
        };
        if let Some(length) = profile.length.filter(|length| *length > rest) {
            return wrong(
                "length",
                format!("{length} bytes from {} on are too much", profile.start),
                format!("it ends at {}; leave `length` out for all there is", geometry.size),
            );
        }
        let length = profile.length.or(profile.most).unwrap_or(rest).min(rest) / unit * unit;
        if profile.largest() > length {
            let help = format!(
                "make the area as large as a request, {} bytes, or the requests smaller",
                profile.largest()
            );
            return wrong("length", format!("{length} bytes are too little"), help);
        }
        let positions = |(_, sizes, used): &(&str, &Sizes, bool)| {
            let of_size = |size: &u64| if *used { (length - size) / unit + 1 } else { 0 };
            sizes.list().iter().map(of_size).collect()
        };
        let [read_positions, write_positions] = lists.each_ref().map(positions);
        Ok(Self {
            volume: volume.clone(),
            start: profile.start,
            length,
            unit,
            read_positions,
            write_positions,
        })
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

/// Checks what the type of a profile cannot: shares, counts, parameters of distributions.
///
/// # Errors
/// [`Reason::Settings`].
pub fn check(profile: &Profile) -> Result<(), Failure> {
    let wrong = |what: &str| Err(Failure::new(Reason::Settings, format!("workload: {what}")));
    if profile.workers == 0
        || profile.outstanding == 0
        || profile.workers.checked_mul(profile.outstanding).is_none()
    {
        return wrong("workers and outstanding must be at least 1, their product below 2^32");
    }
    if profile.read < 0.0 || profile.trim < 0.0 || profile.read + profile.trim > 1.0 + 1e-9 {
        return wrong("the shares of reads and trims must not be negative and not pass 100 % together");
    }
    match profile.places {
        AddressPattern::Zipf(theta) if !(theta >= 0.0 && theta.is_finite()) => {
            wrong("theta must be finite and not negative")
        }
        AddressPattern::HotSpot { requests, space }
            if !((0.0..=1.0).contains(&requests) && space > 0.0 && space < 1.0) =>
        {
            wrong(
                "the hot space must be more than 0 % and less than 100 % of the space, its requests 0 to 100 %",
            )
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::Runtime;
    use fathom_volume::{Geometry, Handle};

    use super::Target;
    use crate::io::profile::Profile;
    use crate::testing::Timed;
    use fathom_job::draw::Sizes;
    use fathom_job::outcome::Failure;

    fn plain(size: u64) -> Handle {
        let geometry = Geometry { max_transfer: 1 << 20, ..Geometry::plain(size) };
        Timed::with_geometry(geometry, 0).handle(&Runtime::virtual_time(0).context(), "disk")
    }

    #[test]
    fn the_last_position_of_each_size_ends_within_the_area() {
        let sizes = Sizes::weighted(&[(4096, 1.0), (12_288, 1.0)]).expect("sound weights");
        let profile = Profile { read_sizes: sizes, start: 4096, length: Some(40_960), ..Profile::default() };
        let target = Target::new(&plain(1 << 20), &profile).expect("it fits");
        assert_eq!((target.unit, target.length), (4096, 40_960));
        assert_eq!(target.read_positions, [10, 8]);
    }

    #[test]
    fn what_does_not_suit_the_volume_is_refused_with_its_name() {
        let sized = |bytes| Profile { read_sizes: Sizes::fixed(bytes), ..Profile::default() };
        for (profile, key, word) in [
            (sized(1000), "size", "logical sector"),
            (sized(0), "size", "logical sector"),
            (sized(2 << 20), "size", "adapter"),
            (
                Profile { read: 0.5, write_sizes: Sizes::fixed(100), ..Profile::default() },
                "write_size",
                "sector",
            ),
            (Profile { start: 4 << 20, ..Profile::default() }, "start", "ends at"),
            (Profile { start: 100, ..Profile::default() }, "start", "sector"),
            (Profile { start: 1 << 21, ..Profile::default() }, "start", "it ends at"),
            (Profile { length: Some(2048), ..Profile::default() }, "length", "too little"),
            (
                Profile { start: 1 << 20, length: Some(2 << 20), ..Profile::default() },
                "length",
                "leave `length` out",
            ),
            (Profile { align: Some(100), ..Profile::default() }, "align", "sector"),
            (Profile { align: Some(0), ..Profile::default() }, "align", "sector"),
        ] {
            let misfit = Target::new(&plain(1 << 21), &profile).expect_err(word);
            assert_eq!(misfit.key, key);
            let message = Failure::from(misfit).message;
            assert!(message.contains(word) && message.contains("disk"), "{message}");
        }
    }

    #[test]
    fn a_preset_takes_what_there_is_of_its_area() {
        let profile = Profile { most: Some(1 << 30), ..Profile::default() };
        assert_eq!(Target::new(&plain(1 << 21), &profile).expect("it fits").length, 1 << 21);
        let small = Profile { most: Some(1 << 20), ..Profile::default() };
        assert_eq!(Target::new(&plain(1 << 21), &small).expect("it fits").length, 1 << 20);
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
