//! What the controller is told by its Job: environment variables and a file with the token (installer-and-controller §B1).

use std::io::ErrorKind;
use std::path::PathBuf;
use std::str::FromStr;

use assisted_wire::id::ClusterId;
use assisted_wire::secret::Secret;

use crate::intervals::Intervals;

/// Why the controller can't start.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{0} is not set: the Job of the controller sets it")]
    Missing(&'static str),
    #[error("{name}={value:?} can't be used: {reason}")]
    Value { name: &'static str, value: String, reason: String },
    #[error("the token in {} can't be read: {source}", path.display())]
    Token { path: PathBuf, source: std::io::Error },
}

/// Files and programs that the Job's pod brings.
#[derive(Clone, Debug)]
pub struct Paths {
    /// Secret for the service.
    pub token: PathBuf,
    /// Credentials on a single node, whose API is its own.
    pub bootstrap_kubeconfig: PathBuf,
    /// What the controller logs, for the service.
    pub log: PathBuf,
    /// Where the cluster's own logs are gathered.
    pub must_gather: PathBuf,
    /// Settings of name resolution, told in the log when something went wrong.
    pub resolvers: Vec<PathBuf>,
    /// The command-line client of OpenShift.
    pub oc: PathBuf,
}

impl Default for Paths {
    fn default() -> Self {
        Self {
            token: "/etc/assisted-installer-controller/token".into(),
            bootstrap_kubeconfig: "/tmp/bootstrap-secrets/kubeconfig".into(),
            log: "/tmp/controller_logs.log".into(),
            must_gather: "/tmp/must-gather-logs".into(),
            resolvers: vec![
                "/etc/resolv.conf".into(),
                "/tmp/var-run-resolv.conf".into(),
                "/tmp/host-resolv.conf".into(),
            ],
            oc: "oc".into(),
        }
    }
}

/// What the controller is to do, and where.
#[derive(Clone, Debug)]
pub struct Config {
    pub cluster_id: ClusterId,
    /// Address of the service.
    pub service_url: String,
    pub skip_cert_verification: bool,
    /// Certificates (PEM) trusted besides the system's.
    pub ca_file: Option<PathBuf>,
    /// The controller's own namespace.
    pub namespace: String,
    pub openshift_version: String,
    pub control_plane_count: u32,
    /// Whether the cluster's version operator has to be available too.
    pub check_cluster_version: bool,
    /// Image, or images by operator as JSON, that gather the cluster's logs.
    pub must_gather_image: String,
    pub notify_num_reboots: bool,
    /// Whether every request for a certificate of a node is approved, as the replaced controller does, instead of those
    /// of the inventory's hosts only.
    pub approve_all_csrs: bool,
    /// Whether nodes are only pretended.
    pub dry_run: bool,
    pub token: Secret,
    pub paths: Paths,
    pub intervals: Intervals,
}

impl Config {
    /// Reads the environment through `get`, and the token's file.
    ///
    /// # Errors
    /// Something is missing, or is not what its name says; a variable that is set but empty is no number and no boolean.
    pub fn read(get: impl Fn(&str) -> Option<String>, paths: Paths) -> Result<Self, ConfigError> {
        let required = |name: &'static str| {
            get(name).filter(|value| !value.is_empty()).ok_or(ConfigError::Missing(name))
        };
        let text = |name: &str| get(name).unwrap_or_default();
        let cluster_id = required("CLUSTER_ID")?;
        let cluster_id = cluster_id.parse().map_err(|error| refuse("CLUSTER_ID", &cluster_id, &error))?;
        let namespace = Some(text("NAMESPACE")).filter(|name| !name.is_empty());
        Ok(Self {
            cluster_id,
            service_url: required("INVENTORY_URL")?,
            skip_cert_verification: parse(&get, "SKIP_CERT_VERIFICATION", false)?,
            ca_file: Some(text("CA_CERT_PATH")).filter(|path| !path.is_empty()).map(PathBuf::from),
            namespace: namespace.unwrap_or_else(|| "assisted-installer".to_owned()),
            openshift_version: required("OPENSHIFT_VERSION")?,
            control_plane_count: parse(&get, "CONTROL_PLANE_COUNT", 3)?,
            check_cluster_version: parse(&get, "CHECK_CLUSTER_VERSION", false)?,
            must_gather_image: text("MUST_GATHER_IMAGE"),
            notify_num_reboots: parse(&get, "NOTIFY_NUM_REBOOTS", false)?,
            approve_all_csrs: parse(&get, "APPROVE_ALL_CSRS", false)?,
            dry_run: parse(&get, "DRY_ENABLE", false)?,
            token: token(&paths, text("PULL_SECRET_TOKEN"))?,
            paths,
            intervals: Intervals::default(),
        })
    }
}

fn refuse(name: &'static str, value: &str, reason: &dyn std::fmt::Display) -> ConfigError {
    ConfigError::Value { name, value: value.to_owned(), reason: reason.to_string() }
}

fn parse<T: FromStr<Err: std::fmt::Display>>(
    get: impl Fn(&str) -> Option<String>,
    name: &'static str,
    default: T,
) -> Result<T, ConfigError> {
    match get(name) {
        None => Ok(default),
        Some(value) => value.parse().map_err(|error| refuse(name, &value, &error)),
    }
}

/// A file that is there counts, even when it is empty.
fn token(paths: &Paths, otherwise: String) -> Result<Secret, ConfigError> {
    let path = &paths.token;
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => otherwise,
        Err(source) => return Err(ConfigError::Token { path: path.clone(), source }),
    };
    Ok(text.trim().into())
}

#[cfg(test)]
mod tests {

    use super::*;

    fn read(more: &[(&str, &str)], token: Option<&str>) -> Result<Config, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths { token: dir.path().join("token"), ..Paths::default() };
        if let Some(token) = token {
            std::fs::write(&paths.token, token).unwrap();
        }
        let usual = [
            ("CLUSTER_ID", "1b7dbf10-3b7f-4a7b-8d1a-3a8c2c2f5a4e"),
            ("INVENTORY_URL", "http://service"),
            ("OPENSHIFT_VERSION", "4.20.1"),
            ("PULL_SECRET_TOKEN", " of the environment "),
        ];
        let find = |name: &str| more.iter().chain(&usual).find(|(known, _)| *known == name);
        Config::read(|name| find(name).map(|(_, value)| (*value).to_owned()), paths)
    }

    #[test]
    fn the_usual_job() {
        let config = read(&[("CONTROL_PLANE_COUNT", "1"), ("CHECK_CLUSTER_VERSION", "true")], None).unwrap();
        assert_eq!(config.namespace, "assisted-installer");
        assert_eq!((config.control_plane_count, config.check_cluster_version), (1, true));
        assert!(!config.dry_run && config.ca_file.is_none());
        assert!(!config.approve_all_csrs, "strict unless somebody wants it otherwise");
        assert!(read(&[("APPROVE_ALL_CSRS", "true")], None).unwrap().approve_all_csrs);
    }

    #[test]
    fn a_token_file_wins_even_when_it_is_blank() {
        for (file, expected) in
            [(None, "of the environment"), (Some(" of the file\n"), "of the file"), (Some(" \n"), "")]
        {
            assert_eq!(read(&[], file).unwrap().token.expose(), expected);
        }
    }

    #[test]
    fn values_that_can_not_be_used() {
        for (name, value) in [
            ("CLUSTER_ID", "no id"),
            ("CLUSTER_ID", ""),
            ("INVENTORY_URL", ""),
            ("OPENSHIFT_VERSION", ""),
            ("CONTROL_PLANE_COUNT", ""),
            ("CONTROL_PLANE_COUNT", "-1"),
            ("SKIP_CERT_VERIFICATION", ""),
            ("NOTIFY_NUM_REBOOTS", "maybe"),
            ("APPROVE_ALL_CSRS", "all"),
        ] {
            let error = read(&[(name, value)], None).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
