//! A value that is shared by all its copies until one of them is written.
//!
//! A look at a cluster works on a copy of what it is given, of which it changes little: what it leaves alone is neither copied
//! nor compared.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A value that is shared by all its copies. Whoever writes to one of them gets a value of its own first.
#[derive(Clone, Debug, Default)]
pub struct CopyOnWrite<T>(Arc<T>);

impl<T> CopyOnWrite<T> {
    /// Whether both are the same value, rather than values that are alike.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T: Clone> CopyOnWrite<T> {
    /// The value; it is copied where another copy shares it.
    pub fn into_inner(self) -> T {
        Arc::unwrap_or_clone(self.0)
    }
}

impl<T> From<T> for CopyOnWrite<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Deref for CopyOnWrite<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for CopyOnWrite<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T: PartialEq> PartialEq for CopyOnWrite<T> {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || self.0 == other.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_shared_until_it_is_written() {
        let first = CopyOnWrite::from(vec![1]);
        let mut second = first.clone();
        assert!(second.is_same(&first) && second == first);
        second.push(2);
        assert_eq!((first.as_slice(), second.as_slice()), (&[1][..], &[1, 2][..]));
        assert!(!second.is_same(&first) && second != first);
        second.pop();
        assert!(!second.is_same(&first) && second == first, "alike again, but not the same value");
        assert_eq!(second.into_inner(), [1]);
    }
}
