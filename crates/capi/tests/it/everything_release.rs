//! What is released is judged by `clusterctl`, which puts images and variables in, and by a real API server.

use std::path::Path;
use std::process::Command;

use assisted_capi::components::ALL;
use assisted_testkit::cluster_api::OLDEST;
use assisted_testkit::kube::Kube;
use assisted_testkit::terminal::limited;
use serde_json::Value;

use crate::world::apply;

const VERSION: &str = "v0.1.0";

/// `clusterctl` with a repository that holds what is in `deploy/`.
fn generated(dir: &Path, kind: &str) -> String {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/cluster-api");
    let mut config =
        "images: {all: {repository: registry.example.com/own, tag: v1}}\nproviders:\n".to_owned();
    for (components, provider) in ALL.iter().zip(["BootstrapProvider", "ControlPlaneProvider"]) {
        let folder = dir.join(components.folder).join(VERSION);
        std::fs::create_dir_all(&folder).unwrap();
        for file in [components.file, "metadata.yaml"] {
            std::fs::copy(deploy.join(components.folder).join(file), folder.join(file)).unwrap();
        }
        let url = folder.join(components.file);
        config.push_str(&format!(
            "- {{name: openshift-assisted, type: {provider}, url: \"file://{}\"}}\n",
            url.display()
        ));
    }
    let file = dir.join("clusterctl.yaml");
    std::fs::write(&file, config).unwrap();
    let mut clusterctl = Command::new(OLDEST.find("clusterctl").unwrap());
    clusterctl.env("CLUSTERCTL_DISABLE_VERSIONCHECK", "true").env("XDG_CONFIG_HOME", dir);
    clusterctl.env("ASSISTED_SERVICE_PORT", "8091");
    clusterctl.args(["generate", "provider", "--config"]).arg(file);
    clusterctl.arg(format!("--{kind}")).arg(format!("openshift-assisted:{VERSION}"));
    let output = limited(120, &clusterctl).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn everything_of_a_release_is_taken_by_clusterctl() {
    let dir = tempfile::tempdir().unwrap();
    let kube = Kube::launch(&[]).unwrap();
    for kind in ["bootstrap", "control-plane"] {
        apply(&kube, &generated(dir.path(), kind));
    }
    let get = |args: &[&str]| {
        let mut kubectl = kube.kubectl();
        let output = limited(120, kubectl.arg("get").args(args).arg("--output=json")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let selector = "--selector=cluster.x-k8s.io/provider";
    let deployments = get(&["deployments", "--all-namespaces", selector]);
    let deployments = deployments["items"].as_array().unwrap();
    assert_eq!(deployments.len(), 2);
    for deployment in deployments {
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], "registry.example.com/own/assisted:v1");
    }
    let env = deployments[0]["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap();
    assert!(
        env.iter().any(|env| env["name"] == "ASSISTED_SERVICE_PORT" && env["value"] == "8091"),
        "{env:?}"
    );
    for components in ALL {
        let namespace =
            format!("assisted-capi-{}-system", components.folder.trim_end_matches("-openshift-assisted"));
        let services = get(&["services", "--namespace", &namespace]);
        assert_eq!(services["items"].as_array().unwrap().len(), 1);
    }
    let definitions = get(&["crd", selector]);
    let definitions = definitions["items"].as_array().unwrap();
    assert_eq!(definitions.len(), 4);
    let (converted, plain): (Vec<_>, Vec<_>) = definitions
        .iter()
        .partition(|definition| definition["spec"]["versions"].as_array().unwrap().len() > 1);
    assert_eq!(plain.len(), 1);
    assert_eq!(plain[0]["spec"]["conversion"]["strategy"], "None");
    for definition in converted {
        let service = &definition["spec"]["conversion"]["webhook"]["clientConfig"]["service"];
        assert_eq!(service["path"], "/convert", "{definition:#}");
        assert!(service["namespace"].as_str().unwrap().starts_with("assisted-capi-"));
    }
}
