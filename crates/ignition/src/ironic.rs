//! What metal3 needs in an image that its machines boot (kube-api §6.7): the agent of Ironic, which inspects and cleans a machine,
//! and starts the agent of the service when the machine is to be installed.

use std::fmt::Write;

use assisted_ignition_spec::config::Config;
use assisted_ignition_spec::resource::Resource;
use assisted_wire::infra_env::Proxy;

use crate::discovery::PULL_SECRET;
use crate::systemd::{proxies, word};

const VERSION: &str = "3.2.0";
const UNIT: &str = "ironic-agent.service";
/// Settings of Ironic's agent on the host, and where it looks for them in its container.
const SETTINGS: &str = "/etc/ironic-python-agent.conf";
const SETTINGS_INSIDE: &str = "/etc/ironic-python-agent/ignition.conf";
/// Where its container sees the host.
const HOST: &str = "/mnt/coreos";
/// Ports of Ironic, and of what is told about an inspection.
const IRONIC_PORT: u16 = 6385;
const INSPECTOR_PORT: u16 = 5050;
const INSPECTOR_PATH: &str = "/v1/continue";
/// How long the agent's image may take to be pulled, in seconds.
const START_TIMEOUT: u32 = 3600;

/// What the agent of Ironic is told.
#[derive(Clone, Debug)]
pub struct Ironic<'a> {
    /// URLs of Ironic, separated by commas; one without a port gets Ironic's.
    pub api: &'a str,
    /// URLs of who is told about an inspection, separated by commas; empty: nobody.
    pub inspector: &'a str,
    /// Image of the agent.
    pub image: &'a str,
    pub proxy: Option<&'a Proxy>,
    /// Whether hosts have network settings of their own; else interfaces for all VLANs that are seen are made.
    pub has_static_network: bool,
}

/// Why there is no config.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IronicError {
    /// An address is none.
    #[error("{0:?} is no URL of Ironic: http:// or https://, a host and, if wanted, a port and a path")]
    Url(String),
    /// There is no image.
    #[error("there is no image of Ironic's agent")]
    Image,
}

/// Makes the config.
///
/// # Errors
/// See [`IronicError`].
pub fn ironic(input: &Ironic<'_>) -> Result<Config, IronicError> {
    if input.image.is_empty() {
        return Err(IronicError::Image);
    }
    let api = urls(input.api, IRONIC_PORT, "")?;
    if api.is_empty() {
        return Err(IronicError::Url(input.api.to_owned()));
    }
    let inspector = urls(input.inspector, INSPECTOR_PORT, INSPECTOR_PATH)?;
    let mut settings = format!("[DEFAULT]\napi_url = {api}\n");
    if !inspector.is_empty() {
        let _ = writeln!(settings, "inspection_callback_url = {inspector}");
    }
    let vlans = if input.has_static_network { "" } else { "all" };
    // Ironic signs its certificate itself.
    let _ = write!(settings, "insecure = True\nenable_vlan_interfaces = {vlans}\n");
    let mut config = Config::new(VERSION);
    config.add_file(SETTINGS, 0o644, Resource::text(&settings));
    config.add_unit(UNIT, unit(input));
    Ok(config)
}

/// Each URL of a list with a port and a path.
fn urls(list: &str, port: u16, path: &str) -> Result<String, IronicError> {
    let urls = list.split(',').map(str::trim).filter(|url| !url.is_empty());
    let whole: Result<Vec<_>, _> = urls.map(|text| url(text, port, path)).collect();
    Ok(whole?.join(","))
}

fn url(text: &str, port: u16, path: &str) -> Result<String, IronicError> {
    let wrong = || IronicError::Url(text.to_owned());
    // The text stands in a line of settings.
    if text.chars().any(|letter| letter.is_control() || letter.is_whitespace()) {
        return Err(wrong());
    }
    let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
    let (authority, own_path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    if !matches!(scheme, "http" | "https") || authority.is_empty() {
        return Err(wrong());
    }
    // An IPv6 address stands in brackets.
    let after_address = authority.rsplit_once(']').map_or(authority, |(_, after)| after);
    let port = if after_address.contains(':') { String::new() } else { format!(":{port}") };
    let own_path = own_path.trim_end_matches('/');
    let path = if own_path.ends_with(path) { "" } else { path };
    Ok(format!("{scheme}://{authority}{port}{own_path}{path}"))
}

fn unit(input: &Ironic<'_>) -> String {
    let mut text = format!(
        "[Unit]\nDescription=Agent of Ironic: inspects and cleans this machine, and has it installed\n\
         Wants=network-online.target\nAfter=network-online.target\nStartLimitIntervalSec=0\n\n\
         [Service]\nRestart=on-failure\nRestartSec=5\nTimeoutStartSec={START_TIMEOUT}\n"
    );
    proxies(&mut text, input.proxy);
    let image = word(input.image);
    let _ = writeln!(
        text,
        "ExecStartPre=/usr/bin/podman pull --tls-verify=false --authfile {PULL_SECRET} {image}"
    );
    let mounts = [
        (SETTINGS, SETTINGS_INSIDE),
        ("/dev", "/dev"),
        ("/sys", "/sys"),
        ("/run/dbus/system_bus_socket", "/run/dbus/system_bus_socket"),
        ("/", HOST),
        ("/run/udev", "/run/udev"),
    ];
    let mounts = mounts.map(|(from, to)| format!("--mount=type=bind,src={from},dst={to}"));
    let _ = write!(
        text,
        "ExecStart=/usr/bin/podman run --rm --pull=never --privileged --network=host --name=ironic-agent {} {image}\n\n\
         [Install]\nWantedBy=multi-user.target\n",
        mounts.join(" ")
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_get_a_port_and_a_path() {
        for (text, expected) in [
            ("https://192.0.2.1", Some("https://192.0.2.1:5050/v1/continue")),
            ("https://[2001:db8::1]", Some("https://[2001:db8::1]:5050/v1/continue")),
            ("http://[2001:db8::1]:80", Some("http://[2001:db8::1]:80/v1/continue")),
            (
                "https://a:5050/v1/continue, https://b/",
                Some("https://a:5050/v1/continue,https://b:5050/v1/continue"),
            ),
            ("", Some("")),
            ("192.0.2.1", None),
            ("ftp://192.0.2.1", None),
            ("https://", None),
            ("https://a\nextra = 1", None),
        ] {
            assert_eq!(urls(text, INSPECTOR_PORT, INSPECTOR_PATH).ok().as_deref(), expected, "{text}");
        }
        assert_eq!(urls("https://a/", IRONIC_PORT, "").unwrap(), "https://a:6385");
    }
}
