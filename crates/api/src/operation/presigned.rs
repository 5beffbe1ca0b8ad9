//! Addresses that open one file of a cluster to whoever has them (service-api §7.5). They stand beside the contract: nobody asks for one
//! but by an address that the service gave out.

use assisted_auth::{Caller, Kind};
use assisted_service::Service;
use assisted_service::file::{PRESIGNED_PATH, PRESIGNED_TOKEN};
use assisted_wire::operation::BASE_PATH;
use assisted_wire::secret::Secret;
use http::request::Parts as Head;
use http::{Method, StatusCode};
use tracing::Instrument;
use uuid::Uuid;

use super::trace;
use crate::error::ApiError;
use crate::http::response::{Answer, file_answer, recorded};

/// What the log calls it.
pub(super) const NAME: &str = "presigned";

/// Whether a folded path is that of such an address.
pub(super) fn is_asked_for(method: &Method, path: &str) -> bool {
    method == Method::GET && path.strip_prefix(BASE_PATH) == Some(PRESIGNED_PATH)
}

/// Answers as the download of the file does.
pub(super) async fn answer(service: &Service, head: &Head, request_id: Uuid) -> Answer {
    let method = head.method.as_str();
    let record = service.metrics().request(PRESIGNED_PATH, method);
    let span = trace::span(PRESIGNED_PATH, method, &head.headers, request_id);
    let opened = open(service, head.uri.query(), request_id).instrument(span.clone()).await;
    let answer = opened.unwrap_or_else(ApiError::answer);
    trace::record(&span, answer.status().as_u16());
    recorded(answer, record)
}

async fn open(service: &Service, query: Option<&str>, request_id: Uuid) -> Result<Answer, ApiError> {
    let mut params = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let token = params.find(|(name, _)| name == PRESIGNED_TOKEN);
    let token = token.map_or_else(Secret::default, |(_, value)| value.into_owned().into());
    let caller = Caller { kind: Kind::Link, ..Caller::admin(request_id) };
    let file = Box::pin(service.files().download_presigned(&caller, &token)).await?;
    Ok(file_answer(StatusCode::OK, file))
}
