//! Where records and files are kept.

use std::time::Duration;

use assisted_wire::secret::Secret;

use super::topic::topic;
use super::value::choice;

topic! {
    /// The database: PostgreSQL when a host is given, else the embedded one.
    Database {
        /// Host of PostgreSQL; empty: the embedded database.
        host: String = String::new(), "DB_HOST";
        /// Port of PostgreSQL.
        port: String = String::new(), "DB_PORT";
        /// User of PostgreSQL.
        user: String = String::new(), "DB_USER";
        /// Password of PostgreSQL.
        password: Secret = Secret::default(), "DB_PASS";
        /// Name of the database in PostgreSQL.
        name: String = String::new(), "DB_NAME";
        /// Most connections kept open without use.
        max_idle_connections: usize = 50, "DB_MAX_IDLE_CONNECTIONS";
        /// Most connections open at a time.
        max_open_connections: usize = 90, "DB_MAX_OPEN_CONNECTIONS";
        /// Longest life of a connection.
        connections_max_lifetime: Duration = Duration::from_secs(30 * 60), "DB_CONNECTIONS_MAX_LIFETIME";
        /// Whether slow statements are logged.
        log_slow_queries: bool = false, "DB_LOG_SLOW_QUERIES";
        /// From when a statement is slow.
        slow_query_threshold: Duration = Duration::from_millis(200), "DB_SLOW_QUERY_THRESHOLD";
    }
}

/// Where files are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StorageKind {
    /// In a directory.
    #[default]
    Filesystem,
    /// In a bucket of an S3-compatible service.
    S3,
}

choice! {
    StorageKind, "filesystem or s3",
    "filesystem" => Self::Filesystem,
    "s3" => Self::S3,
}

topic! {
    /// Stored files.
    Storage {
        /// Where files are kept.
        kind: StorageKind = StorageKind::Filesystem, "STORAGE";
        /// Address of the S3-compatible service.
        s3_endpoint_url: String = String::new(), "S3_ENDPOINT_URL";
        /// Its region.
        s3_region: String = String::new(), "S3_REGION";
        /// Its bucket.
        s3_bucket: String = String::new(), "S3_BUCKET";
        /// Its access key.
        aws_access_key_id: String = String::new(), "AWS_ACCESS_KEY_ID";
        /// Its secret key.
        aws_secret_access_key: Secret = Secret::default(), "AWS_SECRET_ACCESS_KEY";
        /// Whether an endpoint without a scheme is spoken to over TLS.
        s3_use_ssl: bool = false, "S3_USE_SSL";
        /// Whether the bucket is created at start.
        create_s3_bucket: bool = false, "CREATE_S3_BUCKET";
        /// From what share of a full file system a warning is logged; percent.
        filesystem_usage_threshold: u32 = 80, "FILESYSTEM_USAGE_THRESHOLD";
        /// Whether metadata may stand in files of their own where extended attributes are missing.
        enable_xattr_fallback: bool = true, "ENABLE_XATTR_FALLBACK";
    }
}
