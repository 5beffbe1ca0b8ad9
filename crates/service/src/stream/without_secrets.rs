//! What goes out without what may hold a credential: the fields that the database seals, and users in the addresses of proxies.

use assisted_wire::cluster::Cluster;
use assisted_wire::host::Host;
use assisted_wire::infra_env::InfraEnv;
use url::Url;

/// Something that others may read.
pub(crate) trait WithoutSecrets {
    /// The same without what may hold a credential.
    #[must_use]
    fn without_secrets(self) -> Self;
}

impl WithoutSecrets for Cluster {
    fn without_secrets(mut self) -> Self {
        for proxy in [&mut self.http_proxy, &mut self.https_proxy] {
            *proxy = without_user(proxy);
        }
        self.install_config_overrides.clear();
        self.image_info.download_url.clear();
        self.image_info.static_network_config.clear();
        self
    }
}

impl WithoutSecrets for Host {
    fn without_secrets(mut self) -> Self {
        self.ignition_config_overrides.clear();
        self.installer_args.clear();
        self.fencing_credentials.clear();
        self
    }
}

impl WithoutSecrets for InfraEnv {
    fn without_secrets(mut self) -> Self {
        if let Some(proxies) = &mut self.proxy {
            for proxy in [&mut proxies.http_proxy, &mut proxies.https_proxy].into_iter().flatten() {
                *proxy = without_user(proxy);
            }
        }
        self.static_network_config.clear();
        self.ignition_config_override.clear();
        self.kernel_arguments = None;
        self.download_url.clear();
        self
    }
}

/// The address of a proxy without name and password; nothing of one that can't be read.
fn without_user(address: &str) -> String {
    if !address.contains('@') {
        return address.to_owned();
    }
    let Ok(mut url) = Url::parse(address) else { return String::new() };
    let cleared = url.set_username("").and_then(|()| url.set_password(None));
    if cleared.is_ok() { url.to_string() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_told_without_who_uses_them() {
        for (given, told) in [
            ("", ""),
            ("http://proxy:3128", "http://proxy:3128"),
            ("http://ann:hush@proxy:3128", "http://proxy:3128/"),
            ("ann:hush@proxy:3128", ""),
            ("http://ann:hu@sh@proxy:3128", "http://proxy:3128/"),
        ] {
            assert_eq!(without_user(given), told, "{given}");
        }
    }
}
