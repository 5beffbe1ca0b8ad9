//! Each rule of ocl-day1 §B3.2, both ways: what it lets through, and what it tells.

use std::collections::BTreeSet;
use std::sync::Arc;

use assisted_wire::cluster::{DiskEncryption, DiskEncryptionMode};
use assisted_wire::cluster_params::{CpuArchitecture, RoleSet};
use assisted_wire::host::HostRole;
use assisted_wire::inventory::{Boot, BootDeviceType, DriveType};
use assisted_wire::network::{LoadBalancer, LoadBalancerType};
use assisted_wire::platform::PlatformType;
use serde_json::{Value, json};

use super::cluster_rules::{self as rules, Input};
use super::fault::{Fault, Rule};
use super::{findings, generated, host_rules, machine_os_config, upload};
use crate::model::facts::Facts;
use crate::model::layering::ManifestObject;
use crate::validation::testing::{disk, facts, inventory};

/// A MachineOSConfig that fits.
pub(crate) fn config(pool: &str) -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineOSConfig",
        "metadata": {"name": pool},
        "spec": {
            "machineConfigPool": {"name": pool},
            "imageBuilder": {"imageBuilderType": "Job"},
            "renderedImagePushSecret": {"name": "os-image-push"},
            "renderedImagePushSpec": format!("registry.example.com/acme/os-{pool}:latest"),
            "containerFile": [{"containerfileArch": "NoArch", "content": "FROM configs AS final\nRUN dnf -y install tcpdump"}],
        },
    })
}

/// The secret that it names.
pub(crate) fn secret() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": "os-image-push", "namespace": "openshift-machine-config-operator"},
        "stringData": {".dockerconfigjson": r#"{"auths":{"registry.example.com":{"auth":"dTpw"}}}"#},
    })
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

fn all_faults(facts: &Facts) -> Vec<Fault> {
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
    let mut faults: Vec<Fault> = cluster.iter().flat_map(|rule| rule(&input)).collect();
    for host in &facts.hosts {
        faults.extend(host_rules::v16(&input, host));
        faults.extend(host_rules::v17(&input, host));
    }
    faults
}

/// Which rules tell something.
fn told(facts: &Facts) -> BTreeSet<Rule> {
    all_faults(facts).into_iter().map(|fault| fault.rule).collect()
}

fn changed(pool: &str, change: impl Fn(&mut Value)) -> Value {
    let mut config = config(pool);
    change(&mut config);
    config
}

/// What one object by itself is told.
fn of_object(object: &Value) -> BTreeSet<Rule> {
    let faults = machine_os_config::read(object, "amd64").err().unwrap_or_default();
    faults.into_iter().map(|fault| fault.rule).collect()
}

#[test]
fn what_fits_is_told_nothing() {
    assert_eq!(told(&layered(&enabled(), &objects())), BTreeSet::new());
    assert_eq!(told(&layered(&external(), &objects())), BTreeSet::new());
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
        c["spec"]["containerFile"] = json!([{"containerfileArch": "S390X", "content": "FROM x"}])
    }),
    (Rule::V07, false, |c| c["spec"]["containerFile"] = json!([{"content": "é".repeat(4097)}])),
    (Rule::V07, true, |c| {
        c["spec"]["containerFile"] = json!([{"content": format!("# {}", "é".repeat(4094))}])
    }),
    (Rule::V07, false, |c| {
        c["spec"]["containerFile"] = json!([{"content": ""}, {"containerfileArch": "NoArch", "content": ""}])
    }),
    (Rule::V07, false, |c| {
        c["spec"]["containerFile"] = json!([{"containerfileArch": "RISCV", "content": ""}])
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
        c["spec"]["containerFile"][0]["content"] = json!("FROM --platform=linux/arm64 configs")
    }),
    (Rule::V08, false, |c| c["spec"]["containerFile"][0]["content"] = json!("NONSENSE")),
    (Rule::V11, true, |c| c["metadata"]["annotations"] = json!({"mine": "x"})),
    (Rule::V11, false, |c| {
        c["metadata"]["annotations"] = json!({"machineconfiguration.openshift.io/pre-built-image": "x"})
    }),
    (Rule::V11, false, |c| {
        c["metadata"]["annotations"] =
            json!({"machineconfiguration.openshift.io/current-machine-os-build": "x"})
    }),
    (Rule::V11, false, |c| {
        c["metadata"]["annotations"] = json!({"machineconfiguration.openshift.io/rebuild": ""})
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

fn of_manifests() -> Vec<OfCluster> {
    let secret_of = |kind: &str, data: &Value| {
        let mut secret = secret();
        secret["type"] = json!(kind);
        secret["stringData"] = data.clone();
        secret
    };
    let with_secret =
        |layering: &Value, secret: Value| layered(layering, &[config("master"), config("worker"), secret]);
    let json = |text: &str| json!({".dockerconfigjson": text});
    let part = r#"{"auths":{"registry.example.com/other":{"auth":"dTpw"}}}"#;
    let base = changed("master", |c| c["spec"]["baseImagePullSecret"] = json!({"name": "base"}));
    let runc = |selector: &str| {
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "ContainerRuntimeConfig", "metadata": {"name": "runc"},
            "spec": {"machineConfigPoolSelector": {"matchLabels": {(format!("pools.operator.machineconfiguration.openshift.io/{selector}")): ""}},
                     "containerRuntimeConfig": {"defaultRuntime": "runc"}},
        })
    };
    let pool = |name: &str, spec: &Value| {
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "metadata": {"name": name}, "spec": spec,
        })
    };
    let policy = |scope: &str| {
        json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterImagePolicy", "metadata": {"name": "signed"}, "spec": {"scopes": [scope]},
        })
    };
    vec![
        (Rule::V04, true, fits()),
        (Rule::V04, false, with(&config("master"))),
        (Rule::V09, true, fits()),
        (Rule::V09, false, layered(&enabled(), &[secret()])),
        (Rule::V09, false, layered(&enabled(), &[config("master"), secret()])),
        (Rule::V09, true, without_workers(layered(&enabled(), &[config("master"), secret()]))),
        (Rule::V09, true, without_workers(fits())),
        (Rule::V10, false, layered(&enabled(), &[config("master"), config("worker")])),
        (Rule::V10, false, with_secret(&enabled(), secret_of("Opaque", &json("{}")))),
        (Rule::V10, false, with_secret(&enabled(), secret_of("kubernetes.io/dockerconfigjson", &json("{")))),
        (
            Rule::V10,
            true,
            with_secret(&enabled(), secret_of("kubernetes.io/dockercfg", &json!({".dockercfg": "{}"}))),
        ),
        (Rule::V10, true, with_secret(&enabled(), secret_of("kubernetes.io/dockerconfigjson", &json(part)))),
        (
            Rule::V10,
            false,
            with_secret(&external(), secret_of("kubernetes.io/dockerconfigjson", &json(part))),
        ),
        (Rule::V10, true, with_secret(&external(), secret())),
        (Rule::V10, false, layered(&enabled(), &[base, config("worker"), secret()])),
        (
            Rule::V14,
            true,
            with(&machine_config("master", &json!({"kernelType": "default", "kernelArguments": ["a"]}))),
        ),
        (Rule::V14, true, with(&machine_config("infra", &json!({"extensions": ["usbguard"]})))),
        (Rule::V14, false, with(&machine_config("master", &json!({"osImageURL": "x"})))),
        (Rule::V14, false, with(&machine_config("worker", &json!({"extensions": ["usbguard"]})))),
        (Rule::V14, false, with(&machine_config("master", &json!({"kernelType": "realtime"})))),
        (
            Rule::V14,
            true,
            without_workers(with(&machine_config("worker", &json!({"kernelType": "realtime"})))),
        ),
        (Rule::V15, true, with(&pool("master", &json!({})))),
        (Rule::V15, false, with(&pool("master", &json!({"osImageStream": {"name": "rhel-10"}})))),
        (Rule::V15, true, with(&pool("infra", &json!({"osImageStream": {"name": "rhel-10"}})))),
        (Rule::V15, false, with(&runc("worker"))),
        (Rule::V15, true, with(&runc("infra"))),
        (Rule::V24, true, with(&policy("quay.io/other"))),
        (Rule::V24, false, with(&policy("api-int.test.example.com:22626"))),
        (Rule::V24, false, with(&policy("*.example.com"))),
    ]
}

fn of_settings() -> Vec<OfCluster> {
    let switch = json!({"mode": "Enabled", "rollout": "Switch"});
    let switch_external = json!({"mode": "Enabled", "rollout": "Switch", "registry": {"type": "External"}});
    let confirmed = json!({"mode": "Enabled", "registry": {"loadBalancerConfigured": true}});
    let user_managed =
        |facts: Facts| facts.with_cluster(|cluster| cluster.user_managed_networking = Some(true));
    let none = |facts: Facts| {
        facts.with_cluster(|cluster| cluster.platform.as_mut().unwrap().r#type = PlatformType::None)
    };
    let balanced = |facts: Facts| {
        let balancer = LoadBalancer { r#type: Some(LoadBalancerType::UserManaged) };
        facts.with_cluster(|cluster| cluster.load_balancer = Some(balancer))
    };
    let version =
        |version: &str| fits().with_cluster(|cluster| cluster.openshift_version = version.to_owned());
    let cpu = |cpu| fits().with_cluster(|cluster| cluster.cpu_architecture = Some(cpu));
    let fips = |layering: &Value, fips: bool| {
        let overrides = json!({"fips": fips, "onClusterLayering": layering}).to_string();
        layered(layering, &objects()).with_cluster(|cluster| cluster.install_config_overrides = overrides)
    };
    let restarts = |layering: &Value| {
        let mut facts = layered(layering, &objects());
        Arc::make_mut(&mut facts.policy).clusters.enable_skip_mco_reboot = false;
        facts
    };
    vec![
        (Rule::V12, true, version("4.21.0")),
        (Rule::V12, true, version("4.21.0-ec.1")),
        (Rule::V12, true, version("4.22")),
        (Rule::V12, false, version("4.20.9")),
        (Rule::V12, false, version("latest")),
        (Rule::V12, false, cpu(CpuArchitecture::S390x)),
        (Rule::V12, true, cpu(CpuArchitecture::Arm64)),
        (Rule::V12, true, cpu(CpuArchitecture::Multi)),
        (Rule::V18, false, user_managed(fits())),
        (Rule::V18, false, none(fits())),
        (Rule::V18, false, balanced(fits())),
        (Rule::V18, true, user_managed(layered(&confirmed, &objects()))),
        (Rule::V18, true, user_managed(layered(&external(), &objects()))),
        (Rule::V18, true, user_managed(fits()).with_cluster(|cluster| cluster.control_plane_count = 1)),
        (Rule::V20, false, restarts(&enabled())),
        (Rule::V20, true, restarts(&external())),
        (Rule::V23, true, fips(&enabled(), false)),
        (Rule::V23, false, fips(&enabled(), true)),
        (Rule::V23, true, fips(&external(), true)),
        (Rule::V25, false, layered(&switch, &objects())),
        (Rule::V25, true, without_workers(layered(&switch, &objects()))),
        (Rule::V25, true, layered(&switch_external, &objects())),
    ]
}

fn of_hosts() -> Vec<OfCluster> {
    let mapped = |layering: &Value| {
        layered(layering, &objects()).with_inventory(&inventory().disks(vec![disk(
            "dm-0",
            DriveType::Multipath,
            200,
        )]))
    };
    let mixed = fits().with_host(|host| {
        let other =
            inventory().with(|inventory| inventory.cpu.as_mut().unwrap().architecture = "aarch64".to_owned());
        host.inventory = Some(Arc::new(other.disks(vec![disk("sda", DriveType::Ssd, 200)]).build()));
    });
    let encrypted = |layering: &Value, roles| {
        let encryption = DiskEncryption {
            enable_on: Some(roles),
            mode: Some(DiskEncryptionMode::Tpmv2),
            ..DiskEncryption::default()
        };
        layered(layering, &objects()).with_cluster(|cluster| cluster.disk_encryption = Some(encryption))
    };
    let kept = |layering: &Value| {
        let boot = Boot { device_type: Some(BootDeviceType::Persistent), ..Boot::default() };
        let kept = inventory()
            .disks(vec![disk("sda", DriveType::Ssd, 200)])
            .with(|inventory| inventory.boot = Some(boot));
        layered(layering, &objects()).with_inventory(&kept)
    };
    let machine = |layering: &Value, gb: i64, gib: i64| {
        layered(layering, &objects())
            .with_inventory(&inventory().disks(vec![disk("sda", DriveType::Ssd, gb)]).memory_mib(gib << 10))
    };
    let scratch = |scratch: &str| json!({"mode": "Enabled", "scratch": scratch});
    vec![
        (Rule::V13, true, fits()),
        (Rule::V13, false, mixed),
        (Rule::V16, true, fits()),
        (Rule::V16, false, mapped(&enabled())),
        (Rule::V16, true, mapped(&external())),
        (Rule::V16, false, encrypted(&enabled(), RoleSet::All)),
        (Rule::V16, true, encrypted(&enabled(), RoleSet::None)),
        (Rule::V16, true, encrypted(&external(), RoleSet::All)),
        (Rule::V16, false, kept(&enabled())),
        (Rule::V16, true, kept(&external())),
        (Rule::V17, true, machine(&enabled(), 120, 16)),
        (Rule::V17, true, machine(&enabled(), 60, 64)),
        (Rule::V17, false, machine(&enabled(), 60, 32)),
        (Rule::V17, false, machine(&scratch("Disk"), 60, 128)),
        (Rule::V17, false, machine(&scratch("Memory"), 500, 32)),
        (Rule::V17, false, machine(&scratch("Memory"), 10, 128)),
        (Rule::V17, true, machine(&scratch("Memory"), 60, 128)),
        (Rule::V20, false, mapped(&enabled())),
        (Rule::V20, true, mapped(&external())),
    ]
}

#[test]
fn each_rule_both_ways() {
    let mut tried = BTreeSet::new();
    for (rule, fine, change) in OBJECT {
        let object = changed("master", change);
        assert_eq!(!of_object(&object).contains(rule), *fine, "{rule}: {object}");
        tried.insert((*rule, *fine));
    }
    for (rule, fine, facts) in of_manifests().into_iter().chain(of_settings()).chain(of_hosts()) {
        let cluster = facts.cluster.as_ref().unwrap();
        assert_eq!(
            !told(&facts).contains(&rule),
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
fn what_a_fault_says() {
    let facts = layered(&enabled(), &[secret()]);
    let faults = all_faults(&facts);
    assert_eq!(
        faults[0].to_string(),
        "There is no MachineOSConfig for pool master (V09). Upload a manifest with a MachineOSConfig for each of the pools master \
         and, with workers, worker."
    );
    for fault in faults {
        assert!(!fault.text.is_empty() && fault.remedy.ends_with('.'), "{fault}");
    }
}

#[test]
fn what_is_judged_at_the_upload() {
    let judge = |object: &Value, others: &[&Value], enabled| {
        let object = findings::of_object(object).into_iter().collect::<Vec<_>>();
        upload::judge(&object, others, enabled, "amd64")
            .into_iter()
            .map(|fault| fault.rule)
            .collect::<Vec<_>>()
    };
    assert_eq!(judge(&config("master"), &[], true), []);
    assert_eq!(judge(&config("master"), &[&config("worker")], true), []);
    assert_eq!(judge(&config("master"), &[&config("master")], false), [Rule::V04]);
    assert_eq!(
        judge(&changed("master", |c| c["spec"]["imageBuilder"] = Value::Null), &[], false),
        [Rule::V05]
    );
    // An image that is there already is passed through where none is built.
    let digest = "0".repeat(64);
    let built = |image: &str| {
        changed("master", |c| {
            c["metadata"]["annotations"] = json!({(machine_os_config::PRE_BUILT_IMAGE): image})
        })
    };
    assert_eq!(judge(&built(&format!("r.example.com/a/os@sha256:{digest}")), &[], false), []);
    assert_eq!(judge(&built(&format!("r.example.com/a/os@sha256:{digest}")), &[], true), [Rule::V11]);
    assert_eq!(judge(&built(&format!("r.example.com/a/os:1@sha256:{digest}")), &[], false), [Rule::V11]);
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
    encoded["data"] = json!({".dockerconfigjson": "eyJhdXRocyI6e30\n9\n"});
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
