//! The release of a control plane, by digest, and the version of Kubernetes in it: asked of the registry once, and remembered.

use std::collections::BTreeMap;
use std::time::Duration;

use assisted_release::{Mirrors, Proxies, PullSecret, Reference, Registries, Retry, Transport};
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::secret::Secret;
use parking_lot::Mutex;
use tokio::time::Instant;

/// How long an answer counts: what a tag leads to can change, and what could not be had may be there soon.
const KNOWN: Duration = Duration::from_secs(3600);
const FAILED: Duration = Duration::from_secs(30);
/// Answers that are kept; the oldest makes room.
const KEPT: usize = 256;
/// How often a registry is asked before it is left for later.
const RETRY: Retry =
    Retry { attempts: 2, first: Duration::from_millis(500), longest: Duration::from_secs(5) };

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Question {
    /// The image, by its tag or by digest.
    pub(super) image: String,
    /// Which credentials: their Secret and its version.
    pub(super) credentials: String,
    /// A `registries.conf`, and the authorities of its registries; empty: none.
    pub(super) registries: String,
    pub(super) authorities: String,
}

/// What is known of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// The image by digest.
    pub(super) image: Result<String, String>,
    /// Version of Kubernetes.
    pub(super) kubernetes: Result<String, String>,
}

/// Releases that were asked for.
#[derive(Default)]
pub(super) struct Releases(Mutex<BTreeMap<Question, (Instant, Known)>>);

impl Releases {
    /// What is known of a release, else what its registry says.
    pub(super) async fn find(&self, question: &Question, pull_secret: &Secret) -> Known {
        if let Some((until, known)) = self.0.lock().get(question)
            && *until > Instant::now()
        {
            return known.clone();
        }
        let known = ask(question, pull_secret).await;
        let lasts = if known.image.is_ok() && known.kubernetes.is_ok() { KNOWN } else { FAILED };
        let mut all = self.0.lock();
        if all.len() >= KEPT
            && let Some(oldest) = all.iter().min_by_key(|(_, (until, _))| *until).map(|(key, _)| key.clone())
        {
            all.remove(&oldest);
        }
        all.insert(question.clone(), (Instant::now() + lasts, known.clone()));
        known
    }
}

async fn ask(question: &Question, pull_secret: &Secret) -> Known {
    let image = &question.image;
    let release = read(question, pull_secret).await;
    let by_digest = match &release {
        // A digest needs nobody who knows it.
        _ if image.contains("@sha") => Ok(image.clone()),
        Ok((pinned, _)) => Ok(pinned.clone()),
        Err(error) => Err(format!("failed to resolve release image digest for {image}: {error}")),
    };
    let kubernetes = release
        .and_then(|(_, kubernetes)| kubernetes.ok_or_else(|| "unable to find kubernetes version".to_owned()));
    Known { image: by_digest, kubernetes }
}

async fn read(question: &Question, pull_secret: &Secret) -> Result<(String, Option<String>), String> {
    let image = &question.image;
    let wanted: Reference =
        image.parse().map_err(|error| format!("could not parse image {image}: {error}"))?;
    let credentials =
        PullSecret::parse(pull_secret).map_err(|error| format!("failed to parse pullsecret: {error}"))?;
    let mirrors = Mirrors::from_registries_conf(&question.registries).map_err(|error| error.to_string())?;
    let trusted = Some(question.authorities.clone()).filter(|text| !text.is_empty()).into_iter().collect();
    let transport = Transport { trusted, proxies: Proxies::FromEnvironment, ..Transport::default() };
    let registries = Registries::new(&transport, mirrors, RETRY).map_err(|error| error.to_string())?;
    // Of one for several architectures, any will do: all bring the same version.
    let session = registries.session(credentials);
    let release = session.release(&wanted, architecture(image)).await;
    let release = release.map_err(|error| assisted_base::error::chain(&error))?;
    Ok((release.pinned().to_string(), release.kubernetes.clone()))
}

/// The architecture that an image is read for.
fn architecture(image: &str) -> CpuArchitecture {
    [CpuArchitecture::Aarch64, CpuArchitecture::S390x, CpuArchitecture::Ppc64le]
        .into_iter()
        .find(|architecture| image.ends_with(&format!("-{}", architecture.as_str())))
        .unwrap_or(CpuArchitecture::X8664)
}
