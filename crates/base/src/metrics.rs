//! What servers measure about their requests, under the names that dashboards know, and how all measures are printed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::RwLock;
use prometheus::{
    Encoder, Histogram, HistogramOpts, HistogramVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
};

/// Content type of [`text`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All measures of a registry, as Prometheus reads them.
///
/// # Errors
///
/// Two measures contradict each other.
pub fn text(registry: &Registry) -> prometheus::Result<Vec<u8>> {
    let mut text = Vec::new();
    TextEncoder::new().encode(&registry.gather(), &mut text)?;
    Ok(text)
}

/// How a server's requests are measured.
#[derive(Clone, Copy, Debug)]
pub struct HttpNames {
    /// Before each name, with the underscore; empty: nothing.
    pub prefix: &'static str,
    /// Value of the label `service`.
    pub service: &'static str,
    /// Buckets of the time that requests take, in seconds.
    pub durations: &'static [f64],
    /// Buckets of the size of answers, in bytes.
    pub sizes: &'static [f64],
    /// Whether those under way are told apart by method.
    pub inflight_by_method: bool,
}

/// The measures of a server's requests. Cheap to clone.
#[derive(Clone, Debug)]
pub struct HttpMetrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    names: HttpNames,
    durations: HistogramVec,
    sizes: HistogramVec,
    inflight: IntGaugeVec,
    /// What was measured before, by handler: labels are looked up once.
    routes: RwLock<HashMap<String, Vec<Arc<Route>>>>,
}

/// The measures of one handler's requests of one method.
#[derive(Debug)]
struct Route {
    service: &'static str,
    handler: String,
    method: String,
    all_durations: HistogramVec,
    all_sizes: HistogramVec,
    inflight: IntGauge,
    /// Durations and sizes, by status.
    codes: RwLock<Vec<(u16, Histogram, Histogram)>>,
}

impl HttpMetrics {
    /// Measures that stand in a registry.
    ///
    /// # Errors
    ///
    /// The registry has measures of these names.
    pub fn new(names: HttpNames, registry: &Registry) -> prometheus::Result<Self> {
        let request = ["service", "handler", "method", "code"];
        let name = |name: &str| format!("{}{name}", names.prefix);
        let histogram = |metric: &str, help: &str, buckets: &[f64]| {
            HistogramVec::new(HistogramOpts::new(name(metric), help).buckets(buckets.to_vec()), &request)
        };
        let inflight = Opts::new(name("http_requests_inflight"), "Requests that are being answered.");
        let labels: &[&str] = if names.inflight_by_method {
            &["service", "handler", "method"]
        } else {
            &["service", "handler"]
        };
        let metrics = Inner {
            names,
            durations: histogram(
                "http_request_duration_seconds",
                "Time that requests took.",
                names.durations,
            )?,
            sizes: histogram("http_response_size_bytes", "Bytes of answers.", names.sizes)?,
            inflight: IntGaugeVec::new(inflight, labels)?,
            routes: RwLock::default(),
        };
        registry.register(Box::new(metrics.durations.clone()))?;
        registry.register(Box::new(metrics.sizes.clone()))?;
        registry.register(Box::new(metrics.inflight.clone()))?;
        Ok(Self(Arc::new(metrics)))
    }

    /// Begins to measure a request. `handler` is its route, with names where its path has values.
    pub fn record(&self, handler: &str, method: &str) -> Record {
        let route = self.route(handler, method);
        route.inflight.inc();
        Record { route, started: Instant::now(), code: 0, sent: 0 }
    }

    fn route(&self, handler: &str, method: &str) -> Arc<Route> {
        let of_method =
            |routes: &Vec<Arc<Route>>| routes.iter().find(|route| route.method == method).cloned();
        if let Some(route) = self.0.routes.read().get(handler).and_then(of_method) {
            return route;
        }
        let mut all = self.0.routes.write();
        let routes = all.entry(handler.to_owned()).or_default();
        if let Some(route) = of_method(routes) {
            return route;
        }
        let labels = [self.0.names.service, handler, method];
        let labels = if self.0.names.inflight_by_method { &labels[..] } else { &labels[..2] };
        let route = Arc::new(Route {
            service: self.0.names.service,
            handler: handler.to_owned(),
            method: method.to_owned(),
            all_durations: self.0.durations.clone(),
            all_sizes: self.0.sizes.clone(),
            inflight: self.0.inflight.with_label_values(labels),
            codes: RwLock::default(),
        });
        routes.push(Arc::clone(&route));
        route
    }
}

impl Route {
    /// Notes how a request ended.
    fn observe(&self, code: u16, seconds: f64, bytes: f64) {
        let observe = |(_, durations, sizes): &(u16, Histogram, Histogram)| {
            durations.observe(seconds);
            sizes.observe(bytes);
        };
        if let Some(known) = self.codes.read().iter().find(|(known, ..)| *known == code) {
            return observe(known);
        }
        let text = code.to_string();
        let labels = [self.service, &self.handler, &self.method, &text];
        let new =
            (code, self.all_durations.with_label_values(&labels), self.all_sizes.with_label_values(&labels));
        observe(&new);
        let mut codes = self.codes.write();
        if codes.iter().all(|(known, ..)| *known != code) {
            codes.push(new);
        }
    }
}

/// A request that is measured until this is dropped.
#[derive(Debug)]
pub struct Record {
    route: Arc<Route>,
    started: Instant,
    /// Status of the answer.
    pub code: u16,
    /// Bytes of the answer that were sent.
    pub sent: u64,
}

impl Record {
    /// Notes that more of the answer was sent, in bytes.
    pub fn add_sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.route.observe(self.code, self.started.elapsed().as_secs_f64(), self.sent as f64);
        self.route.inflight.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_counted_when_it_ends() {
        for (inflight_by_method, method) in [(false, ""), (true, r#"method="GET","#)] {
            let names = HttpNames {
                prefix: "my_",
                service: "s",
                durations: &[1.0],
                sizes: &[1e6, 5e8],
                inflight_by_method,
            };
            let registry = Registry::new();
            let metrics = HttpMetrics::new(names, &registry).unwrap();
            let mut record = metrics.record("/byid/:token", "GET");
            let text = || String::from_utf8(text(&registry).unwrap()).unwrap();
            let inflight = |count: u32| {
                format!(r#"my_http_requests_inflight{{handler="/byid/:token",{method}service="s"}} {count}"#)
            };
            assert!(text().contains(&inflight(1)), "{}", text());
            (record.code, record.sent) = (206, 2_000_000);
            drop(record);
            let text = text();
            let labels = r#"code="206",handler="/byid/:token",method="GET",service="s""#;
            for line in [
                inflight(0),
                format!("my_http_request_duration_seconds_count{{{labels}}} 1"),
                format!(r#"my_http_response_size_bytes_bucket{{{labels},le="1000000"}} 0"#),
                format!(r#"my_http_response_size_bytes_bucket{{{labels},le="500000000"}} 1"#),
            ] {
                assert!(text.contains(&line), "{line}\n{text}");
            }
        }
    }
}
