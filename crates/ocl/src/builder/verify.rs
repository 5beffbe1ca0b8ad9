//! Whether what nodes will pull is what was built: by the registry's own bytes, through the name and the credentials that nodes use
//! (ocl-day1 §B5.2).

use assisted_release::error::RegistryError;
use assisted_release::registry::{Described, Session};
use assisted_release::{Digest, Mirrors, Proxies, PullSecret, Reference, Registries, Retry, Transport};
use assisted_wire::on_cluster_layering::{LayeringErrorCode, Pool};

use super::{Failed, Machine};
use crate::config::{Config, Proxy};

/// Either says that an image can be booted.
const BOOTABLE: [&str; 2] = ["ostree.bootable", "containers.bootc"];
/// Mirrors of the release's images.
const REGISTRIES: &str = "/etc/containers/registries.conf";

/// The way to registries that the machine's settings say, with these credentials.
pub(crate) fn session(
    machine: &Machine,
    proxy: &Proxy,
    authorities: Vec<String>,
    secret: PullSecret,
) -> Result<Session, String> {
    let mirrors = match machine.read(REGISTRIES) {
        Ok(text) => Mirrors::from_registries_conf(&String::from_utf8_lossy(&text))
            .map_err(|error| error.to_string())?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Mirrors::default(),
        Err(error) => return Err(format!("{REGISTRIES}: {error}")),
    };
    let none = [&proxy.http, &proxy.https].iter().all(|address| address.is_empty());
    let proxies = match none {
        true => Proxies::None,
        false => Proxies::Given {
            http: proxy.http.clone(),
            https: proxy.https.clone(),
            none_for: format!("localhost,127.0.0.1,{}", proxy.no),
        },
    };
    let transport = Transport { trusted: authorities, proxies, ..Transport::default() };
    let retry = Retry { attempts: 2, ..Retry::default() };
    let registries = Registries::new(&transport, mirrors, retry).map_err(|error| error.to_string())?;
    Ok(registries.session(secret))
}

fn failed(reason: impl Into<String>) -> Failed {
    Failed::new(LayeringErrorCode::Verify, reason)
}

/// Reads the image by its digest from where nodes would, and holds it against what was built; how many bytes it has.
pub(crate) async fn check(
    session: &Session,
    repository: &str,
    digest: Digest,
    pool: Pool,
    config: &Config,
) -> Result<u64, Failed> {
    let name: Reference =
        format!("{repository}@{digest}").parse().map_err(|error| failed(format!("{repository}: {error}")))?;
    let found = session.describe(&name).await.map_err(|error| match error.cause {
        // The registry may have been too busy; the image isn't known to be wrong.
        RegistryError::Unreachable(_) | RegistryError::Throttled(_) | RegistryError::Server(_) => {
            Failed { retriable: true, ..failed(error.to_string()) }
        }
        _ => failed(error.to_string()),
    })?;
    check_image(&found, digest, pool, config)?;
    Ok(found.bytes)
}

fn check_image(found: &Described, digest: Digest, pool: Pool, config: &Config) -> Result<(), Failed> {
    if found.digest != digest {
        return Err(failed(format!("the registry has {} in place of {digest}", found.digest)));
    }
    if !BOOTABLE.iter().any(|label| found.labels.contains_key(*label)) {
        return Err(failed(format!(
            "the image can't be booted: it has neither label {} nor {}; its last stage must be from `configs`",
            BOOTABLE[0], BOOTABLE[1]
        )));
    }
    let of = found.labels.get("machineconfigpool").map(String::as_str).unwrap_or_default();
    if of != pool.as_str() {
        return Err(failed(format!(
            "the image is for pool {of:?}, not {pool}: its last stage must be from `configs`"
        )));
    }
    let wanted = if config.arch == "x86_64" { "amd64" } else { "arm64" };
    if found.architecture != wanted {
        return Err(failed(format!("the image is for {}, not for {wanted}", found.architecture)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::builder::tests::config;

    #[test]
    fn what_is_no_image_for_these_nodes() {
        let digest = Digest::of(b"x");
        let labels = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let good = Described {
            digest,
            architecture: "amd64".to_owned(),
            labels: labels(&[("containers.bootc", "1"), ("machineconfigpool", "master")]),
            bytes: 1,
        };
        let config = config(1);
        let check = |found: &Described| {
            check_image(found, digest, Pool::Master, &config).map_err(|error| error.reason)
        };
        assert_eq!(check(&good), Ok(()));
        for (odd, told) in [
            (Described { digest: Digest::of(b"y"), ..good.clone() }, "in place of"),
            (Described { architecture: "arm64".to_owned(), ..good.clone() }, "not for amd64"),
            (
                Described { labels: labels(&[("machineconfigpool", "master")]), ..good.clone() },
                "can't be booted",
            ),
            (Described { labels: labels(&[("ostree.bootable", "")]), ..good.clone() }, "for pool"),
        ] {
            assert!(check(&odd).unwrap_err().contains(told), "{told}");
        }
    }
}
