//! A cloud volume or drive from the catalogue: a throttle with its limits on a device with its service times.

use fathom_catalogue::{self as catalogue, Assumed, Assumption, Catalogue, Overrides};
use fathom_devices::model::Config;
use fathom_layers::throttle;
use fathom_settings::{Choice, Key, Section, VolumeName};
use fathom_units::{Bytes, Iops, Rate, Span};

use super::instance::allowance;
use super::{FromCatalogue, Part, refuse};

/// What the device below the throttle is called, after the volume's name.
const DEVICE: &str = ".device";

/// The widest window over which limits are plausibly counted.
const LOOSEST: Span = Span::from_nanos(10_000_000);

/// The words for [`Assumed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Low,
    Typical,
    High,
}

impl Choice for End {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("low", Self::Low), ("typical", Self::Typical), ("high", Self::High)];
}

impl From<End> for Assumed {
    fn from(end: End) -> Self {
        match end {
            End::Low => Self::Low,
            End::Typical => Self::Typical,
            End::High => Self::High,
        }
    }
}

pub(super) const KIND: FromCatalogue = FromCatalogue {
    kind: "model",
    keys: &[
        Key::optional("model", "name in the catalogue", "none", "A volume or drive whose figures hold."),
        Key::optional("size", "size", "the drive's own", "Bytes it holds; cloud volumes need it."),
        Key::optional(
            "iops",
            "I/Os per second",
            "the vendor's",
            "Provisioned I/Os, where the vendor lets one choose.",
        ),
        Key::optional("throughput", "bytes per second", "the vendor's", "Provisioned throughput, likewise."),
        Key::optional(
            "slack",
            "time",
            "0s; 10ms where `assumed` is `low`",
            "How long unused rate is kept, where the model has limits.",
        ),
        Key::optional(
            "assumed",
            "`low`, `typical` or `high`",
            "typical",
            "Which value of their plausible range assumed figures have.",
        ),
        Key::optional("data", "volume", "memory", "The volume that keeps the bytes."),
    ],
    read,
};

fn read(name: &str, section: &mut Section<'_>, catalogue: &Catalogue) -> Option<Vec<Part>> {
    let model = section.required::<String>("model");
    let size = section.optional::<Bytes>("size");
    let end = section.or("assumed", End::Typical);
    let overrides = Overrides {
        iops: section.optional::<Iops>("iops"),
        throughput: section.optional::<Rate>("throughput"),
        assumed: end.into(),
    };
    let slack = section.optional::<Span>("slack");
    let data = section.optional::<VolumeName>("data").map(|VolumeName(name)| name);
    if !section.is_clean() {
        return None;
    }
    let mut resolved = match catalogue.resolve(&model?, size, &overrides) {
        Ok(resolved) => resolved,
        Err(error) => {
            refuse(section, &error);
            return None;
        }
    };
    let kept = slack.unwrap_or(if end == End::Low { LOOSEST } else { Span::ZERO });
    let limits = limits(&resolved.limits, kept.as_nanos());
    if limits.is_some() && slack.is_none() {
        resolved.assumptions.push(slack_assumption());
    }
    let device = Part {
        suffix: "",
        kind: "model",
        blueprint: Box::new(Config { data, ..Config::of_catalogue(&resolved) }),
    };
    let Some(limits) = limits else { return Some(vec![device]) };
    let config = throttle::Config { backing: format!("{name}{DEVICE}"), limits, shared: None };
    let device = Part { suffix: DEVICE, ..device };
    Some(vec![device, Part { suffix: "", kind: "throttle", blueprint: Box::new(config) }])
}

/// No vendor publishes over which window it counts: the strictest reading is the usual one.
fn slack_assumption() -> Assumption {
    let none = || "0 s".to_owned();
    Assumption { name: "assumed_slack", value: none(), low: LOOSEST.to_string(), high: none() }
}

/// The throttle's settings; None for a model without limits.
fn limits(stated: &catalogue::Limits, slack: u64) -> Option<throttle::Limits> {
    let iops = stated.iops.map(|iops| allowance(iops, stated.burst));
    let bytes = stated.bytes_per_s.map(|rate| allowance(rate, stated.throughput_burst));
    let quantum = Some(stated.quantum.get());
    let limited = iops.is_some() || bytes.is_some();
    limited.then_some(throttle::Limits { iops, bytes, quantum, merge: stated.merge_sequential, slack })
}
