//! The agent: its unit, and how it comes onto the host.

use assisted_base::pem;
use std::fmt::Write;

use super::{Agent, Delivery, Discovery, PULL_SECRET};
use assisted_ignition_spec::config::{Config, Link};
use assisted_ignition_spec::resource::Resource;

use crate::systemd::{environment, proxies, word};

/// Where the agent is.
const PROGRAM: &str = "/usr/local/bin/agent";

/// The same program under the name by which it is the installer.
const INSTALLER: &str = "/usr/local/bin/assisted-installer";

/// Certificates by which the agent knows the service.
const SERVICE_CA: &str = "/etc/assisted-service/service-ca-cert.crt";

const UNIT: &str = "agent.service";

pub(super) fn add(config: &mut Config, input: &Discovery<'_>) {
    let agent = &input.agent;
    if let Some(ca) = agent.service_ca {
        config.add_file(SERVICE_CA, 0o644, Resource::bytes(ca));
    }
    let before = match agent.delivery {
        Delivery::Image(image) => from_image(config, image),
        Delivery::Program { url, sha512 } if fetched_by_ignition(input) => {
            config.add_file(PROGRAM, 0o755, Resource::fetched(url, sha512));
            // Ignition looks at the system of its own stage, which knows none of the certificates that the host will have.
            let authorities = &mut config.ignition.security.tls.certificate_authorities;
            for bundle in [agent.service_ca.unwrap_or_default(), input.trust_bundle] {
                let authority = Resource::bytes(pem::plain(bundle).as_bytes());
                if !bundle.is_empty() && !authorities.contains(&authority) {
                    authorities.push(authority);
                }
            }
            Vec::new()
        }
        Delivery::Program { url, sha512 } => fetched_later(config, agent, url, sha512),
    };
    if is_program(agent) {
        config.storage.links.push(Link {
            path: INSTALLER.to_owned(),
            target: PROGRAM.to_owned(),
            overwrite: Some(true),
            ..Link::default()
        });
    }
    config.add_unit(UNIT, unit(input, &before));
    if let Some(unit) = config.systemd.units.last_mut().filter(|_| !agent.starts_at_boot) {
        unit.enabled = Some(false);
    }
}

/// Whether the agent comes as a program, without an image of which an installer could come.
fn is_program(agent: &Agent<'_>) -> bool {
    matches!(agent.delivery, Delivery::Program { .. })
}

/// Whether Ignition can fetch the agent. It runs before the settings that a full image carries for the network are applied,
/// and it accepts no certificate that it can't verify.
fn fetched_by_ignition(input: &Discovery<'_>) -> bool {
    input.network.is_empty() && !input.agent.skip_cert_verification
}

fn from_image(config: &mut Config, image: &str) -> Vec<String> {
    config.add_file(
        "/usr/local/bin/agent-fix-bz1964591",
        0o755,
        Resource::text(include_str!("scripts/agent-fix-bz1964591")),
    );
    config.add_file(
        "/usr/local/bin/agent-pull-image",
        0o755,
        Resource::text(include_str!("scripts/agent-pull-image")),
    );
    let image = word(image);
    vec![
        format!("/usr/local/bin/agent-fix-bz1964591 {image}"),
        format!("/usr/local/bin/agent-pull-image {image}"),
        format!(
            "podman run --pull=never --privileged --rm -v /usr/local/bin:/hostbin {image} cp /usr/bin/agent /hostbin"
        ),
    ]
}

fn fetched_later(config: &mut Config, agent: &Agent<'_>, url: &str, sha512: &str) -> Vec<String> {
    config.add_file("/usr/local/bin/agent-fetch", 0o755, Resource::text(include_str!("scripts/agent-fetch")));
    let trust = match agent.service_ca {
        _ if agent.skip_cert_verification => " --insecure".to_owned(),
        Some(_) => format!(" --cacert {SERVICE_CA}"),
        None => String::new(),
    };
    vec![format!("/usr/local/bin/agent-fetch {} {sha512} {PROGRAM}{trust}", word(url))]
}

fn unit(input: &Discovery<'_>, before: &[String]) -> String {
    let agent = &input.agent;
    let mut text = String::from(
        "[Unit]\nDescription=Assisted agent: tells the service what this machine is, and does what it asks\n\
         Wants=network-online.target\nAfter=network-online.target\nStartLimitIntervalSec=0\n\n\
         [Service]\nType=simple\nRestart=always\nRestartSec=3\n",
    );
    let _ = writeln!(text, "TimeoutStartSec={}", agent.start_timeout.as_secs());
    proxies(&mut text, input.proxy);
    if let Some(token) = agent.token {
        environment(&mut text, "PULL_SECRET_TOKEN", token.expose());
    }
    if matches!(agent.delivery, Delivery::Image(_)) {
        environment(&mut text, "REGISTRY_AUTH_FILE", PULL_SECRET);
    }
    for command in before {
        let _ = writeln!(text, "ExecStartPre={command}");
    }
    let _ = write!(
        text,
        "ExecStart={PROGRAM} --url {} --infra-env-id {} --agent-version {} --insecure={}",
        word(agent.service_url),
        input.infra_env_id,
        word(agent.version),
        agent.skip_cert_verification
    );
    if agent.service_ca.is_some() {
        let _ = write!(text, " --cacert {SERVICE_CA}");
    }
    if is_program(agent) {
        let _ = write!(text, " --installer-program {INSTALLER}");
    }
    text.push_str("\n\n[Install]\nWantedBy=multi-user.target\n");
    text
}
