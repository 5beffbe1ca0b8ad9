//! Building on a control plane node (ocl-day1 §B7.1): the same builder as on a bootstrap host, with the same files at the same places. They
//! come out of a Secret that the controller packs and the Job's pod brings, since no generator lays anything onto a node.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use assisted_release::Digest;
use assisted_wire::on_cluster_layering::{LayeringErrorCode, Pool};
use assisted_wire::secret::Secret;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::embedded::Embedded;
use super::render::{self, Pass};
use super::{Failed, Machine, StartError, auth, scratch, verify};
use crate::config::{Config, mosc_file};
use crate::paths::{self, EXTRA, EXTRA_INPUTS, NODE_DATA, NODE_REGISTRY, SECRETS};

/// The pool whose image is built on a node.
const POOL: Pool = Pool::Worker;
/// Folders of the input: the Secret's files, and the user's further files by the name of their folder.
const GIVEN: &str = "input";
const FURTHER: &str = "extra";
/// Files of the Secret.
const CONFIG: &str = "config.json";
const RENDERED: &str = "rendered.json.gz";
const CREDENTIALS: &str = "credentials-";
/// Longest file that is taken over, in bytes: a Secret has no longer one, and packed configurations grow.
const LONGEST: u64 = 64 << 20;
const MOST_FILES: usize = 100;
/// How long a node's registry may take to get an image from its peers, in all and at once.
const REPLICA: Duration = Duration::from_secs(60 * 60);
const SYNC: Duration = Duration::from_secs(30 * 60);
const PAUSE: Duration = Duration::from_secs(10);

/// The files of the Secret that [`lay`] takes over: what is to be built, the user's MachineOSConfig, the MachineConfig that the cluster has
/// rendered for the pool, and the credentials of the Secrets that the MachineOSConfig names.
///
/// # Errors
/// When the configuration can't be packed.
pub fn pack(
    config: &str,
    machine_os_config: &str,
    rendered: &Value,
    credentials: &[(String, Secret)],
) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(rendered.to_string().as_bytes())?;
    let mut files = BTreeMap::from([
        (CONFIG.to_owned(), config.as_bytes().to_vec()),
        (mosc_file(POOL), machine_os_config.as_bytes().to_vec()),
        (RENDERED.to_owned(), packed.finish()?),
    ]);
    for (name, secret) in credentials {
        files.insert(format!("{CREDENTIALS}{name}.json"), secret.expose().as_bytes().to_vec());
    }
    Ok(files)
}

/// Lays what the pod brings where a builder looks for it: the files of [`pack`] in `input`, and the user's further files in `extra`, both
/// below `from`.
///
/// # Errors
/// When something of it is missing, or can't be written.
pub fn lay(machine: &Machine, from: &Path) -> Result<(), StartError> {
    Config::read(&read(&from.join(GIVEN).join(CONFIG)).map_err(StartError::Input)?)?;
    lay_files(machine, from).map_err(StartError::Input)
}

fn lay_files(machine: &Machine, from: &Path) -> io::Result<()> {
    let given = from.join(GIVEN);
    let rendered = read(&given.join(RENDERED))?;
    let mut text = Vec::new();
    GzDecoder::new(&rendered[..]).take(LONGEST).read_to_end(&mut text)?;
    // Nothing of it is quoted.
    let rendered: Value =
        serde_json::from_slice(&text).map_err(|_| io::Error::other(format!("{RENDERED} is no JSON")))?;
    render::lay(machine, POOL, &rendered)?;
    for name in [CONFIG.to_owned(), mosc_file(POOL)] {
        machine.write(&format!("{}/{name}", paths::DIR), 0o600, read(&given.join(&name))?)?;
    }
    for name in names(&given)? {
        if let Some(own) = name.strip_prefix(CREDENTIALS) {
            machine.write(&format!("{SECRETS}/{own}"), 0o600, read(&given.join(&name))?)?;
        }
    }
    for folder in EXTRA_INPUTS {
        let further = from.join(FURTHER).join(folder);
        for name in names(&further)? {
            machine.write(&format!("{EXTRA}/{folder}/{name}"), 0o600, read(&further.join(&name))?)?;
        }
    }
    Ok(())
}

/// The files of a volume; those that begin with a dot are the kubelet's own. None where there is no such folder.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    Ok(names.filter(|name| !name.starts_with('.')).take(MOST_FILES).collect())
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let told = |error: io::Error| io::Error::other(format!("{}: {error}", path.display()));
    let mut bytes = Vec::new();
    fs::File::open(path).map_err(told)?.take(LONGEST).read_to_end(&mut bytes).map_err(told)?;
    Ok(bytes)
}

/// Takes away what a node needs no more once its build has ended: the room, credentials, and the rendered configuration. What tells of the
/// build stays.
pub(super) async fn tidy(machine: &Machine) {
    scratch::remove(machine).await;
    for path in [SECRETS, EXTRA, Pass::First.dir()] {
        if let Err(error) = fs::remove_dir_all(machine.path(path))
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, path, "stays");
        }
    }
}

/// Has this node's registry serve an image that another node has built: it is put on the list of what the registry must have, and the
/// node's own unit gets it from a peer. It is done when the registry gives the image's own bytes out.
///
/// # Errors
/// When that doesn't come about in time.
pub async fn replicate(machine: &Machine, from: &Path, image: &str) -> Result<(), Failed> {
    let wrong = |reason: String| Failed::for_good(LayeringErrorCode::Registry, reason);
    let text = read(&from.join(GIVEN).join(CONFIG))?;
    let config = Config::read(&text).map_err(|error| wrong(error.to_string()))?;
    let Some(registry) = Embedded::of(machine, &config) else { return Ok(()) };
    let (repository, digest) =
        parts(image).ok_or_else(|| wrong(format!("{image:?} is no image by its digest")))?;
    want(machine, repository, digest)?;
    let secret = auth::parsed(&auth::merged(machine, &[])?)?;
    let session =
        verify::session(machine, &config.proxy, vec![registry.authority()?], secret).map_err(wrong)?;
    let local = registry.local_repository(POOL);
    let serves = async {
        while let Err(error) = verify::check(&session, &local, digest, POOL, &config).await {
            tracing::info!(image, %error, "this node's registry doesn't serve the image yet");
            for unit in [paths::SYNC_UNIT, paths::REGISTRY_UNIT] {
                if let Err(error) = machine.run(SYNC, "systemctl", &["start", unit]).await {
                    tracing::warn!(unit, error, "can't be started");
                }
            }
            machine.sleep(PAUSE).await;
        }
    };
    let late = |_| wrong(format!("this node's registry doesn't serve {image} after an hour"));
    tokio::time::timeout(machine.pace(REPLICA).max(PAUSE), serves).await.map_err(late)
}

/// Repository and digest of an image.
fn parts(image: &str) -> Option<(&str, Digest)> {
    let (name, digest) = image.split_once('@')?;
    Some((name.split_once('/')?.1, digest.parse().ok()?))
}

/// Puts an image on the list of what this node's registry must have, beside what is on it.
fn want(machine: &Machine, repository: &str, digest: Digest) -> io::Result<()> {
    const NAME: &str = "wanted.json";
    let places = [format!("{NODE_REGISTRY}/{NAME}"), format!("{NODE_DATA}/{NAME}")];
    let known = places.iter().find_map(|path| machine.read(path).ok());
    let known: Option<Value> = known.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let known = known.and_then(|list| list["repositories"].as_object().cloned());
    let mut all = known.unwrap_or_default();
    all.insert(repository.to_owned(), json!(digest.to_string()));
    machine.write(&places[0], 0o644, json!({ "repositories": all }).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::machine_os_config::MachineOsConfig;
    use crate::builder::tests::{config, scripted};

    const SUM: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn given(folder: &Path) {
        let text = String::from_utf8(config(2).write().unwrap()).unwrap();
        let object =
            json!({"kind": "MachineOSConfig", "spec": {"renderedImagePushSecret": {"name": "push"}}});
        let rendered =
            json!({"metadata": {"name": "rendered-worker-1"}, "spec": {"osImageURL": "os", "config": {}}});
        let push = ("push".to_owned(), Secret::from(r#"{"auths":{}}"#));
        let files = pack(&text, &object.to_string(), &rendered, &[push]).unwrap();
        // As a kubelet lays a volume.
        fs::create_dir_all(folder.join("input/..data")).unwrap();
        fs::create_dir_all(folder.join("extra/etc-yum-repos-d")).unwrap();
        fs::write(folder.join("extra/etc-yum-repos-d/a.repo"), "[a]").unwrap();
        for (name, bytes) in files {
            fs::write(folder.join("input/..data").join(&name), bytes).unwrap();
            std::os::unix::fs::symlink(format!("..data/{name}"), folder.join("input").join(&name)).unwrap();
        }
    }

    #[tokio::test]
    async fn a_node_gets_what_a_bootstrap_host_has() {
        let dir = tempfile::tempdir().unwrap();
        let machine = scripted(dir.path(), "");
        let input = dir.path().join("pod");
        assert!(matches!(lay(&machine, &input), Err(StartError::Input(_))));
        given(&input);
        lay(&machine, &input).unwrap();
        let rendered = render::read(&machine, Pass::First, POOL).unwrap();
        assert_eq!((rendered.name.as_str(), rendered.os_image()), ("rendered-worker-1", "os"));
        let object = MachineOsConfig::of(&machine, POOL).unwrap();
        assert_eq!(object.push_secret(), Some("push"));
        assert!(auth::merged(&machine, &["push"]).is_ok());
        assert_eq!(machine.read(&format!("{EXTRA}/etc-yum-repos-d/a.repo")).unwrap(), b"[a]");
        assert!(Config::read(&machine.read(paths::CONFIG).unwrap()).is_ok());
        tidy(&machine).await;
        for gone in [SECRETS, EXTRA, Pass::First.dir()] {
            assert!(!machine.exists(gone), "{gone}");
        }
        assert!(machine.exists(paths::CONFIG));
    }

    #[test]
    fn an_odd_configuration_is_not_laid() {
        let dir = tempfile::tempdir().unwrap();
        let machine = scripted(dir.path(), "");
        let odd = json!({"metadata": {"name": "../../etc/x"}, "spec": {}});
        assert!(render::lay(&machine, POOL, &odd).is_err());
    }

    #[test]
    fn a_registry_wants_one_image_more() {
        let dir = tempfile::tempdir().unwrap();
        let machine = scripted(dir.path(), "");
        let image = format!("api-int.c.d:22626/ocl/os-image-worker@{SUM}");
        let (repository, digest) = parts(&image).unwrap();
        assert_eq!(repository, "ocl/os-image-worker");
        assert!(parts("api-int.c.d/x:1").is_none());
        let wanted = || -> Value {
            serde_json::from_slice(&machine.read(&format!("{NODE_REGISTRY}/wanted.json")).unwrap()).unwrap()
        };
        want(&machine, repository, digest).unwrap();
        assert_eq!(wanted(), json!({"repositories": {"ocl/os-image-worker": SUM}}));
        let installed = r#"{"repositories": {"ocl/os-image-master": "sha256:1"}}"#;
        machine.write(&format!("{NODE_REGISTRY}/wanted.json"), 0o644, installed).unwrap();
        want(&machine, repository, digest).unwrap();
        want(&machine, repository, digest).unwrap();
        let both = json!({"ocl/os-image-master": "sha256:1", "ocl/os-image-worker": SUM});
        assert_eq!(wanted(), json!({ "repositories": both }));
    }

    /// Its own registry is not touched, whatever is taken away.
    #[tokio::test]
    async fn a_nodes_registry_stays() {
        let dir = tempfile::tempdir().unwrap();
        let machine = scripted(dir.path(), "");
        machine.write(&format!("{NODE_REGISTRY}/config-rw.yaml"), 0o644, "").unwrap();
        tidy(&machine).await;
        let asked = fs::read_to_string(dir.path().join("asked")).unwrap();
        let removed: Vec<_> = asked.lines().filter(|line| line.contains("rm --force")).collect();
        assert_eq!(removed, ["podman rm --force --ignore --time=5 ocl-build-rw"]);
    }
}
