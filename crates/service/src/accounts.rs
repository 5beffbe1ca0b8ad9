//! What the account service did not do for a request (service-api §14.5).

use assisted_auth::AskError;
use assisted_base::error::chain;
use assisted_core::model::refusal::{Refusal, RefusalKind};

use crate::Error;

/// The refusal of a request for which the account service did not do its part: with its own status, as far as there is one.
pub(crate) fn refused(error: &AskError) -> Error {
    let reason = chain(error);
    tracing::warn!(error = reason, "the account service does not do its part of a request");
    let AskError::Refused { status } = error else {
        return Refusal::new(RefusalKind::Unavailable, reason).into();
    };
    let kind = match status {
        401 => return Error::Infra { kind: RefusalKind::Unauthorized, message: reason },
        403 => return Error::Infra { kind: RefusalKind::Forbidden, message: reason },
        400 => RefusalKind::Invalid,
        404 => RefusalKind::NotFound,
        409 => RefusalKind::Conflict,
        422 => RefusalKind::Unprocessable,
        429 | 503 => RefusalKind::Unavailable,
        _ => RefusalKind::Internal,
    };
    Refusal::new(kind, reason).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_account_service_says_is_passed_on() {
        for (status, kind, is_infra) in [
            (401, RefusalKind::Unauthorized, true),
            (403, RefusalKind::Forbidden, true),
            (404, RefusalKind::NotFound, false),
            (429, RefusalKind::Unavailable, false),
            (500, RefusalKind::Internal, false),
            (503, RefusalKind::Unavailable, false),
        ] {
            let error = refused(&AskError::Refused { status });
            assert_eq!((error.kind(), matches!(error, Error::Infra { .. })), (kind, is_infra), "{status}");
            assert_eq!(error.to_string(), format!("the account service answers with status {status}"));
        }
    }
}
