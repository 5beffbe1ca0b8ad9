//! Files whose content becomes the value of a field.

use std::fmt::Display;
use std::path::Path;

use crate::Failure;

/// Longest file that is sent as the value of a field, in bytes: pull secrets and keys are far smaller.
const LONGEST: u64 = 1 << 20;

/// The text of a small file, without white space at its end.
///
/// # Errors
/// [`Failure::Usage`] when it can't be read, or is longer than a mebibyte.
pub fn file(path: &Path) -> Result<String, Failure> {
    let fail = |error: &dyn Display| Failure::Usage(format!("can't read {}: {error}", path.display()));
    let length = std::fs::metadata(path).map_err(|error| fail(&error))?.len();
    if length > LONGEST {
        return Err(fail(&format!("it has {length} bytes; more than {LONGEST} can't be right")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| fail(&error))?;
    Ok(text.trim_end().to_owned())
}
