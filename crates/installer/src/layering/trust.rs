//! Names, credentials and authorities for the registry that the image is in: those that the node will have itself, out of what the
//! machine config server gives it (ocl-day1 §B6, steps 2 and 3).

use assisted_ignition_spec::Excerpt;
use tracing::info;

use super::{Layered, LayeringFailure};
use crate::host::Host;
use crate::ignition::decoded;

/// The node's pull secret, in which generation has put the registry's password.
const PULL_SECRET: &str = "/var/lib/kubelet/config.json";
/// Where programs of this host are pointed to.
pub(super) const AUTH: &str = "/run/ocl/node-auth.json";
/// The live system's own.
const OWN_SECRET: &str = "/root/.docker/config.json";
const CERTIFICATES: [&str; 2] = ["/etc/containers/certs.d/", "/etc/pki/ca-trust/source/anchors/"];
const HOSTS: &str = "/etc/hosts";
const MOST_FILES: usize = 100;

impl Layered<'_> {
    /// Makes the name of the API known to this live system, where no resolver knows it. The disk never sees it.
    pub(super) async fn map_name(&self, name: &str) -> Result<(), LayeringFailure> {
        let known = self.host.ask("getent", &["hosts", name]).await.unwrap_or_default();
        if !known.is_empty() {
            return Ok(());
        }
        let addresses = self.api_addresses().await;
        let Some(address) = addresses.first() else { return Ok(()) };
        let mut text = String::from_utf8_lossy(&self.host.read(HOSTS).unwrap_or_default()).into_owned();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("{address} {name}\n"));
        info!(name, %address, "the name is known by this host's own list");
        Ok(self.host.write_in_place(HOSTS, &text)?)
    }

    /// Takes what the node will trust over to the live system; `config` is what the machine config server gave.
    pub(super) async fn take_trust(&self, config: &[u8]) -> Result<(), LayeringFailure> {
        take(self.host, config).await
    }
}

/// Which credentials open the image of a system that is laid beside that of the image: those of the node, where it has a certificate for the
/// image's registry, as nodes of clusters do that were installed in image mode; else this host's (ocl-day1 §B6).
pub(crate) async fn credentials_for(
    host: &Host,
    image: &str,
    config: &[u8],
) -> Result<&'static str, LayeringFailure> {
    let registry = image.split('/').next().unwrap_or_default();
    let own = format!("/etc/containers/certs.d/{registry}/");
    let Ok(excerpt) = Excerpt::read(config) else { return Ok(OWN_SECRET) };
    if excerpt.storage.files.iter().any(|file| file.path.starts_with(&own)) {
        take(host, config).await?;
        return Ok(auth_file(host));
    }
    Ok(OWN_SECRET)
}

fn unreadable(what: &str) -> LayeringFailure {
    LayeringFailure::Replica(format!("the node's {what} can't be read"))
}

async fn take(host: &Host, config: &[u8]) -> Result<(), LayeringFailure> {
    let excerpt = Excerpt::read(config).map_err(|_| unreadable("configuration"))?;
    let mut authorities = 0;
    for file in excerpt.storage.files.iter().take(MOST_FILES * 100) {
        let is_certificate = CERTIFICATES.iter().any(|dir| file.path.starts_with(dir));
        if is_certificate && !file.path.contains("/../") && authorities < MOST_FILES {
            let bytes = decoded(&file.contents).ok_or_else(|| unreadable(&file.path))?;
            host.write(&file.path, 0o644, bytes)?;
            authorities += 1;
        }
    }
    if let Some(file) = excerpt.file(PULL_SECRET) {
        let bytes = decoded(&file.contents).ok_or_else(|| unreadable(PULL_SECRET))?;
        host.write(AUTH, 0o600, bytes)?;
    }
    if authorities > 0 {
        host.run("update-ca-trust", &[] as &[&str]).await?;
    }
    Ok(())
}

/// The file with credentials, for programs of the machine.
pub(super) fn auth_file(host: &Host) -> &'static str {
    if host.exists(AUTH) { AUTH } else { OWN_SECRET }
}

/// The host in an image's name or a web address, without its port.
pub(super) fn host_of(reference: &str) -> Option<&str> {
    let rest = reference.split_once("://").map_or(reference, |(_, rest)| rest);
    let authority = rest.split('/').next()?;
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    (!host.is_empty() && host.contains('.')).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_in_names() {
        assert_eq!(host_of("api-int.c.d:22626/ocl/os@sha256:0"), Some("api-int.c.d"));
        assert_eq!(host_of("https://api-int.c.d:22623/config/master"), Some("api-int.c.d"));
        assert_eq!(host_of("quay.io/a/b:1"), Some("quay.io"));
        assert_eq!(host_of("library/x"), None);
        assert_eq!(host_of(""), None);
    }
}
