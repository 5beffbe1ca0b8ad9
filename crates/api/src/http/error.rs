//! Error bodies (service-api §1.3).

use http::header::{ALLOW, LINK, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde_json::json;

use super::response::{Answer, json_answer};
use crate::error::{ApiError, MOMENT};
use crate::help;

impl ApiError {
    /// The answer with its status, body and headers. One of them leads to a page with cause and remedy.
    pub(crate) fn answer(self) -> Answer {
        let (Self::Framework { status, message: text, .. }
        | Self::Busy { status, message: text, .. }
        | Self::Application { status, reason: text, .. }) = &self;
        let help = help::family(*status, text).address();
        let mut answer = self.body_and_status(&help);
        if let Ok(link) = HeaderValue::from_str(&format!("<{help}>; rel=\"help\"")) {
            answer.headers_mut().insert(LINK, link);
        }
        answer
    }

    fn body_and_status(self, help: &str) -> Answer {
        match self {
            Self::Framework { status, message, allow } => {
                let mut answer =
                    json_answer(status_code(status), &json!({"code": status, "message": message}));
                if let Some(allow) = allow.and_then(|allow| HeaderValue::from_str(&allow).ok()) {
                    answer.headers_mut().insert(ALLOW, allow);
                }
                answer
            }
            Self::Busy { status, message, retry_after } => {
                let mut answer =
                    json_answer(status_code(status), &json!({"code": status, "message": message}));
                let seconds = retry_after.as_secs().saturating_add(1);
                answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
                answer
            }
            Self::Application { status, reason, retry_after } => {
                let mut answer = json_answer(
                    status_code(status),
                    &json!({
                        "code": status.to_string(),
                        "href": help,
                        "id": status,
                        "kind": "Error",
                        "reason": reason,
                    }),
                );
                // What is away, or full, may be back.
                let usual = matches!(status, 503 | 507).then_some(MOMENT.as_secs());
                let known = retry_after.map(|time| time.as_secs().saturating_add(1));
                if let Some(seconds) = known.or(usual) {
                    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
                }
                answer
            }
        }
    }
}

fn status_code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
