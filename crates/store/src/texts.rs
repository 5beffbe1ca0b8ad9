//! Texts of reports that were read or written lately. A host's reports are looked at whenever anything of its cluster
//! changes, and are themselves the same nearly every time: then only their hashes are read.
//!
//! What is remembered goes by its hash, so it can't be out of date, whoever writes.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::report::ReportHash;
use crate::value::{Row, Value};

/// Columns of a row of reports.
const HASH: usize = 3;
const BODY: usize = 4;

/// Bytes that a generation holds; there are two.
const GENERATION: usize = 16 << 20;
/// Longer texts are read each time: one of them would take the place of many.
const LONGEST: usize = GENERATION / 16;

/// Texts by hash, within a bound: when the young ones are many, those that nobody wanted since the last time are dropped.
#[derive(Debug, Default)]
pub(crate) struct Texts(Mutex<Generations>);

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<ReportHash, Arc<str>>,
    old: HashMap<ReportHash, Arc<str>>,
    /// Length of the young ones together.
    bytes: usize,
}

impl Generations {
    fn get(&mut self, hash: ReportHash) -> Option<Arc<str>> {
        if let Some(text) = self.young.get(&hash) {
            return Some(Arc::clone(text));
        }
        let text = self.old.remove(&hash)?;
        self.put(hash, Arc::clone(&text));
        Some(text)
    }

    fn put(&mut self, hash: ReportHash, text: Arc<str>) {
        let length = text.len();
        if length > LONGEST || self.young.insert(hash, text).is_some() {
            return;
        }
        self.bytes += length;
        if self.bytes > GENERATION {
            (self.old, self.bytes) = (std::mem::take(&mut self.young), 0);
        }
    }
}

impl Texts {
    /// Puts the texts into rows of reports that were read without; false if one of them is not remembered.
    pub(crate) fn fill(&self, rows: &mut [Row]) -> bool {
        let mut generations = self.0.lock();
        rows.iter_mut().all(|row| {
            let text = ReportHash::read(row, HASH).ok().and_then(|hash| generations.get(hash));
            match (text, row.0.get_mut(BODY)) {
                (Some(text), Some(body)) => *body = Value::Shared(text),
                _ => return false,
            }
            true
        })
    }

    /// Remembers the texts of rows of reports.
    pub(crate) fn keep(&self, rows: &mut [Row]) {
        let mut generations = self.0.lock();
        for row in rows {
            let hash = ReportHash::read(row, HASH);
            if let (Ok(hash), Some(body)) = (hash, row.0.get_mut(BODY))
                && let Value::Text(text) = body
            {
                let text: Arc<str> = std::mem::take(text).into();
                *body = Value::Shared(Arc::clone(&text));
                generations.put(hash, text);
            }
        }
    }

    /// Remembers texts as they were written.
    pub(crate) fn keep_written(&self, written: Vec<(ReportHash, Arc<str>)>) {
        let mut generations = self.0.lock();
        written.into_iter().for_each(|(hash, text)| generations.put(hash, text));
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
        let texts = Texts::default();
        assert!(!texts.fill(&mut [row("a", Value::Null)]));
        texts.keep(&mut [row("a", Value::Text("a".into()))]);
        texts.keep_written(vec![(ReportHash::of("b"), "b".into())]);
        let mut rows = [row("a", Value::Null), row("b", Value::Null)];
        assert!(texts.fill(&mut rows));
        assert_eq!(rows.map(|row| row.text(BODY).unwrap().to_owned()), ["a", "b"]);
        assert!(!texts.fill(&mut [row("a", Value::Null), row("c", Value::Null)]));
    }

    #[test]
    fn no_more_is_remembered_than_fits_and_what_is_wanted_stays() {
        let texts = Texts::default();
        let text = |number: usize| format!("{number:050000}");
        let all = 5 * GENERATION / 50_000;
        for number in 0..all {
            texts.keep(&mut [row(&text(number), Value::Text(text(number)))]);
            assert!(texts.fill(&mut [row(&text(0), Value::Null)]), "{number}");
        }
        assert!(!texts.fill(&mut [row(&text(1), Value::Null)]));
        assert!(texts.fill(&mut [row(&text(all - 1), Value::Null)]));
        let generations = texts.0.lock();
        let held: usize =
            generations.young.values().chain(generations.old.values()).map(|text| text.len()).sum();
        assert!(held <= 2 * GENERATION + 50_000, "{held}");
        drop(generations);
        let long = "x".repeat(LONGEST + 1);
        texts.keep_written(vec![(ReportHash::of(&long), long.as_str().into())]);
        assert!(!texts.fill(&mut [row(&long, Value::Null)]));
    }
}
