//! What an installation takes: images by digest where they have one, catalogues of operators, and files.

use std::collections::BTreeMap;
use std::fmt::Write;

use assisted_base::version::base;
use assisted_console::Failure;
use assisted_console::output::{facts, table};
use assisted_core::catalogue::operators::Operator;
use assisted_core::catalogue::release::{architecture, must_gather, os_image};
use assisted_core::policy::Policy;
use assisted_release::{Reference, Release, Session, image};
use assisted_service::generator::openshift::RegistryAccess;
use assisted_wire::cluster_params::CpuArchitecture;
use serde::{Deserialize, Serialize};

/// What was selected to be installed.
pub(super) struct Selection {
    pub release: Reference,
    pub architecture: CpuArchitecture,
    pub operators: Vec<&'static Operator>,
}

/// All that an installation takes from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// Version of OpenShift.
    pub version: String,
    /// What the machines are.
    pub architectures: Vec<CpuArchitecture>,
    /// The release by digest.
    pub release: String,
    /// The release itself, what it is made of, and what this service brings.
    pub images: Vec<NeededImage>,
    /// Where operators come from. Which images those are made of stands in the catalogues: `assisted mirror check` reads it there.
    pub catalogues: Vec<Catalogue>,
    pub files: Vec<NeededFile>,
}

/// Who pulls an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Puller {
    /// Machines that are discovered: by all rules of REGISTRIES_CONF_FILE.
    Host,
    /// The new cluster, and hosts on its behalf: by its mirrors, which are for digests alone.
    Cluster,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NeededImage {
    /// Its name in the release, or what it is.
    pub name: String,
    pub image: String,
    pub pulled_by: Puller,
    /// Whether the release is made of it.
    pub is_component: bool,
}

/// A catalogue of operators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Catalogue {
    /// Its name in a cluster.
    pub name: String,
    pub image: String,
    pub packages: Vec<Package>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Package {
    pub name: String,
    /// Without one it is the package's own default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NeededFile {
    pub name: String,
    pub url: String,
    pub version: String,
}

impl Plan {
    /// What an installation takes; reads its release.
    pub(super) async fn of(
        selection: &Selection,
        policy: &Policy,
        access: &RegistryAccess,
        session: &Session,
    ) -> Result<Self, Failure> {
        let read = access.release_mirror.as_ref().unwrap_or(&selection.release);
        let several = selection.architecture == CpuArchitecture::Multi;
        let wanted = if several { image::host() } else { selection.architecture };
        let release = session.release(read, wanted).await.map_err(Failure::refused)?;
        let architectures =
            if several { release.architectures().to_vec() } else { vec![selection.architecture] };
        if !release.architectures().contains(&architecture::normal(wanted)) {
            return Err(Failure::Refused(format!(
                "the release {} is not for {wanted}: name one that serves it with --release-image",
                selection.release
            )));
        }
        let mut pinned = release.pinned();
        pinned.repository = selection.release.repository.clone();
        Ok(Self {
            release: pinned.to_string(),
            images: images(selection, policy, &release, &architectures),
            catalogues: catalogues(&selection.operators, &release.version, policy),
            files: files(&release.version, &architectures, policy)?,
            version: release.version,
            architectures,
        })
    }

    /// Its images and catalogues, for people.
    pub(super) fn table(&self) -> String {
        let architectures: Vec<_> = self.architectures.iter().map(|one| one.as_str()).collect();
        let mut text = facts(&[
            ("Version", self.version.clone()),
            ("Architectures", architectures.join(", ")),
            ("Release", self.release.clone()),
        ]);
        let rows = self.images.iter().map(|needed| [needed.name.clone(), needed.image.clone()]);
        let _ = write!(text, "\n\n{}", table(["NAME", "IMAGE"], rows));
        if !self.catalogues.is_empty() {
            let rows = self.catalogues.iter().map(|catalogue| {
                let packages = catalogue.packages.iter().map(|package| match &package.channel {
                    Some(channel) => format!("{} ({channel})", package.name),
                    None => package.name.clone(),
                });
                [catalogue.name.clone(), catalogue.image.clone(), packages.collect::<Vec<_>>().join(", ")]
            });
            let _ = write!(text, "\n\n{}", table(["CATALOGUE", "IMAGE", "PACKAGES"], rows));
        }
        let rows = self.files.iter().map(|file| [file.name.clone(), file.version.clone(), file.url.clone()]);
        let _ = write!(text, "\n\n{}", table(["FILE", "VERSION", "URL"], rows));
        text
    }
}

fn images(
    selection: &Selection,
    policy: &Policy,
    release: &Release,
    architectures: &[CpuArchitecture],
) -> Vec<NeededImage> {
    let needed = |name: &str, image: &str, pulled_by| NeededImage {
        name: name.to_owned(),
        image: image.to_owned(),
        pulled_by,
        is_component: false,
    };
    // As clusters are told of it.
    let mut all = vec![needed("release", &selection.release.to_string(), Puller::Cluster)];
    let components = release.components().iter().map(|(name, image)| NeededImage {
        is_component: true,
        ..needed(name, &image.to_string(), Puller::Cluster)
    });
    all.extend(components);
    let own = &policy.images;
    all.push(needed("assisted-installer-controller", &own.controller, Puller::Cluster));
    if own.agent_as_image {
        all.push(needed("assisted-installer-agent", &own.agent, Puller::Host));
        all.push(needed("assisted-installer", &own.installer, Puller::Host));
    }
    let mut collecting = BTreeMap::new();
    for architecture in architectures {
        collecting.extend(must_gather::named(&policy.versions, &release.version, *architecture));
    }
    all.extend(
        collecting
            .into_iter()
            .map(|(name, image)| needed(&format!("must-gather of {name}"), &image, Puller::Cluster)),
    );
    all
}

fn catalogues(operators: &[&Operator], version: &str, policy: &Policy) -> Vec<Catalogue> {
    let tag = base(version).map(|base| base.to_string()).unwrap_or_default();
    let mut found: BTreeMap<&str, Catalogue> = BTreeMap::new();
    for operator in operators {
        let subscribed = operator.subscribed(version, &policy.operators);
        let (name, repository) = subscribed.catalogue();
        let catalogue = found.entry(name).or_insert_with(|| Catalogue {
            name: name.to_owned(),
            image: format!("{repository}:v{tag}"),
            packages: Vec::new(),
        });
        let package = Package {
            name: subscribed.package().to_owned(),
            channel: subscribed.channel().map(str::to_owned),
        };
        if !catalogue.packages.contains(&package) {
            catalogue.packages.push(package);
        }
    }
    found.into_values().collect()
}

fn files(
    version: &str,
    architectures: &[CpuArchitecture],
    policy: &Policy,
) -> Result<Vec<NeededFile>, Failure> {
    let mut files = Vec::new();
    for architecture in architectures {
        let Some(of_image) = architecture::for_image(*architecture) else { continue };
        let image = os_image::find(&policy.versions.os_images.0, version, of_image)
            .map_err(|error| Failure::Refused(format!("{error}: add it to OS_IMAGES")))?;
        files.push(NeededFile {
            name: format!("CoreOS live image for {of_image}"),
            url: image.url.clone(),
            version: image.version.clone(),
        });
    }
    Ok(files)
}
