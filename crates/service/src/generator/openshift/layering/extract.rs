//! MachineOSConfigs are taken out of the installation's manifests, and their secrets are completed (ocl-day1 §B3.1, §B4.1). This
//! happens once patches are applied, so that what is judged is what the cluster would have got.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use assisted_core::decide::cluster::layering;
use assisted_core::layering::cluster_rules as rules;
use assisted_core::layering::input::Input;
use assisted_core::layering::settings::MachineOsConfigs;
use assisted_core::layering::{
    MachineOsConfig, NAMESPACE, Violation, findings, generated, machine_os_config,
};
use assisted_core::model::facts::Facts;
use assisted_core::model::layering::ManifestObject;
use assisted_ocl::paths::EXTRA_INPUTS;
use assisted_wire::on_cluster_layering::Pool;
use assisted_wire::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::LayeringError;
use crate::generator::openshift::manifests::{documents, files, write};

/// The manifest of the push secret that was given with the cluster.
const PUSH_SECRET_FILE: &str = "99-ocl-registry-push.yaml";

/// What the builder is handed of the user's.
#[derive(Default)]
pub(super) struct UserInput {
    /// In the order in which they are built.
    pub configs: Vec<MachineOsConfig>,
    /// Credentials by the name of their Secret.
    pub secrets: BTreeMap<String, Secret>,
    /// Further files of the build: folder and name, and what they hold.
    pub extra: BTreeMap<(&'static str, String), Vec<u8>>,
}

/// Takes MachineOSConfigs out of the folder of an installation, judges everything once more, and completes the secrets with
/// `auths`: the machine config operator looks at the image with the push secret alone.
pub(super) fn extract(
    dir: &Path,
    facts: &Facts,
    auths: &Map<String, Value>,
) -> Result<UserInput, LayeringError> {
    let mut documents = Vec::new();
    let mut extra = BTreeMap::new();
    for folder in ["manifests", "openshift"] {
        for path in files(&dir.join(folder))? {
            take_out(&path, &mut documents, &mut extra)?;
        }
    }
    let settings = facts.cluster.as_ref().and_then(assisted_core::layering::enabled).unwrap_or_default();
    if settings.machine_os_configs() == MachineOsConfigs::Generate {
        let has_workers = Input::of(facts).is_some_and(|input| input.workers().next().is_some());
        let pools = [Some(Pool::Master), has_workers.then_some(Pool::Worker)];
        let made = pools.into_iter().flatten().map(|pool| generated::machine_os_config(&settings, pool));
        documents.extend(made.map(ManifestObject::MachineOsConfig));
        let push_secret = write_push_secret(dir, facts, &documents)?;
        documents.extend(push_secret);
    }
    let input = Input::with_objects(facts, documents.iter().collect()).ok_or(LayeringError::Disabled)?;
    check_rules(&input)?;
    let pools = input.pools();
    // One for workers that there are none of is not built now.
    let configs: Vec<_> = input.configs().into_iter().filter(|config| pools.contains(&config.pool)).collect();
    let patched = configs.iter().find(|config| is_patched(config, facts));
    patched.map_or(Ok(()), |config| Err(LayeringError::Patched(config.pool)))?;
    let named: Vec<String> = configs
        .iter()
        .flat_map(|config| [Some(config.push_secret.clone()), config.base_secret.clone()])
        .flatten()
        .collect();
    let secrets = complete(dir, &named, auths)?;
    let user = UserInput { configs, secrets, extra };
    rules::v22(user.bytes()).map_or(Ok(()), |violation| Err(LayeringError::Faults(violation.to_string())))?;
    Ok(user)
}

/// Puts the push secret that was given with the cluster among the manifests, unless the user brought one of its name there.
fn write_push_secret(
    dir: &Path,
    facts: &Facts,
    documents: &[ManifestObject],
) -> Result<Option<ManifestObject>, LayeringError> {
    let is_there = documents.iter().any(|object| match object {
        ManifestObject::RegistrySecret { name, .. } | ManifestObject::OtherSecret { name, .. } => {
            name == generated::PUSH_SECRET
        }
        _ => false,
    });
    let kept = facts.cluster.as_ref().map(|record| &record.layering.push_secret);
    let Some(config) = kept.filter(|config| !config.is_empty() && !is_there) else { return Ok(None) };
    let object = generated::push_secret(config);
    let failed = |_| LayeringError::Secret(generated::PUSH_SECRET.to_owned());
    let text = serde_yaml_ng::to_string(&object).map_err(failed)?;
    write(&dir.join("openshift").join(PUSH_SECRET_FILE), text.as_bytes())?;
    Ok(findings::of_object(&object))
}

impl UserInput {
    fn bytes(&self) -> usize {
        let configs = self.configs.iter().map(|config| config.document.to_string().len());
        let secrets = self.secrets.values().map(|secret| secret.expose().len());
        configs.chain(secrets).chain(self.extra.values().map(Vec::len)).sum()
    }
}

/// Checks every rule that manifests alone can break; what patches made may differ from what was uploaded.
fn check_rules(input: &Input<'_>) -> Result<(), LayeringError> {
    let of = [
        rules::objects,
        rules::v04,
        rules::v09,
        rules::v10,
        rules::v12,
        rules::v14,
        rules::v15,
        rules::v23,
        rules::v25,
    ];
    let mut violations: Vec<Violation> = of.iter().flat_map(|rule| rule(input)).collect();
    let references = input.configs().into_iter().filter_map(|config| rules::v21(&config.push_spec));
    violations.extend(references);
    if violations.is_empty() {
        return Ok(());
    }
    let told: Vec<_> = violations.iter().take(10).map(ToString::to_string).collect();
    Err(LayeringError::Faults(told.join(" ")))
}

/// Whether a MachineOSConfig is another one than that which the controller is given for its build, and which reports are judged by.
fn is_patched(config: &MachineOsConfig, facts: &Facts) -> bool {
    layering::machine_os_config(facts, config.pool.as_str())
        .is_ok_and(|kept| kept["spec"] != config.document["spec"])
}

/// Reads what of a file matters, and removes MachineOSConfigs from it.
fn take_out(
    path: &Path,
    found: &mut Vec<ManifestObject>,
    extra: &mut BTreeMap<(&'static str, String), Vec<u8>>,
) -> Result<(), LayeringError> {
    let text = fs::read_to_string(path)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let objects = findings::of_manifest(&name, text.as_bytes());
    if text.contains(NAMESPACE) {
        for value in values(&text) {
            further_files(&value, extra)?;
        }
    }
    let is_config = |object: &ManifestObject| matches!(object, ManifestObject::MachineOsConfig(_));
    if objects.iter().any(is_config) {
        let is_left = |document: &String| {
            let read: Result<Value, _> = serde_yaml_ng::from_str(document);
            !read.is_ok_and(|object| machine_os_config::is_one(&object))
        };
        let left: Vec<String> = documents(&text).into_iter().filter(is_left).collect();
        if left.is_empty() {
            fs::remove_file(path)?;
        } else {
            write(path, left.join("---\n").as_bytes())?;
        }
    }
    found.extend(objects);
    Ok(())
}

fn values(text: &str) -> impl Iterator<Item = Value> {
    serde_yaml_ng::Deserializer::from_str(text).map_while(|document| Value::deserialize(document).ok())
}

/// Files that the build sees besides, out of the objects that the machine config operator's own builds take them from.
fn further_files(
    object: &Value,
    extra: &mut BTreeMap<(&'static str, String), Vec<u8>>,
) -> Result<(), LayeringError> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if object["metadata"]["namespace"] != NAMESPACE {
        return Ok(());
    }
    let folder = match (object["kind"].as_str().unwrap_or_default(), name) {
        ("Secret", "etc-pki-rpm-gpg") => EXTRA_INPUTS[1],
        ("ConfigMap", "etc-yum-repos-d") => EXTRA_INPUTS[2],
        // One for each pool there; here the image of each pool is built with the same.
        ("Secret", name) if name == EXTRA_INPUTS[0] || name.starts_with("etc-pki-entitlement-") => {
            EXTRA_INPUTS[0]
        }
        _ => return Ok(()),
    };
    let refused = |file: &str| {
        LayeringError::Faults(format!("{name} has a file {file:?} that can't be handed to the build"))
    };
    let is_secret = object["kind"] == "Secret";
    for (member, encoded) in [("data", is_secret), ("binaryData", true), ("stringData", false)] {
        for (file, content) in object[member].as_object().into_iter().flatten() {
            let text = content.as_str().ok_or_else(|| refused(file))?;
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if file.is_empty() || file.starts_with('.') || !file.chars().all(plain) {
                return Err(refused(file));
            }
            let bytes = if encoded {
                let packed: String = text.split_whitespace().collect();
                STANDARD.decode(packed).map_err(|_| refused(file))?
            } else {
                text.as_bytes().to_vec()
            };
            extra.insert((folder, file.clone()), bytes);
        }
    }
    Ok(())
}

/// Puts `auths` into the secrets that are named, in their manifests, and returns what they then hold.
fn complete(
    dir: &Path,
    named: &[String],
    auths: &Map<String, Value>,
) -> Result<BTreeMap<String, Secret>, LayeringError> {
    let mut secrets = BTreeMap::new();
    for folder in ["manifests", "openshift"] {
        for path in files(&dir.join(folder))? {
            let text = fs::read_to_string(&path)?;
            if !text.contains(NAMESPACE) {
                continue;
            }
            let mut texts = Vec::new();
            let mut edited = false;
            for mut document in documents(&text) {
                let read: Option<Value> = serde_yaml_ng::from_str(&document).ok();
                if let Some((name, object, whole)) = read.and_then(|object| completed(object, named, auths)) {
                    document =
                        serde_yaml_ng::to_string(&object).map_err(|_| LayeringError::Secret(name.clone()))?;
                    secrets.insert(name, whole);
                    edited = true;
                }
                if !document.ends_with('\n') {
                    document.push('\n');
                }
                texts.push(document);
            }
            // Without `auths` nothing of them is changed.
            if edited && !auths.is_empty() {
                write(&path, texts.join("---\n").as_bytes())?;
            }
        }
    }
    match named.iter().find(|name| !secrets.contains_key(*name)) {
        Some(missing) => Err(LayeringError::Secret(missing.clone())),
        None => Ok(secrets),
    }
}

/// A Secret that is named, with `auths` in it, and what it holds.
fn completed(
    mut object: Value,
    named: &[String],
    auths: &Map<String, Value>,
) -> Option<(String, Value, Secret)> {
    let name = object["metadata"]["name"].as_str()?.to_owned();
    if object["kind"] != "Secret" || object["metadata"]["namespace"] != NAMESPACE || !named.contains(&name) {
        return None;
    }
    let mut all = findings::credentials(&object)?;
    all.extend(auths.clone());
    let whole = json!({"auths": all}).to_string();
    let members = object.as_object_mut()?;
    members.remove("stringData");
    members.insert("type".to_owned(), "kubernetes.io/dockerconfigjson".into());
    members.insert("data".to_owned(), json!({".dockerconfigjson": STANDARD.encode(&whole)}));
    Some((name, object, whole.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::openshift::layering::testing::{config, facts, secret};

    fn folder(made: &[(&str, String)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["manifests", "openshift"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        for (path, text) in made {
            fs::write(dir.path().join(path), text).unwrap();
        }
        dir
    }

    fn yaml(object: &Value) -> String {
        serde_yaml_ng::to_string(object).unwrap()
    }

    fn auths() -> Map<String, Value> {
        json!({"api-int.lab.example.com:22626": {"auth": "b2NsOng="}}).as_object().unwrap().clone()
    }

    #[test]
    fn configs_are_taken_out_and_secrets_completed() {
        let both = format!("kind: Other\n---\n{}", yaml(&config("master")));
        let dir = folder(&[
            ("manifests/both.yaml", both),
            ("openshift/worker.yaml", yaml(&config("worker"))),
            ("manifests/secret.yaml", yaml(&secret("kubernetes.io/dockerconfigjson"))),
            ("manifests/plain.yaml", "kind: ConfigMap\n".to_owned()),
        ]);
        let user = extract(dir.path(), &facts("{}"), &auths()).unwrap();
        assert_eq!(
            user.configs.iter().map(|config| config.pool).collect::<Vec<_>>(),
            [Pool::Master, Pool::Worker]
        );
        assert_eq!(fs::read_to_string(dir.path().join("manifests/both.yaml")).unwrap(), "kind: Other\n");
        assert!(!dir.path().join("openshift/worker.yaml").exists());
        assert_eq!(fs::read_to_string(dir.path().join("manifests/plain.yaml")).unwrap(), "kind: ConfigMap\n");
        let written: Value =
            serde_yaml_ng::from_str(&fs::read_to_string(dir.path().join("manifests/secret.yaml")).unwrap())
                .unwrap();
        let text = STANDARD.decode(written["data"][".dockerconfigjson"].as_str().unwrap()).unwrap();
        let read: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(read["auths"]["api-int.lab.example.com:22626"]["auth"], "b2NsOng=");
        assert_eq!(read["auths"]["registry.example.com"]["auth"], "dTpw");
        assert_eq!(user.secrets["os-image-push"].expose().as_bytes(), text);
    }

    #[test]
    fn the_oldest_form_of_secrets_becomes_the_newer_one() {
        let dir = folder(&[
            ("manifests/a.yaml", yaml(&config("master"))),
            ("manifests/b.yaml", yaml(&config("worker"))),
            ("manifests/c.yaml", yaml(&secret("kubernetes.io/dockercfg"))),
        ]);
        extract(dir.path(), &facts("{}"), &auths()).unwrap();
        let text = fs::read_to_string(dir.path().join("manifests/c.yaml")).unwrap();
        let written: Value = serde_yaml_ng::from_str(&text).unwrap();
        assert_eq!(written["type"], "kubernetes.io/dockerconfigjson");
        assert!(written["stringData"].is_null() && written["data"][".dockercfg"].is_null());
    }

    #[test]
    fn what_patches_made_is_judged() {
        let mut wrong = config("master");
        wrong["spec"]["imageBuilder"]["imageBuilderType"] = "Pod".into();
        let dir = folder(&[
            ("manifests/a.yaml", yaml(&wrong)),
            ("manifests/c.yaml", yaml(&secret("kubernetes.io/dockerconfigjson"))),
        ]);
        let told = extract(dir.path(), &facts("{}"), &auths()).err().unwrap().to_string();
        assert!(told.contains("V05") && told.contains("V09"), "{told}");
    }

    #[test]
    fn a_patched_config_is_refused() {
        let mut facts = facts("{}");
        let kept = ["master", "worker"].map(|pool| ManifestObject::MachineOsConfig(config(pool)));
        facts.cluster.as_mut().unwrap().layering.manifests =
            [("manifests/os.yaml".to_owned(), kept.to_vec())].into();
        let mut patched = config("worker");
        patched["spec"]["renderedImagePushSpec"] = "registry.example.com/other/os:latest".into();
        for (worker, fine) in [(config("worker"), true), (patched, false)] {
            let dir = folder(&[
                ("manifests/a.yaml", yaml(&config("master"))),
                ("manifests/b.yaml", yaml(&worker)),
                ("manifests/c.yaml", yaml(&secret("kubernetes.io/dockerconfigjson"))),
            ]);
            let told = extract(dir.path(), &facts, &auths()).err().map(|error| error.to_string());
            assert_eq!(told.is_none(), fine, "{told:?}");
            assert!(fine || told.unwrap().contains("for pool worker"));
        }
    }

    #[test]
    fn files_of_the_build() {
        let repos = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "etc-yum-repos-d", "namespace": NAMESPACE}, "data": {"a.repo": "[a]"}});
        let keys = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": {"name": "etc-pki-entitlement-master", "namespace": NAMESPACE}, "data": {"k.pem": "aw=="}});
        let mut made = vec![
            ("manifests/a.yaml", yaml(&config("master"))),
            ("manifests/b.yaml", yaml(&config("worker"))),
            ("manifests/c.yaml", yaml(&secret("kubernetes.io/dockerconfigjson"))),
            ("manifests/d.yaml", yaml(&repos)),
            ("openshift/e.yaml", yaml(&keys)),
        ];
        let user = extract(folder(&made).path(), &facts("{}"), &auths()).unwrap();
        let expected = [
            (("etc-pki-entitlement", "k.pem".to_owned()), b"k".to_vec()),
            (("etc-yum-repos-d", "a.repo".to_owned()), b"[a]".to_vec()),
        ];
        assert_eq!(user.extra, BTreeMap::from(expected));
        let mut odd = repos.clone();
        odd["data"] = json!({"../a": ""});
        made[3].1 = yaml(&odd);
        assert!(extract(folder(&made).path(), &facts("{}"), &auths()).is_err());
        let mut large = repos;
        large["data"]["a.repo"] = "x".repeat(rules::MOST_BYTES).into();
        made[3].1 = yaml(&large);
        assert!(
            extract(folder(&made).path(), &facts("{}"), &auths()).err().unwrap().to_string().contains("V22")
        );
    }

    #[test]
    fn generated_where_the_user_asks_for_it() {
        let asked = r#"{"machineOSConfigs":"Generate","registry":{"type":"External","pushRepository":"registry.example.com/acme/os"}}"#;
        let mut secret = secret("kubernetes.io/dockerconfigjson");
        secret["metadata"]["name"] = generated::PUSH_SECRET.into();
        let dir = folder(&[("manifests/c.yaml", yaml(&secret))]);
        let before = fs::read(dir.path().join("manifests/c.yaml")).unwrap();
        let user = extract(dir.path(), &facts(asked), &Map::new()).unwrap();
        assert_eq!(user.configs[0].push_spec, "registry.example.com/acme/os-master:latest");
        assert_eq!((user.configs.len(), user.secrets.len()), (2, 1));
        assert_eq!(fs::read(dir.path().join("manifests/c.yaml")).unwrap(), before);
    }

    #[test]
    fn the_push_secret_of_the_request_becomes_a_manifest() {
        let asked = r#"{"machineOSConfigs":"Generate","registry":{"type":"External","pushRepository":"registry.example.com/acme/os"}}"#;
        let mut facts = facts(asked);
        let dir = folder(&[]);
        let told = extract(dir.path(), &facts, &Map::new()).err().unwrap().to_string();
        assert!(told.contains("V10"), "{told}");
        let config = r#"{"auths":{"registry.example.com":{"auth":"dTpw"}}}"#;
        facts.cluster.as_mut().unwrap().layering.push_secret = config.into();
        let user = extract(dir.path(), &facts, &Map::new()).unwrap();
        assert_eq!(user.secrets[generated::PUSH_SECRET].expose(), config);
        let text = fs::read_to_string(dir.path().join("openshift").join(PUSH_SECRET_FILE)).unwrap();
        let written: Value = serde_yaml_ng::from_str(&text).unwrap();
        assert_eq!(written["metadata"]["namespace"], NAMESPACE);
        // One that the user brought is the one that is used.
        let mut own = secret("kubernetes.io/dockerconfigjson");
        own["metadata"]["name"] = generated::PUSH_SECRET.into();
        let dir = folder(&[("manifests/c.yaml", yaml(&own))]);
        extract(dir.path(), &facts, &Map::new()).unwrap();
        assert!(!dir.path().join("openshift").join(PUSH_SECRET_FILE).exists());
    }
}
