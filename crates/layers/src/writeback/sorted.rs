//! A sorted map from numbers to values, for an index of millions of which every write changes one entry.
//!
//! A tree of three levels, whose leaves and nodes are wide and keep keys apart from values: a search touches little memory.

/// The most entries of a leaf, and the most leaves of a node.
const MOST: usize = 64;
const MOST_LEAVES: usize = 128;

#[derive(Debug, Clone)]
struct Leaf<V> {
    keys: Vec<u64>,
    values: Vec<V>,
}

/// Leaves with their bounds: the keys of each are at least its bound and below the next one's. The first leaf has whatever
/// is smaller too, whatever its bound says.
#[derive(Debug, Clone)]
struct Node<V> {
    bounds: Vec<u64>,
    leaves: Vec<Leaf<V>>,
}

/// The map. No leaf and no node is empty.
#[derive(Debug, Clone)]
pub struct Sorted<V> {
    // As in a node.
    bounds: Vec<u64>,
    nodes: Vec<Node<V>>,
    len: usize,
}

/// A place in the map, until it changes: an entry, or a gap behind the last entry of a leaf.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    node: usize,
    leaf: usize,
    entry: usize,
}

impl<V> Default for Sorted<V> {
    fn default() -> Self {
        Self { bounds: Vec::new(), nodes: Vec::new(), len: 0 }
    }
}

/// Which of them may have the key.
fn within(bounds: &[u64], key: u64) -> usize {
    bounds.partition_point(|bound| *bound <= key).saturating_sub(1)
}

impl<V> Leaf<V> {
    fn new() -> Self {
        Self { keys: Vec::with_capacity(MOST + 1), values: Vec::with_capacity(MOST + 1) }
    }

    /// Takes the second half off.
    fn split(&mut self) -> Self {
        let mut second = Self::new();
        second.keys.extend(self.keys.drain(MOST / 2..));
        second.values.extend(self.values.drain(MOST / 2..));
        second
    }
}

impl<V> Sorted<V> {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The first place whose key is at least this one, or the gap before it; where the key is or would be put.
    pub fn find(&self, key: u64) -> Place {
        let node = within(&self.bounds, key);
        let Some(found) = self.nodes.get(node) else { return Place { node, leaf: 0, entry: 0 } };
        let leaf = within(&found.bounds, key);
        let entry = found.leaves[leaf].keys.partition_point(|other| *other < key);
        Place { node, leaf, entry }
    }

    /// The entry at a place; none in a gap.
    fn at(&self, place: Place) -> Option<(u64, &V)> {
        let leaf = self.nodes.get(place.node)?.leaves.get(place.leaf)?;
        Some((*leaf.keys.get(place.entry)?, &leaf.values[place.entry]))
    }

    /// The value of the key that was looked for, if it is there.
    pub fn exact(&mut self, place: Place, key: u64) -> Option<&mut V> {
        let leaf = self.nodes.get_mut(place.node)?.leaves.get_mut(place.leaf)?;
        (*leaf.keys.get(place.entry)? == key).then(|| &mut leaf.values[place.entry])
    }

    /// The entry before a place.
    pub fn before(&self, place: Place) -> Option<(u64, &V)> {
        let Place { mut node, mut leaf, entry } = place;
        if entry > 0 {
            return self.at(Place { node, leaf, entry: entry - 1 });
        }
        while leaf == 0 {
            node = node.checked_sub(1)?;
            leaf = self.nodes[node].leaves.len();
        }
        let leaf = &self.nodes[node].leaves[leaf - 1];
        Some((*leaf.keys.last()?, leaf.values.last()?))
    }

    /// The entry at a place, or if it is a gap the first one behind it.
    pub fn after(&self, place: Place) -> Option<(u64, &V)> {
        Range { map: self, place, to: None }.next()
    }

    /// The entries from a place on whose keys are smaller than `to`.
    pub fn range(&self, place: Place, to: u64) -> impl Iterator<Item = (u64, &V)> {
        Range { map: self, place, to: Some(to) }
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &V)> {
        Range { map: self, place: Place { node: 0, leaf: 0, entry: 0 }, to: None }
    }

    /// Puts an entry where its key would be.
    pub fn insert(&mut self, place: Place, key: u64, value: V) {
        self.len += 1;
        if self.nodes.is_empty() {
            let mut leaf = Leaf::new();
            leaf.keys.push(key);
            leaf.values.push(value);
            self.bounds.push(key);
            self.nodes.push(Node { bounds: vec![key], leaves: vec![leaf] });
            return;
        }
        let node = &mut self.nodes[place.node];
        let leaf = &mut node.leaves[place.leaf];
        leaf.keys.insert(place.entry, key);
        leaf.values.insert(place.entry, value);
        if leaf.keys.len() > MOST {
            let second = leaf.split();
            node.bounds.insert(place.leaf + 1, second.keys[0]);
            node.leaves.insert(place.leaf + 1, second);
        }
        if node.leaves.len() > MOST_LEAVES {
            let second = Node {
                bounds: node.bounds.split_off(MOST_LEAVES / 2),
                leaves: node.leaves.split_off(MOST_LEAVES / 2),
            };
            self.bounds.insert(place.node + 1, second.bounds[0]);
            self.nodes.insert(place.node + 1, second);
        }
    }

    /// Takes an entry out.
    pub fn remove(&mut self, key: u64) -> Option<V> {
        let place = self.find(key);
        self.exact(place, key)?;
        self.len -= 1;
        let node = &mut self.nodes[place.node];
        let leaf = &mut node.leaves[place.leaf];
        leaf.keys.remove(place.entry);
        let value = leaf.values.remove(place.entry);
        let left = leaf.keys.len();
        let next = node.leaves.get(place.leaf + 1).map_or(MOST, |next| next.keys.len());
        if left == 0 {
            node.bounds.remove(place.leaf);
            node.leaves.remove(place.leaf);
        } else if left + next <= MOST / 2 {
            node.bounds.remove(place.leaf + 1);
            let next = node.leaves.remove(place.leaf + 1);
            node.leaves[place.leaf].keys.extend(next.keys);
            node.leaves[place.leaf].values.extend(next.values);
        }
        if node.leaves.is_empty() {
            self.bounds.remove(place.node);
            self.nodes.remove(place.node);
        }
        Some(value)
    }
}

struct Range<'a, V> {
    map: &'a Sorted<V>,
    place: Place,
    to: Option<u64>,
}

impl<'a, V> Iterator for Range<'a, V> {
    type Item = (u64, &'a V);

    fn next(&mut self) -> Option<(u64, &'a V)> {
        loop {
            if let Some((key, value)) = self.map.at(self.place) {
                self.place.entry += 1;
                return self.to.is_none_or(|to| key < to).then_some((key, value));
            }
            let leaves = self.map.nodes.get(self.place.node)?.leaves.len();
            let Place { node, leaf, .. } = self.place;
            self.place = if leaf + 1 < leaves {
                Place { node, leaf: leaf + 1, entry: 0 }
            } else {
                Place { node: node + 1, leaf: 0, entry: 0 }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::Sorted;

    fn is_same(map: &Sorted<u64>, model: &BTreeMap<u64, u64>, key: u64, span: u64) {
        let place = map.find(key);
        let copied = |entry: Option<(u64, &u64)>| entry.map(|(key, value)| (key, *value));
        let of_model = |entry: Option<(&u64, &u64)>| entry.map(|(key, value)| (*key, *value));
        assert_eq!(copied(map.before(place)), of_model(model.range(..key).next_back()));
        assert_eq!(copied(map.after(place)), of_model(model.range(key..).next()));
        let range = map.range(place, key.saturating_add(span)).map(|(key, value)| (key, *value));
        assert!(range.eq(model.range(key..key.saturating_add(span)).map(|(key, value)| (*key, *value))));
        assert_eq!(map.len(), model.len());
    }

    fn put(map: &mut Sorted<u64>, model: &mut BTreeMap<u64, u64>, key: u64, value: u64) {
        let place = map.find(key);
        match map.exact(place, key) {
            Some(known) => *known = value,
            None => map.insert(place, key, value),
        }
        model.insert(key, value);
    }

    proptest! {
        /// Every step against a `BTreeMap`: growing, then shrinking to nothing, with keys from a small and from a large range.
        #[test]
        fn it_is_a_sorted_map(
            keys in prop::collection::vec(any::<u64>(), 1..600), wide in any::<bool>(), looked in any::<u64>(),
        ) {
            let (mut map, mut model) = (Sorted::default(), BTreeMap::new());
            let narrow = |key: u64| if wide { key } else { key % 300 };
            for (number, key) in keys.iter().enumerate() {
                put(&mut map, &mut model, narrow(*key), number as u64);
                is_same(&map, &model, narrow(key.wrapping_add(looked)), 20);
            }
            for key in &keys {
                prop_assert_eq!(map.remove(narrow(*key)), model.remove(&narrow(*key)));
                is_same(&map, &model, narrow(key.wrapping_add(looked)), 20);
            }
            prop_assert_eq!((map.len(), map.iter().count()), (0, 0));
        }
    }

    #[test]
    fn it_grows_to_several_nodes_and_shrinks_again() {
        let (mut map, mut model) = (Sorted::default(), BTreeMap::new());
        // Every number below a power of two once, in a scattered order.
        let scattered = |number: u64| number.wrapping_mul(0x9E37_79B9) % (1 << 16);
        for number in 0..1 << 16 {
            put(&mut map, &mut model, scattered(number), number);
        }
        assert!(map.nodes.len() > 4, "{} nodes", map.nodes.len());
        assert!(
            map.iter().map(|(key, value)| (key, *value)).eq(model.iter().map(|(key, value)| (*key, *value)))
        );
        for number in 0..1 << 16 {
            assert_eq!(map.remove(scattered(number)), model.remove(&scattered(number)));
            if number % 1000 == 0 {
                is_same(&map, &model, scattered(number + 7), 5000);
            }
            if number == (1 << 16) * 15 / 16 {
                let leaves: usize = map.nodes.iter().map(|node| node.leaves.len()).sum();
                assert!(leaves <= map.len() / 8, "{leaves} leaves for {} entries", map.len());
            }
        }
        assert_eq!((map.len(), map.nodes.len(), map.bounds.len()), (0, 0, 0));
    }
}
