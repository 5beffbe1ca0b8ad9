//! The lab's release: what OpenShift's would be, made of the lab's own programs, etcd and Kubernetes, and pushed into the
//! registry of a lab network.

mod libraries;
mod os_image;

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use assisted_lab_tools::RELEASE_PARTS as PARTS;
use assisted_oci::{Attached, Blob, Image, Layer, PushError, Registry, ReleaseImage, push};
use sha2::{Digest, Sha256};

use self::libraries::libraries;
pub(crate) use self::os_image::BOOTABLE;

/// Repositories of the other images in the registry.
pub(crate) const RELEASE: &str = "ocp/release";
const CONTROLLER: &str = "assisted/controller";
const IRONIC_AGENT: &str = "metal3/ironic-agent";
/// What is attached to the installer's image.
const PROGRAM_TYPE: &str = "application/octet-stream";
/// In the words of Go.
const ARCHITECTURE: &str = "amd64";

/// Why there is no release.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    #[error("{} can't be read: {source}; build it, or run `cargo xtask setup`", path.display())]
    Program { path: PathBuf, source: io::Error },
    #[error("what {} is linked with can't be told: {why}", path.display())]
    Libraries { path: PathBuf, why: String },
    #[error("the image in {} can't be pushed: {why}", path.display())]
    NodeImage { path: PathBuf, why: String },
    #[error("an image can't be made: {0}")]
    Image(#[from] io::Error),
    #[error(transparent)]
    Push(#[from] PushError),
}

/// The programs that a release is made of.
#[derive(Clone, Debug)]
pub struct ReleasePrograms {
    /// `lab-cluster`: the installer, the machine-config daemon, the node.
    pub cluster: PathBuf,
    /// What machines take out of the release and run. Those of namespaces have it at hand: images of these names hold nothing then, since it
    /// takes longer to pack them than anything else.
    pub servers: Option<ServerPrograms>,
    /// Whether an image with Ironic's agent, as the lab has it, comes beside the release.
    pub ironic: bool,
    /// What image mode needs, where a cluster is installed in it.
    pub image_mode: Option<ImageModePrograms>,
}

/// The programs of a cluster that are not the lab's own.
#[derive(Clone, Debug)]
pub struct ServerPrograms {
    /// `assisted`, for the controller.
    pub assisted: PathBuf,
    pub etcd: PathBuf,
    /// Kubernetes: one program that is kube-apiserver, kube-controller-manager or kubectl by its name.
    pub kubernetes: PathBuf,
}

/// What a release has for clusters whose nodes boot images of their own.
#[derive(Clone, Debug)]
pub struct ImageModePrograms {
    pub registry: PathBuf,
    /// Looks into the program that renders configurations, out of the image that this is in.
    pub grep: PathBuf,
    pub node: NodeImage,
}

/// What the release's image of nodes is.
#[derive(Clone, Debug)]
pub enum NodeImage {
    /// As much as a build of images asks for, where machines have no system of their own.
    Small {
        /// Lays configurations out.
        ignition: PathBuf,
        /// All other programs; linked with nothing.
        busybox: PathBuf,
    },
    /// A whole system of ostree's, in a folder in the layout of OCI.
    Ostree(PathBuf),
}

/// What was pushed, by the names under which machines find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    pub release: String,
    /// Image of the controller, for the service's settings.
    pub controller: String,
}

impl Pushed {
    /// The names of a release in a registry, whether it is there or not.
    pub fn named(registry: &str, version: &str) -> Self {
        Self {
            release: format!("{registry}/{RELEASE}:{}", tag(version)),
            controller: format!("{registry}/{CONTROLLER}:latest"),
        }
    }
}

/// The name of the image with Ironic's agent in a registry, whether it is there or not.
pub(crate) fn ironic_agent(registry: &str) -> String {
    format!("{registry}/{IRONIC_AGENT}:latest")
}

fn tag(version: &str) -> String {
    format!("{version}-x86_64")
}

/// A file of an image: its place, and what it is.
type Entry<'a> = (&'a str, &'a Path);

/// Pushes a release to `registry`, a host and its port that takes images over plain HTTP from anyone.
///
/// # Errors
/// When a program is missing, or the registry refuses.
pub async fn push_release(
    registry: &str,
    version: &str,
    programs: &ReleasePrograms,
) -> Result<Pushed, ReleaseError> {
    let part = async |image: Image| push(registry, PARTS, None, &image).await;
    let installer = image(&[("usr/bin/openshift-install", &programs.cluster)], &[], &[])?;
    // Ignition on machines fetches the program itself from here: a host of the cluster may restart while it does.
    let program = std::fs::read(&programs.cluster)
        .map_err(|source| ReleaseError::Program { path: programs.cluster.clone(), source })?;
    let program = Attached::document(&installer.manifest, PROGRAM_TYPE, &program)?;
    // One program for the daemon and the controller, which are known by their names.
    let mut operator: Vec<Entry<'_>> = vec![("usr/bin/machine-config-daemon", programs.cluster.as_path())];
    operator.extend(programs.image_mode.iter().map(|more| ("usr/bin/grep", more.grep.as_path())));
    let operator = image(&operator, &["machine-config-controller"], &["/usr/bin/machine-config-daemon"])?;
    let bulk = bulk();
    let layer = Layer::new()?.file("etc/os-release", b"ID=lab\n")?.file("usr/share/bulk", &bulk)?;
    let layer = layer.finish()?;
    let empty = part(Image::new(ARCHITECTURE, vec![layer.clone()])?).await?;
    let (etcd, kubernetes) = match &programs.servers {
        Some(servers) => {
            let etcd = image(&[("usr/bin/etcd", &servers.etcd)], &[], &["/usr/bin/etcd"])?;
            let names = ["kube-apiserver", "kube-controller-manager", "kubectl"];
            let kubernetes = [("usr/bin/kube", servers.kubernetes.as_path())];
            let kubernetes = image(&kubernetes, &names, &["/usr/bin/kube-apiserver"])?;
            (part(etcd).await?, part(kubernetes).await?)
        }
        None => (empty.clone(), empty.clone()),
    };
    let mut components = vec![
        ("installer".to_owned(), part(installer).await?),
        ("machine-config-operator".to_owned(), part(operator).await?),
        ("etcd".to_owned(), etcd),
        ("hyperkube".to_owned(), kubernetes),
    ];
    Registry::plain(registry)?.attach(PARTS, &program).await?;
    components.extend(["must-gather", "cli"].map(|name| (name.to_owned(), empty.clone())));
    let os_image = match &programs.image_mode {
        Some(programs) => {
            let distribution =
                image(&[("usr/bin/distribution", &programs.registry)], &[], &["/usr/bin/distribution"])?;
            components.push(("docker-registry".to_owned(), part(distribution).await?));
            match &programs.node {
                NodeImage::Small { ignition, busybox } => {
                    part(os_image::make(ignition, busybox, layer.clone())?).await?
                }
                NodeImage::Ostree(folder) => os_image::push_folder(registry, PARTS, folder).await?,
            }
        }
        None => empty,
    };
    components.push(("rhel-coreos".to_owned(), os_image));
    let release = ReleaseImage {
        version: version.to_owned(),
        architecture: ARCHITECTURE.to_owned(),
        components,
        operator: bulk,
    };
    push(registry, RELEASE, Some(&tag(version)), &release.build()?).await?;
    let controller = match &programs.servers {
        Some(servers) => {
            image(&[("usr/bin/assisted", &servers.assisted)], &[], &["/usr/bin/assisted", "controller"])?
        }
        None => Image::new(ARCHITECTURE, vec![layer])?,
    };
    push(registry, CONTROLLER, Some("latest"), &controller).await?;
    if programs.ironic {
        let place = "usr/bin/ironic-agent";
        let agent = image(&[(place, &programs.cluster)], &[], &["/usr/bin/ironic-agent"])?;
        push(registry, IRONIC_AGENT, Some("latest"), &agent).await?;
    }
    Ok(Pushed::named(registry, version))
}

/// Bytes that can't be packed. Hosts judge a registry by the rate at which they fetch each image: one of a few bytes, which takes
/// an emulated machine seconds all the same, seems to come from a bad one.
fn bulk() -> Vec<u8> {
    (0..1_u32 << 16).flat_map(|number| Sha256::digest(number.to_le_bytes())).collect()
}

/// An image of programs, with what they are linked with below them, and further names of the first one beside it.
fn image(files: &[Entry<'_>], names: &[&str], program: &[&str]) -> Result<Image, ReleaseError> {
    let mut below = Layer::new()?.file("etc/os-release", b"ID=lab\n")?.file("tmp/.keep", b"")?;
    let mut top = Layer::new()?;
    let mut known = BTreeSet::new();
    for (place, path) in files {
        for library in libraries(path)? {
            if known.insert(library.clone()) {
                below = add(below, library.trim_start_matches('/'), Path::new(&library))?;
            }
        }
        top = add(top, place, path)?;
    }
    if let Some((place, _)) = files.first() {
        let name = place.rsplit('/').next().unwrap_or(place);
        for link in names {
            top = top.symlink(&format!("usr/bin/{link}"), name)?;
        }
    }
    let layers: Vec<Blob> = vec![below.finish()?, top.finish()?];
    Ok(Image::running(ARCHITECTURE, layers, program)?)
}

fn add(layer: Layer, place: &str, path: &Path) -> Result<Layer, ReleaseError> {
    let program = |source| ReleaseError::Program { path: path.to_owned(), source };
    let file = File::open(path).map_err(program)?;
    let size = file.metadata().map_err(program)?.len();
    Ok(layer.file_from(place, file, size)?)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use assisted_lab_tools::release_part_url;
    use assisted_testkit::{Access, DockerRegistry};

    use super::*;

    #[tokio::test]
    async fn what_is_pushed_can_be_found() {
        let dir = tempfile::tempdir().unwrap();
        let registry = DockerRegistry::start(dir.path(), &Access::default()).unwrap();
        // Any program will do: what counts is that its image brings what it is linked with.
        let program = PathBuf::from("/usr/bin/env");
        let servers =
            ServerPrograms { assisted: program.clone(), etcd: program.clone(), kubernetes: program.clone() };
        let programs = ReleasePrograms {
            cluster: program,
            servers: Some(servers.clone()),
            ironic: true,
            image_mode: None,
        };
        let pushed = push_release(&registry.name(), "4.20.1", &programs).await.unwrap();
        assert_eq!(pushed.release, format!("{}/ocp/release:4.20.1-x86_64", registry.name()));
        let digests = std::fs::read_dir(
            dir.path().join("docker/registry/v2/repositories/ocp/art/_manifests/revisions/sha256"),
        );
        // The daemon, the installer, etcd and Kubernetes; one for all that nobody runs; what is attached to the installer, and the list of that.
        assert_eq!(digests.unwrap().count(), 7);
        let content = std::fs::read(&programs.cluster).unwrap();
        let digest: String = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
        let url = release_part_url(&registry.name(), &format!("sha256:{digest}"));
        let path = url.strip_prefix(&format!("http://{}", registry.name())).unwrap();
        let mut socket = TcpStream::connect(registry.address()).unwrap();
        write!(socket, "GET {path} HTTP/1.0\r\nHost: registry\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        assert!(answer.ends_with(&content), "{}", String::from_utf8_lossy(&answer[..answer.len().min(500)]));
        assert!(dir.path().join("docker/registry/v2/repositories/metal3/ironic-agent/_manifests").is_dir());

        let servers = Some(ServerPrograms { etcd: "/no/such/etcd".into(), ..servers });
        let absent = ReleasePrograms { servers, ..programs };
        let told = push_release(&registry.name(), "4.20.1", &absent).await.unwrap_err().to_string();
        assert!(told.contains("/no/such/etcd") && told.contains("cargo xtask setup"), "{told}");

        // Machines of namespaces have their servers at hand: all that they ask the registry for is there nevertheless.
        let other = tempfile::tempdir().unwrap();
        let registry = DockerRegistry::start(other.path(), &Access::default()).unwrap();
        let bare = ReleasePrograms { servers: None, ..absent };
        push_release(&registry.name(), "4.20.1", &bare).await.unwrap();
        let repositories = other.path().join("docker/registry/v2/repositories");
        let parts = std::fs::read_dir(repositories.join("ocp/art/_manifests/revisions/sha256"));
        assert_eq!(parts.unwrap().count(), 5);
        assert!(repositories.join("assisted/controller/_manifests/tags/latest").is_dir());
    }
}
