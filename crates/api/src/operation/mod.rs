//! A request from its head to its answer.

mod call;
mod dispatch;
mod lists;
mod presigned;
mod query;
mod redact;
mod reply_budget;
mod trace;
pub(crate) mod upload;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Once};
use std::time::Instant;

use ::http::header::CONTENT_TYPE;
use ::http::request::Parts as Head;
use ::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use assisted_auth::UserError;
use assisted_config::{Origins, SIMULATION, Settings};
use assisted_service::infra_env::PROGRAM_PATH;
use assisted_service::{Caller, Service, metrics};
use assisted_wire::machine::{self, Machine};
use assisted_wire::operation::{BASE_PATH, Operation, OperationId};
use assisted_wire::secret::Secret;
use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;
use uuid::{Builder, Uuid};

use self::call::Call;
use crate::Timeouts;
use crate::auth::{Auth, AuthError, PathParams};
use crate::budget::Budget;
use crate::check::Bodies;
use crate::check::params::Params;
use crate::check::schema::SchemaError;
use crate::error::ApiError;
use crate::help::Pages;
use crate::http::body;
use crate::http::cors::{self, Cors};
use crate::http::guard::Guard;
use crate::http::response::{Answer, bytes_answer, empty_answer, file_answer, gzip, recorded};
use crate::http::route::{Routes, normalize_path};
use crate::identity::{self, IdentityRequest};
use crate::openapi::Documents;

/// The other side of a connection; the listener puts it beside each request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Why the API does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Auth(#[from] AuthError),
    #[error("the check of a body can't be made")]
    Schema(#[from] SchemaError),
    #[error("two operations have the same route")]
    Route(#[from] matchit::InsertError),
}

/// The answer of a web UI to a request, if it is one for a page or a file of it: `assisted_ui::answer`. It is given by the program, so that
/// neither waits for the other to be built.
pub type Ui = fn(&Method, path: &str, &HeaderMap) -> Option<::http::Response<Bytes>>;

/// The whole API; a clone is another handle on the same one.
#[derive(Clone)]
pub struct Api {
    parts: Arc<Parts>,
    /// Whether it gives out iPXE scripts and nothing else.
    ipxe_only: bool,
    ui: Option<Ui>,
}

struct Parts {
    service: Service,
    routes: Routes,
    bodies: Arc<Bodies>,
    auth: Auth,
    cors: Cors,
    guard: Guard,
    budget: Budget,
    /// Whether browsers reach the service by TLS.
    secure: bool,
    /// Whether agents without a key of their own are refused.
    host_keys: bool,
    documents: Documents,
    pages: Pages,
    timeouts: Timeouts,
    /// Answers without an end end with this.
    stopping: CancellationToken,
}

impl Api {
    /// The API of a service.
    ///
    /// # Errors
    ///
    /// When the settings ask for an authentication that is not available, or its keys can't be used.
    pub fn new(service: Service, settings: &Settings) -> Result<Self, StartError> {
        let (write, rate) = (settings.limits.write_timeout, settings.limits.upload_rate.0);
        Self::with_timeouts(service, settings, Timeouts { write, rate, ..Timeouts::default() })
    }

    /// The same, with other time limits.
    ///
    /// # Errors
    ///
    /// As [`Api::new`].
    pub fn with_timeouts(
        service: Service,
        settings: &Settings,
        timeouts: Timeouts,
    ) -> Result<Self, StartError> {
        let auth = Auth::new(&service, settings)?;
        let http = &settings.http;
        let parts = Parts {
            service,
            routes: Routes::new()?,
            bodies: Arc::new(Bodies::compile(settings.http.enable_reject_unknown_fields)?),
            auth,
            cors: Cors(Origins::new(settings.http.allowed_domains.iter().map(String::as_str))),
            guard: Guard::new(http),
            budget: Budget::new(&settings.limits),
            secure: http.serve_https || http.service_base_url.starts_with("https://"),
            host_keys: settings.auth.agent_keys_required,
            documents: Documents::default(),
            pages: Pages::default(),
            timeouts,
            stopping: CancellationToken::new(),
        };
        Ok(Self { parts: Arc::new(parts), ipxe_only: false, ui: None })
    }

    /// The same with a web UI where no operation has the path.
    #[must_use]
    pub fn with_ui(self, ui: Ui) -> Self {
        Self { ui: Some(ui), ..self }
    }

    /// The same for a plain listener beside one that speaks TLS: of all operations only the one by which firmware, which
    /// knows no certificates, gets its iPXE script (service-api §1.1).
    #[must_use]
    pub fn ipxe_only(self) -> Self {
        Self { ipxe_only: true, ..self }
    }

    pub(crate) fn timeouts(&self) -> &Timeouts {
        &self.parts.timeouts
    }

    pub(crate) fn budget(&self) -> &Budget {
        &self.parts.budget
    }

    /// Ends the answers that have no end.
    pub(crate) fn stop(&self) {
        self.parts.stopping.cancel();
    }

    /// Gets what it takes to know people. Asked before it listens: who can't be known is not let in.
    ///
    /// # Errors
    ///
    /// It can't be fetched.
    pub async fn start(&self) -> Result<(), AuthError> {
        self.parts.auth.start().await
    }

    /// A code by which the first administrator is made, where people log in and there is none yet.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn setup_code(&self) -> Result<Option<Secret>, UserError> {
        match self.parts.auth.users() {
            Some(users) => users.setup_code(Timestamp::now()).await,
            None => Ok(None),
        }
    }

    /// Answers one request.
    pub async fn answer(self, request: Request<Incoming>) -> Answer {
        let started = Instant::now();
        let (head, body) = request.into_parts();
        let path = normalize_path(head.uri.path());
        let request_id = request_id(&head.headers);
        let origin = self.parts.cors.origin(&head.headers);
        let mut name = "";
        if let Some(answer) = self.page(&head.method, &path, &head.headers) {
            log(&head.method, &path, name, answer.status(), started, request_id);
            return answer;
        }
        let hidden =
            self.ipxe_only && path.starts_with(BASE_PATH) && !is_script(&head.method, &path, &head.uri);
        let mut answer = if hidden {
            ApiError::framework(404, format!("path {path} was not found")).answer()
        } else if let Some(answer) = Box::pin(self.plain(&head.method, &path, &head.headers)).await {
            answer
        } else {
            match self.guarded(&head, &path, body, request_id, &mut name).await {
                Ok(answer) => answer,
                Err(error) => error.answer(),
            }
        };
        if name != OperationId::GetNextSteps.operation().name {
            answer = gzip(answer, &head.headers).await;
        }
        if let Some(origin) = origin {
            cors::let_in(&mut answer, origin);
        }
        let mut text = Uuid::encode_buffer();
        if let Ok(id) = HeaderValue::from_str(request_id.as_hyphenated().encode_lower(&mut text)) {
            answer.headers_mut().insert(REQUEST_ID, id);
        }
        log(&head.method, &path, name, answer.status(), started, request_id);
        answer
    }

    /// A page or a file of the web UI, where no other route has the path. It is for everybody: what it shows is asked for by
    /// the REST API.
    fn page(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<Answer> {
        let routed = |prefix: &str| {
            path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let other = [BASE_PATH, PROGRAM_PATH.trim_end_matches('/'), "/health", "/ready", "/docs"];
        if self.ipxe_only || other.into_iter().any(routed) {
            return None;
        }
        self.ui?(method, path, headers).map(|answer| answer.map(|body| Either::Left(Full::new(body))))
    }

    /// What is answered without an operation, and without authentication.
    async fn plain(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<Answer> {
        if let Some(answer) = self.parts.cors.preflight(method, headers) {
            return Some(answer);
        }
        if method != Method::GET {
            return None;
        }
        if let Some(rest) = path.strip_prefix(BASE_PATH) {
            let document = match rest {
                // What existing generators read (service-api §17.1).
                "/openapi" | "/v2/openapi" | "/v2/swagger.json" => self.parts.documents.swagger(),
                "/v2/openapi.json" => self.parts.documents.openapi(),
                _ => return None,
            };
            return Some(bytes_answer(StatusCode::OK, "application/json", document));
        }
        match path {
            "/health" => Some(match self.parts.service.health() {
                Ok(()) => empty_answer(StatusCode::OK),
                Err(reason) => ApiError::application(500, reason).answer(),
            }),
            "/ready" => Some(match self.parts.service.ready().await {
                Ok(()) if self.parts.service.settings().generation.is_simulated() => {
                    bytes_answer(StatusCode::OK, "text/plain; charset=utf-8", SIMULATION.into())
                }
                Ok(()) => empty_answer(StatusCode::OK),
                Err(error) => ApiError::from(error).answer(),
            }),
            path if path.starts_with(PROGRAM_PATH) => {
                let architecture = path.strip_prefix(PROGRAM_PATH).unwrap_or_default();
                // Nothing in it is secret, and what proves it stands in the Ignition config of those who fetch it.
                Some(match self.parts.service.infra_envs().download_host_program(architecture).await {
                    Ok(file) => file_answer(StatusCode::OK, file),
                    Err(error) => ApiError::from(error).answer(),
                })
            }
            "/metrics" => Some(match self.parts.service.metrics().text().await {
                Ok(text) => bytes_answer(StatusCode::OK, metrics::CONTENT_TYPE, text.into()),
                Err(error) => ApiError::from(error).answer(),
            }),
            "/docs" => {
                Some(bytes_answer(StatusCode::OK, "text/html; charset=utf-8", self.parts.documents.page()))
            }
            path => {
                let page = self.parts.pages.at(path)?;
                Some(bytes_answer(StatusCode::OK, "text/html; charset=utf-8", page))
            }
        }
    }

    /// What a browser may have been led to by somebody else is refused; the rest goes where its path says.
    async fn guarded(
        &self,
        head: &Head,
        path: &str,
        body: Incoming,
        request_id: Uuid,
        name: &mut &'static str,
    ) -> Result<Answer, ApiError> {
        let Parts { service, auth, cors, guard, timeouts, secure, budget, .. } = &*self.parts;
        // Let in by its address alone, wherever that is opened.
        if presigned::is_asked_for(&head.method, path) {
            *name = presigned::NAME;
            return Ok(Box::pin(presigned::answer(service, head, request_id)).await);
        }
        let identity = identity::below(path).is_some();
        let peer = head.extensions.get::<Peer>().map(|peer| peer.0);
        if identity || auth.is_ambient(&head.headers) {
            guard.check_host(&head.uri, &head.headers)?;
            guard.check_origin(cors, &head.method, &head.uri, &head.headers)?;
        }
        if identity {
            let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
            let Head { method, headers, .. } = head;
            let query = head.uri.query();
            let asked =
                IdentityRequest { method, path, query, headers, peer, timeouts, budget, secure: *secure };
            return Box::pin(identity::answer(auth, &asked, body)).await;
        }
        self.operate(&head.method, path, head.uri.query(), &head.headers, peer, body, request_id, name).await
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one request")]
    async fn operate(
        &self,
        method: &Method,
        path: &str,
        query: Option<&str>,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
        body: Incoming,
        request_id: Uuid,
        name: &mut &'static str,
    ) -> Result<Answer, ApiError> {
        let (operation, path) = self.parts.routes.find(method, path)?;
        *name = operation.name;
        let record = self.parts.service.metrics().request(operation.path, method.as_str());
        let span = trace::span(operation.path, method.as_str(), headers, request_id);
        let performed = self.perform(operation, &path, query, headers, peer, body, request_id);
        let answer = performed.instrument(span.clone()).await.unwrap_or_else(ApiError::answer);
        trace::record(&span, answer.status().as_u16());
        Ok(recorded(answer, record))
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one request")]
    async fn perform(
        &self,
        operation: &'static Operation,
        path: &PathParams<'_>,
        query: Option<&str>,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
        mut body: Incoming,
        request_id: Uuid,
    ) -> Result<Answer, ApiError> {
        let Parts { service, bodies, auth, timeouts, stopping, budget, host_keys, .. } = &*self.parts;
        let mut caller = auth.caller(service, operation, path, query, headers, request_id).await?;
        note_agent(operation.id, &mut caller, peer, headers, *host_keys)?;
        let has_body = !hyper::body::Body::is_end_stream(&body);
        check_content_type(operation, headers, has_body)?;
        let params = Params::read(operation, path, query, headers)
            .map_err(|reason| ApiError::framework(400, reason))?;
        let mut call =
            Call { operation, service, bodies, caller, params, body: Bytes::new(), peer, budget, stopping };
        // Too large to be held: it is passed on while it arrives.
        if matches!(operation.id, OperationId::UploadLogs | OperationId::UploadOnClusterLayeringLogs) {
            return Box::pin(upload::upload_logs(&call, headers, body, timeouts)).await;
        }
        if operation.id == OperationId::PostStepReply && reply_budget::ensure(&call).is_err() {
            Box::pin(reply_budget::hold_back(&call, headers, &mut body, timeouts)).await?;
        }
        // What an operation has no use for is not read.
        if operation.body.is_some() {
            let reservation = budget.reserve(peer);
            let held = body::read(headers, body, body::limit(operation.id), timeouts, reservation).await?;
            call.body = held.bytes.clone();
            // The room is taken until it is answered.
            let answer = Box::pin(dispatch::dispatch(&call)).await;
            drop(held);
            return answer;
        }
        match operation.id {
            // Most requests are polls: theirs is the only future that stands within this one, which is moved several times.
            OperationId::GetNextSteps => dispatch::get_next_steps(&call).await,
            _ => Box::pin(dispatch::dispatch(&call)).await,
        }
    }
}

/// Notes what an agent tells of itself where only agents ask.
fn note_agent(
    id: OperationId,
    caller: &mut Caller,
    peer: Option<IpAddr>,
    headers: &HeaderMap,
    key_required: bool,
) -> Result<(), ApiError> {
    let registers = id == OperationId::RegisterHost;
    if !registers && !matches!(id, OperationId::GetNextSteps | OperationId::PostStepReply) {
        return Ok(());
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(key) = text(machine::KEY_HEADER) {
        caller.shows_key(key);
    }
    if key_required && caller.host_key.is_none() {
        let reason = "agents need a key of their own here (AGENT_KEYS_REQUIRED), and this one shows none";
        return Err(ApiError::application(409, reason));
    }
    if registers {
        if caller.host_key.is_none() {
            static TOLD: Once = Once::new();
            TOLD.call_once(|| {
                tracing::warn!(
                    "an agent without a key of its own registers: other machines with the token of its infra-env can speak as its host"
                );
            });
        }
        caller.peer = peer;
        caller.machine = text(machine::HEADER).and_then(Machine::parse);
    }
    Ok(())
}

/// Whether an iPXE script is asked for; besides its name anything may be in the query.
fn is_script(method: &Method, path: &str, uri: &Uri) -> bool {
    let id = path
        .strip_prefix(BASE_PATH)
        .and_then(|rest| rest.strip_prefix("/v2/infra-envs/"))
        .and_then(|rest| rest.strip_suffix("/downloads/files"));
    let mut query = uri.query().unwrap_or_default().split('&');
    method == Method::GET
        && id.is_some_and(|id| Uuid::try_parse(id).is_ok())
        && query.any(|member| member == "file_name=ipxe-script")
}

fn check_content_type(operation: &Operation, headers: &HeaderMap, has_body: bool) -> Result<(), ApiError> {
    if operation.body.is_none() || !has_body {
        return Ok(());
    }
    let given = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .map_or("application/octet-stream", |value| value.split(';').next().unwrap_or_default().trim());
    let wanted = operation.consumes.unwrap_or("application/json");
    if given.eq_ignore_ascii_case(wanted) {
        return Ok(());
    }
    Err(ApiError::framework(415, format!("unsupported media type {given:?}, only [{wanted}] are allowed")))
}

/// The request's own id, or a new one; it stands in each event that the request brings about.
fn request_id(headers: &HeaderMap) -> Uuid {
    headers
        .get(&REQUEST_ID)
        .and_then(|value| Uuid::try_parse_ascii(value.as_bytes()).ok())
        // Not by `Uuid::new_v4`, which asks the kernel each time.
        .unwrap_or_else(|| Builder::from_random_bytes(rand::random()).into_uuid())
}

/// One line per request. Polls that go well are the bulk of all requests and of no interest.
fn log(method: &Method, path: &str, name: &str, status: StatusCode, started: Instant, request_id: Uuid) {
    let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    let status = status.as_u16();
    let quiet = matches!(name, "v2GetNextSteps" | "v2PostStepReply" | "") && status < 400;
    if quiet {
        tracing::debug!(%method, path, operation = name, status, micros, %request_id, "request");
    } else {
        tracing::info!(%method, path, operation = name, status, micros, %request_id, "request");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How large the future of a function is.
    fn size_of_future<A, B, F>(_: impl FnOnce(A, B) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_request_is_moved_with_little() {
        let size = size_of_future(Api::answer);
        assert!(size <= 4096, "{size} bytes are allocated and copied for each request: box what is rare");
    }
}
