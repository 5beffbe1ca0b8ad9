//! Each rule of ocl-day1 §B3.2, both ways: what it lets through, and what it tells.

mod cases;

use std::collections::BTreeSet;
use std::sync::Arc;

use assisted_wire::cluster::{DiskEncryption, DiskEncryptionMode};
use assisted_wire::cluster_params::{CpuArchitecture, RoleSet};
use assisted_wire::host::HostRole;
use assisted_wire::inventory::{Boot, BootDeviceType, DriveType};
use assisted_wire::network::{LoadBalancer, LoadBalancerType};
use assisted_wire::platform::PlatformType;
use serde_json::{Value, json};

use super::cluster_rules as rules;
use super::input::Input;
use super::violation::{Rule, Violation};
use super::{findings, generated, host_rules, machine_os_config, upload};
use crate::model::facts::Facts;
use crate::model::layering::ManifestObject;
use crate::validation::testing::{disk, facts, inventory};

pub(crate) use assisted_testkit::layering::machine_os_config as config;

/// The secret that it names.
pub(crate) fn secret() -> Value {
    assisted_testkit::layering::push_secret("kubernetes.io/dockerconfigjson")
}

/// Three control plane hosts and a worker that are fit for image mode, with what overrides and manifests say.
pub(crate) fn layered(layering: &Value, objects: &[Value]) -> Facts {
    let roles = [HostRole::Master, HostRole::Master, HostRole::Master, HostRole::Worker];
    let mut facts = facts(4)
        .with_inventory(&inventory().disks(vec![disk("sda", DriveType::Ssd, 200)]))
        .with_roles(&roles)
        .with_cluster(|cluster| {
            cluster.openshift_version = "4.21.3".to_owned();
            cluster.cpu_architecture = Some(CpuArchitecture::X8664);
            cluster.install_config_overrides = json!({"onClusterLayering": layering}).to_string();
        });
    let found = objects.iter().filter_map(findings::of_object).collect();
    facts.cluster.as_mut().unwrap().layering.manifests = [("manifests/os.yaml".to_owned(), found)].into();
    facts
}

pub(crate) fn enabled() -> Value {
    json!({"mode": "Enabled"})
}

pub(crate) fn external() -> Value {
    json!({"mode": "Enabled", "registry": {"type": "External"}})
}

/// All that fits.
pub(crate) fn objects() -> Vec<Value> {
    vec![config("master"), config("worker"), secret()]
}

fn all_violations(facts: &Facts) -> Vec<Violation> {
    let input = Input::of(facts).unwrap();
    let cluster = [
        rules::objects,
        rules::v04,
        rules::v09,
        rules::v10,
        rules::v12,
        rules::v13,
        rules::v14,
        rules::v15,
        rules::v18,
        rules::v20,
        rules::v23,
        rules::v24,
        rules::v25,
    ];
    let mut violations: Vec<Violation> = cluster.iter().flat_map(|rule| rule(&input)).collect();
    for host in &facts.hosts {
        violations.extend(host_rules::v16(&input, host));
        violations.extend(host_rules::v17(&input, host));
    }
    violations
}

/// Which rules tell something.
fn broken_rules(facts: &Facts) -> BTreeSet<Rule> {
    all_violations(facts).into_iter().map(|violation| violation.rule).collect()
}

fn changed(pool: &str, change: impl Fn(&mut Value)) -> Value {
    let mut config = config(pool);
    change(&mut config);
    config
}

/// What one object by itself is told.
fn of_object(object: &Value) -> BTreeSet<Rule> {
    let violations = machine_os_config::read(object, "amd64").err().unwrap_or_default();
    violations.into_iter().map(|violation| violation.rule).collect()
}

#[test]
fn what_fits_is_told_nothing() {
    assert_eq!(broken_rules(&layered(&enabled(), &objects())), BTreeSet::new());
    assert_eq!(broken_rules(&layered(&external(), &objects())), BTreeSet::new());
    assert!(Input::of(&facts(3)).is_none());
    assert!(Input::of(&layered(&json!({"mode": "Disabled"}), &objects())).is_none());
    let day2 = layered(&enabled(), &objects())
        .with_cluster(|cluster| cluster.kind = assisted_wire::cluster::ClusterKind::AddHostsCluster);
    assert!(Input::of(&day2).is_none());
}

type Change = fn(&mut Value);

/// Rules about one object: what breaks each, beside what it lets through.
const OBJECT: &[(Rule, bool, Change)] = &[
    (Rule::V01, true, |_| {}),
    (Rule::V01, false, |c| c["apiVersion"] = json!("machineconfiguration.openshift.io/v1alpha1")),
    (Rule::V01, false, |c| c["spec"]["other"] = json!(1)),
    (Rule::V01, false, |c| c["spec"]["imageBuilder"]["other"] = json!(1)),
    (Rule::V01, false, |c| c["status"] = json!({})),
    (Rule::V01, false, |c| c["spec"]["renderedImagePushSecret"] = json!({})),
    (Rule::V01, true, |c| c["spec"]["baseImagePullSecret"] = json!({"name": "base"})),
    (Rule::V01, false, |c| c["spec"]["baseImagePullSecret"] = json!({"name": "No Name"})),
    (Rule::V02, true, |_| {}),
    (Rule::V02, false, |c| c["metadata"]["name"] = json!("worker")),
    (Rule::V02, false, |c| c["metadata"] = json!({})),
    (Rule::V03, true, |_| {}),
    (Rule::V03, false, |c| {
        c["metadata"]["name"] = json!("infra");
        c["spec"]["machineConfigPool"]["name"] = json!("infra");
    }),
    (Rule::V03, false, |c| {
        c["metadata"]["name"] = json!("arbiter");
        c["spec"]["machineConfigPool"]["name"] = json!("arbiter");
    }),
    (Rule::V05, true, |_| {}),
    (Rule::V05, false, |c| c["spec"]["imageBuilder"]["imageBuilderType"] = json!("Pod")),
    (Rule::V05, false, |c| c["spec"]["imageBuilder"] = Value::Null),
    (Rule::V06, true, |c| c["spec"]["renderedImagePushSpec"] = json!("10.0.0.1:5000/os:1")),
    (Rule::V06, false, |c| c["spec"]["renderedImagePushSpec"] = json!("registry.example.com/a/b/os:1")),
    (Rule::V06, false, |c| c["spec"]["renderedImagePushSpec"] = json!("registry.example.com/a/os")),
    (Rule::V06, false, |c| c["spec"]["renderedImagePushSpec"] = json!("localhost:5000/a/os:1")),
    (Rule::V06, false, |c| c["spec"]["renderedImagePushSpec"] = json!(7)),
    (Rule::V07, true, |c| c["spec"]["containerFile"] = Value::Null),
    (Rule::V07, true, |c| c["spec"]["containerFile"] = json!([{"content": "x".repeat(0)}])),
    (Rule::V07, true, |c| {
        c["spec"]["containerFile"] = json!([{"containerfileArch": "S390X", "content": "FROM x"}]);
    }),
    (Rule::V07, false, |c| c["spec"]["containerFile"] = json!([{"content": "é".repeat(4097)}])),
    (Rule::V07, true, |c| {
        c["spec"]["containerFile"] = json!([{"content": format!("# {}", "é".repeat(4094))}]);
    }),
    (Rule::V07, false, |c| {
        c["spec"]["containerFile"] = json!([{"content": ""}, {"containerfileArch": "NoArch", "content": ""}]);
    }),
    (Rule::V07, false, |c| {
        c["spec"]["containerFile"] = json!([{"containerfileArch": "RISCV", "content": ""}]);
    }),
    (Rule::V07, false, |c| c["spec"]["containerFile"] = json!([{"containerfileArch": "NoArch"}])),
    (Rule::V07, false, |c| {
        let five = ["NoArch", "ARM64", "AMD64", "PPC64LE", "S390X"]
            .map(|arch| json!({"containerfileArch": arch, "content": ""}));
        c["spec"]["containerFile"] = json!(five);
    }),
    (Rule::V08, true, |c| c["spec"]["containerFile"][0]["content"] = json!("RUN true")),
    (Rule::V08, false, |c| c["spec"]["containerFile"][0]["content"] = json!("FROM scratch")),
    (Rule::V08, false, |c| {
        c["spec"]["containerFile"][0]["content"] = json!("FROM --platform=linux/arm64 configs");
    }),
    (Rule::V08, false, |c| c["spec"]["containerFile"][0]["content"] = json!("NONSENSE")),
    (Rule::V11, true, |c| c["metadata"]["annotations"] = json!({"mine": "x"})),
    (Rule::V11, false, |c| {
        c["metadata"]["annotations"] = json!({"machineconfiguration.openshift.io/pre-built-image": "x"});
    }),
    (Rule::V11, false, |c| {
        c["metadata"]["annotations"] =
            json!({"machineconfiguration.openshift.io/current-machine-os-build": "x"});
    }),
    (Rule::V11, false, |c| {
        c["metadata"]["annotations"] = json!({"machineconfiguration.openshift.io/rebuild": ""});
    }),
];

/// A rule, and whether facts are fine by it.
type OfCluster = (Rule, bool, Facts);

fn with(extra: &Value) -> Facts {
    let mut all = objects();
    all.push(extra.clone());
    layered(&enabled(), &all)
}

fn machine_config(role: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig", "spec": spec,
        "metadata": {"name": "99-mine", "labels": {"machineconfiguration.openshift.io/role": role}},
    })
}

fn without_workers(facts: Facts) -> Facts {
    facts.with_roles(&[HostRole::Master; 4])
}

fn fits() -> Facts {
    layered(&enabled(), &objects())
}

#[test]
fn each_rule_both_ways() {
    let mut tried = BTreeSet::new();
    for (rule, fine, change) in OBJECT {
        let object = changed("master", change);
        assert_eq!(!of_object(&object).contains(rule), *fine, "{rule}: {object}");
        tried.insert((*rule, *fine));
    }
    for (rule, fine, facts) in
        cases::of_manifests().into_iter().chain(cases::of_settings()).chain(cases::of_hosts())
    {
        let cluster = facts.cluster.as_ref().unwrap();
        assert_eq!(
            !broken_rules(&facts).contains(&rule),
            fine,
            "{rule}: {:?} {:?}",
            cluster.cluster.install_config_overrides,
            cluster.layering
        );
        tried.insert((rule, fine));
    }
    for (reference, fine) in
        [("api-int.c.d:22626/ocl/os", true), ("[fd00::1]:22626/ocl/os", false), ("fd00::1/ocl/os", false)]
    {
        assert_eq!(rules::v21(reference).is_none(), fine, "{reference}");
        tried.insert((Rule::V21, fine));
    }
    for (bytes, fine) in [(rules::MOST_BYTES, true), (rules::MOST_BYTES + 1, false)] {
        assert_eq!(rules::v22(bytes).is_none(), fine, "{bytes}");
        tried.insert((Rule::V22, fine));
    }
    // V19 asks a registry, which the builder does before it begins.
    let all = Rule::ALL.iter().filter(|rule| **rule != Rule::V19);
    let missing: Vec<_> =
        all.flat_map(|rule| [(*rule, true), (*rule, false)]).filter(|each| !tried.contains(each)).collect();
    assert_eq!(missing, []);
}

#[test]
fn what_a_violation_says() {
    let facts = layered(&enabled(), &[secret()]);
    let violations = all_violations(&facts);
    assert_eq!(
        violations[0].to_string(),
        "There is no MachineOSConfig for pool master (V09). Upload a manifest with a MachineOSConfig for each of the pools master \
         and, with workers, worker."
    );
    for violation in violations {
        assert!(!violation.text.is_empty() && violation.remedy.ends_with('.'), "{violation}");
    }
}

#[test]
fn what_is_judged_at_the_upload() {
    let check = |object: &Value, others: &[&Value], enabled| {
        let object = findings::of_object(object).into_iter().collect::<Vec<_>>();
        upload::check(&object, others, enabled, "amd64")
            .into_iter()
            .map(|violation| violation.rule)
            .collect::<Vec<_>>()
    };
    assert_eq!(check(&config("master"), &[], true), []);
    assert_eq!(check(&config("master"), &[&config("worker")], true), []);
    assert_eq!(check(&config("master"), &[&config("master")], false), [Rule::V04]);
    assert_eq!(
        check(&changed("master", |c| c["spec"]["imageBuilder"] = Value::Null), &[], false),
        [Rule::V05]
    );
    // An image that is there already is passed through where none is built.
    let digest = "0".repeat(64);
    let built = |image: &str| {
        changed("master", |c| {
            c["metadata"]["annotations"] = json!({(machine_os_config::PRE_BUILT_IMAGE): image});
        })
    };
    assert_eq!(check(&built(&format!("r.example.com/a/os@sha256:{digest}")), &[], false), []);
    assert_eq!(check(&built(&format!("r.example.com/a/os@sha256:{digest}")), &[], true), [Rule::V11]);
    assert_eq!(check(&built(&format!("r.example.com/a/os:1@sha256:{digest}")), &[], false), [Rule::V11]);
}

#[test]
fn what_of_a_file_matters() {
    let text = |objects: &[Value]| {
        objects
            .iter()
            .map(|object| format!("---\n{}", serde_yaml_ng::to_string(object).unwrap()))
            .collect::<String>()
    };
    let found = findings::of_manifest("a.yaml", text(&objects()).as_bytes());
    assert_eq!(found.len(), 3);
    assert_eq!(
        found[2],
        ManifestObject::RegistrySecret {
            name: "os-image-push".to_owned(),
            registries: Some(vec!["registry.example.com".to_owned()])
        }
    );
    // Credentials stay in the manifest.
    assert!(!format!("{found:?}").contains("dTpw"));
    assert_eq!(findings::of_manifest("a.yaml.patch", text(&objects()).as_bytes()), []);
    assert_eq!(findings::of_manifest("a.yaml", b"kind: ConfigMap\n"), []);
    assert_eq!(findings::of_manifest("a.json", config("master").to_string().as_bytes()).len(), 1);
    let mut encoded = secret();
    encoded["stringData"] = Value::Null;
    encoded["data"] = json!({".dockerconfigjson": "eyJhdXRocyI6e31\n9\n"});
    assert!(matches!(
        findings::of_object(&encoded),
        Some(ManifestObject::RegistrySecret { registries: Some(_), .. })
    ));
    let elsewhere = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": {"name": "x", "namespace": "other"}});
    assert_eq!(findings::of_object(&elsewhere), None);
}

#[test]
fn which_credentials_open_what() {
    let repository = "registry.example.com:5000/acme/os";
    for registry in [
        "registry.example.com:5000",
        "https://registry.example.com:5000/v2/",
        "registry.example.com:5000/acme",
        repository,
    ] {
        assert!(findings::opens(registry, repository), "{registry}");
    }
    for registry in [
        "",
        "registry.example.com",
        "registry.example.com:5000/ac",
        "example.com:5000",
        "registry.example.com:5000/acme/os/x",
    ] {
        assert!(!findings::opens(registry, repository), "{registry}");
    }
}

#[test]
fn generated_ones_fit_the_rules() {
    let settings = serde_json::from_value(json!({
        "mode": "Enabled", "machineOSConfigs": "Generate", "registry": {"type": "External", "pushRepository": "registry.example.com/acme/os"},
        "pools": [{"name": "master", "containerFile": "FROM configs AS final\nRUN true\n"}],
    }))
    .unwrap();
    let kept = [
        ("master", include_str!("../../tests/data/layering/generated-master.json")),
        ("worker", include_str!("../../tests/data/layering/generated-worker.json")),
    ];
    for (pool, kept) in kept {
        let made = generated::machine_os_config(&settings, pool.parse().unwrap());
        assert_eq!(of_object(&made), BTreeSet::new(), "{made}");
        assert_eq!(made, serde_json::from_str::<Value>(kept).unwrap());
    }
}
