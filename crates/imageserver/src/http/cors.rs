//! Which web pages may read images from another origin (image-service §1.8).

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderValue, Method, StatusCode};

use super::{Answer, Head};

/// Origins that are let in; one `*` in an origin stands for any text.
#[derive(Debug, Default)]
pub(crate) struct Cors(Vec<String>);

impl Cors {
    /// Reads a list with commas; spaces count for nothing.
    pub fn new(list: &str) -> Self {
        let list = list.replace(' ', "");
        Self(list.split(',').filter(|origin| !origin.is_empty()).map(str::to_owned).collect())
    }

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
        let known = origin.to_str().is_ok_and(|text| self.0.iter().any(|allowed| matches(allowed, text)));
        if known {
            answer.headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        }
        known
    }
}

fn matches(allowed: &str, origin: &str) -> bool {
    match allowed.split_once('*') {
        Some((head, tail)) => {
            origin.len() >= head.len() + tail.len() && origin.starts_with(head) && origin.ends_with(tail)
        }
        None => allowed.eq_ignore_ascii_case(origin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_of_a_list_with_spaces() {
        let cors = Cors::new("https://a.example.com, https://*.example.org ,,");
        let known = |origin| cors.0.iter().any(|allowed| matches(allowed, origin));
        assert!(known("https://a.example.com") && known("https://x.example.org"));
        assert!(!known("https://b.example.com") && !known("https://.example.com"));
        assert!(Cors::new(" ,").0.is_empty());
    }
}
