//! CloudEvents by HTTP: one request for each message, signed.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use assisted_base::error::chain;
use assisted_base::http::{Addresses, Proxies, Trust, authorities_of_file, builder, web_url};
use assisted_wire::secret::Secret;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};
use uuid::Uuid;

use crate::cloud_event;
use crate::message::{Delivery, Failed, Message, SetupError};
use crate::signature::SigningKey;

/// How long a request may take.
const LIMIT: Duration = Duration::from_secs(20);
/// Keys of which messages are under way at the same time.
const AT_ONCE: usize = 8;
/// The longest that a receiver may want to be left alone.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

const URL: &str = "EVENTS_WEBHOOK_URL";

/// Where events go.
#[derive(Clone, Debug)]
pub struct WebhookSettings {
    pub url: String,
    /// Signs the requests.
    pub secret: Secret,
    /// Whose certificates the receiver may have, besides those that the system trusts.
    pub authorities: Option<PathBuf>,
    /// What stands for this service in events: its address.
    pub source: String,
}

/// A server that takes events.
pub struct Webhook {
    url: Url,
    source: String,
    key: SigningKey,
    client: Client,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

/// What became of one message.
enum DeliveryOutcome {
    Taken,
    Refused(String),
    Failed(Failed),
}

impl Webhook {
    /// A server that nobody has been asked for yet.
    ///
    /// # Errors
    /// When settings can't be used; a server that is away is no reason.
    pub fn new(settings: WebhookSettings) -> Result<Self, SetupError> {
        let unusable = |variable, problem: String| SetupError::Unusable { variable, problem };
        let url = web_url(&settings.url)
            .map_err(|_| unusable(URL, "it is no address of a web server".to_owned()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(unusable(
                URL,
                "a name and a password have no place in it: requests are signed".to_owned(),
            ));
        }
        if settings.secret.is_empty() {
            return Err(SetupError::Missing { variable: "EVENTS_WEBHOOK_SECRET" });
        }
        let key = SigningKey::new(settings.secret.expose()).ok_or_else(|| {
            unusable("EVENTS_WEBHOOK_SECRET", "what follows whsec_ is no Base64".to_owned())
        })?;
        let trust = match &settings.authorities {
            None => Trust::System,
            Some(path) => Trust::Also(
                authorities_of_file(path)
                    .map_err(|error| unusable("EVENTS_WEBHOOK_CA_CERT_PATH", chain(&error)))?,
            ),
        };
        // The one host that was set may be anywhere; redirects are not followed.
        let addresses = Addresses::new(&Proxies::FromEnvironment);
        addresses.allow(url.host_str().unwrap_or_default());
        let client = builder("assisted-events", trust, &Proxies::FromEnvironment)
            .and_then(|builder| builder.dns_resolver(std::sync::Arc::new(addresses)).timeout(LIMIT).build())
            .map_err(|error| unusable(URL, chain(&error)))?;
        Ok(Self { url, source: settings.source, key, client })
    }

    /// Sends messages; those of one key in their order.
    pub async fn send(&self, messages: &[Message]) -> Delivery {
        let mut keys: Vec<(Option<Uuid>, Vec<usize>)> = Vec::new();
        for (place, message) in messages.iter().enumerate() {
            match keys.iter_mut().find(|(key, _)| *key == message.key) {
                Some((_, places)) => places.push(place),
                None => keys.push((message.key, vec![place])),
            }
        }
        let (mut delivery, mut keys) = (Delivery::default(), keys.into_iter());
        let mut running: FuturesUnordered<_> =
            keys.by_ref().take(AT_ONCE).map(|(_, places)| self.send_in_order(messages, places)).collect();
        while let Some(part) = running.next().await {
            delivery.merge(part);
            // A receiver that is away is not asked once for each key.
            if delivery.failed.is_none()
                && let Some((_, places)) = keys.next()
            {
                running.push(self.send_in_order(messages, places));
            }
        }
        delivery
    }

    async fn send_in_order(&self, messages: &[Message], places: Vec<usize>) -> Delivery {
        let mut delivery = Delivery::default();
        for place in places {
            match self.post(&messages[place]).await {
                DeliveryOutcome::Taken => delivery.taken.push(place),
                DeliveryOutcome::Refused(reason) => {
                    delivery.refused.push((place, reason));
                    break;
                }
                DeliveryOutcome::Failed(failed) => {
                    delivery.failed = Some(failed);
                    break;
                }
            }
        }
        delivery
    }

    async fn post(&self, message: &Message) -> DeliveryOutcome {
        let body = match cloud_event::render(message, &self.source) {
            Ok(body) => body,
            Err(_) => return DeliveryOutcome::Refused("its payload is no JSON".to_owned()),
        };
        let (id, second) = (message.id.to_string(), Timestamp::now().as_second());
        let request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, cloud_event::CONTENT_TYPE)
            .header("webhook-id", &id)
            .header("webhook-timestamp", second.to_string())
            .header("webhook-signature", self.key.sign(&id, second, &body))
            .body(body);
        match request.send().await {
            Ok(answer) => classify(&answer),
            // Addresses may hold a secret: none is told.
            Err(error) => {
                DeliveryOutcome::Failed(Failed { reason: chain(&error.without_url()), retry_after: None })
            }
        }
    }
}

/// Only what says that this very message is wrong is held against it: all else may be mended.
fn classify(answer: &Response) -> DeliveryOutcome {
    let status = answer.status();
    if status.is_success() {
        return DeliveryOutcome::Taken;
    }
    let reason = format!("the receiver answered with status {}", status.as_u16());
    match status {
        StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY => {
            DeliveryOutcome::Refused(reason)
        }
        _ => DeliveryOutcome::Failed(Failed { reason, retry_after: retry_after(answer) }),
    }
}

fn retry_after(answer: &Response) -> Option<Duration> {
    let value = answer.headers().get(RETRY_AFTER)?.to_str().ok()?;
    let pause = match value.trim().parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            httpdate::parse_http_date(value).ok()?.duration_since(SystemTime::now()).unwrap_or_default()
        }
    };
    Some(pause.min(LONGEST_PAUSE))
}
