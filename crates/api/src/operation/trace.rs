//! A request as a span of a trace: of the caller's, if it names one.

use http::{HeaderMap, HeaderName};
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing::Span;
use tracing::field::Empty;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use uuid::Uuid;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The span of a request of an operation. Of its values only those of the path's names are told, never of query or body.
pub(super) fn span(path: &'static str, method: &str, headers: &HeaderMap, request_id: Uuid) -> Span {
    let span = tracing::trace_span!(
        target: "assisted::trace",
        "request",
        otel.name = Empty,
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = method,
        http.route = path,
        http.response.status_code = Empty,
        request.id = %request_id,
    );
    if span.is_disabled() {
        return span;
    }
    span.record("otel.name", format!("{method} {path}"));
    let parent = headers.get(TRACEPARENT).and_then(|value| parent(value.to_str().ok()?));
    if let Some(parent) = parent {
        // Fails only where spans go nowhere.
        let _ = span.set_parent(opentelemetry::Context::new().with_remote_span_context(parent));
    }
    span
}

/// Notes how a request ended.
pub(super) fn record(span: &Span, status: u16) {
    span.record("http.response.status_code", status);
    if status >= 500 {
        span.record("otel.status_code", "ERROR");
    }
}

/// The header `traceparent` of the W3C's Trace Context.
fn parent(text: &str) -> Option<SpanContext> {
    let mut parts = text.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let hex = |text: &str, length| {
        text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let known = hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
    if !(known && hex(trace, 32) && hex(span, 16) && hex(flags, 2)) {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()? & 1);
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let parent = SpanContext::new(trace, span, flags, true, TraceState::NONE);
    parent.is_valid().then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_are_read_strictly() {
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let read = parent(&format!("00-{trace}-{span}-01")).unwrap();
        assert_eq!(
            (read.trace_id().to_string(), read.span_id().to_string()),
            (trace.to_owned(), span.to_owned())
        );
        assert!(read.is_sampled() && !parent(&format!("00-{trace}-{span}-00")).unwrap().is_sampled());
        assert!(parent(&format!("01-{trace}-{span}-01-more")).is_some(), "of a later version");
        for wrong in [
            String::new(),
            format!("00-{trace}-{span}"),
            format!("00-{trace}-{span}-01-more"),
            format!("ff-{trace}-{span}-01"),
            format!("00-{}-{span}-01", "0".repeat(32)),
            format!("00-{trace}-{}-01", "0".repeat(16)),
            format!("00-{}-{span}-01", trace.to_uppercase()),
            format!("00-{trace}x-{span}-01"),
        ] {
            assert!(parent(&wrong).is_none(), "{wrong}");
        }
    }
}
