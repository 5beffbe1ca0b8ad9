//! Where a cluster's API is, whom to trust there, and as whom to speak.

use std::io;
use std::net::IpAddr;
use std::path::Path;

use assisted_wire::secret::Secret;
use base64::prelude::{BASE64_STANDARD, Engine};
use serde::Deserialize;

/// Why a kubeconfig can't be used.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    #[error("the kubeconfig can't be read: {0}")]
    Parse(#[from] serde_yaml_ng::Error),
    #[error("the kubeconfig has no {0} for its current context")]
    Missing(&'static str),
    #[error("{0} of the kubeconfig is not base64")]
    Encoding(&'static str),
    #[error("the pod's account can't be read: {0}")]
    Account(#[from] io::Error),
}

/// What a kubeconfig says about its current context.
#[derive(Debug)]
pub struct Kubeconfig {
    pub server: String,
    /// Certificates (PEM) of whoever signed the server's; nobody else is trusted.
    pub authority: Vec<u8>,
    pub user: User,
}

/// As whom to speak.
#[derive(Debug)]
pub enum User {
    /// Certificate and key (PEM), one after the other.
    Certificate(Secret),
    Token(Secret),
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    clusters: Vec<NamedCluster>,
    #[serde(default)]
    users: Vec<NamedUser>,
    #[serde(default)]
    contexts: Vec<NamedContext>,
    #[serde(default, rename = "current-context")]
    current_context: String,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    cluster: Cluster,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cluster {
    server: String,
    #[serde(default)]
    certificate_authority_data: Option<String>,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    #[serde(default)]
    user: UserData,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct UserData {
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
    token: Option<Secret>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Deserialize)]
struct Context {
    cluster: String,
    user: String,
}

impl Kubeconfig {
    /// Reads one, as installation programs write them: with all data inside.
    ///
    /// # Errors
    /// When something is missing or malformed.
    pub fn read(text: &[u8]) -> Result<Self, KubeconfigError> {
        let file: File = serde_yaml_ng::from_slice(text)?;
        let context = file.contexts.into_iter().find(|context| context.name == file.current_context);
        let Context { cluster, user } = context.ok_or(KubeconfigError::Missing("context"))?.context;
        let cluster = file.clusters.into_iter().find(|named| named.name == cluster);
        let cluster = cluster.ok_or(KubeconfigError::Missing("cluster"))?.cluster;
        let user = file.users.into_iter().find(|named| named.name == user);
        let user = user.ok_or(KubeconfigError::Missing("user"))?.user;
        let authority = cluster.certificate_authority_data;
        let authority = decoded("certificate-authority-data", authority)?
            .ok_or(KubeconfigError::Missing("certificate authority"))?;
        let certificate = decoded("client-certificate-data", user.client_certificate_data)?;
        let key = decoded("client-key-data", user.client_key_data)?;
        let user = match (certificate, key, user.token) {
            (Some(certificate), Some(key), _) => {
                let pem = String::from_utf8([certificate, b"\n".to_vec(), key].concat());
                // What stands around the blocks doesn't count.
                let pem = pem.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                User::Certificate(pem.into())
            }
            (_, _, Some(token)) => User::Token(token),
            _ => return Err(KubeconfigError::Missing("credential")),
        };
        Ok(Self { server: cluster.server, authority, user })
    }

    /// The account of a pod, in a folder with its `token` and the `ca.crt` of the API, which is at this host and port. The token is renewed
    /// there: whoever works for long reads it again.
    ///
    /// # Errors
    /// When one of the files can't be read.
    pub fn of_account(folder: &Path, host: &str, port: &str) -> Result<Self, KubeconfigError> {
        let server = match host.parse() {
            Ok(IpAddr::V6(address)) => format!("https://[{address}]:{port}"),
            _ => format!("https://{host}:{port}"),
        };
        let authority = std::fs::read(folder.join("ca.crt"))?;
        let token = std::fs::read_to_string(folder.join("token"))?;
        Ok(Self { server, authority, user: User::Token(token.trim().into()) })
    }
}

fn decoded(name: &'static str, text: Option<String>) -> Result<Option<Vec<u8>>, KubeconfigError> {
    let decode = |text: String| BASE64_STANDARD.decode(text.trim());
    text.map(decode).transpose().map_err(|_| KubeconfigError::Encoding(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "clusters: [{name: c, cluster: {server: 'https://api-int.x:6443', certificate-authority-data: YWI=}}]\n\
        users: [{name: admin, user: {client-certificate-data: Y2Q=, client-key-data: ZWY=}}, {name: bot, user: {token: t}}]\n\
        contexts: [{name: admin, context: {cluster: c, user: admin}}, {name: bot, context: {cluster: c, user: bot}}]\n\
        current-context: admin\n";

    #[test]
    fn the_current_context_counts() {
        let read = Kubeconfig::read(TEXT.as_bytes()).unwrap();
        assert_eq!((read.server.as_str(), read.authority.as_slice()), ("https://api-int.x:6443", &b"ab"[..]));
        assert!(matches!(read.user, User::Certificate(_)));
        let bot = TEXT.replace("current-context: admin", "current-context: bot");
        assert!(matches!(Kubeconfig::read(bot.as_bytes()).unwrap().user, User::Token(_)));
        assert!(!format!("{read:?}").contains("ef"), "{read:?}");
    }

    #[test]
    fn a_pods_account() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(Kubeconfig::of_account(dir.path(), "h", "1"), Err(KubeconfigError::Account(_))));
        std::fs::write(dir.path().join("ca.crt"), "pem").unwrap();
        std::fs::write(dir.path().join("token"), "t\n").unwrap();
        let read = Kubeconfig::of_account(dir.path(), "172.30.0.1", "443").unwrap();
        assert_eq!(
            (read.server.as_str(), read.authority.as_slice()),
            ("https://172.30.0.1:443", &b"pem"[..])
        );
        assert!(matches!(&read.user, User::Token(token) if token.expose() == "t"));
        assert_eq!(
            Kubeconfig::of_account(dir.path(), "fd02::1", "443").unwrap().server,
            "https://[fd02::1]:443"
        );
    }

    #[test]
    fn what_is_missing_is_told() {
        let error = |from: &str, to: &str| {
            Kubeconfig::read(TEXT.replace(from, to).as_bytes()).unwrap_err().to_string()
        };
        assert!(error("current-context: admin", "").contains("no context"));
        assert!(error("cluster: c, user: admin", "cluster: d, user: admin").contains("no cluster"));
        assert!(error("certificate-authority-data: YWI=", "").contains("no certificate authority"));
        assert!(error("client-key-data: ZWY=", "").contains("no credential"));
        assert!(error("YWI=", "'%'").contains("not base64"));
        assert!(Kubeconfig::read(b"[").is_err());
    }
}
