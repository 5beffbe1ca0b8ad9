//! Clusters that fit a rule, and clusters that do not.

use super::*;

pub(super) fn of_manifests() -> Vec<OfCluster> {
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
        (Rule::V24, true, with(&policy("*.ample.com"))),
        (Rule::V24, false, with(&policy("api-int.test.example.com:22626/ocl/os-image-worker"))),
        (Rule::V24, true, with(&policy("api-int.test.example.com:22626/oc"))),
        (Rule::V24, true, with(&policy("api-int.test.example.com:2262"))),
    ]
}

pub(super) fn of_settings() -> Vec<OfCluster> {
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
    let trusts = |layering: &Value, policy: &str| {
        let overrides =
            json!({"additionalTrustBundlePolicy": policy, "onClusterLayering": layering}).to_string();
        layered(layering, &objects()).with_cluster(|cluster| cluster.install_config_overrides = overrides)
    };
    let proxied = |facts: Facts| {
        facts.with_cluster(|cluster| cluster.http_proxy = "http://proxy.example.com:3128".to_owned())
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
        (Rule::V24, false, trusts(&enabled(), "Proxyonly")),
        (Rule::V24, true, trusts(&enabled(), "Always")),
        (Rule::V24, true, proxied(trusts(&enabled(), "Proxyonly"))),
        (Rule::V24, true, trusts(&external(), "Proxyonly")),
        (Rule::V25, false, layered(&switch, &objects())),
        (Rule::V25, true, without_workers(layered(&switch, &objects()))),
        (Rule::V25, true, layered(&switch_external, &objects())),
    ]
}

pub(super) fn of_hosts() -> Vec<OfCluster> {
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
    let single = |facts: Facts| facts.with_cluster(|cluster| cluster.control_plane_count = 1);
    let asking_for = |gib: i64, mut facts: Facts| {
        Arc::make_mut(&mut facts.policy).layering.min_memory_gib = gib;
        facts
    };
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
        // The disk of a single node is not the builder's.
        (Rule::V17, false, single(machine(&enabled(), 500, 63))),
        (Rule::V17, true, single(machine(&enabled(), 60, 64))),
        (Rule::V17, false, single(machine(&scratch("Disk"), 500, 128))),
        (Rule::V17, true, single(machine(&scratch("Memory"), 60, 64))),
        (Rule::V17, true, asking_for(9, single(machine(&enabled(), 30, 9)))),
        (Rule::V17, false, asking_for(9, single(machine(&enabled(), 30, 8)))),
        (Rule::V20, false, mapped(&enabled())),
        (Rule::V20, true, mapped(&external())),
    ]
}
