//! Where records and files are.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assisted_blob::Blob;
use assisted_config::Settings;
use assisted_store::{Options, Store, Tls};
use clap::Args;

use super::secrets::Secrets;
use super::{files, lock};

// Folder and database, as flags say. A doc comment would become the description of the command.
#[derive(Args, Debug)]
pub(crate) struct StorageArgs {
    /// Folder of database and files [default: WORK_DIR, else assisted in the user's data folder]
    #[arg(long, env = "ASSISTED_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Database: sqlite:PATH or postgres://… [default: DB_HOST and its kin, else SQLite in the data folder]
    #[arg(long, env = "ASSISTED_DATABASE", hide_env_values = true, value_name = "URL")]
    database: Option<String>,
}

/// Database and files of a service, held by this process alone where the database is a file.
pub(crate) struct Opened {
    pub(crate) store: Store,
    /// Sealed with the keys of `secrets`.
    pub(crate) blob: Blob,
    pub(crate) secrets: Secrets,
    /// Held until it is dropped.
    pub(crate) lock: Option<File>,
}

impl StorageArgs {
    /// Opens database and files, and seals what is not sealed yet.
    pub(crate) async fn open(&self, settings: &Settings, data_dir: &Path) -> Result<Opened> {
        let lock = if self.is_embedded(settings, data_dir) { Some(lock::hold(data_dir)?) } else { None };
        let store = self.store(settings, data_dir).await?;
        let blob = files::open(&settings.storage, data_dir).await?;
        let secrets = Secrets::open(&settings.seal, data_dir, &store).await?;
        let blob = blob.sealed(secrets.keys.clone());
        secrets.seal(&store, &blob).await?;
        Ok(Opened { store, blob, secrets, lock })
    }

    /// Whether the database is a file of this machine.
    pub(crate) fn is_embedded(&self, settings: &Settings, data_dir: &Path) -> bool {
        !self.database(settings, data_dir).starts_with("postgres")
    }

    /// Opens the database.
    pub(crate) async fn store(&self, settings: &Settings, data_dir: &Path) -> Result<Store> {
        let database = self.database(settings, data_dir);
        Store::open_with(&database, &options(settings)).await.with_context(|| {
            format!(
                "the database {} can't be used; choose another with --database",
                without_secrets(&database)
            )
        })
    }

    /// The folder that is chosen.
    pub(crate) fn data_dir(&self, work_dir: &str) -> Result<PathBuf> {
        if let Some(dir) = &self.data_dir {
            return Ok(dir.clone());
        }
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Some(PathBuf::from(work_dir))
            .filter(|dir| !dir.as_os_str().is_empty())
            .or_else(|| set("XDG_DATA_HOME").map(|dir| dir.join("assisted")))
            .or_else(|| set("HOME").map(|dir| dir.join(".local/share/assisted")))
            .context("there is no home folder to keep data in; choose one with --data-dir")
    }

    /// The address of the database that is chosen.
    pub(crate) fn database(&self, settings: &Settings, data_dir: &Path) -> String {
        if let Some(address) = &self.database {
            return address.clone();
        }
        let database = &settings.database;
        if database.host.is_empty() {
            return format!("sqlite:{}", data_dir.join("assisted.db").display());
        }
        format!(
            "postgres://{}:{}@{}/{}",
            escape(&database.user),
            escape(database.password.expose()),
            servers(&database.host, &database.port),
            escape(&database.name)
        )
    }
}

/// Hosts with their ports: a list of ports has one for each host, else one is for all.
fn servers(hosts: &str, ports: &str) -> String {
    let ports: Vec<_> = ports.split(',').map(str::trim).filter(|port| !port.is_empty()).collect();
    let port = |at: usize| ports.get(at).or(ports.last()).copied().unwrap_or("5432");
    let hosts = hosts.split(',').map(str::trim).filter(|host| !host.is_empty());
    let servers = hosts.enumerate().map(|(at, host)| format!("{host}:{}", port(at)));
    servers.collect::<Vec<_>>().join(",")
}

/// How the database is used.
pub(crate) fn options(settings: &Settings) -> Options {
    let database = &settings.database;
    Options {
        connections: database.max_open_connections,
        idle: database.max_idle_connections,
        lifetime: database.connections_max_lifetime,
        statement_limit: database.statement_timeout,
        tls: Tls {
            mode: database.ssl_mode.clone(),
            authorities: Some(PathBuf::from(&database.ssl_root_cert))
                .filter(|path| !path.as_os_str().is_empty()),
        },
        slow: database.log_slow_queries.then_some(database.slow_query_threshold),
        replica: settings.http.pod_name.clone(),
    }
}

/// The address of a database without user, password and options.
fn without_secrets(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let rest = rest.split('?').next().unwrap_or_default();
    let rest = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    format!("{scheme}://{rest}")
}

fn escape(text: &str) -> percent_encoding::PercentEncode<'_> {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_database_is_used_as_the_environment_says() {
        let set = |name: &str| {
            let value = match name {
                "DB_MAX_OPEN_CONNECTIONS" => "3",
                "DB_MAX_IDLE_CONNECTIONS" => "2",
                "DB_CONNECTIONS_MAX_LIFETIME" => "90s",
                "DB_LOG_SLOW_QUERIES" => "true",
                "DB_SLOW_QUERY_THRESHOLD" => "2s",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let used = options(&Settings::from_env(&set).unwrap());
        assert_eq!((used.connections.get(), used.idle), (3, 2));
        assert_eq!((used.lifetime, used.slow), (Duration::from_secs(90), Some(Duration::from_secs(2))));
        let unset = options(&Settings::from_env(&|_| None).unwrap());
        assert_eq!((unset.connections.get(), unset.idle, unset.slow), (8, 50, None));
    }

    #[test]
    fn each_server_has_its_port() {
        for (hosts, ports, servers_of) in [
            ("db", "", "db:5432"),
            ("db", "6432", "db:6432"),
            ("one,two", "5433", "one:5433,two:5433"),
            ("one, two", "5433,5434", "one:5433,two:5434"),
        ] {
            assert_eq!(servers(hosts, ports), servers_of);
        }
    }

    #[test]
    fn addresses_of_databases_are_told_without_secrets() {
        for (address, told) in [
            ("sqlite:/data/assisted.db", "sqlite:/data/assisted.db"),
            ("postgres://user:a@b@db.example.com:5432/x?password=c", "postgres://db.example.com:5432/x"),
            ("postgres:///x?host=/run&password=c", "postgres:///x"),
        ] {
            assert_eq!(without_secrets(address), told);
        }
    }
}
