//! Shares: how much of a budget each holder has.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;

/// What is held, by who holds it. Who holds nothing takes no room.
#[derive(Debug)]
pub(crate) struct Shares<K: Eq + Hash>(Arc<Mutex<HashMap<K, u64>>>);

impl<K: Eq + Hash> Clone for Shares<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Eq + Hash> Default for Shares<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

/// What somebody holds; it is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Share<K: Eq + Hash> {
    shares: Shares<K>,
    key: K,
    amount: u64,
}

impl<K: Eq + Hash + Clone> Shares<K> {
    /// Takes an amount, if that and what the same one holds already is not more than `most`.
    pub(crate) fn take(&self, key: K, amount: u64, most: u64) -> Option<Share<K>> {
        let mut share = Share { shares: self.clone(), key, amount: 0 };
        share.grow(amount, most).then_some(share)
    }
}

impl<K: Eq + Hash + Clone> Share<K> {
    /// Takes more; false, and nothing is taken, when it would be too much.
    pub(crate) fn grow(&mut self, amount: u64, most: u64) -> bool {
        let mut held = self.shares.0.lock();
        let before = held.get(&self.key).copied().unwrap_or_default();
        if before.saturating_add(amount) > most {
            return false;
        }
        if amount > 0 {
            held.insert(self.key.clone(), before + amount);
            self.amount += amount;
        }
        true
    }
}

impl<K: Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        let mut held = self.shares.0.lock();
        if let Some(all) = held.get_mut(&self.key) {
            *all = all.saturating_sub(self.amount);
            if *all == 0 {
                held.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_own_share_and_gives_it_back() {
        let shares = Shares::default();
        let mut first = shares.take("ann", 2, 4).unwrap();
        let second = shares.take("ann", 2, 4).unwrap();
        assert!(shares.take("ann", 1, 4).is_none() && !first.grow(1, 4));
        assert!(shares.take("bob", 4, 4).is_some());
        drop(second);
        assert!(first.grow(2, 4) && !first.grow(1, 4));
        drop(first);
        assert!(shares.take("ann", 4, 4).is_some());
        assert!(shares.0.lock().is_empty(), "who holds nothing is forgotten");
    }
}
