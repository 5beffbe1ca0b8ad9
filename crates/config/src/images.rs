//! Container images, OS images, release images and where they come from. What is `None` is built in.

use std::collections::BTreeMap;
use std::time::Duration;

use assisted_wire::infra_env::ImageType;
use assisted_wire::version::{ImageCpuArchitecture, OsImages, ReleaseImages, ReleaseSources};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::topic::topic;
use crate::value::{Value, choice, excerpt};

/// How the agent comes onto a host that is discovered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentDelivery {
    /// As a program that this service gives out: no registry is needed.
    #[default]
    Binary,
    /// Inside its container image.
    Image,
}

choice! {
    AgentDelivery, "binary or image",
    "binary" => Self::Binary,
    "image" => Self::Image,
}

topic! {
    /// Container images and the tools made from them.
    Images {
        /// Image of the agent; empty: agents are left as they are.
        agent: String = "quay.io/assisted/assisted-installer-agent:latest".to_owned(), "AGENT_DOCKER_IMAGE";
        /// How the agent comes onto a host: binary, a program that this service gives out, or image, by podman.
        agent_delivery: AgentDelivery = AgentDelivery::Binary, "AGENT_DELIVERY";
        /// Folder of the programs for hosts, assisted-host-ARCHITECTURE; empty: that of this program.
        host_programs_dir: String = String::new(), "HOST_PROGRAMS_DIR";
        /// File with the registries that stand in for others, for hosts that are discovered and for reading releases; used when it names any.
        registries_conf: String = "/etc/containers/registries.conf".to_owned(), "REGISTRIES_CONF_FILE";
        /// File with the certificates (PEM) of those registries.
        registries_ca: String =
            "/etc/pki/ca-trust/extracted/pem/user-registry-ca-bundle.pem".to_owned(), "REGISTRIES_CA_FILE";
        /// Image of the installer, for hosts whose agent came as an image.
        installer: String = "quay.io/assisted/assisted-installer:latest".to_owned(), "INSTALLER_IMAGE";
        /// Image of the controller in the new cluster.
        controller: String =
            "quay.io/assisted/assisted-installer-controller:latest".to_owned(), "CONTROLLER_IMAGE";
        /// What this service calls its own version.
        self_version: String = "Unknown".to_owned(), "SELF_VERSION";
        /// Tag of the release that this service is part of.
        release_tag: String = String::new(), "RELEASE_TAG";
        /// Type of an infra-env's image when none is asked for.
        iso_image_type: ImageType = ImageType::FullIso, "ISO_IMAGE_TYPE";
        /// Mirror that release images are read from to run the installer.
        release_image_mirror: String = String::new(), "OPENSHIFT_INSTALL_RELEASE_IMAGE_MIRROR";
        /// Whether an agent of another version is replaced.
        enable_upgrade_agent: bool = true, "ENABLE_UPGRADE_AGENT";
        /// Whether OKD clusters can be installed.
        enable_okd_support: bool = true, "ENABLE_OKD_SUPPORT";
        /// Image with the packages that OKD adds.
        okd_rpms_image: String = String::new(), "OKD_RPMS_IMAGE";
    }
}

topic! {
    /// OS images, release images and where they come from.
    Versions {
        /// OS images that discovery images are made from.
        os_images: Option<OsImages> = None, "OS_IMAGES";
        /// Release images that clusters are installed from.
        release_images: Option<ReleaseImages> = None, "RELEASE_IMAGES";
        /// Channels that further release images are found in.
        release_sources: Option<ReleaseSources> = None, "RELEASE_SOURCES";
        /// The update service that lists the releases in these channels, such as https://api.openshift.com; empty: only the release images are offered.
        updates_url: String = String::new(), "OCM_BASE_URL";
        /// Where it stands how long each version is supported.
        life_cycles_url: String =
            "https://access.redhat.com/product-life-cycles/api/v2/products".to_owned(), "RED_HAT_PRODUCT_LIFE_CYCLE_DATA_API_BASE_URL";
        /// How often the update service is asked.
        release_sync_interval: Duration = Duration::from_secs(30 * 60), "OPENSHIFT_RELEASE_SYNCER_INTERVAL";
        /// Versions that are not offered: full ones, or major.minor.
        ignored: JsonList = JsonList::default(), "IGNORED_OPENSHIFT_VERSIONS";
        /// Images that collect data of a failed cluster, by version.
        must_gather: Option<MustGather> = None, "MUST_GATHER_IMAGES";
        /// From which version on the discovery image applies nmstate files itself.
        min_version_for_nmstate_service: String = "4.18".to_owned(), "MIN_VERSION_FOR_NMSTATE_SERVICE";
    }
}

/// A JSON list of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct JsonList(pub Vec<String>);

/// Images by version, then by the operator that they know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct MustGather(pub BTreeMap<String, BTreeMap<String, String>>);

fn json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text)
        .map_err(|error| format!("{} is not the JSON that is needed: {error}", excerpt(text)))
}

fn filled(list: &str, field: &str, value: &str) -> Result<(), String> {
    if value.is_empty() { Err(format!("Missing value in {list} for '{field}' field")) } else { Ok(()) }
}

impl Value for JsonList {
    const KIND: &'static str = "a JSON list of texts";

    fn parse(text: &str) -> Result<Self, String> {
        json(text)
    }

    fn show(&self) -> String {
        if self.0.is_empty() { String::new() } else { format!("{:?}", self.0) }
    }
}

impl Value for Option<MustGather> {
    const KIND: &'static str = "a JSON map of versions to maps of operators to images";

    fn parse(text: &str) -> Result<Self, String> {
        json(text).map(Some)
    }

    fn show(&self) -> String {
        "built in".to_owned()
    }
}

impl Value for Option<OsImages> {
    const KIND: &'static str =
        "a JSON list of OS images, each with openshift_version, cpu_architecture, url, version";

    fn parse(text: &str) -> Result<Self, String> {
        let mut images: OsImages = json(text)?;
        for image in &mut images.0 {
            filled("OSImage", "openshift_version", &image.openshift_version)?;
            filled("OSImage", "url", &image.url)?;
            filled("OSImage", "version", &image.version)?;
            if image.cpu_architecture == ImageCpuArchitecture::Aarch64 {
                image.cpu_architecture = ImageCpuArchitecture::Arm64;
            }
        }
        Ok(Some(images))
    }

    fn show(&self) -> String {
        "built in".to_owned()
    }
}

impl Value for Option<ReleaseImages> {
    const KIND: &'static str =
        "a JSON list of release images, each with openshift_version, cpu_architecture, url, version";

    fn parse(text: &str) -> Result<Self, String> {
        let mut images: ReleaseImages = json(text)?;
        for image in &mut images.0 {
            filled("ReleaseImage", "openshift_version", &image.openshift_version)?;
            filled("ReleaseImage", "url", &image.url)?;
            filled("ReleaseImage", "version", &image.version)?;
            if image.cpu_architectures.as_ref().is_none_or(Vec::is_empty) {
                image.cpu_architectures = Some(vec![image.cpu_architecture.as_str().to_owned()]);
            }
        }
        Ok(Some(images))
    }

    fn show(&self) -> String {
        "built in".to_owned()
    }
}

impl Value for Option<ReleaseSources> {
    const KIND: &'static str =
        "a JSON list of release sources, each with openshift_version and upgrade_channels";

    fn parse(text: &str) -> Result<Self, String> {
        json(text).map(Some)
    }

    fn show(&self) -> String {
        "built in".to_owned()
    }
}
