//! A registry with a small release in it.

use std::path::Path;
use std::time::Duration;

use assisted_release::mirror::{Mirror, Pull, Rule};
use assisted_release::{Mirrors, Proxies, PullSecret, Reference, Registries, Retry, Session, Transport};
use assisted_testkit::oci::{self, Image, Index, Layer, ReleaseImage};
use assisted_testkit::{Access, DockerRegistry};
use assisted_wire::cluster_params::CpuArchitecture;
use tempfile::TempDir;

pub const X86: CpuArchitecture = CpuArchitecture::X8664;
pub const VERSION: &str = "4.22.9";

/// Where the images of the release lie.
pub const RELEASES: &str = "ocp/release";
pub const PARTS: &str = "ocp/art";

pub struct Lab {
    pub images: TempDir,
    pub registry: DockerRegistry,
}

impl Lab {
    pub fn new() -> Self {
        Self::with(&Access::default())
    }

    pub fn with(access: &Access) -> Self {
        let images = tempfile::tempdir().unwrap();
        let registry = DockerRegistry::start(images.path(), access).unwrap();
        Self { images, registry }
    }

    /// A second registry with the same images.
    pub fn again(&self, access: &Access) -> DockerRegistry {
        DockerRegistry::start(self.images.path(), access).unwrap()
    }

    pub async fn push(&self, repository: &str, tag: Option<&str>, image: &Image) -> Reference {
        oci::push(&self.registry, repository, tag, image).await.unwrap().parse().unwrap()
    }

    pub async fn push_index(&self, repository: &str, tag: Option<&str>, index: &Index) -> Reference {
        oci::push_index(&self.registry, repository, tag, index).await.unwrap().parse().unwrap()
    }

    /// A release whose installer is [`program`]; `registry` stands in the names of its images.
    pub async fn release_at(&self, registry: &str) -> Reference {
        let installer = self.push(PARTS, None, &installer_image("amd64")).await;
        let other =
            Image::new("amd64", vec![Layer::new().unwrap().file("etc/x", b"x").unwrap().finish().unwrap()])
                .unwrap();
        let other = self.push(PARTS, None, &other).await;
        let at = |image: &Reference| format!("{registry}/{PARTS}@{}", image.digest.unwrap());
        let components = [
            ("installer", at(&installer)),
            ("machine-config-operator", at(&other)),
            ("must-gather", at(&other)),
        ];
        let release = release("amd64", &components);
        self.push(RELEASES, Some(VERSION), &release).await
    }

    pub async fn release(&self) -> Reference {
        self.release_at(&self.registry.name()).await
    }
}

pub fn release(architecture: &str, components: &[(&str, String)]) -> Image {
    let components = components.iter().map(|(name, image)| ((*name).to_owned(), image.clone())).collect();
    let release = ReleaseImage {
        version: VERSION.to_owned(),
        architecture: architecture.to_owned(),
        components,
        operator: Vec::new(),
    };
    release.build().unwrap()
}

/// A program that runs, with the three places for what it is told.
pub fn program() -> Vec<u8> {
    let place = |name: &str, length: usize| {
        let mut place = format!("\0{name}\0").into_bytes();
        place.resize(length - 1, b'X');
        place.push(0);
        place
    };
    // Something that does not pack well, so that a layer has a length.
    let mut state = 1_u32;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    let noise: Vec<u8> = noise.filter(|byte| *byte != b'\n').take(300_000).collect();
    [
        b"#!/bin/sh\necho \"lab installer $*\"\nexit 0\n".to_vec(),
        place("_RELEASE_IMAGE_LOCATION_", 327),
        noise,
        place("_RELEASE_VERSION_LOCATION_", 93),
        place("_RELEASE_ARCHITECTURE_LOCATION_", 98),
    ]
    .concat()
}

pub fn installer_image(architecture: &str) -> Image {
    let program = program();
    Image::new(architecture, oci::installer(program.as_slice(), program.len() as u64).unwrap()).unwrap()
}

/// No longer pauses than a test can wait for.
pub const QUICK: Retry =
    Retry { attempts: 3, first: Duration::from_millis(1), longest: Duration::from_secs(2) };

pub fn transport() -> Transport {
    let proxies = Proxies::Given { http: String::new(), https: String::new(), none_for: String::new() };
    Transport { proxies, ..Transport::default() }
}

pub fn plain(prefix: &str) -> Rule {
    Rule { prefix: prefix.to_owned(), location: None, blocked: false, insecure: true, mirrors: Vec::new() }
}

pub fn mirror(location: &str, pull: Pull) -> Mirror {
    Mirror { location: location.to_owned(), insecure: true, pull }
}

pub fn session_with(rules: impl IntoIterator<Item = Rule>) -> Session {
    let registries = Registries::new(&transport(), Mirrors::new(rules).unwrap(), QUICK).unwrap();
    registries.session(PullSecret::default())
}

/// Speaks to a registry without TLS.
pub fn session(registry: &str) -> Session {
    session_with([plain(registry)])
}

pub fn pull_secret(entries: &[(&str, &str)]) -> PullSecret {
    use base64::Engine;
    let entry = |(name, pair): &(&str, &str)| {
        let auth = base64::engine::general_purpose::STANDARD.encode(pair);
        ((*name).to_owned(), serde_json::json!({"auth": auth}))
    };
    let auths: serde_json::Map<_, _> = entries.iter().map(entry).collect();
    PullSecret::parse(&serde_json::json!({"auths": auths}).to_string().into()).unwrap()
}

pub fn write(dir: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path
}
