//! What an API server's refusal means.

use kube::Error;

fn code(error: &Error) -> Option<u16> {
    match error {
        Error::Api(status) => Some(status.code),
        _ => None,
    }
}

/// There is no such object, or no such kind.
pub fn is_missing(error: &Error) -> bool {
    code(error) == Some(404)
}

/// Somebody else wrote first: another version, or an object of this name is there already.
pub fn is_conflict(error: &Error) -> bool {
    code(error) == Some(409)
}

/// The object is refused as it is: trying again is of no use.
pub fn is_refused(error: &Error) -> bool {
    matches!(code(error), Some(400 | 403 | 422))
}

/// Makes an answer of a failure that says that there is no such object.
///
/// # Errors
/// All other failures.
pub fn optional<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}
