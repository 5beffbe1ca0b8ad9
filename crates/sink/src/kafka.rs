//! Kafka: each message in the partition of its key, in the shape that consumers of the topic know (running §3).
//!
//! A message counts as taken once all replicas in sync have it. A connection that fails is dropped, and the next delivery
//! begins a new one. The header `id` is the message's, so that one that was sent twice is known.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assisted_base::error::chain;
use assisted_wire::secret::Secret;
use futures::future::join_all;
use jiff::Timestamp;
use rskafka::BackoffConfig;
use rskafka::chrono::{DateTime, Utc};
use rskafka::client::error::{Error, ProtocolError};
use rskafka::client::partition::{Compression, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder, Credentials, SaslConfig};
use rskafka::record::Record;
use rustls::ClientConfig;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::message::{Delivery, Message, SetupError};
use crate::{partition, tls};

/// The longest value of a message; brokers take no more unless they are told to.
const LONGEST: usize = 1 << 20;
/// Values that are sent together to one partition, in bytes.
const TOGETHER: usize = 512 << 10;
/// How long a delivery may take.
const LIMIT: Duration = Duration::from_secs(30);
/// How long the client tries by itself before it says that it can't: whoever has the messages tries again.
const OWN_TRIES: Duration = Duration::from_secs(2);
/// How long it is believed how many partitions there are.
const FRESH: Duration = Duration::from_secs(300);

/// How a name and a secret are shown to a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    Plain,
    /// SCRAM-SHA-512.
    Scram,
}

/// Who logs in; it is never done without TLS.
#[derive(Clone, Debug)]
pub struct KafkaLogin {
    pub name: String,
    pub secret: Secret,
    pub mechanism: Mechanism,
    /// Whose certificates brokers may have; `None`: what the system trusts.
    pub authorities: Option<PathBuf>,
}

/// Where messages go.
#[derive(Clone, Debug)]
pub struct KafkaSettings {
    /// `HOST:PORT` of brokers that are asked first.
    pub brokers: Vec<String>,
    /// It must exist.
    pub topic: String,
    /// `None`: nobody logs in, and there is no TLS.
    pub login: Option<KafkaLogin>,
    /// What each message says of the service that sent it, JSON.
    pub metadata: String,
}

/// A topic of Kafka.
pub struct Kafka {
    settings: KafkaSettings,
    metadata: Box<RawValue>,
    tls: Option<Arc<ClientConfig>>,
    connection: Mutex<Option<Connection>>,
}

struct Connection {
    client: Client,
    partitions: Vec<i32>,
    opened: BTreeMap<i32, Arc<PartitionClient>>,
    since: Instant,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Value<'a> {
    name: &'a str,
    payload: &'a RawValue,
    metadata: &'a RawValue,
}

impl std::fmt::Debug for Kafka {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kafka").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Kafka {
    /// A topic that nobody has been asked for yet.
    ///
    /// # Errors
    /// When settings can't be used; a broker that is away is no reason.
    pub fn new(settings: KafkaSettings) -> Result<Self, SetupError> {
        if settings.brokers.is_empty() {
            return Err(SetupError::Missing { variable: "KAFKA_BOOTSTRAP_SERVER" });
        }
        if settings.topic.is_empty() {
            return Err(SetupError::Missing { variable: "KAFKA_EVENT_STREAM_TOPIC" });
        }
        for broker in &settings.brokers {
            let named = broker
                .rsplit_once(':')
                .filter(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
            if named.is_none() {
                let problem = format!("{broker:?} is no address such as broker:9092");
                return Err(SetupError::Unusable { variable: "KAFKA_BOOTSTRAP_SERVER", problem });
            }
        }
        let authorities =
            |login: &KafkaLogin| tls::client("KAFKA_CA_CERT_PATH", login.authorities.as_deref());
        let tls = settings.login.as_ref().map(authorities).transpose()?;
        let metadata = RawValue::from_string(settings.metadata.clone())
            .map_err(|error| SetupError::Unusable { variable: "RELEASE_TAG", problem: error.to_string() })?;
        Ok(Self { settings, metadata, tls, connection: Mutex::default() })
    }

    /// Sends messages; those of one partition in their order.
    pub async fn send(&self, messages: &[Message]) -> Delivery {
        let mut connection = self.connection.lock().await;
        match timeout(LIMIT, self.deliver(&mut connection, messages)).await {
            Ok(delivery) => {
                if delivery.failed.is_some() {
                    *connection = None;
                }
                delivery
            }
            // What was taken meanwhile is sent again, under the same ids.
            Err(_) => {
                *connection = None;
                Delivery::failed(format!("no broker has taken the messages within {} s", LIMIT.as_secs()))
            }
        }
    }

    async fn deliver(&self, slot: &mut Option<Connection>, messages: &[Message]) -> Delivery {
        if slot.as_ref().is_none_or(|connection| connection.since.elapsed() > FRESH) {
            *slot = match self.connect().await {
                Ok(connection) => Some(connection),
                Err(reason) => return Delivery::failed(reason),
            };
        }
        let Some(connection) = slot else { return Delivery::default() };
        let mut by_partition: BTreeMap<i32, Vec<(usize, Record)>> = BTreeMap::new();
        let mut delivery = Delivery::default();
        for (place, message) in messages.iter().enumerate() {
            let key = message.key.map(|key| key.to_string()).unwrap_or_default();
            let chosen = partition::of_key(key.as_bytes(), connection.partitions.len());
            let Some(number) = connection.partitions.get(chosen).copied() else { continue };
            match self.record(message, key) {
                Ok(record) => by_partition.entry(number).or_default().push((place, record)),
                Err(reason) => delivery.refused.push((place, reason)),
            }
        }
        for number in by_partition.keys() {
            if !connection.opened.contains_key(number) {
                let opened = connection.client.partition_client(
                    &self.settings.topic,
                    *number,
                    UnknownTopicHandling::Error,
                );
                match opened.await {
                    Ok(client) => drop(connection.opened.insert(*number, Arc::new(client))),
                    Err(error) => return Delivery::failed(format!("partition {number}: {}", chain(&error))),
                }
            }
        }
        let sent = by_partition.into_iter().filter_map(|(number, records)| {
            let client = Arc::clone(connection.opened.get(&number)?);
            Some(async move { produce(&client, records).await })
        });
        for part in join_all(sent).await {
            delivery.merge(part);
        }
        delivery
    }

    async fn connect(&self) -> Result<Connection, String> {
        let backoff = BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(1),
            base: 2.0,
            deadline: Some(OWN_TRIES),
        };
        let mut builder = ClientBuilder::new(self.settings.brokers.clone())
            .client_id("assisted")
            .max_message_size(16 << 20)
            .backoff_config(backoff);
        if let (Some(tls), Some(login)) = (&self.tls, &self.settings.login) {
            let credentials = Credentials::new(login.name.clone(), login.secret.expose().to_owned());
            builder = builder.tls_config(Arc::clone(tls)).sasl_config(match login.mechanism {
                Mechanism::Plain => SaslConfig::Plain(credentials),
                Mechanism::Scram => SaslConfig::ScramSha512(credentials),
            });
        }
        let client =
            builder.build().await.map_err(|error| format!("no broker answers: {}", chain(&error)))?;
        let topics = client
            .list_topics()
            .await
            .map_err(|error| format!("topics can't be listed: {}", chain(&error)))?;
        let topic = &self.settings.topic;
        let found = topics.into_iter().find(|known| known.name == *topic);
        let partitions: Vec<i32> =
            found.map(|found| found.partitions.into_iter().collect()).unwrap_or_default();
        if partitions.is_empty() {
            return Err(format!("there is no topic {topic}: create it"));
        }
        Ok(Connection { client, partitions, opened: BTreeMap::new(), since: Instant::now() })
    }

    fn record(&self, message: &Message, key: String) -> Result<Record, String> {
        let payload: &RawValue =
            serde_json::from_str(&message.body).map_err(|_| "its payload is no JSON".to_owned())?;
        let value = Value { name: &message.kind, payload, metadata: &self.metadata };
        let value = serde_json::to_vec(&value).map_err(|error| error.to_string())?;
        if value.len() > LONGEST {
            return Err(format!("it has {} bytes, which is more than {LONGEST}", value.len()));
        }
        Ok(Record {
            // Messages without a cluster have an empty key, not none: they share a partition.
            key: Some(key.into_bytes()),
            value: Some(value),
            headers: BTreeMap::from([("id".to_owned(), message.id.to_string().into_bytes())]),
            timestamp: time(message.at),
        })
    }
}

fn time(at: Timestamp) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(at.as_millisecond()).unwrap_or_default()
}

/// Sends what is for one partition, in order, until something is not taken.
async fn produce(client: &PartitionClient, records: Vec<(usize, Record)>) -> Delivery {
    let mut delivery = Delivery::default();
    let mut rest = &records[..];
    let mut alone = false;
    while !rest.is_empty() {
        let (part, after) = rest.split_at(if alone { 1 } else { together(rest) });
        let records = part.iter().map(|(_, record)| record.clone()).collect();
        match client.produce(records, Compression::Gzip).await {
            Ok(_) => {
                delivery.taken.extend(part.iter().map(|(place, _)| *place));
                rest = after;
            }
            Err(error) if is_refusal(&error) && part.len() > 1 => alone = true,
            Err(error) if is_refusal(&error) => {
                delivery.refused.extend(part.iter().map(|(place, _)| (*place, chain(&error))));
                return delivery;
            }
            Err(error) => {
                delivery.merge(Delivery::failed(chain(&error)));
                return delivery;
            }
        }
    }
    delivery
}

/// How many of the first records go together.
fn together(records: &[(usize, Record)]) -> usize {
    let mut bytes = 0;
    let fit = records.iter().take_while(|(_, record)| {
        bytes += record.approximate_size();
        bytes <= TOGETHER
    });
    fit.count().max(1)
}

/// Whether a broker will never take what it was given.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error,
        Error::ServerError {
            protocol_error: ProtocolError::MessageTooLarge
                | ProtocolError::RecordListTooLarge
                | ProtocolError::InvalidRecord
                | ProtocolError::InvalidTimestamp,
            ..
        }
    )
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn settings() -> KafkaSettings {
        KafkaSettings {
            brokers: vec!["127.0.0.1:9092".to_owned()],
            topic: "events-stream".to_owned(),
            login: None,
            metadata: r#"{"versions":{"versions":{"discovery-agent":"1"}}}"#.to_owned(),
        }
    }

    #[test]
    fn settings_that_cannot_be_used_are_refused() {
        let refused = |settings| Kafka::new(settings).unwrap_err().to_string();
        assert_eq!(
            refused(KafkaSettings { brokers: Vec::new(), ..settings() }),
            "KAFKA_BOOTSTRAP_SERVER must be set"
        );
        assert_eq!(
            refused(KafkaSettings { topic: String::new(), ..settings() }),
            "KAFKA_EVENT_STREAM_TOPIC must be set"
        );
        for broker in ["broker", ":9092", "broker:x", "broker:99999"] {
            let told = refused(KafkaSettings { brokers: vec![broker.to_owned()], ..settings() });
            assert_eq!(told, format!("KAFKA_BOOTSTRAP_SERVER: {broker:?} is no address such as broker:9092"));
        }
        let login = KafkaLogin {
            name: "n".to_owned(),
            secret: "hush".into(),
            mechanism: Mechanism::Scram,
            authorities: Some("/nowhere".into()),
        };
        let told = refused(KafkaSettings { login: Some(login), ..settings() });
        assert!(told.starts_with("KAFKA_CA_CERT_PATH: /nowhere: "), "{told}");
    }

    #[test]
    fn a_message_has_the_shape_that_consumers_know() {
        let kafka = Kafka::new(settings()).unwrap();
        let message = Message {
            id: Uuid::from_u128(7),
            kind: "Event".to_owned(),
            key: None,
            at: Timestamp::from_millisecond(1_700_000_000_123).unwrap(),
            body: r#"{"message":"hello"}"#.to_owned(),
        };
        let record = kafka.record(&message, String::new()).unwrap();
        let value = String::from_utf8(record.value.unwrap()).unwrap();
        assert_eq!(
            value,
            r#"{"Name":"Event","Payload":{"message":"hello"},"Metadata":{"versions":{"versions":{"discovery-agent":"1"}}}}"#
        );
        assert_eq!((record.key, record.timestamp.timestamp_millis()), (Some(Vec::new()), 1_700_000_000_123));
        assert_eq!(record.headers["id"], message.id.to_string().into_bytes());
        let long = Message { body: format!("\"{}\"", "x".repeat(LONGEST)), ..message };
        assert!(kafka.record(&long, String::new()).unwrap_err().ends_with("which is more than 1048576"));
    }
}
