//! An adapter from the catalogue: `vmware/pvscsi`, `vmware/lsi-logic-sas`, …

use fathom_catalogue::{Catalogue, Depth};
use fathom_layers::adapter::{Config, Split};
use fathom_settings::{Key, Section, VolumeName};
use fathom_units::Bytes;
use fathom_volume::Geometry;

use super::{FromCatalogue, Part, refuse};

/// The depth of a queue that its vendor does not limit.
const UNLIMITED: u32 = 65_536;

pub(super) const KIND: FromCatalogue = FromCatalogue {
    kind: "adapter",
    keys: &[
        Key::optional(
            "model",
            "name in the catalogue",
            "none",
            "An adapter whose depths and largest transfer hold.",
        ),
        Key::required("backing", "volume", "The disk."),
        Key::optional("per_device", "count", "the model's", "Raised as far as the model lets one."),
        Key::optional("per_adapter", "count", "the model's", "Raised as far as the model lets one."),
        Key::optional("shared", "name", "the node's own", "Which adapter, where several disks are on one."),
        Key::optional("max_transfer", "size", "the model's", "Larger requests are split."),
        Key::optional("split", "`sequential` or `parallel`", "sequential", "How the pieces are sent."),
    ],
    read,
};

fn read(_: &str, section: &mut Section<'_>, catalogue: &Catalogue) -> Option<Vec<Part>> {
    let model = section.required::<String>("model");
    let backing = section.required::<VolumeName>("backing");
    let per_device = section.optional_in::<u32>("per_device", 1..);
    let per_adapter = section.optional_in::<u32>("per_adapter", 1..);
    let shared = section.optional::<String>("shared");
    let most = Bytes::new(u64::from(Geometry::UNLIMITED_TRANSFER));
    let max_transfer = section.optional_in::<Bytes>("max_transfer", Bytes::kib(4)..=most);
    let split = section.or("split", Split::Sequential);
    let limits = match catalogue.adapter(&model?) {
        Ok(limits) => limits,
        Err(error) => {
            refuse(section, &error);
            return None;
        }
    };
    let max_transfer = max_transfer.or(limits.max_transfer);
    let config = Config {
        backing: backing?.0,
        per_device: depth(section, "per_device", per_device, limits.per_device).unwrap_or(UNLIMITED),
        per_adapter: depth(section, "per_adapter", per_adapter, limits.per_adapter),
        shared,
        max_transfer: max_transfer.map(|bytes| bytes.get() as u32),
        split,
    };
    section.is_clean().then(|| vec![Part { suffix: "", kind: "adapter", blueprint: Box::new(config) }])
}

/// The depth asked for, as far as the model lets one, or its own; None if neither is there.
fn depth(section: &Section<'_>, key: &str, asked: Option<u32>, model: Option<Depth>) -> Option<u32> {
    if let (Some(asked), Some(Depth { max, .. })) = (asked, model)
        && asked > max
    {
        section.error_at(
            key,
            format!("{asked} is deeper than the adapter can be set"),
            format!("at most {max}"),
        );
    }
    asked.or(model.map(|depth| depth.default))
}
