//! Values of elements of arrays, each by its own name as SSP 1.0 writes them: `p[1]`, `m[2,1]`.

use crate::Error;
use crate::source::At;
use crate::system::Given;
use powerbond_fmi::description::ModelDescription;
use std::collections::BTreeMap;

/// The elements of an array that have values, by their indices from 1 on, in the order in which FMI has them; where the first one is.
type Elements<'a> = (&'a At<String>, BTreeMap<Vec<usize>, &'a Given>);

/// `set` with one list in place of the elements of an array, which is set as a whole.
pub fn gathered<'a>(
    description: &ModelDescription,
    set: impl Iterator<Item = &'a (At<String>, Given)>,
) -> Result<Vec<(At<String>, Given)>, Error> {
    let mut whole = Vec::new();
    let mut arrays: BTreeMap<&str, Elements<'_>> = BTreeMap::new();
    for (name, given) in set {
        match element(description, &name.value) {
            Some((array, indices)) => {
                arrays.entry(array).or_insert((name, BTreeMap::new())).1.insert(indices, given);
            }
            None => whole.push((name.clone(), given.clone())),
        }
    }
    for (array, (first, elements)) in arrays {
        let longest = |axis: usize| elements.keys().map(|indices| indices[axis]).max().unwrap_or(0);
        let axes = elements.keys().next().map_or(0, Vec::len);
        let expected = (0..axes).try_fold(1usize, |size, axis| size.checked_mul(longest(axis)));
        if expected != Some(elements.len()) {
            let (found, last) = (elements.len(), (0..axes).map(longest).collect::<Vec<_>>());
            let message = format!(
                "the array `{array}` is set as a whole; {found} of its elements up to {last:?} have values, and the others need \
                 them, too"
            );
            return Err(Error::input(first.place(), message));
        }
        whole.push((first.with(array.to_owned()), Given::List(elements.into_values().cloned().collect())));
    }
    Ok(whole)
}

/// The array and the indices of an element of it; none if it is the name of a variable.
fn element<'n>(description: &ModelDescription, name: &'n str) -> Option<(&'n str, Vec<usize>)> {
    if description.find(name).is_some() {
        return None;
    }
    let (array, indices) = name.strip_suffix(']')?.rsplit_once('[')?;
    let axes = description.variables[description.find(array)?].dimensions.len();
    let indices: Vec<usize> = indices
        .split(',')
        .map(|index| index.trim().parse().ok().filter(|&i| i > 0))
        .collect::<Option<_>>()?;
    (axes == indices.len()).then_some((array, indices))
}
