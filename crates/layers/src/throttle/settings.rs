//! Reading a throttle's settings.

use fathom_settings::{FromValue, Key, Section, VolumeName};
use fathom_units::{Bytes, Iops, Rate, Span};
use fathom_volume::{Blueprint, NodeKind, manual};

use super::{Allowance, Burst, Config, Limits};

/// The registry's record.
pub const KIND: NodeKind = NodeKind {
    name: "throttle",
    summary: "limits on I/Os and bytes per second, with burst credits, alone or shared",
    manual: manual!("mod.rs"),
    keys: &[
        Key::required("backing", "volume", "The volume below."),
        Key::optional("iops", "I/Os per second", "unlimited", "I/Os per second that can be sustained."),
        Key::optional(
            "throughput",
            "bytes per second",
            "unlimited",
            "Bytes per second that can be sustained.",
        ),
        Key::optional(
            "quantum",
            "size",
            "every request is one I/O",
            "Bytes that count as one I/O; EBS: 256KiB.",
        ),
        Key::optional(
            "merge",
            "true or false",
            "false",
            "Whether sequential requests that wait count together.",
        ),
        Key::optional(
            "iops_burst",
            "table: `peak`, `credits`, `initial`",
            "none",
            "I/Os per second while credits last; the I/Os the bucket holds; and at the start (all).",
        ),
        Key::optional(
            "throughput_burst",
            "table: `peak`, `credits`, `initial`",
            "none",
            "The same in bytes.",
        ),
        Key::optional("slack", "time", "0s", "How long unused rate is kept; 0 spaces I/Os evenly."),
        Key::optional(
            "shared",
            "name",
            "none",
            "The gate it shares with all throttles that say the same name.",
        ),
    ],
    outside: false,
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Blueprint>),
};

/// A rate as settings write it, per second.
trait PerSecond: FromValue {
    /// What a burst's credits are written as.
    type Credits: FromValue;
    fn per_second(&self) -> f64;
    fn count(credits: &Self::Credits) -> f64;
}

impl PerSecond for Iops {
    type Credits = u64;

    fn per_second(&self) -> f64 {
        self.get()
    }

    fn count(credits: &u64) -> f64 {
        *credits as f64
    }
}

impl PerSecond for Rate {
    type Credits = Bytes;

    fn per_second(&self) -> f64 {
        self.as_f64()
    }

    fn count(credits: &Bytes) -> f64 {
        credits.get() as f64
    }
}

/// A rate between one in a thousand seconds and 10^12 a second.
fn rate<T: PerSecond>(section: &mut Section<'_>, key: &str) -> Option<f64> {
    let per_second = section.optional::<T>(key)?.per_second();
    if !(0.001..=1e12).contains(&per_second) {
        section.error_at(
            key,
            format!("a rate of {per_second} per second"),
            "make it 0.001 to 1e12 per second",
        );
    }
    Some(per_second)
}

fn allowance<T: PerSecond>(section: &mut Section<'_>, key: &str, burst_key: &str) -> Option<Allowance> {
    let per_second = rate::<T>(section, key);
    let burst = section.section(burst_key).and_then(|mut inner| {
        let peak = rate::<T>(&mut inner, "peak");
        if peak.is_none() && !inner.has("peak") {
            inner.error("`peak` is missing", "add the rate that holds while credits last");
        }
        let credits = inner.required::<T::Credits>("credits").map(|credits| T::count(&credits));
        let initial = inner.optional::<T::Credits>("initial").map(|credits| T::count(&credits));
        if inner.finish() {
            Some(Burst { per_second: peak?, credits: credits?, initial: initial.or(credits)? })
        } else {
            None
        }
    });
    if let Some(burst) = burst {
        match per_second {
            None if !section.has(key) => {
                let help = format!("add `{key}`, the rate at which credits are earned");
                section.error_at(burst_key, "a burst without a sustained rate", help);
            }
            Some(sustained) if burst.per_second < sustained => {
                section.error_at(
                    burst_key,
                    "the peak is below the sustained rate",
                    "a burst is faster than that",
                );
            }
            _ if burst.initial > burst.credits => {
                section.error_at(
                    burst_key,
                    "`initial` is more than `credits`",
                    "the bucket cannot start fuller than full",
                );
            }
            _ => {}
        }
    }
    Some(Allowance { per_second: per_second?, burst })
}

impl Config {
    /// Reads the settings; None if anything is wrong.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let backing = section.required::<VolumeName>("backing");
        let iops = allowance::<Iops>(section, "iops", "iops_burst");
        let bytes = allowance::<Rate>(section, "throughput", "throughput_burst");
        let quantum = section.optional::<Bytes>("quantum").map(Bytes::get);
        let merge = section.or("merge", false);
        let slack = section.or("slack", Span::from_nanos(0)).as_nanos();
        let shared = section.optional::<String>("shared");
        if !section.has("iops") && !section.has("throughput") {
            section.error("it limits nothing", "add `iops`, `throughput` or both");
        }
        if quantum == Some(0) {
            section.error_at("quantum", "an I/O of 0 bytes", "EBS counts 256KiB");
        }
        if merge && quantum.is_none() && !section.has("quantum") {
            section.error_at(
                "merge",
                "merged up to what size?",
                "add `quantum`, the bytes that count as one I/O",
            );
        }
        let limits = Limits { iops, bytes, quantum, merge, slack };
        if section.is_clean() { Some(Self { backing: backing?.0, limits, shared }) } else { None }
    }
}
