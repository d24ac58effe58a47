//! A kind's manual is the documentation at the top of its own file: written once, read in the source, in the API's
//! documentation and at the terminal.

/// The documentation at the top of a source file (its leading `//!` lines, without the marks), for
/// [`NodeKind::manual`](crate::NodeKind::manual). The path is relative to the file that calls it.
///
/// ```ignore
/// pub const KIND: NodeKind = NodeKind { manual: manual!("stripe.rs"), .. };
/// ```
#[macro_export]
macro_rules! manual {
    ($file:literal) => {{
        const SOURCE: &str = include_str!($file);
        const TEXT: [u8; $crate::manual::length(SOURCE)] = $crate::manual::text(SOURCE);
        match ::core::str::from_utf8(&TEXT) {
            Ok(text) => text,
            Err(_) => panic!("whole lines of a text are a text"),
        }
    }};
}

/// One line of documentation: where its text begins and where the next line begins; None at the first other line.
const fn line(source: &[u8], start: usize) -> Option<(usize, usize)> {
    if start + 3 > source.len()
        || source[start] != b'/'
        || source[start + 1] != b'/'
        || source[start + 2] != b'!'
    {
        return None;
    }
    let mut next = start + 3;
    while next < source.len() && source[next] != b'\n' {
        next += 1;
    }
    let text = if start + 3 < next && source[start + 3] == b' ' { start + 4 } else { start + 3 };
    Some((text, if next < source.len() { next + 1 } else { next }))
}

/// Bytes of the documentation.
pub const fn length(source: &str) -> usize {
    let (mut at, mut length) = (0, 0);
    while let Some((text, next)) = line(source.as_bytes(), at) {
        length += next - text;
        at = next;
    }
    length
}

/// The documentation; `N` is its [`length`].
pub const fn text<const N: usize>(source: &str) -> [u8; N] {
    let (source, mut out) = (source.as_bytes(), [0; N]);
    let (mut at, mut written) = (0, 0);
    while let Some((text, next)) = line(source, at) {
        let mut from = text;
        while from < next {
            out[written] = source[from];
            written += 1;
            from += 1;
        }
        at = next;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{length, text};

    #[test]
    fn the_manual_is_the_leading_documentation_without_its_marks() {
        const SOURCE: &str = "//! `a`: ä\n//!\n//!  - b\n\n//! not this\n";
        const WANTED: &str = "`a`: ä\n\n - b\n";
        const TEXT: [u8; length(SOURCE)] = text(SOURCE);
        assert_eq!(std::str::from_utf8(&TEXT), Ok(WANTED));
        assert_eq!((length(""), length("//"), length("//!"), length("use a;\n")), (0, 0, 0, 0));
        assert!(manual!("manual.rs").starts_with("A kind's manual is"));
    }
}
