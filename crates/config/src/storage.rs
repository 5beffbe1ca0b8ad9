//! Where records and files are kept.

use std::num::NonZeroUsize;
use std::time::Duration;

use assisted_wire::secret::Secret;

use crate::topic::topic;

const MOST_CONNECTIONS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(7);

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
        /// From what share of a full file system a warning is logged, looked at every ten minutes; percent.
        filesystem_usage_threshold: u32 = 80, "FILESYSTEM_USAGE_THRESHOLD";
    }
}
