//! What is measured (image-service §1.11). No label holds a token or an id, except the path of a boot artifact.

pub(crate) use assisted_base::metrics::Record;
use assisted_base::metrics::{HttpMetrics, HttpNames, text};
use prometheus::{IntGaugeVec, Opts, Registry};

const NAMES: HttpNames = HttpNames {
    prefix: "assisted_image_service_",
    service: "",
    durations: &[0.1, 1.0, 10.0, 50.0, 100.0, 300.0, 600.0],
    sizes: &[100.0, 1e6, 5e8, 1e9, 1e10],
    inflight_by_method: false,
};

/// The measures of one image service.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: HttpMetrics,
    received: IntGaugeVec,
    expected: IntGaugeVec,
    ready: IntGaugeVec,
}

impl Metrics {
    pub fn new() -> prometheus::Result<Self> {
        let registry = Registry::new();
        let gauge = |metric: &str, help: &str| {
            IntGaugeVec::new(Opts::new(format!("{}{metric}", NAMES.prefix), help), &["image"])
        };
        let metrics = Self {
            requests: HttpMetrics::new(NAMES, &registry)?,
            received: gauge("base_image_received_bytes", "Bytes of a base image that are here.")?,
            expected: gauge("base_image_bytes", "Length of a base image, 0 while it is not known.")?,
            ready: gauge("base_image_ready", "Whether images can be made from a base image.")?,
            registry,
        };
        for gauge in [&metrics.received, &metrics.expected, &metrics.ready] {
            metrics.registry.register(Box::new(gauge.clone()))?;
        }
        Ok(metrics)
    }

    /// Begins to measure one request.
    pub fn record(&self, handler: &str, method: &str) -> Record {
        self.requests.record(handler, method)
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
        text(&self.registry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let metrics = Metrics::new().unwrap();
        metrics.record("/byid/:token", "GET").code = 206;
        metrics.base("4.18-x86_64", 5, 10, false);
        let text = String::from_utf8(metrics.text().unwrap()).unwrap();
        for line in [
            r#"http_requests_inflight{handler="/byid/:token",service=""} 0"#,
            r#"http_request_duration_seconds_count{code="206",handler="/byid/:token",method="GET",service=""} 1"#,
            r#"base_image_received_bytes{image="4.18-x86_64"} 5"#,
        ] {
            assert!(text.contains(&format!("assisted_image_service_{line}")), "{line}\n{text}");
        }
    }

    #[test]
    fn buckets() {
        let metrics = Metrics::new().unwrap();
        metrics.record("/byid/:token", "GET").code = 200;
        let text = String::from_utf8(metrics.text().unwrap()).unwrap();
        for (name, expected) in [
            ("http_request_duration_seconds", "0.1 1 10 50 100 300 600 +Inf"),
            ("http_response_size_bytes", "100 1000000 500000000 1000000000 10000000000 +Inf"),
        ] {
            let start = format!("assisted_image_service_{name}_bucket{{");
            let lines = text.lines().filter(|line| line.starts_with(&start));
            let bounds = lines.map(|line| line.rsplit("le=\"").next().unwrap().split('"').next().unwrap());
            assert_eq!(bounds.collect::<Vec<_>>().join(" "), expected, "{name}");
        }
    }
}
