//! The installer behind the REST API of a service: no hub, and none of its kinds.
//!
//! What belongs to which object of Cluster API stands at the service alone, so that it is found again after any end: a cluster has a
//! tag with the id of its Cluster, an infra-env has namespace, name and id of what it is for in its name. A host belongs to its
//! machine from the moment on at which it has a role: that is set last, and is what the service has for an approval.

mod hosts;
mod infra_envs;
mod watch;

pub(crate) use hosts::is_approved;
pub(crate) use infra_envs::remove as remove_infra_env;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assisted_base::error::chain;
use assisted_client::{Client, ClusterFilter, Error, Failure as NoAnswer};
use assisted_core::model::object_key::ObjectKey;
use assisted_reconcile::Failure;
use assisted_wire::cluster as wire;
use assisted_wire::id::{ClusterId, InfraEnvId};
use assisted_wire::secret::Secret;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::{Change, Cluster, Host, HostWanted, InfraEnv, InfraEnvWanted, Installer, Subject};

/// How long one answer may take.
const LIMIT: Duration = Duration::from_secs(60);
/// The most bytes of a token.
const LONGEST_TOKEN: usize = 64 << 10;

/// How the service is reached.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its address.
    pub url: String,
    /// The file with the token of an account there, read anew when it changes; none: the service asks for no account.
    pub token_file: Option<PathBuf>,
    /// A file with certificates (PEM) that are trusted beside the system's.
    pub ca_file: Option<PathBuf>,
    /// How often it is asked what has changed.
    pub pause: Duration,
}

/// The service.
pub struct Rest {
    /// Where registry credentials are.
    kube: kube::Client,
    options: Options,
    made: Mutex<Option<Made>>,
    known: Mutex<Known>,
    /// Held by who makes an infra-env: machines of one template, which are reconciled at the same time, share theirs.
    creating: tokio::sync::Mutex<()>,
}

/// A client, with what it was made from.
struct Made {
    /// Which one it is of those that were made.
    number: u64,
    token: Option<Secret>,
    authorities: Option<Vec<u8>>,
    client: Client,
}

/// Objects that were asked about, by what they are at the service.
#[derive(Default)]
struct Known {
    clusters: BTreeMap<ClusterId, Subject>,
    infra_envs: BTreeMap<InfraEnvId, Subject>,
}

/// The tag by which the cluster of a Cluster is found: tags have no dashes.
fn tag(of: &Subject) -> String {
    format!("capi_{}", of.uid.replace('-', "_"))
}

/// What can be done about an error that is an affair of nobody's object.
fn remedy(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::Unreachable { failure: NoAnswer::Certificate, .. } => {
            "put the certificate of the authority that the service's own is from into the file ASSISTED_CA_FILE, which is the member \
             ca.crt of the Secret assisted-service"
        }
        Error::Unreachable { .. } => return error.remedy(),
        _ => match error.status() {
            Some(401) => {
                "the token is wrong, has expired or was revoked: make another one (assisted token create), and put it into the file \
                 ASSISTED_TOKEN_FILE, which is the member token of the Secret assisted-service"
            }
            Some(403) => {
                "the token's account may not do that: make a token with the role editor, and put it into the file \
                 ASSISTED_TOKEN_FILE, which is the member token of the Secret assisted-service"
            }
            _ => return None,
        },
    })
}

/// What an error is for an attempt: what the service refuses is an affair of the object, all else passes.
pub(crate) fn failed(error: &Error) -> Failure {
    let text = match remedy(error) {
        Some(remedy) => format!("{}: {remedy}", chain(error)),
        None => chain(error),
    };
    match error.status() {
        Some(400 | 404 | 409 | 422) => Failure::of_row(text),
        _ => Failure::passing(text),
    }
}

/// An answer, or nothing where the service knows no such object.
pub(crate) fn optional<T>(answer: Result<T, Error>) -> Result<Option<T>, Failure> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.status() == Some(404) => Ok(None),
        Err(error) => Err(failed(&error)),
    }
}

impl Rest {
    /// The service at an address; registry credentials are Secrets of `kube`.
    pub fn new(kube: kube::Client, options: Options) -> Self {
        Self {
            kube,
            options,
            made: Mutex::default(),
            known: Mutex::default(),
            creating: tokio::sync::Mutex::default(),
        }
    }

    /// Whether the address can be used; nobody is asked. What is wrong with the files may be mended at any time, and stands in the
    /// conditions of the objects.
    ///
    /// # Errors
    /// What is wrong with the address.
    pub async fn check(&self) -> Result<(), String> {
        Client::builder(&self.options.url).build().map_err(|error| chain(&error))?;
        if let Err(failure) = self.client().await {
            tracing::warn!(error = failure.message, "the service can't be asked yet");
        }
        Ok(())
    }

    /// Which client is used now; none: there can't be one.
    async fn number(&self) -> Option<u64> {
        self.client().await.ok()?;
        self.made.lock().as_ref().map(|made| made.number)
    }

    /// A client with the token and the authorities of now.
    pub(crate) async fn client(&self) -> Result<Client, Failure> {
        let token = match &self.options.token_file {
            Some(file) => Some(Secret::from(token(file).await?)),
            None => None,
        };
        let authorities = match &self.options.ca_file {
            Some(file) => Some(read(file).await?),
            None => None,
        };
        let mut made = self.made.lock();
        if let Some(known) = made.as_ref()
            && known.token.as_ref().map(Secret::expose) == token.as_ref().map(Secret::expose)
            && known.authorities == authorities
        {
            return Ok(known.client.clone());
        }
        let mut builder = Client::builder(&self.options.url)
            .user_agent(concat!("assisted-capi/", env!("CARGO_PKG_VERSION")))
            .timeout(LIMIT);
        if let Some(file) = &self.options.ca_file {
            builder = builder.ca_file(file);
        }
        if let Some(token) = token.clone() {
            builder = builder.user_token(token);
        }
        let client = builder.build().map_err(|error| Failure::passing(chain(&error)))?;
        let number = made.as_ref().map_or(0, |known| known.number + 1);
        *made = Some(Made { number, token, authorities, client: client.clone() });
        Ok(client)
    }

    pub(crate) fn kube(&self) -> &kube::Client {
        &self.kube
    }

    /// The cluster of a Cluster, without its hosts.
    pub(crate) async fn find(&self, of: &Subject) -> Result<Option<wire::Cluster>, Failure> {
        let client = self.client().await?;
        let known = self.known.lock().clusters.iter().find(|(_, known)| *known == of).map(|(id, _)| *id);
        if let Some(id) = known {
            if let Some(found) = optional(client.get_cluster_alone(id).await)?
                && found.deleted_at.is_none()
            {
                return Ok(Some(found));
            }
            self.known.lock().clusters.remove(&id);
        }
        let tag = tag(of);
        let mut all =
            client.list_clusters(&ClusterFilter::default()).await.map_err(|error| failed(&error))?;
        all.retain(|cluster| cluster.tags.split(',').any(|own| own == tag));
        match all.len() {
            0 | 1 => {
                let found = all.pop();
                if let Some(found) = &found {
                    self.known.lock().clusters.insert(found.id, of.clone());
                }
                Ok(found)
            }
            _ => {
                let ids: Vec<_> = all.iter().map(|cluster| cluster.id.to_string()).collect();
                Err(Failure::of_row(format!(
                    "several clusters of the service have the tag {tag}: {}",
                    ids.join(", ")
                )))
            }
        }
    }

    /// The tag that [`Self::find`] looks for.
    pub(crate) fn tag(of: &Subject) -> String {
        tag(of)
    }

    /// Forgets a cluster that is gone.
    pub(crate) fn forget(&self, of: &Subject) {
        self.known.lock().clusters.retain(|_, known| known != of);
    }
}

async fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let told = |error: std::io::Error| {
        Failure::passing(format!("{}: {error}: put it into the Secret that is mounted there", file.display()))
    };
    tokio::fs::read(file).await.map_err(told)
}

async fn token(file: &Path) -> Result<String, Failure> {
    let bytes = read(file).await?;
    let told = |what: &str| Failure::passing(format!("the token in {} {what}", file.display()));
    if bytes.len() > LONGEST_TOKEN {
        return Err(told("is too long for one"));
    }
    let text = String::from_utf8(bytes).map_err(|_| told("is no text"))?;
    let text = text.trim();
    if text.is_empty() { Err(told("is missing: the file is empty")) } else { Ok(text.to_owned()) }
}

impl Installer for Rest {
    async fn cluster(&self, of: &Subject) -> Result<Option<Cluster>, Failure> {
        let found = self.find(of).await?;
        Ok(found.map(|found| Cluster {
            key: ObjectKey::new(&of.key.namespace, found.id.to_string()),
            state: found.status.to_string(),
        }))
    }

    async fn infra_env(&self, wanted: &InfraEnvWanted<'_>) -> Result<InfraEnv, Failure> {
        Box::pin(self.keep_infra_env(wanted)).await
    }

    async fn ignition(&self, infra_env: &InfraEnv) -> Result<Vec<u8>, Failure> {
        self.discovery(infra_env).await
    }

    async fn remove_infra_env(&self, subject: &Subject) -> Result<bool, Failure> {
        let client = self.client().await?;
        while let Some(found) = self.find_infra_env(&client, subject).await? {
            infra_envs::remove(&client, found.id).await?;
            self.known.lock().infra_envs.remove(&found.id);
        }
        Ok(true)
    }

    async fn hosts(&self, infra_env: &Subject) -> Result<Vec<Host>, Failure> {
        let client = self.client().await?;
        let Some(found) = self.find_infra_env(&client, infra_env).await? else { return Ok(Vec::new()) };
        let hosts = client.list_hosts(found.id).await.map_err(|error| failed(&error))?;
        Ok(hosts.iter().map(hosts::host).collect())
    }

    async fn settle(&self, infra_env: &Subject, host: &str, wanted: &HostWanted) -> Result<bool, Failure> {
        let client = self.client().await?;
        let Some(found) = self.find_infra_env(&client, infra_env).await? else { return Ok(false) };
        Box::pin(hosts::settle(&client, found.id, host, wanted)).await
    }

    async fn disapprove(&self, infra_env: &Subject, host: &str) -> Result<(), Failure> {
        let client = self.client().await?;
        let Some(found) = self.find_infra_env(&client, infra_env).await? else { return Ok(()) };
        hosts::disapprove(&client, found.id, host).await
    }

    async fn remove_host(&self, infra_env: &Subject, host: &str) -> Result<bool, Failure> {
        let client = self.client().await?;
        let Some(found) = self.find_infra_env(&client, infra_env).await? else { return Ok(true) };
        hosts::remove(&client, found.id, host).await.map(|()| true)
    }

    async fn follow(
        &self,
        changed: impl Fn(Change) + Clone + Send + Sync + 'static,
        stop: CancellationToken,
    ) {
        self.watch(changed, stop).await;
    }

    async fn ready(&self) -> Result<(), String> {
        // There are no copies to wait for. Why the service can't be asked stands in the conditions of the objects, where who can mend
        // it looks.
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_what_services_take_for_one() {
        let of = Subject { key: ObjectKey::new("a", "b"), uid: "0a-1b".to_owned() };
        assert_eq!(tag(&of), "capi_0a_1b");
        assert!(assisted_core::admission::field::tags::check(&tag(&of)).is_ok());
    }

    #[tokio::test]
    async fn a_token_is_the_text_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let told = token(&file).await.unwrap_err();
        assert!(told.passing && told.message.contains("token: "), "{told:?}");
        std::fs::write(&file, "\n").unwrap();
        assert!(token(&file).await.unwrap_err().message.ends_with("is missing: the file is empty"));
        std::fs::write(&file, "a.b.c\n").unwrap();
        assert_eq!(token(&file).await.unwrap(), "a.b.c");
    }
}
