//! Bugs made on purpose, one at a time, to prove that a crash campaign sees them. Without the feature `mutations` every
//! question is answered with a constant no, and nothing of this is left in the program.

/// The list of a layer's bugs, with what each does wrong: an enum `Mutation`, the question `mutated`, the switch `mutate`.
macro_rules! mutations {
    ($($name:ident: $what:literal,)*) => {
        /// A bug made on purpose.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Mutation {
            $(#[doc = $what] $name,)*
        }

        impl Mutation {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The bug in words.
            pub fn what(self) -> &'static str {
                match self { $(Self::$name => $what,)* }
            }
        }

        #[cfg(feature = "mutations")]
        thread_local! {
            static ACTIVE: std::cell::Cell<Option<Mutation>> = const { std::cell::Cell::new(None) };
        }

        /// Whether this bug is switched on for this thread.
        #[cfg(feature = "mutations")]
        #[inline]
        pub fn mutated(mutation: Mutation) -> bool {
            ACTIVE.get() == Some(mutation)
        }

        /// Whether this bug is switched on: never.
        #[cfg(not(feature = "mutations"))]
        #[inline(always)]
        pub const fn mutated(_: Mutation) -> bool {
            false
        }

        /// Switches a bug on for this thread, or all off.
        #[cfg(feature = "mutations")]
        pub fn mutate(mutation: Option<Mutation>) {
            ACTIVE.set(mutation);
        }
    };
}
