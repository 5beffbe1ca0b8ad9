//! What is measured (image-service §1.11). No label holds a token or an id, except the path of a boot artifact.

use std::time::Instant;

use prometheus::{
    Encoder, HistogramOpts, HistogramVec, IntGaugeVec, Opts, Registry, TextEncoder, core::Collector,
};

const PREFIX: &str = "assisted_image_service";
const DURATIONS: [f64; 7] = [0.1, 1.0, 10.0, 50.0, 100.0, 300.0, 600.0];
const SIZES: [f64; 5] = [100.0, 1e6, 5e8, 1e9, 1e10];

/// The measures of one image service.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    durations: HistogramVec,
    sizes: HistogramVec,
    inflight: IntGaugeVec,
    received: IntGaugeVec,
    expected: IntGaugeVec,
    ready: IntGaugeVec,
}

impl Metrics {
    pub fn new() -> prometheus::Result<Self> {
        let request = ["service", "handler", "method", "code"];
        let image = ["image"];
        let name = |name: &str| format!("{PREFIX}_{name}");
        let histogram = |metric: &str, help: &str, buckets: &[f64]| {
            let options = HistogramOpts::new(name(metric), help).buckets(buckets.to_vec());
            HistogramVec::new(options, &request)
        };
        let gauge = |metric: &str, help: &str, labels: &[&str]| {
            IntGaugeVec::new(Opts::new(name(metric), help), labels)
        };
        let metrics = Self {
            registry: Registry::new(),
            durations: histogram(
                "http_request_duration_seconds",
                "The latency of the HTTP requests.",
                &DURATIONS,
            )?,
            sizes: histogram("http_response_size_bytes", "The size of the HTTP responses.", &SIZES)?,
            inflight: gauge(
                "http_requests_inflight",
                "The number of inflight requests being handled at the same time.",
                &["service", "handler"],
            )?,
            received: gauge("base_image_received_bytes", "Bytes of a base image that are here.", &image)?,
            expected: gauge("base_image_bytes", "Length of a base image, 0 while it is not known.", &image)?,
            ready: gauge("base_image_ready", "Whether images can be made from a base image.", &image)?,
        };
        let all: [Box<dyn Collector>; 6] = [
            Box::new(metrics.durations.clone()),
            Box::new(metrics.sizes.clone()),
            Box::new(metrics.inflight.clone()),
            Box::new(metrics.received.clone()),
            Box::new(metrics.expected.clone()),
            Box::new(metrics.ready.clone()),
        ];
        for collector in all {
            metrics.registry.register(collector)?;
        }
        Ok(metrics)
    }

    /// Begins to measure one request.
    pub fn record(&self, handler: &str, method: &str) -> Record {
        self.inflight.with_label_values(&["", handler]).inc();
        Record {
            metrics: self.clone(),
            handler: handler.to_owned(),
            method: method.to_owned(),
            started: Instant::now(),
            code: 0,
            sent: 0,
        }
    }

    /// Tells how far a base image is.
    pub fn base(&self, image: &str, received: u64, expected: u64, ready: bool) {
        let value = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        self.received.with_label_values(&[image]).set(value(received));
        self.expected.with_label_values(&[image]).set(value(expected));
        self.ready.with_label_values(&[image]).set(ready.into());
    }

    /// All of it, as Prometheus reads it.
    pub fn text(&self) -> prometheus::Result<Vec<u8>> {
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        Ok(text)
    }
}

/// A request that is measured until this is dropped.
#[derive(Debug)]
pub(crate) struct Record {
    metrics: Metrics,
    handler: String,
    method: String,
    started: Instant,
    /// Status of the answer.
    pub code: u16,
    /// Bytes of the answer that were sent.
    pub sent: u64,
}

impl Drop for Record {
    fn drop(&mut self) {
        let code = self.code.to_string();
        let labels = ["", &self.handler, &self.method, &code];
        let Metrics { durations, sizes, inflight, .. } = &self.metrics;
        durations.with_label_values(&labels).observe(self.started.elapsed().as_secs_f64());
        sizes.with_label_values(&labels).observe(self.sent as f64);
        inflight.with_label_values(&["", &self.handler]).dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_counted_when_it_ends() {
        let metrics = Metrics::new().unwrap();
        let mut record = metrics.record("/byid/:token", "GET");
        let text = || String::from_utf8(metrics.text().unwrap()).unwrap();
        assert!(text().contains(
            r#"assisted_image_service_http_requests_inflight{handler="/byid/:token",service=""} 1"#
        ));
        (record.code, record.sent) = (206, 2_000_000);
        drop(record);
        metrics.base("4.18-x86_64", 5, 10, false);
        let text = text();
        for line in [
            r#"http_requests_inflight{handler="/byid/:token",service=""} 0"#,
            r#"http_request_duration_seconds_count{code="206",handler="/byid/:token",method="GET",service=""} 1"#,
            r#"http_response_size_bytes_bucket{code="206",handler="/byid/:token",method="GET",service="",le="1000000"} 0"#,
            r#"http_response_size_bytes_bucket{code="206",handler="/byid/:token",method="GET",service="",le="500000000"} 1"#,
            r#"base_image_received_bytes{image="4.18-x86_64"} 5"#,
        ] {
            assert!(text.contains(&format!("assisted_image_service_{line}")), "{line}\n{text}");
        }
    }
}
