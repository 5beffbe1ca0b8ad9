//! What people may be called, and what may be said of them.

use super::UserError;

/// Longest name, organisation and e-mail address, in bytes.
const LONGEST_NAME: usize = 128;

pub(super) fn check_name(name: &str) -> Result<(), UserError> {
    let good = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-' | '@' | '+');
    if (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(good) {
        return Ok(());
    }
    Err(UserError::Invalid(format!(
        "a user's name has 1 to {LONGEST_NAME} letters, digits and characters of \"._-@+\""
    )))
}

pub(super) fn check_text(what: &str, text: &str) -> Result<(), UserError> {
    if text.len() <= LONGEST_NAME && !text.chars().any(char::is_control) {
        return Ok(());
    }
    Err(UserError::Invalid(format!("{what} has at most {LONGEST_NAME} bytes and no control characters")))
}
