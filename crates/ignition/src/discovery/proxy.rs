//! Proxies: for Ignition, and for those who log in. The agent has them in its unit.

use std::fmt::Write;

use assisted_wire::infra_env::Proxy;

use super::os::shell_word;
use crate::systemd::given;
use assisted_ignition_spec::config::Config;
use assisted_ignition_spec::resource::Resource;

pub(super) fn add(config: &mut Config, proxy: Option<&Proxy>) {
    let Some(proxy) = proxy else { return };
    let (http, https) = (given(proxy.http_proxy.as_ref()), given(proxy.https_proxy.as_ref()));
    if http.is_none() && https.is_none() {
        return;
    }
    let no_proxy = given(proxy.no_proxy.as_ref());
    let ignition = &mut config.ignition.proxy;
    ignition.http_proxy = http.map(str::to_owned);
    ignition.https_proxy = https.map(str::to_owned);
    ignition.no_proxy = no_proxy.into_iter().flat_map(|list| list.split(',')).map(str::to_owned).collect();

    let mut script = String::new();
    for (name, value) in [("HTTP_PROXY", http), ("HTTPS_PROXY", https), ("NO_PROXY", no_proxy)] {
        let Some(value) = value else { continue };
        for name in [name.to_owned(), name.to_ascii_lowercase()] {
            let _ = writeln!(script, "export {name}={}", shell_word(value));
        }
    }
    config.add_file("/etc/profile.d/proxy.sh", 0o644, Resource::bytes(script));
}
