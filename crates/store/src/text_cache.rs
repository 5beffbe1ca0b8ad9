//! A cache of the texts of reports that were read or written lately. A host's reports are looked at whenever anything of its cluster
//! changes, and are themselves the same nearly every time: then only their hashes are read.
//!
//! A text is cached by its hash, so it can't be out of date, whoever writes.

use std::sync::Arc;

use crate::recent_cache::RecentCache;
use crate::report_hash::ReportHash;
use crate::value::{Row, Value};

/// Columns of a row of reports.
const HASH: usize = 3;
const BODY: usize = 4;

/// Bytes that a generation holds; there are two.
const GENERATION: usize = 8 << 20;
/// Longer texts are read each time: one of them would take the place of many.
const LONGEST: usize = GENERATION / 8;

/// Texts by hash, within a bound.
#[derive(Debug)]
pub(crate) struct TextCache(RecentCache<ReportHash, Arc<str>>);

impl Default for TextCache {
    fn default() -> Self {
        Self(RecentCache::new(GENERATION))
    }
}

impl TextCache {
    /// Puts the texts into rows of reports that were read without; false if one of them is not cached.
    pub(crate) fn fill(&self, rows: &mut [Row]) -> bool {
        rows.iter_mut().all(|row| {
            let text = ReportHash::read(row, HASH).ok().and_then(|hash| self.0.get(&hash));
            match (text, row.0.get_mut(BODY)) {
                (Some(text), Some(body)) => *body = Value::Shared(text),
                _ => return false,
            }
            true
        })
    }

    /// Caches the texts of rows of reports.
    pub(crate) fn keep(&self, rows: &mut [Row]) {
        for row in rows {
            let hash = ReportHash::read(row, HASH);
            if let (Ok(hash), Some(body)) = (hash, row.0.get_mut(BODY))
                && let Value::Text(text) = body
            {
                let text: Arc<str> = std::mem::take(text).into();
                *body = Value::Shared(Arc::clone(&text));
                self.put(hash, text);
            }
        }
    }

    /// Caches texts as they were written.
    pub(crate) fn keep_written(&self, written: Vec<(ReportHash, Arc<str>)>) {
        written.into_iter().for_each(|(hash, text)| self.put(hash, text));
    }

    /// Drops texts that nobody read or wrote since the last call but one.
    pub(crate) fn age(&self) {
        self.0.age();
    }

    /// Bytes of the texts.
    pub(crate) fn weight(&self) -> usize {
        self.0.weight()
    }

    fn put(&self, hash: ReportHash, text: Arc<str>) {
        let length = text.len();
        if length <= LONGEST {
            self.0.put(hash, text, length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str, body: Value) -> Row {
        let hash = Value::Bytes(ReportHash::of(text).0.to_vec());
        Row(vec![Value::Null, Value::Null, Value::Null, hash, body])
    }

    #[test]
    fn what_was_read_or_written_is_known() {
        let texts = TextCache::default();
        assert!(!texts.fill(&mut [row("a", Value::Null)]));
        texts.keep(&mut [row("a", Value::Text("a".into()))]);
        texts.keep_written(vec![(ReportHash::of("b"), "b".into())]);
        let mut rows = [row("a", Value::Null), row("b", Value::Null)];
        assert!(texts.fill(&mut rows));
        assert_eq!(rows.map(|row| row.text(BODY).unwrap().to_owned()), ["a", "b"]);
        assert!(!texts.fill(&mut [row("a", Value::Null), row("c", Value::Null)]));
    }

    #[test]
    fn a_long_text_is_read_each_time() {
        let texts = TextCache::default();
        let long = "x".repeat(LONGEST + 1);
        texts.keep_written(vec![(ReportHash::of(&long), long.as_str().into())]);
        assert!(!texts.fill(&mut [row(&long, Value::Null)]));
    }
}
