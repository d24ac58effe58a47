//! The kinds of volume there are: those of the layers and those of the devices, which register in their own crates.

use std::sync::LazyLock;

use fathom_volume::NodeKind;

static KINDS: LazyLock<Vec<NodeKind>> = LazyLock::new(|| {
    let mut kinds = fathom_layers::KINDS.to_vec();
    kinds.sort_by_key(|kind| kind.name);
    kinds
});

/// Every kind of layer and device, by name.
pub fn kinds() -> &'static [NodeKind] {
    &KINDS
}

/// The kind of that name.
pub fn kind(name: &str) -> Option<&'static NodeKind> {
    KINDS.iter().find(|kind| kind.name == name)
}
