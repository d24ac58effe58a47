//! A map from ranges to values: what is put in later lies over what was there. The extent index of a volume and the
//! overlay of a batch are both one of these.

use std::collections::BTreeMap;
use std::ops::Range;

/// A value that stands for a range and can be cut.
pub trait Cut: Clone {
    /// The value of what is left when that many bytes are cut off in front.
    #[must_use]
    fn skip(&self, bytes: u64) -> Self;
}

#[derive(Debug, Clone)]
struct Piece<V> {
    end: u64,
    value: V,
}

/// Ranges of bytes with a value each; none overlap.
#[derive(Debug, Clone)]
pub struct Extents<V> {
    // By first byte.
    pieces: BTreeMap<u64, Piece<V>>,
}

impl<V> Default for Extents<V> {
    fn default() -> Self {
        Self { pieces: BTreeMap::new() }
    }
}

impl<V: Cut> Extents<V> {
    /// Pieces it is kept in.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The range from now on has this value; what lay there is covered.
    pub fn put(&mut self, range: Range<u64>, value: V) {
        // A page is mostly written over as a whole: one lookup instead of four.
        if let Some(piece) = self.pieces.get_mut(&range.start)
            && piece.end == range.end
        {
            piece.value = value;
            return;
        }
        self.clear(range.clone(), |_| true);
        self.pieces.insert(range.start, Piece { end: range.end, value });
    }

    /// Takes the pieces out of a range whose value is `chosen`; the parts outside of the range stay.
    pub fn clear(&mut self, range: Range<u64>, chosen: impl Fn(&V) -> bool) {
        let first = self.first_at(range.start);
        let found: Vec<u64> = self
            .pieces
            .range(first..range.end)
            .filter(|(start, piece)| piece.end > range.start && **start < range.end && chosen(&piece.value))
            .map(|(start, _)| *start)
            .collect();
        for start in found {
            let piece = self.pieces.remove(&start).expect("it was just found");
            if start < range.start {
                self.pieces.insert(start, Piece { end: range.start, value: piece.value.clone() });
            }
            if piece.end > range.end {
                let value = piece.value.skip(range.end - start);
                self.pieces.insert(range.end, Piece { end: piece.end, value });
            }
        }
    }

    /// Where the piece begins that holds this byte, or the byte itself.
    fn first_at(&self, byte: u64) -> u64 {
        let before = self.pieces.range(..=byte).next_back();
        before.filter(|(_, piece)| piece.end > byte).map_or(byte, |(start, _)| *start)
    }

    /// The range in parts that have a value (cut to the range) and gaps, in order.
    pub fn parts(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, Option<V>)> + '_ {
        let mut pieces = self.pieces.range(self.first_at(range.start)..range.end).peekable();
        let mut at = range.start;
        std::iter::from_fn(move || {
            if at >= range.end {
                return None;
            }
            let from = at;
            match pieces.peek() {
                Some((start, piece)) if **start <= at => {
                    at = piece.end.min(range.end);
                    let value = piece.value.skip(from - **start);
                    pieces.next();
                    Some((from..at, Some(value)))
                }
                Some((start, _)) => {
                    at = **start;
                    Some((from..at, None))
                }
                None => {
                    at = range.end;
                    Some((from..at, None))
                }
            }
        })
    }

    /// The pieces that a range overlaps or adjoins, whole, the last first.
    pub fn meeting(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, &V)> {
        let pieces = self.pieces.range(..=range.end).rev();
        let meets = move |piece: &(Range<u64>, &V)| piece.0.end >= range.start;
        pieces.map(|(start, piece)| (*start..piece.end, &piece.value)).take_while(meets)
    }

    /// Whether any byte of the range has a value.
    pub fn touches(&self, range: Range<u64>) -> bool {
        let mut pieces = self.pieces.range(self.first_at(range.start)..range.end);
        pieces.any(|(_, piece)| piece.end > range.start)
    }

    /// Every piece in order.
    pub fn iter(&self) -> impl Iterator<Item = (Range<u64>, &V)> {
        self.pieces.iter().map(|(start, piece)| (*start..piece.end, &piece.value))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Cut, Extents};

    // A write's number, and which of its bytes.
    #[derive(Debug, Clone, PartialEq)]
    struct Byte(u32, u64);

    impl Cut for Byte {
        fn skip(&self, bytes: u64) -> Self {
            Self(self.0, self.1 + bytes)
        }
    }

    #[derive(Debug, Clone)]
    enum Step {
        Put(u64, u64),
        Clear(u64, u64, u32),
    }

    const SPAN: u64 = 60;

    fn step() -> impl Strategy<Value = Step> {
        let range = || (0..SPAN, 1..20_u64).prop_map(|(start, length)| (start, (start + length).min(SPAN)));
        prop_oneof![
            3 => range().prop_map(|(start, end)| Step::Put(start, end)),
            1 => (range(), 0..3_u32).prop_map(|((start, end), chosen)| Step::Clear(start, end, chosen)),
        ]
    }

    proptest! {
        #[test]
        fn it_is_an_array_of_bytes(steps in prop::collection::vec(step(), 1..40), start in 0..SPAN, length in 1..SPAN) {
            let mut map = Extents::default();
            let mut array: Vec<Option<Byte>> = vec![None; SPAN as usize];
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Put(start, end) => {
                        map.put(start..end, Byte(number as u32, 0));
                        (start..end).for_each(|at| array[at as usize] = Some(Byte(number as u32, at - start)));
                    }
                    Step::Clear(start, end, chosen) => {
                        let is_chosen = |byte: &Byte| byte.0 % 3 == chosen;
                        map.clear(start..end, is_chosen);
                        array[start as usize..end as usize].iter_mut().for_each(|byte| {
                            byte.take_if(|byte| is_chosen(byte));
                        });
                    }
                }
            }
            let end = (start + length).min(SPAN);
            let mut at = start;
            for (range, value) in map.parts(start..end) {
                prop_assert_eq!(range.start, at);
                for byte in range.clone() {
                    let found = value.as_ref().map(|value| value.skip(byte - range.start));
                    prop_assert_eq!(&found, &array[byte as usize]);
                }
                at = range.end;
            }
            prop_assert_eq!(at, end);
            prop_assert_eq!(map.touches(start..end), array[start as usize..end as usize].iter().any(Option::is_some));
            let mut met: Vec<_> = map.meeting(start..end).collect();
            met.reverse();
            let meets = |piece: &std::ops::Range<u64>| piece.end >= start && piece.start <= end;
            prop_assert_eq!(met, map.iter().filter(|(piece, _)| meets(piece)).collect::<Vec<_>>());
            prop_assert_eq!(map.iter().count(), map.len());
        }
    }
}
