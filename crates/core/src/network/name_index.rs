//! Lists of names are looked up, not searched: what depends on names costs in proportion to how many there are.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// The place of every name in a list; of equal names that of the first.
///
/// It answers look-ups and nothing else. Every order is that of the list, so hashing has no say in a result.
#[derive(Clone, Debug)]
pub struct NameIndex<K> {
    places: HashMap<K, usize>,
}

impl<K: Hash + Eq> NameIndex<K> {
    /// Adds a name, unless it is there already.
    pub fn insert(&mut self, name: K, place: usize) {
        self.places.entry(name).or_insert(place);
    }

    /// The place of `name` in the list.
    pub fn place<Q: Hash + Eq + ?Sized>(&self, name: &Q) -> Option<usize>
    where
        K: Borrow<Q>,
    {
        self.places.get(name).copied()
    }
}

impl<K> Default for NameIndex<K> {
    fn default() -> Self {
        NameIndex { places: HashMap::new() }
    }
}

impl<K: Hash + Eq> FromIterator<K> for NameIndex<K> {
    fn from_iter<I: IntoIterator<Item = K>>(names: I) -> Self {
        let names = names.into_iter();
        let mut index = NameIndex { places: HashMap::with_capacity(names.size_hint().0) };
        names.enumerate().for_each(|(place, name)| index.insert(name, place));
        index
    }
}

#[cfg(test)]
mod tests {
    use super::NameIndex;

    #[test]
    fn the_first_of_equal_names_is_found() {
        let index: NameIndex<&str> = ["a", "b", "a"].into_iter().collect();
        assert_eq!(["a", "b", "c"].map(|name| index.place(name)), [Some(0), Some(1), None]);
    }
}
