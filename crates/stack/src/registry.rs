//! The kinds of volume there are: those of the layers and those of the devices, which register in their own crates.

use std::sync::LazyLock;

use fathom_volume::NodeKind;

use crate::model;

static KINDS: LazyLock<Vec<NodeKind>> = LazyLock::new(|| {
    let all = fathom_devices::KINDS.iter().chain(fathom_layers::KINDS);
    let mut kinds: Vec<NodeKind> = all.copied().map(with_catalogue_keys).collect();
    kinds.sort_by_key(|kind| kind.name);
    kinds
});

/// A kind with the keys that hold where its figures come out of the catalogue.
fn with_catalogue_keys(kind: NodeKind) -> NodeKind {
    let further = model::ALL.iter().filter(|from| from.kind == kind.name).flat_map(|from| from.keys);
    let new = further.filter(|key| kind.keys.iter().all(|own| own.name != key.name));
    // The registry lives as long as the program, and so do its keys.
    let keys = kind.keys.iter().chain(new).copied().collect::<Vec<_>>().leak();
    NodeKind { keys, ..kind }
}

/// Every kind of layer and device, by name.
pub fn kinds() -> &'static [NodeKind] {
    &KINDS
}

/// The kind of that name.
pub fn kind(name: &str) -> Option<&'static NodeKind> {
    KINDS.iter().find(|kind| kind.name == name)
}

#[cfg(test)]
mod tests {
    use super::kinds;

    #[test]
    fn every_kind_is_listed_once_and_in_order() {
        for list in [fathom_devices::KINDS, fathom_layers::KINDS] {
            assert!(list.windows(2).all(|pair| pair[0].name < pair[1].name), "{list:?}");
        }
        assert!(kinds().windows(2).all(|pair| pair[0].name < pair[1].name), "{:?}", kinds());
    }
}
