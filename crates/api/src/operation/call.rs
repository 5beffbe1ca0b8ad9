//! A request on its way to a use case, and the use case's outcome on its way to an answer.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

use assisted_core::model::host::HostKey;
use assisted_service::file::File;
use assisted_service::off_thread::{LONG, off_thread};
use assisted_service::{Caller, Service};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::operation::Operation;
use assisted_wire::operation::name::{self, Name};
use bytes::Bytes;
use http::StatusCode;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::redact::Redact;
use crate::auth::person::may_bind_to;
use crate::budget::Budget;
use crate::check::Bodies;
use crate::check::params::Params;
use crate::error::ApiError;
use crate::http::response::{Answer, empty_answer, file_answer, long_json_answer};

/// What an operation gets to see of its request.
pub(super) struct Call<'a> {
    pub operation: &'static Operation,
    pub service: &'a Service,
    pub bodies: &'a Arc<Bodies>,
    pub caller: Caller,
    pub params: Params,
    pub body: Bytes,
    /// The other side of the connection.
    pub peer: Option<IpAddr>,
    pub budget: &'a Budget,
    /// Answers without an end end with this.
    pub stopping: &'a CancellationToken,
}

impl Call<'_> {
    /// The status of the operation's success.
    pub(super) fn status(&self) -> StatusCode {
        let first = self.operation.success.first();
        first.and_then(|success| StatusCode::from_u16(success.status).ok()).unwrap_or(StatusCode::OK)
    }

    /// The cluster in the path.
    pub(super) fn cluster_id(&self) -> Result<ClusterId, ApiError> {
        Ok(ClusterId(self.id(name::CLUSTER_ID)?))
    }

    /// The infra-env in the path.
    pub(super) fn infra_env_id(&self) -> Result<InfraEnvId, ApiError> {
        Ok(InfraEnvId(self.id(name::INFRA_ENV_ID)?))
    }

    /// The host in the path, which has its infra-env before it.
    pub(super) fn host(&self) -> Result<HostKey, ApiError> {
        Ok(HostKey { infra_env_id: self.infra_env_id()?, host_id: HostId(self.id(name::HOST_ID)?) })
    }

    /// The machine in the path.
    pub(super) fn machine_id(&self) -> Result<Uuid, ApiError> {
        self.id(name::MACHINE_ID)
    }

    /// An id in the path. A path that has none is a mistake of this program.
    fn id(&self, name: Name<Uuid>) -> Result<Uuid, ApiError> {
        let missing = || {
            let text = format!("operation {} has no {} in its path", self.operation.name, name.as_str());
            ApiError::application(500, text)
        };
        self.params.uuid(name).ok_or_else(missing)
    }

    /// A text parameter; empty where there is none.
    pub(super) fn text(&self, name: Name<String>) -> &str {
        self.params.text(name).unwrap_or_default()
    }

    /// A body that there has to be.
    pub(super) async fn body<T: DeserializeOwned + Send + 'static>(&self) -> Result<T, ApiError> {
        let id = self.operation.id;
        self.decode(move |bodies, text| bodies.decode_required(id, text)).await
    }

    /// A body that may be absent.
    pub(super) async fn body_or_default<T>(&self) -> Result<T, ApiError>
    where
        T: DeserializeOwned + Default + Send + 'static,
    {
        let id = self.operation.id;
        self.decode(move |bodies, text| bodies.decode(id, text)).await
    }

    async fn decode<T: Send + 'static>(
        &self,
        decode: impl FnOnce(&Bodies, &Bytes) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        if self.body.len() < LONG {
            return decode(self.bodies, &self.body);
        }
        let (bodies, text) = (Arc::clone(self.bodies), self.body.clone());
        off_thread(move || decode(&bodies, &text)).await?
    }

    /// An outcome as JSON. The futures of use cases are large, and that of the caller has room for one of each: they are put
    /// on the heap before it waits.
    pub(super) fn json<'a, T: Serialize + Send + 'static>(
        &'a self,
        outcome: impl Future<Output = Result<T, assisted_service::Error>> + 'a,
    ) -> impl Future<Output = Result<Answer, ApiError>> + 'a {
        let outcome = Box::pin(outcome);
        async move { Ok(long_json_answer(self.status(), outcome.await?).await) }
    }

    /// An outcome as JSON, without the secrets that the caller may not see.
    pub(super) fn respond<'a, T: Serialize + Redact + Send + 'static>(
        &'a self,
        outcome: impl Future<Output = Result<T, assisted_service::Error>> + 'a,
    ) -> impl Future<Output = Result<Answer, ApiError>> + 'a {
        let outcome = Box::pin(outcome);
        async move { Ok(long_json_answer(self.status(), outcome.await?.for_caller(&self.caller)).await) }
    }

    /// Whether the caller may have something bound to a cluster.
    pub(super) async fn may_bind_to(&self, cluster_id: ClusterId) -> Result<(), ApiError> {
        may_bind_to(self.service, &self.caller, cluster_id).await
    }

    /// An outcome without a body.
    pub(super) fn empty<'a>(
        &'a self,
        outcome: impl Future<Output = Result<(), assisted_service::Error>> + 'a,
    ) -> impl Future<Output = Result<Answer, ApiError>> + 'a {
        let outcome = Box::pin(outcome);
        async move {
            outcome.await?;
            Ok(empty_answer(self.status()))
        }
    }

    /// An outcome that is a file.
    pub(super) fn file<'a>(
        &'a self,
        outcome: impl Future<Output = Result<File, assisted_service::Error>> + 'a,
    ) -> impl Future<Output = Result<Answer, ApiError>> + 'a {
        let outcome = Box::pin(outcome);
        async move { Ok(file_answer(self.status(), outcome.await?)) }
    }
}
