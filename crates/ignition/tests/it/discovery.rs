//! The discovery config in all its forms.

use std::time::Duration;

use assisted_ignition::discovery::{Agent, Delivery, Discovery, Mirrors, TimeSources, discovery};
use assisted_ignition_spec::{Config, overlay};
use assisted_netconf::image_files;
use assisted_wire::id::InfraEnvId;
use assisted_wire::infra_env::{HostStaticNetworkConfig, MacInterfaceMap, MacInterfaceMapItem, Proxy};
use assisted_wire::secret::Secret;

use crate::validate;

pub(crate) const SHA512: &str = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";
const PULL_SECRET: &str = r#"{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}"#;
/// Made for this test.
const CA: &str = include_str!("../data/ca.pem");

/// What the plainest infra-env has.
fn plain(pull_secret: &Secret) -> Discovery<'_> {
    Discovery {
        infra_env_id: InfraEnvId::default(),
        agent: Agent {
            service_url: "https://assisted.example.com:8090",
            version: "quay.io/lab/agent:1",
            delivery: Delivery::Program {
                url: "https://assisted.example.com:8090/assisted-host/x86_64",
                sha512: SHA512,
            },
            starts_at_boot: true,
            start_timeout: Duration::from_secs(600),
            token: None,
            service_ca: None,
            skip_cert_verification: false,
        },
        ssh_keys: "",
        pull_secret,
        proxy: None,
        trust_bundle: "",
        mirrors: None,
        time: TimeSources::Own,
        network: &[],
        okd_rpms_image: None,
    }
}

/// The plainest with a change.
pub(crate) fn with<T>(change: impl Fn(&mut Discovery<'_>), look: impl Fn(Config) -> T) -> T {
    let pull_secret = Secret::from(PULL_SECRET);
    let mut input = plain(&pull_secret);
    change(&mut input);
    look(discovery(&input))
}

fn unit(config: &Config, name: &str) -> String {
    let unit =
        config.systemd.units.iter().find(|unit| unit.name == name).unwrap_or_else(|| panic!("no {name}"));
    unit.contents.clone().unwrap_or_default()
}

fn file(config: &Config, path: &str) -> Option<String> {
    let file = config.storage.files.iter().find(|file| file.path == path)?;
    Some(String::from_utf8(file.contents.data().unwrap_or_default()).unwrap())
}

fn accepted(config: &Config) {
    let json = config.to_json().unwrap();
    assert_eq!(validate(&json), Ok(()), "{}", String::from_utf8_lossy(&json));
    assisted_ignition_spec::validate::validate(config).unwrap();
}

#[test]
fn the_plainest() {
    with(
        |_| {},
        |config| {
            accepted(&config);
            assert_eq!(config.ignition.version, "3.1.0");
            assert!(config.passwd.users.is_empty());
            let agent = config.storage.files.iter().find(|file| file.path == "/usr/local/bin/agent").unwrap();
            assert_eq!(
                agent.contents.verification.hash.as_deref(),
                Some(format!("sha512-{SHA512}").as_str())
            );
            assert_eq!(agent.mode, Some(0o755));
            let link = &config.storage.links[0];
            assert_eq!(
                (link.path.as_str(), link.target.as_str()),
                ("/usr/local/bin/assisted-installer", "/usr/local/bin/agent")
            );
            let unit = unit(&config, "agent.service");
            assert!(unit.contains(
                "ExecStart=/usr/local/bin/agent --url https://assisted.example.com:8090 --infra-env-id \
             00000000-0000-0000-0000-000000000000 --agent-version quay.io/lab/agent:1 --insecure=false \
             --installer-program /usr/local/bin/assisted-installer\n"
            ));
            assert!(
                !unit.contains("Environment")
                    && !unit.contains("ExecStartPre")
                    && unit.contains("TimeoutStartSec=600\n")
            );
            for name in
                ["selinux.service", "multipathd.service", "iscsistart.service", "oci-eval-user-data.service"]
            {
                assert!(
                    config.systemd.units.iter().any(|unit| unit.name == name && unit.enabled == Some(true)),
                    "{name}"
                );
            }
            assert_eq!(file(&config, "/root/.docker/config.json").unwrap(), PULL_SECRET);
            assert!(
                file(&config, "/etc/motd").is_some() && file(&config, "/etc/profile.d/proxy.sh").is_none()
            );
        },
    );
}

#[test]
fn all_at_once() {
    let proxy = Proxy {
        http_proxy: Some("http://user:p%40ss@proxy.example.com:3128".to_owned()),
        https_proxy: None,
        no_proxy: Some(".example.com,10.0.0.0/8".to_owned()),
    };
    let token = Secret::from("a.b-c.d_e");
    let pull_secret = Secret::from(PULL_SECRET);
    let mut input = plain(&pull_secret);
    input.ssh_keys = "\n ssh-ed25519 AAAA one \n\nssh-ed25519 BBBB two\n";
    input.proxy = Some(&proxy);
    input.trust_bundle = CA;
    input.mirrors = Some(Mirrors { registries_conf: "[[registry]]\n", ca: CA, insecure_policy: true });
    input.time = TimeSources::Additional("clock.example.com,192.0.2.9");
    input.agent.token = Some(&token);
    input.agent.service_ca = Some(CA);
    let config = discovery(&input);
    accepted(&config);
    assert_eq!(config.passwd.users[0].ssh_authorized_keys, ["ssh-ed25519 AAAA one", "ssh-ed25519 BBBB two"]);
    assert_eq!(config.ignition.proxy.no_proxy, [".example.com", "10.0.0.0/8"]);
    assert_eq!(config.ignition.security.tls.certificate_authorities.len(), 1, "the same ones only once");
    let agent = unit(&config, "agent.service");
    for line in [
        r#"Environment="HTTP_PROXY=http://user:p%%40ss@proxy.example.com:3128""#,
        r#"Environment="http_proxy=http://user:p%%40ss@proxy.example.com:3128""#,
        r#"Environment="no_proxy=.example.com,10.0.0.0/8""#,
        r#"Environment="PULL_SECRET_TOKEN=a.b-c.d_e""#,
    ] {
        assert!(agent.lines().any(|other| other == line), "{line} in\n{agent}");
    }
    assert!(
        !agent.contains("https_proxy")
            && agent.contains(" --cacert /etc/assisted-service/service-ca-cert.crt ")
    );
    assert_eq!(
        file(&config, "/etc/profile.d/proxy.sh").unwrap().lines().next(),
        Some("export HTTP_PROXY='http://user:p%40ss@proxy.example.com:3128'")
    );
    for path in [
        "/etc/assisted-service/service-ca-cert.crt",
        "/etc/pki/ca-trust/source/anchors/assisted-infraenv-additional-trust-bundle.pem",
        "/etc/pki/ca-trust/source/anchors/domain.crt",
        "/etc/containers/registries.conf",
        "/etc/containers/policy.json",
    ] {
        assert!(file(&config, path).is_some_and(|text| !text.is_empty()), "{path}");
    }
    assert!(
        file(&config, "/usr/local/bin/add-ntp-sources.sh")
            .unwrap()
            .contains("for source in 'clock.example.com' '192.0.2.9'; do")
    );
    assert!(
        discovery(&input).to_json().unwrap() == discovery(&input).to_json().unwrap(),
        "the same bytes each time"
    );
}

#[test]
fn out_of_an_image() {
    with(
        |input| input.agent.delivery = Delivery::Image("quay.io/lab/agent:1"),
        |config| {
            accepted(&config);
            assert!(file(&config, "/usr/local/bin/agent").is_none());
            let unit = unit(&config, "agent.service");
            let before: Vec<&str> =
                unit.lines().filter_map(|line| line.strip_prefix("ExecStartPre=")).collect();
            assert_eq!(
                before,
                [
                    "/usr/local/bin/agent-fix-bz1964591 quay.io/lab/agent:1",
                    "/usr/local/bin/agent-pull-image quay.io/lab/agent:1",
                    "podman run --pull=never --privileged --rm -v /usr/local/bin:/hostbin quay.io/lab/agent:1 cp /usr/bin/agent /hostbin",
                ]
            );
        },
    );
}

fn networks() -> Vec<assisted_netconf::File> {
    let item = MacInterfaceMapItem {
        mac_address: "52:54:00:00:00:01".to_owned(),
        logical_nic_name: "eth0".to_owned(),
    };
    let host = HostStaticNetworkConfig {
        network_yaml: "interfaces:\n- {name: eth0, type: ethernet, state: up}\n".to_owned(),
        mac_interface_map: Some(MacInterfaceMap(vec![item])),
    };
    image_files::files(&[host]).unwrap()
}

/// Ignition runs before the network that it brings.
#[test]
fn with_networks_the_agent_is_fetched_after_them() {
    let networks = networks();
    for insecure in [false, true] {
        let pull_secret = Secret::from(PULL_SECRET);
        let mut input = plain(&pull_secret);
        input.agent.delivery = Delivery::Program { url: "https://h/a?b=c&d=$e", sha512: SHA512 };
        input.agent.service_ca = Some(CA);
        input.agent.skip_cert_verification = insecure;
        input.network = if insecure { &[] } else { &networks };
        let config = discovery(&input);
        accepted(&config);
        let trust =
            if insecure { "--insecure" } else { "--cacert /etc/assisted-service/service-ca-cert.crt" };
        let fetch = format!(
            "ExecStartPre=/usr/local/bin/agent-fetch \"https://h/a?b=c&d=$$e\" {SHA512} /usr/local/bin/agent {trust}"
        );
        let unit = unit(&config, "agent.service");
        assert!(unit.lines().any(|line| line == fetch), "{unit}");
        let sources = config.storage.files.iter().filter_map(|file| file.contents.source.as_deref());
        assert!(sources.into_iter().all(|source| source.starts_with("data:")), "nothing needs the network");
        assert_eq!(file(&config, image_files::SCRIPT_PATH).is_some(), !insecure);
        assert_eq!(config.systemd.units.iter().any(|unit| unit.name == image_files::UNIT), !insecure);
    }
}

#[test]
fn okd() {
    with(
        |input| input.okd_rpms_image = Some("quay.io/okd/rpms:1"),
        |config| {
            accepted(&config);
            let names: Vec<&str> = config.systemd.units.iter().map(|unit| unit.name.as_str()).collect();
            assert_eq!(
                names,
                [
                    "agent.service",
                    "selinux.service",
                    "okd-overlay.service",
                    "systemd-journal-gatewayd.socket"
                ]
            );
            assert!(
                file(&config, "/usr/local/bin/okd-binaries.sh")
                    .unwrap()
                    .contains("image='quay.io/okd/rpms:1'\n")
            );
            assert!(file(&config, "/etc/multipath.conf").is_none());
        },
    );
}

#[test]
fn nothing_that_is_given_breaks_out_of_its_place() {
    let hostile = "x'\"\n[Service]\nExecStart=/bin/evil\n$(evil) `evil` %i \\";
    let secret = Secret::from(hostile);
    let proxy = Proxy {
        http_proxy: Some(hostile.to_owned()),
        https_proxy: Some(hostile.to_owned()),
        no_proxy: Some(hostile.to_owned()),
    };
    let agent = Agent {
        service_url: hostile,
        version: hostile,
        delivery: Delivery::Image(hostile),
        token: Some(&secret),
        service_ca: Some(hostile),
        skip_cert_verification: true,
        ..plain(&secret).agent
    };
    let input = Discovery {
        agent,
        ssh_keys: hostile,
        proxy: Some(&proxy),
        trust_bundle: hostile,
        mirrors: Some(Mirrors { registries_conf: hostile, ca: hostile, insecure_policy: false }),
        time: TimeSources::Only(hostile),
        okd_rpms_image: Some(hostile),
        ..plain(&secret)
    };
    let config = discovery(&input);
    assisted_ignition_spec::validate::validate(&config).unwrap();
    let unit = unit(&config, "agent.service");
    assert_eq!(unit.lines().filter(|line| line.trim_start().starts_with("[Service]")).count(), 1, "{unit}");
    assert!(!unit.lines().any(|line| line.trim_start().starts_with("ExecStart=/bin/evil")), "{unit}");
}

#[test]
fn an_override_is_laid_over_it() {
    with(
        |_| {},
        |config| {
            let over = r#"{"ignition":{"version":"3.2.0"},"systemd":{"units":[{"name":"agent.service","enabled":false}]},
            "storage":{"files":[{"path":"/etc/motd","overwrite":true,"contents":{"source":"data:,mine"}}]}}"#;
            let merged = overlay(&config, over).unwrap_or_else(|error| panic!("{error}"));
            accepted(&merged);
            assert_eq!(merged.ignition.version, "3.2.0");
            assert_eq!(file(&merged, "/etc/motd").unwrap(), "mine");
            let agent = merged.systemd.units.iter().find(|unit| unit.name == "agent.service").unwrap();
            assert_eq!(agent.enabled, Some(false));
            assert!(agent.contents.as_deref().unwrap().contains("ExecStart="));
        },
    );
}
