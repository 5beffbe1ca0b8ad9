//! The listener of a provider, from its start to its end.

use std::io;
use std::sync::Arc;

use assisted_kubeapi::admission::review;
use assisted_kubeapi::admission::{Denial, Verdict};
use assisted_kubeapi::webhook_server::listener::{self, Endpoint, Refused, WebhookHandler};
use assisted_kubeapi::webhook_server::profile::{self, ProfileError};
use assisted_kubeapi::webhook_server::rotator::CertificateRotator;
use assisted_kubeapi::webhook_server::target::Target;
use assisted_kubeapi::webhook_server::tls::{Certified, Protocols, TlsError, server_config};
use bytes::Bytes;
use http::StatusCode;
use kube::Client;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::trust::RegisteredWebhooks;
use super::{CONVERT, Rule, Webhooks, conversion};

/// How a provider's webhooks are served.
#[derive(Clone, Debug)]
pub struct Options {
    pub webhooks: &'static Webhooks,
    /// Namespace of the Secret with the certificate.
    pub namespace: String,
    /// Where an API server finds them.
    pub target: Target,
    /// What is spoken; none: what the cluster says, if it is OpenShift.
    pub protocols: Option<Protocols>,
}

/// Why webhooks end before they are told to.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error("there is no certificate: {0}")]
    Certificate(String),
    #[error("nobody can ask any more")]
    Listen(#[from] io::Error),
    #[error("a part of them broke down")]
    Broken(#[from] tokio::task::JoinError),
}

/// Answers on a listener until `stop`, and keeps the certificate and what API servers know of it.
///
/// # Errors
/// There is nothing to speak, no certificate, or nobody can ask.
pub async fn serve(
    client: Client,
    listener: TcpListener,
    options: Options,
    stop: CancellationToken,
) -> Result<(), WebhookError> {
    // What is started here ends with it, whichever way.
    let stop = stop.child_token();
    let _ended = stop.clone().drop_guard();
    let certified = Arc::new(Certified::default());
    let (tls, following) = match &options.protocols {
        Some(protocols) => {
            (watch::channel(server_config(Arc::clone(&certified), protocols)?).1, tokio::spawn(async {}))
        }
        None => {
            let followed = profile::follow(&client, Arc::clone(&certified), stop.clone()).await?;
            (followed.tls, followed.following)
        }
    };
    let handler = Arc::new(Provider(options.webhooks));
    let serving = tokio::spawn(listener::serve(listener, tls, handler, stop.clone()));
    let names = [options.namespace.as_str(), options.webhooks.name];
    let placed = RegisteredWebhooks { webhooks: options.webhooks, target: options.target };
    let rotator = CertificateRotator::of(client, names, placed, certified);
    tokio::select! {
        () = stop.cancelled() => {}
        looked = rotator.first_reconcile() => looked.map_err(WebhookError::Certificate)?,
    }
    let keeping = tokio::spawn(rotator.run(stop.clone()));
    let served = serving.await?;
    stop.cancel();
    keeping.await?;
    following.await?;
    Ok(served?)
}

/// The webhooks of a provider.
struct Provider(&'static Webhooks);

impl Provider {
    fn rule(&self, path: &str) -> Option<&'static Rule> {
        self.0.rules.iter().find(|rule| rule.path == path)
    }
}

impl WebhookHandler for Provider {
    /// Whoever lists objects in another version has all that it is given at a time converted at once.
    const MOST_BYTES: usize = 64 * 1024 * 1024;

    const MOST_AT_A_TIME: usize = 4;

    fn endpoint(&self, path: &str) -> Endpoint {
        if path == CONVERT || self.rule(path).is_some() {
            return Endpoint::Webhook;
        }
        Endpoint::Nothing("there is no such webhook")
    }

    async fn answer(&self, path: &str, body: Bytes) -> Result<Value, Refused> {
        let rule = self.rule(path);
        // Not among those that serve connections: many objects take a while.
        let answered = tokio::task::spawn_blocking(move || match rule {
            Some(rule) => judged(rule, &body),
            None => conversion::answer(&body),
        });
        match answered.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(Refused::new(StatusCode::BAD_REQUEST, error)),
            Err(error) => {
                tracing::error!(%error, path, "a review can't be answered");
                Err(Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "the review can't be answered"))
            }
        }
    }
}

fn judged(rule: &Rule, body: &[u8]) -> Result<Value, String> {
    let request = review::read(body).map_err(|error| error.to_string())?;
    // Its status is its provider's.
    let verdict = if request.sub_resource.is_empty() {
        (rule.judge)(&request).unwrap_or_else(|error| Denial::bad_request(error).into())
    } else {
        Verdict::Allowed
    };
    if let Verdict::Denied(denial) = &verdict {
        tracing::info!(
            webhook = rule.name,
            namespace = request.namespace,
            name = request.name,
            reason = denial.message,
            "denied"
        );
    }
    Ok(review::answer(&request.uid, &verdict))
}
