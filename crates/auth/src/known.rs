//! What was found out about tokens, for a while: a bounded map whose entries end by themselves.

use std::collections::HashMap;

use jiff::Timestamp;
use parking_lot::Mutex;

use crate::digest;

/// More tokens than hosts of a large installation; past it the map starts anew.
const MOST: usize = 1 << 17;

/// What is known by a secret text, of which only the hash is kept.
pub(crate) struct Known<V>(Mutex<HashMap<[u8; 32], (V, Timestamp)>>);

impl<V> Default for Known<V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<V: Clone> Known<V> {
    /// The value that is cached for a text, unless it has expired.
    pub(crate) fn get(&self, text: &str, now: Timestamp) -> Option<V> {
        let known = self.0.lock().get(&digest::of(text)).cloned();
        known.filter(|(_, until)| *until > now).map(|(value, _)| value)
    }

    /// Keeps something until a moment.
    pub(crate) fn keep(&self, text: &str, value: V, until: Timestamp) {
        let mut known = self.0.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(digest::of(text), (value, until));
    }
}
