//! Which web pages may read images from another origin (image-service §1.8).

use assisted_config::Origins;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderValue, Method, StatusCode};

use super::{Answer, Head};

/// Origins that are let in.
#[derive(Debug, Default)]
pub(crate) struct Cors(pub Origins);

impl Cors {
    /// Answers the question of a browser that comes before the request itself; its answer has no other header when the
    /// origin is not let in.
    pub fn preflight(&self, head: &Head) -> Option<Answer> {
        let asked =
            head.method == Method::OPTIONS && head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if self.0.is_empty() || !asked {
            return None;
        }
        let mut answer = Answer::bare(StatusCode::NO_CONTENT);
        if self.let_in(head, &mut answer) {
            let out = &mut answer.headers;
            out.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("HEAD, GET"));
            out.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("Authorization, Content-Type"));
            out.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        }
        Some(answer)
    }

    /// Tells the browser whether the page may read the answer.
    pub fn let_in(&self, head: &Head, answer: &mut Answer) -> bool {
        if self.0.is_empty() {
            return false;
        }
        answer.headers.append(VARY, HeaderValue::from_static("Origin"));
        let Some(origin) = head.headers.get(ORIGIN) else { return false };
        let known = origin.to_str().is_ok_and(|text| self.0.admit(text));
        if known {
            answer.headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        }
        known
    }
}
