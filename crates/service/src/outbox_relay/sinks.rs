//! The sinks that are set, and what is wanted for each.

use assisted_config::{KafkaMechanism, Settings};
use assisted_core::catalogue::release::component_versions;
use assisted_core::policy::Policy;
use assisted_sink::{
    Delivery, Kafka, KafkaLogin, KafkaSettings, Mechanism, Message, SetupError, Webhook, WebhookSettings,
};
use assisted_store::Sink;
use serde_json::json;

use crate::stream::{Kind, Stream};

/// Where messages go; each may be missing.
#[derive(Debug, Default)]
pub(crate) struct Sinks {
    kafka: Option<Kafka>,
    webhook: Option<(Webhook, Vec<Kind>)>,
}

impl Sinks {
    /// Those that are set.
    ///
    /// # Errors
    ///
    /// What of it can't be used.
    pub(crate) fn new(settings: &Settings, policy: &Policy) -> Result<Self, SetupError> {
        Ok(Self { kafka: kafka(settings, policy)?, webhook: webhook(settings)? })
    }

    /// Who wants to know what.
    pub(crate) fn stream(&self) -> Stream {
        let kafka = self.kafka.as_ref().map(|_| (Sink::Kafka, Kind::ALL.to_vec()));
        let webhook = self.webhook.as_ref().map(|(_, kinds)| (Sink::Webhook, kinds.clone()));
        Stream::new(kafka.into_iter().chain(webhook).collect())
    }

    /// Whether there is one.
    pub(crate) fn has(&self, sink: Sink) -> bool {
        match sink {
            Sink::Kafka => self.kafka.is_some(),
            Sink::Webhook => self.webhook.is_some(),
        }
    }

    /// Sends messages; nothing becomes of them without a sink.
    pub(crate) async fn send(&self, sink: Sink, messages: &[Message]) -> Delivery {
        match (sink, &self.kafka, &self.webhook) {
            (Sink::Kafka, Some(kafka), _) => kafka.send(messages).await,
            (Sink::Webhook, _, Some((webhook, _))) => webhook.send(messages).await,
            _ => Delivery::default(),
        }
    }
}

fn kafka(settings: &Settings, policy: &Policy) -> Result<Option<Kafka>, SetupError> {
    let set = &settings.stream;
    if !set.enable_event_streaming {
        return Ok(None);
    }
    let login = match (set.kafka_client_id.is_empty(), set.kafka_client_secret.is_empty()) {
        (true, true) => None,
        // Half a login would mean no login and no TLS, which can't be meant.
        (false, true) => return Err(SetupError::Missing { variable: "KAFKA_CLIENT_SECRET" }),
        (true, false) => return Err(SetupError::Missing { variable: "KAFKA_CLIENT_ID" }),
        (false, false) => Some(KafkaLogin {
            name: set.kafka_client_id.clone(),
            secret: set.kafka_client_secret.clone(),
            mechanism: match set.kafka_sasl_mechanism {
                KafkaMechanism::Plain => Mechanism::Plain,
                KafkaMechanism::Scram => Mechanism::Scram,
            },
            authorities: (!set.kafka_ca_cert_path.is_empty()).then(|| set.kafka_ca_cert_path.clone().into()),
        }),
    };
    let metadata = json!({"versions": component_versions(policy)}).to_string();
    let kafka = KafkaSettings {
        brokers: set.kafka_bootstrap_server.clone(),
        topic: set.kafka_topic.clone(),
        login,
        metadata,
    };
    Kafka::new(kafka).map(Some)
}

fn webhook(settings: &Settings) -> Result<Option<(Webhook, Vec<Kind>)>, SetupError> {
    let set = &settings.stream;
    if set.webhook_url.is_empty() {
        return Ok(None);
    }
    let kinds = set.webhook_kinds.iter().map(|name| {
        name.parse().map_err(|()| SetupError::Unusable {
            variable: "EVENTS_WEBHOOK_KINDS",
            problem: format!("{name:?} is none of {}", Kind::ALL.map(Kind::name).join(", ")),
        })
    });
    let kinds = kinds.collect::<Result<Vec<Kind>, _>>()?;
    let source = match settings.http.service_base_url.trim_end_matches('/') {
        "" => "assisted",
        url => url,
    };
    let webhook = Webhook::new(WebhookSettings {
        url: set.webhook_url.clone(),
        secret: set.webhook_secret.clone(),
        authorities: (!set.webhook_ca_cert_path.is_empty()).then(|| set.webhook_ca_cert_path.clone().into()),
        source: source.to_owned(),
    })?;
    Ok(Some((webhook, kinds)))
}
