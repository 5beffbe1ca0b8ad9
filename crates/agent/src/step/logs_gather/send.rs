//! Telling the service how far the collection is, and sending it the archive.

use std::path::Path;

use assisted_client::{Client, Error};
use assisted_wire::cluster::LogsState;
use assisted_wire::cluster_params::LogsProgressParams;
use assisted_wire::operation::OperationId;
use tracing::warn;

use super::{GatherError, LogsRequest};
use crate::config::Config;

pub(super) struct Sender<'a> {
    client: Client,
    request: &'a LogsRequest,
}

impl<'a> Sender<'a> {
    pub(super) fn new(request: &'a LogsRequest, service: &Config) -> Result<Self, GatherError> {
        Ok(Self { client: service.client()?, request })
    }

    /// A failure is only logged: the logs matter more than what is said about them.
    pub(super) async fn progress(&self, logs_state: LogsState) {
        let told = self
            .client
            .call(OperationId::UpdateHostLogsProgress)
            .path("infra_env_id", self.request.infra_env_id)
            .path("host_id", self.request.host_id)
            .json(&LogsProgressParams { logs_state })
            .send_empty();
        if let Err(error) = told.await {
            warn!(%error, %logs_state, "progress of logs not taken");
        }
    }

    pub(super) async fn upload(&self, archive: &Path) -> Result<(), Error> {
        self.client
            .call(OperationId::UploadLogs)
            .path("cluster_id", self.request.cluster_id)
            .query("logs_type", Some("host"))
            .query("host_id", Some(self.request.host_id))
            .query("infra_env_id", Some(self.request.infra_env_id))
            .file("upfile", archive)
            .send_empty()
            .await
    }
}
