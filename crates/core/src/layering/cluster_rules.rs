//! What of a cluster as a whole must fit image mode (ocl-day1 §B3.2, "C").

use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::on_cluster_layering::Pool;
use assisted_wire::platform::PlatformType;
use serde_json::Value;

use super::findings::opens;
use super::input::Input;
use super::machine_os_config;
use super::reference::PushSpec;
use super::settings::Rollout;
use super::violation::{Rule, Violation};
use super::{host_rules, upload};
use crate::model::facts::HostFacts;
use crate::model::layering::ManifestObject;
use crate::model::topology;

/// V01 to V03, V05 to V08, V11 of each MachineOSConfig, once more: it may be older than the switch.
pub fn objects(input: &Input<'_>) -> Vec<Violation> {
    let read = |document| machine_os_config::read(document, input.architecture());
    input.documents().filter_map(|document| read(document).err()).flatten().collect()
}

/// One MachineOSConfig for a pool at most.
pub fn v04(input: &Input<'_>) -> Vec<Violation> {
    let mut before: Vec<&Value> = Vec::new();
    let mut violations = Vec::new();
    for document in input.documents() {
        violations.extend(upload::v04(document, &before));
        before.push(document);
    }
    violations
}

/// One MachineOSConfig for each pool with hosts. One for workers that there are none of is kept for later.
pub fn v09(input: &Input<'_>) -> Vec<Violation> {
    if input.settings.machine_os_configs() == super::settings::MachineOsConfigs::Generate {
        return Vec::new();
    }
    let is_there = |pool: Pool| {
        let name = |document: &Value| document["spec"]["machineConfigPool"]["name"] == pool.as_str();
        input.documents().any(name)
    };
    let missing = input.pools().into_iter().filter(|pool| !is_there(*pool));
    let violation = |pool: Pool| {
        Violation::new(
            Rule::V09,
            format!("There is no MachineOSConfig for pool {pool}"),
            "Upload a manifest with a MachineOSConfig for each of the pools master and, with workers, worker.",
        )
    };
    missing.map(violation).collect()
}

/// Each secret that is named is there, holds credentials, and opens the registry that nodes pull from.
pub fn v10(input: &Input<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for config in input.configs() {
        let repository = PushSpec::parse(&config.push_spec).map(|spec| spec.repository).unwrap_or_default();
        // With the embedded registry the push target is not contacted at installation.
        let opened = if input.is_embedded() { None } else { Some(repository) };
        violations.extend(secret(input, config.pool, &config.push_secret, opened));
        if let Some(base) = &config.base_secret {
            violations.extend(secret(input, config.pool, base, None));
        }
    }
    violations
}

fn secret(input: &Input<'_>, pool: Pool, wanted: &str, repository: Option<&str>) -> Option<Violation> {
    let found = input.objects.iter().find_map(|object| match object {
        ManifestObject::RegistrySecret { name, registries } if name == wanted => Some(Ok(registries)),
        ManifestObject::OtherSecret { name, r#type } if name == wanted => Some(Err(r#type)),
        _ => None,
    });
    let told = format!("Secret {wanted} of the MachineOSConfig for pool {pool}");
    let (text, remedy) = match found {
        None => (
            format!("{told} is not among the manifests"),
            "Upload it as a manifest, in namespace openshift-machine-config-operator.",
        ),
        Some(Err(kind)) => (
            format!("{told} has type {kind}"),
            "Make it of type kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg.",
        ),
        Some(Ok(None)) => {
            (format!("{told} can't be read"), "Put the base64 of a docker config with auths into its data.")
        }
        Some(Ok(Some(registries))) => match repository {
            Some(repository) if !registries.iter().any(|registry| opens(registry, repository)) => (
                format!("{told} has no credentials for {repository}"),
                "Add an entry for that registry; it must allow to read as well as to write.",
            ),
            _ => return None,
        },
    };
    Some(Violation::new(Rule::V10, text, remedy))
}

/// Release and architecture.
pub fn v12(input: &Input<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    let least = &input.facts.policy.layering.min_openshift_version;
    let version = &input.cluster.openshift_version;
    if !is_at_least(version, least) {
        violations.push(Violation::new(
            Rule::V12,
            format!("OpenShift {version} can't take over images that were built at its installation: {least} is the oldest that does"),
            "Install a newer release, or disable image mode.",
        ));
    }
    let known =
        [CpuArchitecture::X8664, CpuArchitecture::Arm64, CpuArchitecture::Aarch64, CpuArchitecture::Multi];
    if let Some(architecture) =
        input.cluster.cpu_architecture.filter(|architecture| !known.contains(architecture))
    {
        violations.push(Violation::new(
            Rule::V12,
            format!("Images of nodes can't be built for {architecture}"),
            "Use machines of x86_64 or arm64, or disable image mode.",
        ));
    }
    violations
}

/// Whether a version is another one or a later one; the short form `4.21` is its first release.
fn is_at_least(version: &str, least: &str) -> bool {
    let read = |text: &str| {
        let whole = if text.split(['-', '+']).next().is_some_and(|core| core.matches('.').count() == 1) {
            format!("{text}.0")
        } else {
            text.to_owned()
        };
        semver::Version::parse(&whole).ok()
    };
    match (read(version), read(least)) {
        (Some(version), Some(least)) => version >= least,
        _ => false,
    }
}

/// The hosts of one architecture: an image is built for that of the host that builds.
pub fn v13(input: &Input<'_>) -> Vec<Violation> {
    let known = input.built_hosts().filter_map(|host| {
        let cpu = host.inventory.as_ref()?.cpu.as_ref()?;
        let same = if cpu.architecture == "aarch64" { "arm64" } else { cpu.architecture.as_str() };
        Some((host, same))
    });
    let mut known = known.collect::<Vec<_>>().into_iter();
    let Some((_, first)) = known.next() else { return Vec::new() };
    let other = known.find(|(_, architecture)| *architecture != first);
    let violation = |(host, architecture): (&HostFacts, &str)| {
        Violation::new(
            Rule::V13,
            format!(
                "Host {} is of {architecture}, and others are of {first}: one image can't be for both",
                host.name()
            ),
            "Use hosts of one architecture.",
        )
    };
    other.map(violation).into_iter().collect()
}

/// No MachineConfig of the user for a built pool replaces the image, or wants more in it than the Containerfile says.
pub fn v14(input: &Input<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for object in &input.objects {
        let ManifestObject::MachineConfig { name, role, fields } = object else { continue };
        // Those of workers count for all pools but master.
        if input.pools().iter().any(|pool| pool.as_str() == role) {
            violations.push(Violation::new(
                Rule::V14,
                format!("MachineConfig {name} for {role} sets {}", fields.join(", ")),
                "Remove that from it, and do it in the Containerfile of the pool.",
            ));
        }
    }
    violations
}

/// No pool names a stream of images, and none runs containers by `runc`.
pub fn v15(input: &Input<'_>) -> Vec<Violation> {
    let built = |name: &str| input.pools().iter().any(|pool| pool.as_str() == name);
    let violation = |object: &&ManifestObject| match object {
        ManifestObject::ImageStreamPool { name } if built(name) => Some(Violation::new(
            Rule::V15,
            format!(
                "MachineConfigPool {name} names a stream of OS images, which excludes an image of its own"
            ),
            "Remove spec.osImageStream from it.",
        )),
        ManifestObject::RuncRuntime { name, pools } if pools.iter().any(|pool| built(pool)) => {
            Some(Violation::new(
                Rule::V15,
                format!(
                    "ContainerRuntimeConfig {name} has containers run by runc: then images are asked for before they are there"
                ),
                "Leave the default runtime as it is, crun.",
            ))
        }
        _ => None,
    };
    input.objects.iter().filter_map(violation).collect()
}

/// Whether somebody else's load balancer stands before the control plane.
fn has_foreign_load_balancer(cluster: &Cluster) -> bool {
    let platform = cluster.platform.as_ref().map(|platform| platform.r#type);
    topology::is_user_managed_networking(cluster)
        || topology::is_user_load_balanced(cluster)
        || matches!(platform, Some(PlatformType::None | PlatformType::External))
}

/// A load balancer of the user's forwards the registry's port.
pub fn v18(input: &Input<'_>) -> Vec<Violation> {
    let asked = input.is_embedded()
        && has_foreign_load_balancer(input.cluster)
        && !topology::is_single_node(input.cluster)
        && !input.settings.is_load_balancer_configured();
    let violation = || {
        Violation::new(
            Rule::V18,
            format!(
                "Nodes reach the registry with their image by api-int, port {}, which your load balancer must forward",
                input.settings.port()
            ),
            "Have it forward the port to all control plane nodes, then set onClusterLayering.registry.loadBalancerConfigured to true.",
        )
    };
    asked.then(violation).into_iter().collect()
}

/// Every node gets its image before its first start. With an external registry those that can't are told of, and switch later.
pub fn v20(input: &Input<'_>) -> Vec<Violation> {
    if !input.is_embedded() { Vec::new() } else { not_deployable(input) }
}

/// What [`v20`] finds, whatever the registry is.
pub fn not_deployable(input: &Input<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    if !input.facts.policy.clusters.enable_skip_mco_reboot {
        violations.push(Violation::new(
            Rule::V20,
            "This service has nodes restarted before they get their image (ENABLE_SKIP_MCO_REBOOT)",
            "Set ENABLE_SKIP_MCO_REBOOT to true, or use an external registry.",
        ));
    }
    for host in input.built_hosts().filter(|host| host_rules::is_mapped(host)) {
        violations.push(Violation::new(
            Rule::V20,
            format!("The image of host {} can't be deployed before its first start: its installation disk is one of device mapper", host.name()),
            "Choose a plain installation disk, or use an external registry.",
        ));
    }
    violations
}

/// The passwords of the embedded registry are not kept as FIPS asks for.
pub fn v23(input: &Input<'_>) -> Vec<Violation> {
    let fips = super::settings::has_fips(&input.cluster.install_config_overrides);
    let violation = || {
        Violation::new(
            Rule::V23,
            "Embedded registry is not available with FIPS",
            "Set onClusterLayering.registry.type to External.",
        )
    };
    (fips && input.is_embedded()).then(violation).into_iter().collect()
}

/// The service can't push where a pool's image will be pushed: a warning, since the host that builds may reach what the service doesn't.
pub fn v19(pool: Pool, repository: &str, why: &str) -> Violation {
    Violation::new(
        Rule::V19,
        format!("The image of pool {pool} can't be pushed to {repository} from here: {why}"),
        "See that the registry answers, and that the push secret may write there; the bootstrap host tries it before it builds.",
    )
}

/// Something of the user's may keep nodes from trusting the image: a warning.
pub fn v24(input: &Input<'_>) -> Vec<Violation> {
    let mut warnings = Vec::new();
    let api = format!("api-int.{}.{}", input.cluster.name, input.cluster.base_dns_domain);
    let named: Vec<String> = if input.is_embedded() {
        let registry = format!("{api}:{}/ocl", input.settings.port());
        input.pools().iter().map(|pool| format!("{registry}/os-image-{pool}")).collect()
    } else {
        let specs = input.configs().into_iter();
        specs
            .filter_map(|config| Some(PushSpec::parse(&config.push_spec).ok()?.repository.to_owned()))
            .collect()
    };
    for object in &input.objects {
        let ManifestObject::ImagePolicy { name, scopes } = object else { continue };
        // A scope is a host, a repository or a part of its path, or `*.domain`.
        let covers = |scope: &String| match scope.strip_prefix('*') {
            Some(domain) => named
                .iter()
                .any(|one| one.split(['/', ':']).next().is_some_and(|host| host.ends_with(domain))),
            None => named.iter().any(|one| opens(scope, one)),
        };
        if scopes.iter().any(covers) {
            warnings.push(Violation::new(
                Rule::V24,
                format!("Image policy {name} covers the images of nodes, which nobody signs"),
                "Leave their registry out of its scopes, or nodes refuse their image.",
            ));
        }
    }
    let policy = super::settings::trust_policy(&input.cluster.install_config_overrides);
    let proxied = !input.cluster.http_proxy.is_empty() || !input.cluster.https_proxy.is_empty();
    if input.is_embedded() && policy.as_deref() == Some("Proxyonly") && !proxied {
        warnings.push(Violation::new(
            Rule::V24,
            "additionalTrustBundlePolicy is Proxyonly, and there is no proxy: the cluster won't trust the embedded registry",
            "Leave it out, or set it to Always.",
        ));
    }
    warnings
}

/// Workers don't know `api-int` when they first start from the release's image, which switching needs.
pub fn v25(input: &Input<'_>) -> Vec<Violation> {
    let asked = input.settings.rollout() == Rollout::Switch && input.is_embedded();
    let violation = || {
        Violation::new(
            Rule::V25,
            "Workers can't switch to an image in the embedded registry, whose name they don't know at their first start",
            "Set onClusterLayering.rollout to Deploy, or registry.type to External.",
        )
    };
    (asked && input.workers().next().is_some()).then(violation).into_iter().collect()
}

/// What a reference holds as its host, of which nothing may be an IPv6 address: the forms have no place for one.
pub fn v21(reference: &str) -> Option<Violation> {
    let host = reference.split('/').next().unwrap_or_default();
    let is_literal = host.starts_with('[') || host.matches(':').count() > 1;
    is_literal.then(|| {
        Violation::new(
            Rule::V21,
            format!("{reference} names an IPv6 address"),
            "Use a name that is resolved to it.",
        )
    })
}

/// Bytes of the user's that are handed to the builder.
pub const MOST_BYTES: usize = 4 << 20;

/// What the builder is handed of the user's must have a place in the Ignition config.
pub fn v22(bytes: usize) -> Option<Violation> {
    (bytes > MOST_BYTES).then(|| {
        Violation::new(
            Rule::V22,
            format!("Containerfiles, secrets and files for the build have {bytes} bytes, at most {MOST_BYTES} are handed to it"),
            "Bring less, and fetch what is large in a RUN of the Containerfile.",
        )
    })
}
