//! What leaves the service by itself: events and states for others, what is told about clusters to who supports them, traces. All
//! of it is off unless it is set.

use std::time::Duration;

use assisted_wire::secret::Secret;

use crate::size::Size;
use crate::topic::topic;
use crate::value::choice;

/// How the service logs in at a broker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KafkaMechanism {
    #[default]
    Plain,
    /// SCRAM-SHA-512.
    Scram,
}

choice!(KafkaMechanism, "PLAIN or SCRAM", "PLAIN" => Self::Plain, "SCRAM" => Self::Scram);

topic! {
    /// Events and states for others.
    Stream {
        /// Whether events and states are written to Kafka; its brokers and topic must be set then.
        enable_event_streaming: bool = false, "ENABLE_EVENT_STREAMING";
        /// Brokers that are asked first, such as broker:9092.
        kafka_bootstrap_server: Vec<String> = Vec::new(), "KAFKA_BOOTSTRAP_SERVER";
        /// The topic; it must exist.
        kafka_topic: String = String::new(), "KAFKA_EVENT_STREAM_TOPIC";
        /// Name by which the service logs in; with its secret it means TLS.
        kafka_client_id: String = String::new(), "KAFKA_CLIENT_ID";
        /// Its secret.
        kafka_client_secret: Secret = Secret::default(), "KAFKA_CLIENT_SECRET";
        /// How it logs in; SCRAM is SCRAM-SHA-512.
        kafka_sasl_mechanism: KafkaMechanism = KafkaMechanism::Plain, "KAFKA_SASL_MECHANISM";
        /// File with the CAs of the brokers' certificates, PEM; empty: those of the system.
        kafka_ca_cert_path: String = String::new(), "KAFKA_CA_CERT_PATH";
        /// Server that events and states are sent to as CloudEvents, over HTTP; empty: none.
        webhook_url: String = String::new(), "EVENTS_WEBHOOK_URL";
        /// Key by which these requests are signed; after whsec_ it is Base64.
        webhook_secret: Secret = Secret::default(), "EVENTS_WEBHOOK_SECRET";
        /// What is sent there: Event, ClusterState, HostState, InfraEnv.
        webhook_kinds: Vec<String> = vec!["Event".to_owned(), "ClusterState".to_owned()], "EVENTS_WEBHOOK_KINDS";
        /// File with CAs of that server's certificate, PEM, besides those of the system.
        webhook_ca_cert_path: String = String::new(), "EVENTS_WEBHOOK_CA_CERT_PATH";
        /// Most messages that wait for each of the two; the oldest give way.
        outbox_max_messages: u64 = 100_000, "EVENTS_OUTBOX_MAX_MESSAGES";
        /// Most bytes of them.
        outbox_max_bytes: Size = Size(1 << 30), "EVENTS_OUTBOX_MAX_BYTES";
        /// After how long a message is too old to be sent.
        outbox_max_age: Duration = Duration::from_secs(72 * 3600), "EVENTS_OUTBOX_MAX_AGE";
    }
}
