//! How a device is shared with a resync, read from a layer's settings.

use fathom_settings::Section;
use fathom_units::{Iops, Percent, Rate, Span};

use super::{Rules, Stated};
use crate::reading::{Contradiction, span_or};

/// Reads `resync_share`, `resync_window`, `resync_careful`, and what a device can do under the layer's own keys.
pub(crate) fn read(section: &mut Section<'_>, iops: &str, throughput: &str) -> Rules {
    let usual = Rules::default();
    let share = section.optional::<Percent>("resync_share");
    let guaranteed = share.map_or(usual.guaranteed, |share| (share.fraction() * 100.0).round() as u64);
    let stated = Stated {
        iops: section.optional::<Iops>(iops).map(|iops| iops.get()),
        throughput: section.optional::<Rate>(throughput).map(|rate| rate.as_f64()),
        window: section.optional::<Span>("resync_window").map(|span| span.as_nanos()),
    };
    let careful = span_or(section, "resync_careful", usual.careful);
    Rules { stated, guaranteed, careful }
}

impl Rules {
    /// What does not fit: the key, what is wrong, what to do.
    pub(crate) fn contradictions(&self, iops: &'static str, throughput: &'static str) -> Vec<Contradiction> {
        let mut wrong = Vec::new();
        if !(1..=99).contains(&self.guaranteed) {
            let message = "the resync has nothing, or users have nothing".to_owned();
            wrong.push(("resync_share", message, "give 1% to 99%"));
        }
        for (key, value) in [(iops, self.stated.iops), (throughput, self.stated.throughput)] {
            if value.is_some_and(|value| value <= 0.0) {
                wrong.push((key, "a volume that does nothing".to_owned(), "give what the volume can do"));
            }
        }
        if self.stated.window == Some(0) {
            wrong.push(("resync_window", "no time at all".to_owned(), "give a span such as \"1ms\""));
        }
        wrong
    }
}
