//! What is answered: a head, and a layout whose length is known before its first byte.

use assisted_base::html;
use assisted_isokit::Layout;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::{Arrival, Head};
use crate::metrics::Record;
use crate::places::Place;

pub(super) const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const PAGE: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// What a page of this service may do: be shown.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// An answer; whatever it holds is let go when it has been sent, or when its client has gone.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub status: StatusCode,
    /// Without `Content-Length`, which follows from the body.
    pub headers: HeaderMap,
    pub body: Layout,
    /// When parts of the body may still be on their way to this machine.
    pub arrival: Option<Arrival>,
    /// Its place among the answers at a time.
    pub place: Option<Place>,
    /// What is measured about it.
    pub record: Option<Record>,
}

impl Answer {
    /// A status without a body.
    pub fn bare(status: StatusCode) -> Self {
        Self { status, ..Self::default() }
    }

    /// A status with a text.
    pub fn text(status: StatusCode, text: impl Into<Bytes>) -> Self {
        Self::typed(status, TEXT, text)
    }

    /// A status with a line of text that no browser takes for anything else (image-service §1.9).
    pub fn line(status: StatusCode, text: &str) -> Self {
        let mut answer = Self::text(status, format!("{text}\n"));
        answer.headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        answer
    }

    /// What every unknown path gets.
    pub fn not_found() -> Self {
        Self::line(StatusCode::NOT_FOUND, "404 page not found")
    }

    /// Says to come again after some seconds, and why; to a person in a browser by a page that does so by itself.
    pub fn later(head: &Head, seconds: u32, why: &str) -> Self {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let mut answer = if head.wants_page() {
            let text = include_str!("later.html").replace("{seconds}", &seconds.to_string());
            Self::page(status, text.replace("{why}", &html::escape(why)))
        } else {
            Self::line(status, why)
        };
        answer.headers.insert(RETRY_AFTER, seconds.into());
        answer
    }

    /// A status with a page.
    fn page(status: StatusCode, text: String) -> Self {
        let mut answer = Self::typed(status, PAGE, text);
        let out = &mut answer.headers;
        out.insert(CONTENT_SECURITY_POLICY, POLICY);
        out.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        out.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        answer
    }

    /// A status with a body of some type.
    pub fn typed(status: StatusCode, kind: HeaderValue, body: impl Into<Bytes>) -> Self {
        let mut answer = Self::bare(status);
        answer.headers.insert(CONTENT_TYPE, kind);
        answer.body.push(body.into());
        answer
    }
}
