//! What an installation is told, checked before anything is done with it: all of it becomes arguments of a program
//! that writes disks.

use std::net::IpAddr;
use std::path::Path;

use assisted_base::http::web_url;
use assisted_wire::host::HostRole;
use assisted_wire::infra_env::Proxy;
use assisted_wire::probe_requests::InstallCmdRequest;
use ipnet::IpNet;

use crate::image::is_image_reference;

/// Flags of `coreos-installer` that a user may set, and whether each takes a value.
const FLAGS: [(&str, bool); 9] = [
    ("--append-karg", true),
    ("--delete-karg", true),
    ("-n", false),
    ("--copy-network", false),
    ("--network-dir", true),
    ("--save-partlabel", true),
    ("--save-partindex", true),
    ("--image-url", true),
    ("--image-file", true),
];
/// Names under which images that gather data are known.
const GATHERERS: [&str; 5] = ["cnv", "lso", "ocs", "odf", "ocp"];
const MOST_ARGS: usize = 256;
const LONGEST: usize = 4_096;

/// Why an installation can't begin.
pub(crate) fn check(request: &InstallCmdRequest) -> Result<(), String> {
    if !matches!(request.role, HostRole::Bootstrap | HostRole::Master | HostRole::Worker | HostRole::Arbiter)
    {
        return Err(format!("role {} can't be installed", request.role));
    }
    for (name, image) in
        [("controller_image", &request.controller_image), ("installer_image", &request.installer_image)]
    {
        if !is_image_reference(image) {
            return Err(format!("{name} is no image reference"));
        }
    }
    for (name, image) in [("mco_image", &request.mco_image), ("coreos_image", &request.coreos_image)] {
        if !image.is_empty() && !is_image_reference(image) {
            return Err(format!("{name} is no image reference"));
        }
    }
    must_gather(&request.must_gather_image)?;
    version(&request.openshift_version)?;
    device(&request.boot_device)?;
    for disk in request.disks_to_format.iter().flatten() {
        device(disk)?;
    }
    for ip in request.service_ips.iter().flatten() {
        ip.parse::<IpAddr>().map_err(|_| format!("service_ips: {:?} is no address", short(ip)))?;
    }
    if let Some(wanted) = &request.proxy {
        proxy(wanted)?;
    }
    installer_args(&request.installer_args).map(drop)
}

fn short(text: &str) -> String {
    text.chars().take(255).collect()
}

/// One image, or a JSON object of images by name.
fn must_gather(text: &str) -> Result<(), String> {
    if text.is_empty() || is_image_reference(text) {
        return Ok(());
    }
    let images: std::collections::BTreeMap<String, String> = serde_json::from_str(text)
        .map_err(|_| "must_gather_image is neither an image nor a map of images")?;
    let good =
        |(name, image): (&String, &String)| GATHERERS.contains(&name.as_str()) && is_image_reference(image);
    if images.iter().all(good) {
        Ok(())
    } else {
        Err("must_gather_image holds what is no known image".into())
    }
}

/// Numbers with dots, and what a pre-release or build adds.
fn version(text: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_');
    if text.is_empty()
        || (text.starts_with(|c: char| c.is_ascii_digit()) && text.len() <= 128 && text.chars().all(plain))
    {
        Ok(())
    } else {
        Err(format!("openshift_version: {:?} is no version", short(text)))
    }
}

fn device(path: &str) -> Result<(), String> {
    let inside = path.starts_with("/dev/") && !path.split('/').any(|part| part == "..");
    if inside && path.len() <= LONGEST && Path::new(path).exists() {
        Ok(())
    } else {
        Err(format!("{:?} is no device of this host", short(path)))
    }
}

fn proxy(proxy: &Proxy) -> Result<(), String> {
    for (name, url) in [("http_proxy", &proxy.http_proxy), ("https_proxy", &proxy.https_proxy)] {
        if let Some(url) = url.as_deref().filter(|url| !url.is_empty())
            && (web_url(url).is_err() || (name == "http_proxy" && !url.starts_with("http://")))
        {
            // A proxy's address may hold a password.
            return Err(format!("{name} is no address of a proxy"));
        }
    }
    let Some(list) = proxy.no_proxy.as_deref().filter(|list| !list.is_empty() && *list != "*") else {
        return Ok(());
    };
    let mut seen = std::collections::BTreeSet::new();
    for entry in list.split(',').map(str::trim) {
        if !is_host(entry) {
            return Err(format!(
                "no_proxy: {:?} is neither an address, a network nor a domain",
                short(entry)
            ));
        }
        if !seen.insert(entry) {
            return Err(format!("no_proxy: {:?} stands there twice", short(entry)));
        }
    }
    Ok(())
}

fn is_host(entry: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && label.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_')
    };
    let domain = entry.strip_prefix('.').unwrap_or(entry);
    entry.parse::<IpAddr>().is_ok()
        || entry.parse::<IpNet>().is_ok()
        || (domain.len() <= 255 && domain.split('.').all(label))
}

/// The user's arguments of `coreos-installer`, in order.
pub(crate) fn installer_args(text: &str) -> Result<Vec<String>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let args: Option<Vec<String>> =
        serde_json::from_str(text).map_err(|error| format!("installer_args: {error}"))?;
    let args = args.unwrap_or_default();
    if args.len() > MOST_ARGS {
        return Err(format!("installer_args: more than {MOST_ARGS}"));
    }
    let mut left = args.iter();
    while let Some(arg) = left.next() {
        let (name, inline) = match arg.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value)),
            _ => (arg.as_str(), None),
        };
        let Some((_, takes_value)) = FLAGS.iter().find(|(flag, _)| *flag == name) else {
            return Err(format!("installer_args: found unexpected flag {:?}", short(arg)));
        };
        let value = match (takes_value, inline) {
            (true, None) => left.next().map(String::as_str),
            (true, inline) => inline,
            (false, None) => continue,
            (false, Some(_)) => return Err(format!("installer_args: {name} takes no value")),
        };
        match value {
            Some(value) if is_value(value) => {}
            _ => return Err(format!("installer_args: {name} has no usable value")),
        }
    }
    Ok(args)
}

/// The characters that the protocol allows in values; the range from `+` to `=` in its pattern holds digits, colon,
/// semicolon and less-than too.
fn is_value(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "@!#$%*()_+,-./:;<=\"'{}[]".contains(c);
    !text.is_empty() && text.len() <= LONGEST && text.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> InstallCmdRequest {
        let text = r#"{"cluster_id":"856f4f9c-3c08-4d97-8ec7-ea0ad7d4cadf","host_id":"856f4f9c-3c08-4d97-8ec7-ea0ad7d4cadf",
            "infra_env_id":"856f4f9c-3c08-4d97-8ec7-ea0ad7d4cadf","role":"master","boot_device":"/dev/null",
            "controller_image":"c:1","installer_image":"i:1"}"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn what_is_right_passes() {
        let mut good = request();
        check(&good).unwrap();
        good.must_gather_image = r#"{"ocp":"a:b","cnv":"c:d"}"#.into();
        good.openshift_version = "4.20.0-rc.1".into();
        good.disks_to_format = Some(vec!["/dev/zero".into()]);
        good.installer_args = r#"["--append-karg","ip=52-54-00:dhcp","-n","--append-karg=x=y"]"#.into();
        good.proxy = Some(Proxy {
            http_proxy: Some("http://user:pass@proxy:3128".into()),
            https_proxy: Some("https://proxy:3129".into()),
            no_proxy: Some("10.0.0.0/8,.svc,localhost,fd00::1".into()),
        });
        check(&good).unwrap();
    }

    #[test]
    fn what_is_wrong_is_told() {
        let refused = |change: fn(&mut InstallCmdRequest)| {
            let mut request = request();
            change(&mut request);
            check(&request).unwrap_err()
        };
        for (change, told) in [
            ((|r| r.role = HostRole::AutoAssign) as fn(&mut InstallCmdRequest), "role"),
            (|r| r.installer_image = "$(id)".into(), "installer_image"),
            (|r| r.controller_image = "--privileged:x".into(), "controller_image"),
            (|r| r.mco_image = "a b".into(), "mco_image"),
            (|r| r.must_gather_image = r#"{"other":"a:b"}"#.into(), "must_gather_image"),
            (|r| r.must_gather_image = "{".into(), "must_gather_image"),
            (|r| r.openshift_version = "-v".into(), "openshift_version"),
            (|r| r.boot_device = "/dev/none".into(), "/dev/none"),
            (|r| r.boot_device = "/dev/../etc/passwd".into(), "no device"),
            (|r| r.boot_device = "/etc/passwd".into(), "no device"),
            (|r| r.disks_to_format = Some(vec!["-x".into()]), "no device"),
            (|r| r.service_ips = Some(vec!["x".into()]), "service_ips"),
            (|r| r.installer_args = "{}".into(), "installer_args"),
            (|r| r.installer_args = r#"["--ignition-url","x"]"#.into(), "unexpected flag"),
            (|r| r.installer_args = r#"["--append-karg"]"#.into(), "no usable value"),
            (|r| r.installer_args = r#"["--append-karg","a b"]"#.into(), "no usable value"),
            (|r| r.installer_args = r#"["--copy-network=x"]"#.into(), "takes no value"),
        ] {
            let error = refused(change);
            assert!(error.contains(told), "{told}: {error}");
        }
        for (proxy, told) in [
            (Proxy { http_proxy: Some("https://p".into()), ..Proxy::default() }, "http_proxy"),
            (Proxy { https_proxy: Some("ftp://p".into()), ..Proxy::default() }, "https_proxy"),
            (Proxy { no_proxy: Some("a,a".into()), ..Proxy::default() }, "twice"),
            (Proxy { no_proxy: Some("a b".into()), ..Proxy::default() }, "no_proxy"),
        ] {
            let error = check(&InstallCmdRequest { proxy: Some(proxy), ..request() }).unwrap_err();
            assert!(error.contains(told), "{told}: {error}");
        }
    }
}
