//! What Ignition refuses on the host, found before the host boots.

use std::collections::HashSet;
use std::fmt;

use crate::config::Config;
use crate::resource::Resource;

/// A config that Ignition would refuse: where, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct Invalid {
    /// The member, as in `storage.files /etc/motd`.
    pub place: String,
    pub why: String,
}

fn invalid(place: impl fmt::Display, why: impl fmt::Display) -> Invalid {
    Invalid { place: place.to_string(), why: why.to_string() }
}

/// Checks a config by the rules of specification 3.2.0 that concern files, users and units.
///
/// # Errors
///
/// The first thing that Ignition would refuse.
pub fn validate(config: &Config) -> Result<(), Invalid> {
    let security = &config.ignition.security.tls.certificate_authorities;
    resources("ignition.security.tls.certificateAuthorities", security)?;
    let mut sources = HashSet::new();
    if !security.iter().all(|authority| sources.insert(&authority.source)) {
        return Err(invalid("ignition.security.tls.certificateAuthorities", "a source is given twice"));
    }
    resources("ignition.config.merge", &config.ignition.config.merge)?;
    resource("ignition.config.replace", &config.ignition.config.replace)?;
    nodes(config)?;
    users(config)?;
    units(config)
}

fn nodes(config: &Config) -> Result<(), Invalid> {
    let storage = &config.storage;
    let mut seen = HashSet::new();
    let mut paths: Vec<(&str, &str)> = Vec::new();
    paths.extend(storage.files.iter().map(|file| ("storage.files", file.path.as_str())));
    paths.extend(storage.directories.iter().map(|dir| ("storage.directories", dir.path.as_str())));
    paths.extend(storage.links.iter().map(|link| ("storage.links", link.path.as_str())));
    for (list, path) in paths {
        let place = || format!("{list} {path:?}");
        if !path.starts_with('/') {
            return Err(invalid(place(), "the path is not absolute"));
        }
        if !seen.insert(path) {
            return Err(invalid(place(), "the path is given twice"));
        }
    }
    let modes = storage.files.iter().map(|file| (&file.path, file.mode));
    for (path, mode) in modes.chain(storage.directories.iter().map(|dir| (&dir.path, dir.mode))) {
        if mode.is_some_and(|mode| mode > 0o7777) {
            return Err(invalid(path, "the mode is above 07777 (a decimal number is wanted)"));
        }
    }
    for file in &storage.files {
        resource(&file.path, &file.contents)?;
        resources(&file.path, &file.append)?;
    }
    for link in &storage.links {
        if link.target.is_empty() {
            return Err(invalid(&link.path, "the link has no target"));
        }
    }
    Ok(())
}

fn resources(place: &str, list: &[Resource]) -> Result<(), Invalid> {
    for item in list {
        if item.source.is_none() {
            return Err(invalid(place, "an item has no source"));
        }
        resource(place, item)?;
    }
    Ok(())
}

fn resource(place: &str, resource: &Resource) -> Result<(), Invalid> {
    const SCHEMES: &[&str] = &["http", "https", "tftp", "s3", "gs", "data"];
    if let Some(source) = resource.source.as_deref().filter(|source| !source.is_empty()) {
        let scheme = source.split_once(':').map_or("", |(scheme, _)| scheme);
        if !SCHEMES.contains(&scheme) {
            return Err(invalid(place, format!("the source has none of the schemes {}", SCHEMES.join(", "))));
        }
        if scheme == "data" && resource.data().is_none() {
            return Err(invalid(place, "the source is a data URL that can't be read"));
        }
    }
    if !matches!(resource.compression.as_deref(), None | Some("" | "gzip")) {
        return Err(invalid(place, "the compression is not gzip"));
    }
    let Some(hash) = &resource.verification.hash else { return Ok(()) };
    let digits = match hash.split_once('-') {
        Some(("sha512", value)) => (value, 128),
        Some(("sha256", value)) => (value, 64),
        _ => return Err(invalid(place, "the hash is neither sha512-… nor sha256-…")),
    };
    if digits.0.len() != digits.1 || !digits.0.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(invalid(place, format!("the hash has not {} hexadecimal digits", digits.1)));
    }
    Ok(())
}

fn users(config: &Config) -> Result<(), Invalid> {
    let users = config.passwd.users.iter().map(|user| ("passwd.users", &user.name));
    let groups = config.passwd.groups.iter().map(|group| ("passwd.groups", &group.name));
    let mut seen = HashSet::new();
    for (list, name) in users.chain(groups) {
        if name.is_empty() {
            return Err(invalid(list, "an item has no name"));
        }
        if !seen.insert((list, name)) {
            return Err(invalid(list, format!("{name:?} is given twice")));
        }
    }
    Ok(())
}

const UNIT_KINDS: &[&str] = &[
    "service",
    "socket",
    "device",
    "mount",
    "automount",
    "swap",
    "target",
    "path",
    "timer",
    "snapshot",
    "slice",
    "scope",
];

fn units(config: &Config) -> Result<(), Invalid> {
    let mut seen = HashSet::new();
    for unit in &config.systemd.units {
        let place = format!("systemd.units {:?}", unit.name);
        let kind = unit.name.rsplit_once('.').map_or("", |(_, kind)| kind);
        if !UNIT_KINDS.contains(&kind) {
            return Err(invalid(place, "the name does not end in a kind of unit, such as .service"));
        }
        if !seen.insert(&unit.name) {
            return Err(invalid(place, "the unit is given twice"));
        }
        section_headers(&place, unit.contents.as_deref())?;
        let mut dropins = HashSet::new();
        for dropin in &unit.dropins {
            let place = format!("{place} {:?}", dropin.name);
            if !dropin.name.ends_with(".conf") {
                return Err(invalid(place, "the name does not end in .conf"));
            }
            if !dropins.insert(&dropin.name) {
                return Err(invalid(place, "the drop-in is given twice"));
            }
            section_headers(&place, dropin.contents.as_deref())?;
        }
    }
    Ok(())
}

/// systemd's syntax as far as Ignition checks it: sections, and options inside them.
fn section_headers(place: &str, contents: Option<&str>) -> Result<(), Invalid> {
    let mut continued = false;
    let mut in_section = false;
    for line in contents.unwrap_or_default().lines() {
        let text = line.trim();
        let continues = text.ends_with('\\');
        if !continued && !text.is_empty() && !text.starts_with(['#', ';']) {
            if text.starts_with('[') {
                if !text.ends_with(']') {
                    return Err(invalid(place, "a section has no closing bracket"));
                }
                in_section = true;
            } else if !in_section || !text.contains('=') {
                return Err(invalid(place, "a line is neither a section nor an option of one"));
            }
        }
        continued = continues;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn validated(member: &str, value: Value) -> Result<(), Invalid> {
        let mut config = json!({"ignition": {"version": "3.2.0"}});
        config[member] = value;
        validate(&serde_json::from_value(config).unwrap())
    }

    #[test]
    fn refused() {
        for (member, value) in [
            ("storage", json!({"files": [{"path": "a"}]})),
            ("storage", json!({"files": [{"path": "/a"}], "links": [{"path": "/a", "target": "/b"}]})),
            ("storage", json!({"files": [{"path": "/a", "mode": 100644}]})),
            ("storage", json!({"files": [{"path": "/a", "contents": {"source": "ftp://a"}}]})),
            ("storage", json!({"files": [{"path": "/a", "contents": {"source": "data:;base64,%"}}]})),
            ("storage", json!({"files": [{"path": "/a", "contents": {"compression": "xz"}}]})),
            ("storage", json!({"files": [{"path": "/a", "contents": {"verification": {"hash": "md5-0"}}}]})),
            (
                "storage",
                json!({"files": [{"path": "/a", "contents": {"verification": {"hash": "sha512-00"}}}]}),
            ),
            ("storage", json!({"files": [{"path": "/a", "append": [{}]}]})),
            ("storage", json!({"links": [{"path": "/a"}]})),
            ("passwd", json!({"users": [{}]})),
            ("passwd", json!({"users": [{"name": "a"}, {"name": "a"}]})),
            ("systemd", json!({"units": [{"name": "a"}]})),
            ("systemd", json!({"units": [{"name": "a.service"}, {"name": "a.service"}]})),
            ("systemd", json!({"units": [{"name": "a.service", "contents": "[Unit"}]})),
            ("systemd", json!({"units": [{"name": "a.service", "contents": "A=b"}]})),
            ("systemd", json!({"units": [{"name": "a.service", "dropins": [{"name": "a"}]}]})),
        ] {
            assert!(validated(member, value.clone()).is_err(), "{value}");
        }
    }

    #[test]
    fn accepted() {
        for (member, value) in [
            (
                "storage",
                json!({"files": [{"path": "/a", "mode": 0o7777, "contents": {"source": "data:,a%20b"}}]}),
            ),
            (
                "storage",
                json!({"directories": [{"path": "/a"}], "files": [{"path": "/a/b", "contents": {"source": ""}}]}),
            ),
            ("passwd", json!({"users": [{"name": "a"}], "groups": [{"name": "a"}]})),
            (
                "systemd",
                json!({"units": [{"name": "a.service", "contents": "# a\n[Service]\nExecStart=a \\\n  b\n"}]}),
            ),
        ] {
            assert_eq!(validated(member, value.clone()), Ok(()), "{value}");
        }
    }
}
