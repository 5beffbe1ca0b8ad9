//! Traces for a collector, by OTLP over HTTP, where one is set: requests, work and commits as spans.
//!
//! Spans are marked by [`TARGET`] and lie below all levels that are logged: where no collector is set, none is ever made.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assisted_base::error::chain;
use assisted_base::http::{Proxies, Trust, authorities_of_file, builder, read, web_url};
use assisted_config::{OtlpProtocol, Sampler as Wanted, Share, Telemetry};
use opentelemetry::KeyValue;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use percent_encoding::percent_decode_str;
use tokio::runtime::Handle;

/// The target of spans that go into traces.
pub(crate) const TARGET: &str = "assisted::trace";

/// The longest answer of a collector that is read.
const LONGEST: usize = 64 << 10;

/// Where traces go; `None`: no collector is set.
pub(crate) fn provider(set: &Telemetry, runtime: &Handle) -> Result<Option<SdkTracerProvider>> {
    let endpoint = match (set.otlp_traces_endpoint.as_str(), set.otlp_endpoint.trim_end_matches('/')) {
        _ if set.sdk_disabled => return Ok(None),
        ("", "") => return Ok(None),
        ("", base) => format!("{base}/v1/traces"),
        (own, _) => own.to_owned(),
    };
    web_url(&endpoint).context("OTEL_EXPORTER_OTLP_ENDPOINT is no address of a web server")?;
    let trust = match set.otlp_certificate.as_str() {
        "" => Trust::System,
        path => Trust::Also(authorities_of_file(Path::new(path)).context("OTEL_EXPORTER_OTLP_CERTIFICATE")?),
    };
    let limit = Duration::from_millis(set.otlp_timeout);
    let client = builder("assisted-traces", trust, &Proxies::FromEnvironment)?.timeout(limit).build()?;
    let headers = pairs("OTEL_EXPORTER_OTLP_HEADERS", set.otlp_headers.expose())?;
    let attributes = pairs("OTEL_RESOURCE_ATTRIBUTES", &set.resource_attributes)?;
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Collector { client, runtime: runtime.clone(), is_away: AtomicBool::new(false) })
        .with_endpoint(endpoint)
        .with_timeout(limit)
        .with_protocol(match set.otlp_protocol {
            OtlpProtocol => Protocol::HttpBinary,
        })
        .with_headers(headers.into_iter().collect::<HashMap<_, _>>())
        .build()
        .context("traces can't be sent with these settings")?;
    let resource = Resource::builder_empty()
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attributes(attributes.into_iter().map(|(name, value)| KeyValue::new(name, value)))
        .with_service_name(set.service_name.clone())
        .build();
    let provider = SdkTracerProvider::builder()
        .with_resource(resource)
        .with_sampler(sampler(set.traces_sampler, &set.traces_sampler_arg)?)
        .with_batch_exporter(exporter)
        .build();
    Ok(Some(provider))
}

fn sampler(wanted: Wanted, share: &str) -> Result<Sampler> {
    let root = match wanted.share {
        Share::All => Sampler::AlwaysOn,
        Share::None => Sampler::AlwaysOff,
        Share::Ratio => {
            let ratio = if share.is_empty() { Ok(1.0) } else { share.parse::<f64>() };
            match ratio {
                Ok(ratio) if (0.0..=1.0).contains(&ratio) => Sampler::TraceIdRatioBased(ratio),
                _ => bail!("OTEL_TRACES_SAMPLER_ARG: {share:?} is no number from 0 to 1"),
            }
        }
    };
    Ok(if wanted.by_parent { Sampler::ParentBased(Box::new(root)) } else { root })
}

/// Names and values of a list; values may be written as in a URL. Neither is told when they can't be read: they may be secret.
fn pairs(variable: &str, list: &str) -> Result<Vec<(String, String)>> {
    let pair = |item: &str| {
        let (name, value) = item.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        Some((name.trim().to_owned(), value.into_owned())).filter(|(name, _)| !name.is_empty())
    };
    let items = list.split(',').map(str::trim).filter(|item| !item.is_empty());
    items
        .map(|item| {
            pair(item).with_context(|| format!("{variable} is no list such as name=value,name=value"))
        })
        .collect()
}

/// Sends to a collector; the exporter has a thread of its own, this works on the runtime of the service.
struct Collector {
    client: reqwest::Client,
    runtime: Handle,
    is_away: AtomicBool,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").finish_non_exhaustive()
    }
}

impl Collector {
    async fn send(client: reqwest::Client, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let mut answer = client.execute(request.try_into()?).await.map_err(reqwest::Error::without_url)?;
        let mut told = Response::builder().status(answer.status());
        if let Some(headers) = told.headers_mut() {
            headers.clone_from(answer.headers());
        }
        Ok(told.body(read(&mut answer, LONGEST).await?.into())?)
    }

    /// Tells once that a collector is away, and once that it is back.
    fn report(&self, problem: Option<String>) {
        let was_away = self.is_away.swap(problem.is_some(), Ordering::Relaxed);
        match problem {
            Some(problem) if !was_away => {
                tracing::warn!(problem, "traces can't be sent, and are lost until they can");
            }
            None if was_away => tracing::info!("traces are sent again"),
            _ => {}
        }
    }
}

impl HttpClient for Collector {
    fn send_bytes<'c, 'f>(
        &'c self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'f>>
    where
        'c: 'f,
        Self: 'f,
    {
        let sent = self.runtime.spawn(Self::send(self.client.clone(), request));
        Box::pin(async move {
            let answer = sent.await?;
            self.report(match &answer {
                Ok(answer) if answer.status().is_success() => None,
                Ok(answer) => {
                    Some(format!("the collector answered with status {}", answer.status().as_u16()))
                }
                Err(error) => Some(chain(error.as_ref())),
            });
            answer
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_never_told() {
        let read = pairs("X", " a=b , c = d%20e,, f=").unwrap();
        assert_eq!(read, [("a", "b"), ("c", "d e"), ("f", "")].map(|(a, b)| (a.to_owned(), b.to_owned())));
        for wrong in ["hush", "=hush", "a=b,hush"] {
            let told = format!("{:#}", pairs("X", wrong).unwrap_err());
            assert!(told.starts_with("X is no list") && !told.contains("hush"), "{told}");
        }
    }

    #[tokio::test]
    async fn nothing_is_set_up_without_a_collector() {
        let of = |set: Telemetry| provider(&set, &Handle::current());
        assert!(of(Telemetry::default()).unwrap().is_none());
        let endpoint = "http://127.0.0.1:1".to_owned();
        let off = Telemetry { otlp_endpoint: endpoint.clone(), sdk_disabled: true, ..Telemetry::default() };
        assert!(of(off).unwrap().is_none());
        for (set, told) in [
            (
                Telemetry { otlp_endpoint: "collector".to_owned(), ..Telemetry::default() },
                "OTEL_EXPORTER_OTLP_ENDPOINT is no address of a web server",
            ),
            (
                Telemetry {
                    otlp_endpoint: endpoint.clone(),
                    traces_sampler: Wanted { by_parent: false, share: Share::Ratio },
                    traces_sampler_arg: "2".to_owned(),
                    ..Telemetry::default()
                },
                "OTEL_TRACES_SAMPLER_ARG: \"2\" is no number from 0 to 1",
            ),
            (
                Telemetry { otlp_endpoint: endpoint, otlp_headers: "hush".into(), ..Telemetry::default() },
                "OTEL_EXPORTER_OTLP_HEADERS is no list such as name=value,name=value",
            ),
        ] {
            assert_eq!(of(set).unwrap_err().to_string(), told);
        }
    }
}
