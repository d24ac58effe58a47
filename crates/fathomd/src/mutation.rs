//! Bugs made on purpose, to prove that the tests see them. Without the feature `mutations` every question is answered with a
//! constant no, and nothing of this is left in the program. With it, `FATHOM_MUTATION` names the one that is there.

/// A bug made on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    /// A request that ends on its way keeps its place, and its client's connection with it.
    PlaceKept,
    /// Devices that complete nothing are waited for without an end.
    StallIgnored,
    /// A second signal does not cut clients off.
    HurryIgnored,
    /// Peers that say nothing are never cut off for newcomers.
    CrowdUnbounded,
}

/// Whether this bug is there.
#[cfg(feature = "mutations")]
pub fn mutated(mutation: Mutation) -> bool {
    static NAME: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let name = NAME.get_or_init(|| std::env::var("FATHOM_MUTATION").ok());
    name.as_deref().is_some_and(|name| name == format!("{mutation:?}"))
}

/// Whether this bug is there: never.
#[cfg(not(feature = "mutations"))]
#[inline(always)]
pub const fn mutated(_: Mutation) -> bool {
    false
}
