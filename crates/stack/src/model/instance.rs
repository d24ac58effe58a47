//! The caps of an instance from the catalogue, over all its volumes: `aws/r5d.4xlarge`, …

use fathom_catalogue::{Burst, Catalogue};
use fathom_layers::throttle::{self, Allowance, Config, Limits};
use fathom_settings::{Key, Section, VolumeName};
use fathom_units::Span;

use super::{FromCatalogue, Part, refuse};

pub(super) const KIND: FromCatalogue = FromCatalogue {
    kind: "throttle",
    keys: &[
        Key::optional(
            "model",
            "name in the catalogue",
            "none",
            "An instance whose caps hold, over all its volumes.",
        ),
        Key::required("backing", "volume", "The volume below."),
        Key::optional(
            "shared",
            "name",
            "the model's",
            "Which machine, where several of one type are modelled.",
        ),
        Key::optional("slack", "time", "0s", "How long unused rate is kept."),
    ],
    read,
};

fn read(_: &str, section: &mut Section<'_>, catalogue: &Catalogue) -> Option<Vec<Part>> {
    let model = section.required::<String>("model");
    let backing = section.required::<VolumeName>("backing");
    let shared = section.optional::<String>("shared");
    let slack = section.or("slack", Span::ZERO).as_nanos();
    let model = model?;
    let caps = match catalogue.instance(&model) {
        Ok(caps) => caps,
        Err(error) => {
            refuse(section, &error);
            return None;
        }
    };
    let limits = Limits {
        iops: Some(allowance(caps.iops, caps.burst)),
        bytes: Some(allowance(caps.bytes_per_s, caps.throughput_burst)),
        // Vendors cap the instance's requests as they are; the quantum is the volume's.
        quantum: None,
        merge: false,
        slack,
    };
    let config = Config { backing: backing?.0, limits, shared: Some(shared.unwrap_or(model)) };
    section.is_clean().then(|| vec![Part { suffix: "", kind: "throttle", blueprint: Box::new(config) }])
}

/// A limit with its burst, as a throttle takes it.
pub(super) fn allowance(per_second: f64, burst: Option<Burst>) -> Allowance {
    let burst = burst.map(|burst| throttle::Burst {
        per_second: burst.peak_per_s,
        credits: burst.bucket,
        initial: burst.initial,
    });
    Allowance { per_second, burst }
}
