//! Manifests: the same by kustomize and without it, and taken by a real API server that checks every field.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use assisted_kubeapi::operator::environment::DATABASE_IMAGE;
use assisted_kubeapi::rbac::{ROLES, Scope};
use assisted_lab_kinds::kinds;
use assisted_package::image::Kind;
use assisted_package::{bundle, kustomize, manifest};
use assisted_testkit::kube::Kube;
use assisted_testkit::kubernetes;
use serde_json::Value;

use crate::world::{inputs, root, run};

fn rendered(kube: &Kube, folder: &str) -> String {
    run(kube.kubectl().arg("kustomize").arg(root("deploy/kustomize").join(folder)))
}

/// Applies a manifest; each field has to be known.
fn apply(kube: &Kube, text: &str) -> String {
    let mut kubectl: Command = kube.kubectl();
    kubectl.args(["apply", "--server-side", "--validate=strict", "--filename=-"]);
    let mut child =
        kubectl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let told =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    told
}

/// Objects by kind and name.
fn objects(text: &str) -> BTreeMap<String, Value> {
    let parts = text.split("\n---\n").map(|part| serde_yaml_ng::from_str::<Value>(part).unwrap());
    let name = |part: &Value| {
        let (kind, name) = (part["kind"].as_str().unwrap(), part["metadata"]["name"].as_str().unwrap());
        (format!("{kind} {name} {}", part["metadata"]["namespace"]), part.clone())
    };
    parts.map(|part| name(&part)).collect()
}

fn launch() -> Kube {
    Kube::launch(&[]).unwrap()
}

#[test]
fn one_manifest_is_what_kustomize_makes() {
    let kube = launch();
    let image = "registry.example.com/assisted:latest";
    let (ours, theirs) = (objects(&manifest::hub(image).unwrap()), objects(&rendered(&kube, "")));
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    for (name, object) in &ours {
        assert_eq!(object, &theirs[name], "{name}");
    }
    let told = apply(&kube, &manifest::hub(image).unwrap());
    assert!(told.contains("deployment.apps/assisted-operator serverside-applied"), "{told}");
    // Each field of the bundle's examples is known to what was defined by it.
    run(kube.kubectl().args(["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]));
    apply(&kube, &fs::read_to_string(root("deploy/olm/examples.yaml")).unwrap());
}

#[test]
fn bases_of_a_release_need_no_checkout_and_name_its_image() {
    let (kubectl, dir) = (kubernetes::find("kubectl").unwrap(), tempfile::tempdir().unwrap());
    let image = "registry.example.com/assisted/service:1";
    for file in kustomize::bases(&root(""), image).unwrap() {
        let place = dir.path().join(&file.place);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, file.content).unwrap();
    }
    let made = |base: &str| objects(&run(Command::new(&kubectl).arg("kustomize").arg(dir.path().join(base))));
    assert!(made("") == objects(&manifest::hub(image).unwrap()));
    for base in ["service/kubernetes", "service/openshift"] {
        let objects = made(base);
        let deployment = objects.values().find(|object| object["kind"] == "Deployment").unwrap();
        assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], image, "{base}");
    }
}

#[test]
fn the_service_alone_is_taken_by_either_kind_of_cluster() {
    let kube = launch();
    let told = apply(&kube, &rendered(&kube, "service/kubernetes"));
    assert!(told.contains("ingress.networking.k8s.io/assisted serverside-applied"), "{told}");
    // The namespace refuses pods that may do more than they need, and this one is none.
    assert!(!told.contains("Warning"), "{told}");
    let route = kinds().unwrap().into_iter().find(|kind| kind.kind == "Route").unwrap();
    apply(&kube, &route.definition().unwrap().to_string());
    run(kube.kubectl().args([
        "wait",
        "--for=condition=Established",
        "--timeout=60s",
        "crd/routes.route.openshift.io",
    ]));
    let told = apply(&kube, &rendered(&kube, "service/openshift"));
    assert!(told.contains("route.route.openshift.io/assisted serverside-applied"), "{told}");
    let map = objects(&rendered(&kube, "service/openshift"));
    let map = map.values().find(|object| object["kind"] == "ConfigMap").unwrap();
    assert_eq!(map["data"]["CHECK_CLUSTER_VERSION"], "true");
}

#[test]
fn the_bundle_is_what_olm_reads() {
    let files = bundle::files(&inputs("registry.example.com", Path::new("/nowhere"))).unwrap();
    let read = |name: &str| serde_yaml_ng::from_str::<Value>(&files[name]).unwrap();
    let annotations = read("metadata/annotations.yaml");
    let annotation =
        |name: &str| &annotations["annotations"][format!("operators.operatorframework.io.bundle.{name}.v1")];
    assert_eq!(
        (annotation("mediatype"), annotation("package")),
        (&"registry+v1".into(), &bundle::PACKAGE.into())
    );
    let csv = read(&format!("manifests/{}.clusterserviceversion.yaml", bundle::PACKAGE));
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(csv["metadata"]["name"], format!("{}.v{version}", bundle::PACKAGE));
    assert_eq!(csv["spec"]["version"], version);
    // What it owns is in it, and nothing else is.
    let owned: Vec<_> = csv["spec"]["customresourcedefinitions"]["owned"].as_array().unwrap().clone();
    assert_eq!(files.len(), owned.len() + 3);
    for kind in &owned {
        let definition = read(&format!("manifests/{}.yaml", kind["name"].as_str().unwrap()));
        assert_eq!(definition["spec"]["names"]["kind"], kind["kind"]);
        let versions = definition["spec"]["versions"].as_array().unwrap();
        assert!(versions.iter().any(|one| one["name"] == kind["version"] && one["served"] == true), "{kind}");
    }
    // It has an example of each kind that it owns, and its rights are those of the code.
    let examples: Vec<Value> =
        serde_json::from_str(csv["metadata"]["annotations"]["alm-examples"].as_str().unwrap()).unwrap();
    assert_eq!(examples[0]["kind"], "AgentServiceConfig");
    for kind in &owned {
        assert!(examples.iter().any(|example| example["kind"] == kind["kind"]), "{kind}");
    }
    let spec = &csv["spec"]["install"]["spec"];
    for (key, scope) in [("clusterPermissions", Scope::Cluster), ("permissions", Scope::Namespace)] {
        for role in ROLES {
            let count = role.accesses.iter().filter(|access| access.scope == scope).count();
            let listed =
                spec[key].as_array().unwrap().iter().find(|one| one["serviceAccountName"] == role.account);
            assert_eq!(
                listed.map_or(0, |one| one["rules"].as_array().unwrap().len()),
                count,
                "{key} {}",
                role.account
            );
        }
    }
    let deployment = &spec["deployments"][0]["spec"]["template"]["spec"];
    assert_eq!(deployment["containers"][0]["image"], "registry.example.com/assisted/service:1");
    assert!(ROLES.iter().any(|role| deployment["serviceAccountName"] == role.account));
    // Nobody reaches the operator's pod, wherever it is installed.
    let policy = read(&format!("manifests/{}.networkpolicy.yaml", bundle::PACKAGE));
    let pod = &spec["deployments"][0]["spec"]["template"]["metadata"]["labels"];
    assert_eq!(
        (&policy["spec"]["podSelector"]["matchLabels"], &policy["metadata"]["namespace"]),
        (pod, &Value::Null)
    );
    // The database's image is one of those that mirrors have to hold.
    let related = csv["spec"]["relatedImages"].as_array().unwrap();
    assert_eq!(related.len(), Kind::ALL.len() + 1);
    assert!(related.iter().any(|one| one["name"] == "postgresql" && one["image"] == DATABASE_IMAGE));
}
