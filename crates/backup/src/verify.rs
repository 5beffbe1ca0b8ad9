//! Whether an archive is what it should be.

use std::collections::BTreeMap;
use std::path::Path;

use assisted_store::copy::{self, CopyError};

use crate::error::DamageError;
use crate::format::Manifest;
use crate::members::{self, Ended, Part};

/// Reads an archive from its beginning to its end: every digest, and every row. It takes a while, and blocks.
///
/// # Errors
/// When something is damaged, missing, or not known to this program.
pub fn verify(path: &Path) -> Result<Manifest, DamageError> {
    // Which schema the rows are of is known at the end only.
    let manifest = members::read(path, |_| Ok::<_, DamageError>(())).map_err(damage)?;
    let tables = copy::tables(manifest.schema).map_err(|error| DamageError::Rows(error.into()))?;
    let tables: BTreeMap<_, _> = tables.iter().map(|table| (table.name.as_str(), table)).collect();
    members::read(path, |part| {
        let Part::Rows { table, text } = part else { return Ok(()) };
        let missing = || CopyError::Row { table: table.to_owned(), why: "there is no such table".to_owned() };
        let known = tables.get(table).ok_or_else(missing).map_err(DamageError::Rows)?;
        text.lines().try_for_each(|line| copy::check(known, line)).map_err(DamageError::Rows)
    })
    .map_err(damage)
}

fn damage(ended: Ended<DamageError>) -> DamageError {
    match ended {
        Ended::Damaged(error) | Ended::Refused(error) => error,
    }
}
