//! Requests and their answers (image-service §1.4 to §1.10).

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderValue, Method, StatusCode};
use assisted_config::Origins;
use assisted_isokit::Layout;
use tokio::task::{JoinError, JoinSet};
use url::Url;
use uuid::Uuid;

use crate::api::{ApiAddress, ApiError, ApiService};
use crate::base::{Bases, FetchOptions, NotReady, StoreError};
use crate::catalog::{BaseKey, BaseKind, Catalog, OsImage};
use crate::credential::Credential;
use crate::http::conditional::Validators;
use crate::http::content::Content;
use crate::http::cors::Cors;
use crate::http::{Answer, Head, query};
use crate::image::{
    Artifact, BaseImage, ImageKind, Overlay, OverlayCache, OverlayError, OverlayRequest, Step,
};
use crate::metrics::Metrics;
use crate::places::Places;
use crate::route::{InfraEnvRef, Route, ShortIsoPath, needs_tls};
use crate::token;

const X86_64: &str = "x86_64";
const S390X: &str = "s390x";
const KARGS_ON_S390X: &str = "kargs cannot be modified in s390x architecture ISOs";

/// An answer that is given instead of what was asked for.
type ErrorAnswer = Box<Answer>;

/// Seconds after which a request that found no place should be repeated.
const BUSY: u32 = 10;

/// What an image service is made with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder of base images.
    pub data_dir: PathBuf,
    pub catalog: Catalog,
    pub fetch: FetchOptions,
    /// Under which machines reach this service; none: no minimal images.
    pub base_url: Option<Url>,
    /// Web pages that may read images.
    pub origins: Origins,
    /// Images served at a time; of these one address gets three for each that is free.
    pub most_requests: usize,
    /// How long a request beyond that waits for its turn.
    pub turn: Duration,
    /// Whether plain HTTP, beside TLS, serves only what iPXE loads.
    pub tls_beside_http: bool,
}

/// Why there is no image service.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("measures can't be set up")]
    Metrics(#[from] prometheus::Error),
    #[error("failed to build rootfs URL: {0}")]
    BaseUrl(String),
}

/// The tasks that bring base images here; they end with this.
#[derive(Debug)]
pub struct Background(JoinSet<()>);

impl Background {
    /// Ends when a task has ended with a panic, and never otherwise.
    pub async fn failed(&mut self) -> JoinError {
        while let Some(ended) = self.0.join_next().await {
            if let Err(error) = ended {
                return error;
            }
        }
        std::future::pending().await
    }
}

/// The image service; a clone is another handle on the same one.
#[derive(Clone, Debug)]
pub struct Images(Arc<Service>);

#[derive(Debug)]
struct Service {
    catalog: Catalog,
    bases: Bases,
    overlays: OverlayCache,
    cors: Cors,
    metrics: Metrics,
    places: Places,
    turn: Duration,
    eager: bool,
    tls_beside_http: bool,
}

/// An ISO that is asked for.
struct Iso {
    infra_env: Uuid,
    image_kind: ImageKind,
    version: String,
    architecture: String,
    credential: Credential,
}

impl Images {
    /// Takes over what is in the folder, and starts the tasks that fetch base images; `api` is where infra-envs are known.
    ///
    /// # Errors
    ///
    /// When an address, the folder or TLS can't be used.
    pub fn start(api: &ApiAddress, options: Options) -> Result<(Self, Background), StartError> {
        if let Some(url) = &options.base_url {
            check_base_url(url)?;
        }
        let metrics = Metrics::new()?;
        let mut tasks = JoinSet::new();
        let eager = options.fetch.eager;
        let bases = Bases::open(
            &options.data_dir,
            &options.catalog,
            options.base_url.as_ref(),
            &options.fetch,
            &metrics,
            &mut tasks,
        )?;
        let service = Service {
            catalog: options.catalog,
            bases,
            overlays: OverlayCache::new(ApiService::new(api)?),
            cors: Cors(options.origins),
            metrics,
            places: Places::new(options.most_requests),
            turn: options.turn,
            eager,
            tls_beside_http: options.tls_beside_http,
        };
        Ok((Self(Arc::new(service)), Background(tasks)))
    }

    /// Answers a request of an address.
    pub(crate) async fn answer(&self, head: &Head, secure: bool, peer: IpAddr) -> Answer {
        let service = &*self.0;
        let path = head.uri.path();
        if service.tls_beside_http && !secure && needs_tls(path) {
            return Answer::not_found();
        }
        let route = Route::of(path);
        match &route {
            Route::Unknown => return Answer::not_found(),
            Route::Live => return Answer::bare(StatusCode::OK),
            Route::Health => return service.health(),
            Route::Metrics => return service.measures(),
            Route::Bases => return service.progress(),
            _ => {}
        }
        let mut record = None;
        let begin = || route.handler().map(|name| service.metrics.record(name, head.method.as_str()));
        if let Route::Artifact(_) = route {
            record = begin();
        }
        let mut place = None;
        let mut answer = if let Some(answer) = service.cors.preflight(head) {
            answer
        } else {
            let mut answer = match &route {
                Route::Artifact(path) => service.artifact(head, path),
                _ => match service.places.take(peer, service.turn).await {
                    None => Answer::later(head, BUSY, "as many images are being served as may be at a time"),
                    Some(taken) => {
                        place = Some(taken);
                        record = begin();
                        service.image(head, &route).await
                    }
                },
            };
            service.cors.let_in(head, &mut answer);
            answer
        };
        if let Some(record) = &mut record {
            record.code = answer.status.as_u16();
        }
        (answer.record, answer.place) = (record, place);
        answer
    }
}

impl Service {
    fn health(&self) -> Answer {
        // What is fetched when it is asked for is missing nothing.
        let healthy = !self.eager || self.bases.settled();
        Answer::bare(if healthy { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE })
    }

    fn measures(&self) -> Answer {
        match self.metrics.text() {
            Ok(text) => {
                let kind = HeaderValue::from_static(assisted_base::metrics::CONTENT_TYPE);
                Answer::typed(StatusCode::OK, kind, text)
            }
            Err(error) => failed("measures", &error),
        }
    }

    fn progress(&self) -> Answer {
        match serde_json::to_vec(&self.bases.report()) {
            Ok(json) => Answer::typed(StatusCode::OK, HeaderValue::from_static("application/json"), json),
            Err(error) => failed("progress", &error),
        }
    }

    async fn image(&self, head: &Head, route: &Route) -> Answer {
        let answered = match route {
            Route::ShortIsoPath(short) => match Iso::short(head, short) {
                Ok(iso) => self.iso(head, iso).await,
                Err(answer) => Err(answer),
            },
            Route::Long(id) => match Iso::long(head, *id) {
                Ok(iso) => self.iso(head, iso).await,
                Err(answer) => Err(answer),
            },
            Route::Initrd(id) => self.initrd(head, *id).await,
            Route::AddrSize(id) => self.addrsize(head, *id).await,
            _ => Err(Answer::not_found().into()),
        };
        answered.unwrap_or_else(|refusal| *refusal)
    }

    async fn iso(&self, head: &Head, iso: Iso) -> Result<Answer, ErrorAnswer> {
        let Iso { infra_env, image_kind, version, architecture, credential } = iso;
        let os_image = self.catalog.find(&version, &architecture).ok_or_else(Answer::not_found)?;
        let kind = match image_kind {
            ImageKind::Disconnected => BaseKind::Disconnected,
            _ => BaseKind::Full,
        };
        let base_image = self.base_image(head, os_image, kind)?;
        let request = OverlayRequest {
            infra_env,
            image_kind,
            credential: &credential,
            base_image: base_image.as_deref(),
        };
        let overlay = self.overlays.overlay(&request).await.map_err(|error| {
            tracing::warn!(%infra_env, reason = %error, "no image");
            match &*error {
                OverlayError::Api { refused, .. } => match &refused.said {
                    Some(said) => Answer::line(refused.status, said),
                    None => Answer::bare(refused.status),
                },
                OverlayError::BaseImage(_) => Answer::bare(StatusCode::INTERNAL_SERVER_ERROR),
            }
        })?;
        if architecture == S390X && overlay.kargs.is_some() {
            return Err(Answer::line(StatusCode::BAD_REQUEST, KARGS_ON_S390X).into());
        }
        let broken = |error: &dyn std::fmt::Display| {
            tracing::error!(%infra_env, version, architecture, %error, "no image");
            Answer::bare(StatusCode::INTERNAL_SERVER_ERROR)
        };
        if image_kind == ImageKind::Minimal && architecture == S390X {
            return Err(broken(&"there is no minimal image for s390x").into());
        }
        let base_image = base_image.ok_or_else(|| broken(&"no base image of that type is in the list"))?;
        let layout = base_image.customise(image_kind, &overlay).map_err(|error| broken(&error))?;
        let name = match image_kind {
            ImageKind::Disconnected => format!("agent-ove.{architecture}.iso"),
            _ => format!("{infra_env}-discovery.iso"),
        };
        Ok(content(&base_image, image_kind, &overlay, layout, name).answer(head))
    }

    async fn initrd(&self, head: &Head, infra_env: Uuid) -> Result<Answer, ErrorAnswer> {
        let architecture = query::value(&head.uri, "arch").unwrap_or_else(|| X86_64.to_owned());
        let (base_image, overlay, layout) = self.initramfs(head, infra_env, &architecture).await?;
        let name = format!("{infra_env}-initrd.img");
        Ok(content(&base_image, ImageKind::Initrd, &overlay, layout, name).answer(head))
    }

    async fn addrsize(&self, head: &Head, infra_env: Uuid) -> Result<Answer, ErrorAnswer> {
        let (base_image, overlay, initrd) = self.initramfs(head, infra_env, S390X).await?;
        let layout = base_image
            .addrsize(initrd.len())
            .map_err(|error| internal(infra_env, &format!("Failed to get initrd.addrsize: {error}")))?;
        let name = format!("{infra_env}-initrd.addrsize");
        Ok(content(&base_image, ImageKind::Initrd, &overlay, layout, name).answer(head))
    }

    /// What iPXE loads, for both routes that need it.
    async fn initramfs(
        &self,
        head: &Head,
        infra_env: Uuid,
        architecture: &str,
    ) -> Result<(Arc<BaseImage>, Arc<Overlay>, Layout), ErrorAnswer> {
        let bad = |text: &str| Answer::line(StatusCode::BAD_REQUEST, text);
        let version = query::value(&head.uri, "version")
            .ok_or_else(|| bad("'version' parameter required for initrd download"))?;
        let os_image = self
            .catalog
            .find(&version, architecture)
            .ok_or_else(|| bad(&format!("version for {version} {architecture}, not found ")))?;
        let credential = Credential::of(head);
        let image_kind = ImageKind::Initrd;
        let base_image = self.base_image(head, os_image, BaseKind::Full)?;
        let request = OverlayRequest {
            infra_env,
            image_kind,
            credential: &credential,
            base_image: base_image.as_deref(),
        };
        let overlay =
            self.overlays.overlay(&request).await.map_err(|error| initrd_failed(infra_env, &error))?;
        let base_image = base_image.ok_or_else(|| {
            internal(infra_env, "failed to get initrd: no full image of that version is in the list")
        })?;
        let layout = base_image
            .customise(image_kind, &overlay)
            .map_err(|error| internal(infra_env, &format!("failed to get initrd: {error}")))?;
        Ok((base_image, overlay, layout))
    }

    fn artifact(&self, head: &Head, path: &str) -> Answer {
        self.find_artifact(head, path).unwrap_or_else(|refusal| *refusal)
    }

    fn find_artifact(&self, head: &Head, path: &str) -> Result<Answer, ErrorAnswer> {
        if !matches!(head.method, Method::GET | Method::HEAD) {
            return Err(Answer::bare(StatusCode::METHOD_NOT_ALLOWED).into());
        }
        let bad = |text: &str| {
            Answer::line(StatusCode::BAD_REQUEST, &format!("Failed to parse query parameters: {text}"))
        };
        let version =
            query::value(&head.uri, "version").ok_or_else(|| bad("'version' parameter required"))?;
        let architecture = query::value(&head.uri, "arch").unwrap_or_else(|| X86_64.to_owned());
        let os_image = self
            .catalog
            .find(&version, &architecture)
            .ok_or_else(|| bad(&format!("version for {version} {architecture}, not found")))?;
        let unknown =
            |text: &str| Answer::line(StatusCode::NOT_FOUND, &format!("Failed to parse artifact: {text}"));
        let artifact = match path {
            "/boot-artifacts/kernel" => Artifact::Kernel,
            "/boot-artifacts/rootfs" => Artifact::Rootfs,
            "/boot-artifacts/ins-file" if architecture == S390X => Artifact::InsFile,
            "/boot-artifacts/ins-file" => {
                return Err(unknown(&format!(
                    "ins-file is only available for the s390x architecture. Current arch: {architecture}"
                ))
                .into());
            }
            _ => return Err(unknown(&format!("malformed download path: {path}")).into()),
        };
        let broken = |error: &dyn std::fmt::Display| {
            tracing::error!(version, architecture, %error, "no boot artifact");
            let text = format!("Error creating file reader stream: {error}");
            Answer::line(StatusCode::INTERNAL_SERVER_ERROR, &text)
        };
        let base_image = self
            .base_image(head, os_image, BaseKind::Full)?
            .ok_or_else(|| broken(&"no full image of that version is in the list"))?;
        Ok(base_image.artifact(artifact).map_err(|error| broken(&error))?.answer(head))
    }

    /// The base image of some kind; none when the list has none.
    ///
    /// # Errors
    ///
    /// The answer when it is not here yet.
    fn base_image(
        &self,
        head: &Head,
        os_image: &OsImage,
        kind: BaseKind,
    ) -> Result<Option<Arc<BaseImage>>, ErrorAnswer> {
        let key = BaseKey { kind, ..os_image.key() };
        match self.bases.find(&key) {
            Ok(base_image) => Ok(Some(base_image)),
            Err(NotReady::Unknown) => Ok(None),
            Err(NotReady::Later { seconds, why }) => Err(Answer::later(head, seconds, &why).into()),
        }
    }
}

impl Iso {
    /// By its path.
    fn short(head: &Head, short: &ShortIsoPath) -> Result<Self, ErrorAnswer> {
        let refused = |text: &str| Box::new(Answer::text(StatusCode::NOT_FOUND, text.to_owned()));
        let image_kind = match short.file.as_str() {
            "full.iso" => ImageKind::Full,
            "minimal.iso" => ImageKind::Minimal,
            "disconnected.iso" => ImageKind::Disconnected,
            other => return Err(refused(&format!("unrecognized file name {other}"))),
        };
        let named = |token: &str| token::infra_env_id(token).map_err(|error| refused(&error.to_string()));
        let (infra_env, credential) = match &short.by {
            InfraEnvRef::Id(id) => (*id, Credential::of(head)),
            InfraEnvRef::Token(token) => (named(token)?, Credential::with_token(head, token)),
            InfraEnvRef::ApiKey(key) => (named(key)?, Credential::ApiKey(key.as_str().into())),
        };
        let ShortIsoPath { version, architecture, .. } = short;
        Ok(Self {
            infra_env,
            image_kind,
            version: version.clone(),
            architecture: architecture.clone(),
            credential,
        })
    }

    /// By its query.
    fn long(head: &Head, infra_env: Uuid) -> Result<Self, ErrorAnswer> {
        let refused = |text: &str| Box::new(Answer::text(StatusCode::BAD_REQUEST, text.to_owned()));
        let needed = |name: &str| {
            query::value(&head.uri, name).ok_or_else(|| refused(&format!("'{name}' parameter required")))
        };
        let version = needed("version")?;
        let image_kind = match needed("type")?.as_str() {
            "full-iso" => ImageKind::Full,
            "minimal-iso" => ImageKind::Minimal,
            "disconnected-iso" => ImageKind::Disconnected,
            other => return Err(refused(&format!("invalid value '{other}' for parameter 'type'"))),
        };
        let architecture = query::value(&head.uri, "arch").unwrap_or_else(|| X86_64.to_owned());
        Ok(Self { infra_env, image_kind, version, architecture, credential: Credential::of(head) })
    }
}

fn content(
    base_image: &BaseImage,
    image_kind: ImageKind,
    overlay: &Overlay,
    layout: Layout,
    name: String,
) -> Content {
    let made_of = [&[image_kind as u8], overlay.digest.as_slice(), name.as_bytes()].concat();
    Content {
        layout,
        validators: Validators { etag: base_image.etag(&made_of), modified: overlay.modified },
        last_modified: overlay.last_modified.clone(),
        name,
        arrival: base_image.arrival(),
    }
}

fn initrd_failed(infra_env: Uuid, error: &OverlayError) -> Answer {
    match error {
        OverlayError::Api { step, refused } => {
            let what = if *step == Step::Ramdisk { "ramdisk" } else { "ignition" };
            tracing::warn!(%infra_env, reason = refused.reason, what, "no initramfs");
            Answer::line(refused.status, &format!("error retrieving {what} content: {}", refused.reason))
        }
        OverlayError::BaseImage(error) => internal(infra_env, &format!("failed to get initrd: {error}")),
    }
}

fn internal(infra_env: Uuid, text: &str) -> Answer {
    tracing::error!(%infra_env, reason = text, "no initramfs");
    Answer::line(StatusCode::INTERNAL_SERVER_ERROR, text)
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> Answer {
    tracing::error!(what, %error, "can't be told");
    Answer::bare(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Boot loaders would read some characters of the address as something else (image-service §2.9).
fn check_base_url(url: &Url) -> Result<(), StartError> {
    let refuse = |reason: &str| Err(StartError::BaseUrl(reason.to_owned()));
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return refuse("an address with http or https and a host is needed");
    }
    if url.as_str().contains(['$', '\\', '"', ' ']) {
        return refuse("it contains a character that boot loaders take for something else");
    }
    Ok(())
}
