//! A cache of values that were used lately, within a bound.

use std::collections::HashMap;
use std::hash::Hash;

use parking_lot::Mutex;

/// Values by key, in two generations: when the young ones weigh too much, they become the old ones, and what nobody wanted
/// since the last time is dropped.
#[derive(Debug)]
pub struct RecentCache<K, V> {
    generations: Mutex<Generations<K, V>>,
    /// What a generation may weigh.
    limit: usize,
}

#[derive(Debug)]
struct Generations<K, V> {
    young: HashMap<K, (V, usize)>,
    old: HashMap<K, (V, usize)>,
    /// Of the young ones together.
    weight: usize,
    /// Of the old ones together.
    old_weight: usize,
}

impl<K: Eq + Hash + Clone, V: Clone> RecentCache<K, V> {
    /// Remembers values that weigh up to twice the limit together.
    pub fn new(limit: usize) -> Self {
        let generations =
            Generations { young: HashMap::new(), old: HashMap::new(), weight: 0, old_weight: 0 };
        Self { generations: Mutex::new(generations), limit }
    }

    /// A value that is remembered.
    pub fn get(&self, key: &K) -> Option<V> {
        let mut generations = self.generations.lock();
        if let Some((value, _)) = generations.young.get(key) {
            return Some(value.clone());
        }
        let (value, weight) = generations.old.remove(key)?;
        generations.old_weight -= weight;
        generations.put(key.clone(), value.clone(), weight, self.limit);
        Some(value)
    }

    /// Remembers a value, and what it weighs.
    pub fn put(&self, key: K, value: V, weight: usize) {
        self.generations.lock().put(key, value, weight, self.limit);
    }

    /// Makes the young values the old ones, though they do not weigh too much: called from time to time, it has what nobody wanted for
    /// two such times dropped.
    pub fn age(&self) {
        self.generations.lock().age();
    }

    /// What all values weigh together.
    pub fn weight(&self) -> usize {
        let generations = self.generations.lock();
        generations.weight + generations.old_weight
    }
}

impl<K: Eq + Hash, V> Generations<K, V> {
    fn put(&mut self, key: K, value: V, weight: usize, limit: usize) {
        let replaced = self.young.insert(key, (value, weight));
        self.weight += weight;
        self.weight -= replaced.map_or(0, |(_, weight)| weight);
        if self.weight > limit {
            self.age();
        }
    }

    fn age(&mut self) {
        self.old = std::mem::take(&mut self.young);
        self.old_weight = std::mem::take(&mut self.weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_remembered_than_fits_and_what_is_wanted_stays() {
        let recent = RecentCache::new(100);
        for key in 0..50 {
            recent.put(key, key.to_string(), 9);
            assert_eq!(recent.get(&0).as_deref(), Some("0"), "{key}");
        }
        assert_eq!(recent.get(&1), None);
        assert_eq!(recent.get(&49).as_deref(), Some("49"));
        let generations = recent.generations.lock();
        let weight =
            |values: &HashMap<i32, (String, usize)>| values.values().map(|(_, weight)| weight).sum::<usize>();
        assert_eq!(weight(&generations.young), generations.weight);
        assert_eq!(weight(&generations.old), generations.old_weight);
        assert!(generations.weight <= 100 && generations.old_weight <= 109);
    }

    #[test]
    fn what_nobody_wanted_for_a_while_is_dropped() {
        let recent = RecentCache::new(100);
        recent.put("wanted", 1, 10);
        recent.put("unwanted", 2, 20);
        recent.age();
        assert_eq!((recent.get(&"wanted"), recent.weight()), (Some(1), 30));
        recent.age();
        assert_eq!((recent.get(&"wanted"), recent.get(&"unwanted"), recent.weight()), (Some(1), None, 10));
        (0..2).for_each(|_| recent.age());
        assert_eq!((recent.get(&"wanted"), recent.weight()), (None, 0));
    }

    #[test]
    fn the_last_value_of_a_key_counts() {
        let recent = RecentCache::new(100);
        (1..=5).for_each(|value| recent.put("a", value, 60));
        assert_eq!(recent.get(&"a"), Some(5));
        assert_eq!(recent.generations.lock().weight, 60);
    }
}
