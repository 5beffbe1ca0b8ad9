//! How a request comes to hold what differs, and nothing else.

/// Sets a field of a request to a wanted value and notes the field's name, if a value is wanted and is not the `same` as the
/// current one.
pub(crate) fn set<T, F: From<T>>(
    changed: &mut Vec<&'static str>,
    name: &'static str,
    field: &mut F,
    wanted: Option<T>,
    same: impl FnOnce(&T) -> bool,
) {
    if let Some(wanted) = wanted.filter(|wanted| !same(wanted)) {
        *field = wanted.into();
        changed.push(name);
    }
}

/// A list that is given; an empty one leaves the current one as it is.
pub(crate) fn given_list<T>(list: Vec<T>) -> Option<Vec<T>> {
    Some(list).filter(|list| !list.is_empty())
}

/// Whether two lists agree in what `key` takes of their items, in the same order.
pub(crate) fn same_by<'a, T, K: PartialEq>(one: &'a [T], other: &'a [T], key: impl Fn(&'a T) -> K) -> bool {
    one.iter().map(&key).eq(other.iter().map(&key))
}
