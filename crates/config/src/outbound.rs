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

topic! {
    /// What is told about clusters to who supports them.
    Upload {
        /// Whether clusters, hosts and events are sent to DATA_UPLOAD_ENDPOINT once an installation has ended.
        enable_data_collection: bool = false, "ENABLE_DATA_COLLECTION";
        /// Where it goes.
        data_upload_endpoint: String = "https://console.redhat.com/api/ingress/v1/upload".to_owned(), "DATA_UPLOAD_ENDPOINT";
        /// What kind of deployment this is, for who receives it.
        deployment_type: String = String::new(), "DEPLOYMENT_TYPE";
        /// Version of the deployment, for who receives it.
        deployment_version: String = String::new(), "DEPLOYMENT_VERSION";
        /// How often clusters are looked for that are to be sent.
        cluster_events_uploader_interval: Duration = Duration::from_secs(15 * 60), "CLUSTER_EVENTS_UPLOADER_INTERVAL";
    }
}

topic! {
    /// Traces.
    Telemetry {
        /// Collector that traces are sent to by OTLP over HTTP, such as http://collector:4318; empty: none.
        otlp_endpoint: String = String::new(), "OTEL_EXPORTER_OTLP_ENDPOINT";
        /// The same with its path, for traces alone; it wins.
        otlp_traces_endpoint: String = String::new(), "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
        /// Headers of these requests: name=value, with commas between them.
        otlp_headers: Secret = Secret::default(), "OTEL_EXPORTER_OTLP_HEADERS";
        /// How long such a request may take, in milliseconds.
        otlp_timeout: u64 = 10_000, "OTEL_EXPORTER_OTLP_TIMEOUT";
        /// Protocol: http/protobuf.
        otlp_protocol: OtlpProtocol = OtlpProtocol, "OTEL_EXPORTER_OTLP_PROTOCOL";
        /// File with CAs of the collector's certificate, PEM, besides those of the system.
        otlp_certificate: String = String::new(), "OTEL_EXPORTER_OTLP_CERTIFICATE";
        /// Name of this service in traces.
        service_name: String = "assisted-service".to_owned(), "OTEL_SERVICE_NAME";
        /// What else is known of it: name=value, with commas between them.
        resource_attributes: String = String::new(), "OTEL_RESOURCE_ATTRIBUTES";
        /// Which traces are sent: always_on, always_off, traceidratio, or those after parentbased_.
        traces_sampler: Sampler = Sampler { by_parent: true, share: Share::All }, "OTEL_TRACES_SAMPLER";
        /// Share of the traces that traceidratio sends, from 0 to 1.
        traces_sampler_arg: String = String::new(), "OTEL_TRACES_SAMPLER_ARG";
        /// Whether nothing is sent, whatever else is set.
        sdk_disabled: bool = false, "OTEL_SDK_DISABLED";
    }
}

/// The one way in which traces are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtlpProtocol;

choice!(OtlpProtocol, "http/protobuf", "http/protobuf" => Self);

/// Which traces are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampler {
    /// Whoever asks decides, if they say so.
    pub by_parent: bool,
    pub share: Share,
}

/// The share of traces that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    All,
    None,
    /// That which OTEL_TRACES_SAMPLER_ARG says.
    Ratio,
}

choice!(
    Sampler, "always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off or parentbased_traceidratio",
    "always_on" => Self { by_parent: false, share: Share::All },
    "always_off" => Self { by_parent: false, share: Share::None },
    "traceidratio" => Self { by_parent: false, share: Share::Ratio },
    "parentbased_always_on" => Self { by_parent: true, share: Share::All },
    "parentbased_always_off" => Self { by_parent: true, share: Share::None },
    "parentbased_traceidratio" => Self { by_parent: true, share: Share::Ratio },
);
