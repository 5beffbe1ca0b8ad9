//! Tells about clusters to who supports them, once their installation has ended: off unless it is set
//! (running §4).
//!
//! One row of due work looks for such clusters from time to time. Each is told about once, in one archive. What can't be sent is
//! tried again the next time.

mod archive;
mod identity;

use std::sync::Arc;
use std::time::Duration;

use assisted_base::error::chain;
use assisted_base::http::{Addresses, Proxies, Trust, builder, web_url};
use assisted_config::Settings;
use assisted_core::model::cluster::ClusterRecord;
use assisted_store::{Batch, Deleted, Due, LeasedItem};
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::id::ClusterId;
use jiff::Timestamp;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use reqwest::{Client, Url};
use uuid::Uuid;

use crate::attempt::AttemptError;
use crate::database::Database;
use crate::parts::Parts;
use identity::Identity;

/// Clusters that are looked at in one attempt.
const AT_ONCE: u32 = 20;
/// How long it is waited for any answer of the other side, before anything is sent.
const THERE: Duration = Duration::from_secs(1);
/// How long sending one archive may take.
const LIMIT: Duration = Duration::from_secs(60);
/// The shortest pause between two looks.
const LEAST_PAUSE: Duration = Duration::from_secs(10);

/// Who receives it.
#[derive(Debug)]
pub(crate) struct Endpoint {
    url: Url,
    client: Client,
}

/// The address can't be used.
#[derive(Debug, thiserror::Error)]
#[error("DATA_UPLOAD_ENDPOINT: {0}")]
pub struct EndpointError(String);

impl Endpoint {
    /// Who receives it; `None`: it is off.
    pub(crate) fn new(settings: &Settings) -> Result<Option<Self>, EndpointError> {
        let set = &settings.upload;
        if !set.enable_data_collection {
            return Ok(None);
        }
        let url = web_url(&set.data_upload_endpoint)
            .map_err(|_| EndpointError("it is no address of a web server".to_owned()))?;
        let addresses = Addresses::new(&Proxies::FromEnvironment);
        addresses.allow(url.host_str().unwrap_or_default());
        let client = builder("assisted", Trust::System, &Proxies::FromEnvironment)
            .and_then(|builder| builder.dns_resolver(Arc::new(addresses)).timeout(LIMIT).build())
            .map_err(|error| EndpointError(chain(&error)))?;
        Ok(Some(Self { url, client }))
    }

    /// Whether anybody answers there, whatever they say.
    async fn is_there(&self) -> bool {
        self.client.get(self.url.clone()).timeout(THERE).send().await.is_ok()
    }

    /// Sends an archive as a form of one file.
    async fn send(&self, id: ClusterId, identity: &Identity, archive: &[u8]) -> Result<(), String> {
        let boundary = Uuid::new_v4().simple().to_string();
        let mut form = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"events.tgz\"\r\n\
             Content-Type: application/vnd.redhat.assisted-installer.events+tar\r\n\r\n"
        )
        .into_bytes();
        form.extend_from_slice(archive);
        form.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        let mut token = HeaderValue::from_str(&format!("Bearer {}", identity.token.expose()))
            .map_err(|_| "the pull secret has a login that can't be sent".to_owned())?;
        token.set_sensitive(true);
        let answer = self
            .client
            .post(self.url.clone())
            .header(AUTHORIZATION, token)
            .header(
                USER_AGENT,
                format!("assisted-installer-operator/{} cluster/{id}", env!("CARGO_PKG_VERSION")),
            )
            .header(CONTENT_TYPE, format!("multipart/form-data; boundary={boundary}"))
            .body(form)
            .send()
            .await
            .map_err(|error| chain(&error.without_url()))?;
        if !answer.status().is_success() {
            return Err(format!("the answer has status {}", answer.status().as_u16()));
        }
        let request = answer.headers().get("x-rh-insights-request-id").and_then(|value| value.to_str().ok());
        tracing::info!(cluster = %id, request, bytes = archive.len(), "data about a cluster is sent");
        Ok(())
    }
}

/// Looks for clusters to be told about.
pub(crate) struct Uploader {
    database: Arc<Database>,
    settings: Arc<Settings>,
    endpoint: Option<Endpoint>,
}

impl Uploader {
    pub(crate) fn new(parts: &Parts, endpoint: Option<Endpoint>) -> Self {
        Self { database: Arc::clone(&parts.database), settings: Arc::clone(&parts.settings), endpoint }
    }

    /// Sets when clusters are looked for first.
    pub(crate) async fn plan(&self) -> Result<(), AttemptError> {
        let mut batch = Batch::new();
        match self.endpoint {
            Some(_) => batch.mark_due(Due::Upload, self.next()),
            None => batch.clear_due(Due::Upload),
        };
        Ok(self.database.commit_silently(batch).await?)
    }

    /// Tells about clusters; returns when to look again.
    pub(crate) async fn run(&self, taken: &LeasedItem) -> Result<Option<Timestamp>, AttemptError> {
        let next = match &self.endpoint {
            None => None,
            Some(endpoint) => {
                self.upload(endpoint).await?;
                Some(self.next())
            }
        };
        let mut batch = Batch::new();
        batch.finish_due(taken, next);
        self.database.commit_silently(batch).await?;
        Ok(next)
    }

    async fn upload(&self, endpoint: &Endpoint) -> Result<(), AttemptError> {
        let ended = self.database.reader().clusters_to_upload(AT_ONCE).await?;
        if ended.is_empty() || !endpoint.is_there().await {
            return Ok(());
        }
        for id in ended {
            let Some(stored) = self.database.reader().cluster(id, Deleted::Hidden).await? else { continue };
            match self.upload_one(endpoint, id, &stored.record).await? {
                Ok(()) => {
                    let mut batch = Batch::new();
                    batch.finish_upload(id, self.database.now());
                    self.database.commit_silently(batch).await?;
                }
                Err(problem) => tracing::warn!(cluster = %id, problem, "data about a cluster can't be sent"),
            }
        }
        Ok(())
    }

    async fn upload_one(
        &self,
        endpoint: &Endpoint,
        id: ClusterId,
        record: &ClusterRecord,
    ) -> Result<Result<(), String>, AttemptError> {
        let cluster = &record.cluster;
        // It was installed by others.
        if cluster.status == ClusterStatus::AddingHosts
            && cluster.install_completed_at.0 <= Timestamp::UNIX_EPOCH
        {
            return Ok(Ok(()));
        }
        let Some(identity) = Identity::of(&record.pull_secret) else {
            return Ok(Err("its pull secret has no login for cloud.openshift.com".to_owned()));
        };
        let archive = match archive::of_cluster(&self.database, &self.settings, id, &identity).await? {
            Ok(archive) => archive,
            Err(error) => return Ok(Err(chain(&error))),
        };
        Ok(endpoint.send(id, &identity, &archive).await)
    }

    fn next(&self) -> Timestamp {
        let pause = self.settings.upload.cluster_events_uploader_interval.max(LEAST_PAUSE);
        self.database.now().checked_add(pause).unwrap_or(Timestamp::MAX)
    }
}
