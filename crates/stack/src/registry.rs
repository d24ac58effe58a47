//! The kinds of volume there are. A new layer or device is one line here.

use fathom_volume::NodeKind;

/// Sorted by name.
static KINDS: &[NodeKind] = &[];

/// Every kind of layer and device, by name.
pub fn kinds() -> &'static [NodeKind] {
    KINDS
}

/// The kind of that name.
pub fn kind(name: &str) -> Option<&'static NodeKind> {
    KINDS.iter().find(|kind| kind.name == name)
}
