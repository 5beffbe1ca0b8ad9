//! Writes that happen together or not at all.

use std::collections::BTreeSet;
use std::sync::Arc;

use assisted_seal::Keyring;
use serde::Serialize;
use uuid::Uuid;

use crate::error::Error;
use crate::report_hash::ReportHash;
use crate::statement::Statement;
use crate::subject::Subject;
use crate::unsealed::{SecretFields, Unsealed};
use crate::value::Value;

/// Bytes that take milliseconds to be written.
const LARGE: usize = 256 * 1024;

/// An ordered list of writes, for [`crate::Store::write`].
///
/// The writes themselves stand beside the reads of the same table: see the other `impl Batch` blocks.
#[derive(Debug, Default)]
pub struct Batch {
    pub(crate) statements: Vec<Statement>,
    pub(crate) subjects: Vec<Subject>,
    /// The texts of reports that the batch writes.
    pub(crate) texts: Vec<(ReportHash, Arc<str>)>,
    /// Why the batch can't be written. The write returns it, so that building a batch needs no error handling.
    pub(crate) broken: Option<Error>,
}

impl Batch {
    /// A batch without writes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.statements.is_empty() && self.broken.is_none()
    }

    /// Adds the writes of another batch after these.
    pub fn append(&mut self, other: Self) {
        self.statements.extend(other.statements);
        self.subjects.extend(other.subjects);
        self.texts.extend(other.texts);
        self.broken = self.broken.take().or(other.broken);
    }

    /// Whether it takes long to write, so that others should not have to wait for it.
    pub(crate) fn is_large(&self) -> bool {
        let values = self.statements.iter().flat_map(|statement| &statement.params);
        values.map(Value::size).sum::<usize>() >= LARGE
    }

    /// What the batches do to which tables, such as `update hosts`.
    pub(crate) fn describe(batches: &[Self]) -> Vec<String> {
        let statements = batches.iter().flat_map(|batch| &batch.statements);
        let effects = statements.filter_map(|statement| {
            let words: Vec<_> = statement.sql.split_whitespace().collect();
            words.windows(3).find_map(|three| match *three {
                ["insert", "into", table] | ["delete", "from", table] => {
                    Some(format!("{} {table}", three[0]))
                }
                ["update", table, "set"] => Some(format!("update {table}")),
                _ => None,
            })
        });
        effects.collect::<BTreeSet<_>>().into_iter().collect()
    }

    pub(crate) fn push(&mut self, statement: Statement) -> &mut Self {
        self.statements.push(statement);
        self
    }

    /// Records that a subject changes, for observers and caches.
    pub(crate) fn touch(&mut self, subject: Subject) -> &mut Self {
        if self.subjects.last() != Some(&subject) {
            self.subjects.push(subject);
        }
        self
    }

    /// The document of a record in the row of a key.
    pub(crate) fn record<T: SecretFields>(&mut self, record: &T, key: &[Uuid]) -> Value {
        match Unsealed::of(record, key) {
            Ok(document) => Value::Unsealed(Box::new(document)),
            Err(error) => {
                self.broken = Some(Error::Encode(Arc::new(error)));
                Value::Null
            }
        }
    }

    /// Seals the secrets of all documents.
    pub(crate) fn seal(&mut self, keys: Option<&Keyring>) -> Result<(), Error> {
        for value in self.statements.iter_mut().flat_map(|statement| &mut statement.params) {
            if let Value::Unsealed(document) = value {
                *value = document.sealed(keys)?.into();
            }
        }
        Ok(())
    }

    pub(crate) fn document<T: Serialize>(&mut self, record: &T) -> String {
        serde_json::to_string(record).unwrap_or_else(|error| {
            self.broken = Some(Error::Encode(Arc::new(error)));
            String::new()
        })
    }
}
