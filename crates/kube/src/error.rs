//! What an API server's refusal means, and what it says.

use assisted_base::error::chain;
use kube::Error;

/// What an API server says, without what is meant for programs; the causes of any other failure.
pub fn message(error: &Error) -> String {
    match error {
        Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        error => chain(error),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_in_the_words_of_the_server_alone() {
        let status: kube::core::Status = serde_json::from_value(serde_json::json!({
            "status": "Failure",
            "message": "pods \"a\" is forbidden: it is privileged",
            "reason": "Forbidden",
            "code": 403,
        }))
        .unwrap();
        let refused = Error::Api(Box::new(status));
        assert_eq!(message(&refused), "pods \"a\" is forbidden: it is privileged");
        assert!(refused.to_string().len() > message(&refused).len());
    }
}
