//! Where records and files are kept.

use std::num::NonZeroUsize;
use std::time::Duration;

use assisted_wire::secret::Secret;

use crate::topic::topic;
use crate::value::{Value, excerpt};

const MOST_CONNECTIONS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(7);

topic! {
    /// The database: PostgreSQL when a host is given, else the embedded one.
    Database {
        /// Host of PostgreSQL, or several separated by commas, of which the one that takes writes is used; empty: the embedded database.
        host: String = String::new(), "DB_HOST";
        /// Port of PostgreSQL, or one for each host.
        port: String = String::new(), "DB_PORT";
        /// User of PostgreSQL.
        user: String = String::new(), "DB_USER";
        /// Password of PostgreSQL.
        password: Secret = Secret::default(), "DB_PASS";
        /// Name of the database in PostgreSQL.
        name: String = String::new(), "DB_NAME";
        /// Most connections to PostgreSQL that are kept open without use.
        max_idle_connections: usize = 50, "DB_MAX_IDLE_CONNECTIONS";
        /// Most connections to PostgreSQL that are open at a time, besides two for check-ins and news. They are few, for more
        /// of them do no more work.
        max_open_connections: NonZeroUsize = MOST_CONNECTIONS, "DB_MAX_OPEN_CONNECTIONS";
        /// Longest life of a connection to PostgreSQL; 0: no limit.
        connections_max_lifetime: Duration = Duration::from_secs(30 * 60), "DB_CONNECTIONS_MAX_LIFETIME";
        /// Longest time that a statement in PostgreSQL may take, and that an answer of it is waited for; requests that need it are
        /// answered with status 503 then.
        statement_timeout: Duration = Duration::from_secs(10), "DB_STATEMENT_TIMEOUT";
        /// TLS to PostgreSQL: disable, prefer, require or verify-full; empty: verify-full with DB_SSL_ROOT_CERT, prefer without.
        ssl_mode: String = String::new(), "DB_SSL_MODE";
        /// File with the authorities by which PostgreSQL proves its name, PEM.
        ssl_root_cert: String = String::new(), "DB_SSL_ROOT_CERT";
        /// Whether slow statements are logged, without their values.
        log_slow_queries: bool = false, "DB_LOG_SLOW_QUERIES";
        /// From when a statement is slow, the wait for its turn included.
        slow_query_threshold: Duration = Duration::from_millis(200), "DB_SLOW_QUERY_THRESHOLD";
    }
}

topic! {
    /// Keys of secrets at rest.
    Seal {
        /// File with the keys that secrets in database and files are sealed with; empty: seal-keys in the data folder, which is made
        /// at the first start. Replicas share one.
        key_file: String = String::new(), "SEAL_KEY_FILE";
        /// Program that wraps the keys in that file and unwraps them, such as one that asks a key management service: it is started
        /// with wrap or unwrap, gets a word in the variable KEY and prints one; empty: the keys stand there as they are.
        key_program: String = String::new(), "SEAL_KEY_PROGRAM";
    }
}

topic! {
    /// Stored files.
    Storage {
        /// Where files are kept: filesystem, in the data folder, or s3; empty: s3 where S3_BUCKET is set.
        kind: StorageKind = StorageKind::Unset, "STORAGE";
        /// Address of the S3 server; empty: that of Amazon in S3_REGION.
        s3_endpoint: String = String::new(), "S3_ENDPOINT_URL";
        /// Whether an S3_ENDPOINT_URL that begins with neither http:// nor https:// is asked by TLS.
        s3_use_ssl: bool = false, "S3_USE_SSL";
        /// Region of the bucket; empty: us-east-1.
        s3_region: String = String::new(), "S3_REGION";
        /// Name of the bucket.
        s3_bucket: String = String::new(), "S3_BUCKET";
        /// Who opens the bucket.
        s3_access_key: String = String::new(), "AWS_ACCESS_KEY_ID";
        /// Secret that belongs to it.
        s3_secret_key: Secret = Secret::default(), "AWS_SECRET_ACCESS_KEY";
        /// File with authorities that the S3 server's certificate may be of, besides those of the system, PEM.
        s3_ca_file: String = String::new(), "S3_CA_FILE";
        /// Whether a bucket that is not there is made.
        create_s3_bucket: bool = false, "CREATE_S3_BUCKET";
        /// From what share of a full file system a warning is logged, looked at every ten minutes; percent.
        filesystem_usage_threshold: u32 = 80, "FILESYSTEM_USAGE_THRESHOLD";
    }
}

/// Where files are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageKind {
    /// In a bucket where one is named, else in a folder.
    Unset,
    Filesystem,
    S3,
}

impl Value for StorageKind {
    const KIND: &'static str = "filesystem or s3";

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "filesystem" => Ok(Self::Filesystem),
            "s3" => Ok(Self::S3),
            _ => Err(format!("{} is neither filesystem nor s3", excerpt(text))),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Unset => "",
            Self::Filesystem => "filesystem",
            Self::S3 => "s3",
        }
        .to_owned()
    }

    fn empty() -> Option<Self> {
        Some(Self::Unset)
    }
}
