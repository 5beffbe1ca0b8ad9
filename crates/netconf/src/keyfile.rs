//! Keyfiles of NetworkManager, made by nmstate in process.

use nmstate::NetworkState;
use serde_yaml_ng::Value;

use crate::{Error, LONGEST_NAME, error_locator, yaml};

/// How the names of keyfiles end.
pub const ENDING: &str = ".nmconnection";

/// One profile of NetworkManager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyfile {
    /// File name, such as `eth0.nmconnection`.
    pub name: String,
    pub content: String,
}

/// The keyfiles of one host, as nmstate writes them.
///
/// # Errors
///
/// When the text is not YAML within bounds, or nmstate refuses it.
pub fn generate(network_yaml: &str) -> Result<Vec<Keyfile>, Error> {
    let parsed = yaml::parse(network_yaml)?;
    if parsed.is_null() {
        return Err(Error::Yaml("cannot generate configuration with an empty host YAML".to_owned()));
    }
    // Texts that were copied out of a web page have such blanks.
    let text = network_yaml.replace('\u{a0}', " ");
    let backends = |text: &str| NetworkState::new_from_yaml(text).and_then(|state| state.gen_conf());
    let mut backends = backends(&text).map_err(|error| {
        let accepts = |part: &Value| serde_yaml_ng::to_string(part).is_ok_and(|text| backends(&text).is_ok());
        let place = error_locator::find(&parsed, accepts);
        Error::Refused {
            kind: error.kind().to_string(),
            message: error.msg().trim().to_owned(),
            place: place.map(|place| format!(" ({place}; correct it or leave it out)")).unwrap_or_default(),
        }
    })?;
    let files = backends.remove("NetworkManager").unwrap_or_default();
    files
        .into_iter()
        .map(|(name, content)| {
            let stem = name.strip_suffix(ENDING).unwrap_or(&name);
            if is_plain(stem) { Ok(Keyfile { name, content }) } else { Err(Error::Name(stem.to_owned())) }
        })
        .collect()
}

/// Whether a text can be part of a file's name; `@` marks what is filled in on the host.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name.len() <= LONGEST_NAME
        && name.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'@' | b'\\'))
}

/// The keyfiles of one host as they are used on it: they win over profiles that NetworkManager makes by itself.
///
/// # Errors
///
/// As for [`generate`]; and when there is no profile at all.
pub fn preferred(network_yaml: &str) -> Result<Vec<Keyfile>, Error> {
    let mut keyfiles = generate(network_yaml)?;
    if keyfiles.is_empty() {
        return Err(Error::Nothing);
    }
    for keyfile in &mut keyfiles {
        keyfile.content = with_option(&keyfile.content, "connection", "autoconnect", "true");
        keyfile.content = with_option(&keyfile.content, "connection", "autoconnect-priority", "1");
    }
    Ok(keyfiles)
}

/// Sets an option of a section: where it is, else as the section's last one.
fn with_option(content: &str, section: &str, option: &str, value: &str) -> String {
    let mut lines: Vec<String> = content.lines().map(str::to_owned).collect();
    let line = format!("{option}={value}");
    let start = lines.iter().position(|line| line.trim() == format!("[{section}]"));
    let Some(start) = start else {
        lines.splice(0..0, [format!("[{section}]"), line, String::new()]);
        return lines.join("\n") + "\n";
    };
    let end = lines[start + 1..]
        .iter()
        .position(|line| line.starts_with('['))
        .map_or(lines.len(), |at| start + 1 + at);
    let is_option = |line: &String| line.split_once('=').is_some_and(|(name, _)| name.trim() == option);
    if let Some(at) = lines[start + 1..end].iter().position(is_option) {
        lines[start + 1 + at] = line;
    } else {
        let last = lines[start..end].iter().rposition(|line| !line.trim().is_empty()).unwrap_or(0);
        lines.insert(start + last + 1, line);
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATIC: &str = "\
interfaces:
- name: eth0
  type: ethernet
  state: up
  ipv4:
    enabled: true
    dhcp: false
    address: [{ip: 192.0.2.10, prefix-length: 24}]
dns-resolver:
  config: {server: [192.0.2.1]}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eth0}
";

    #[test]
    fn a_static_address() {
        let keyfiles = preferred(STATIC).unwrap();
        assert_eq!(keyfiles.len(), 1);
        let Keyfile { name, content } = &keyfiles[0];
        assert_eq!(name, "eth0.nmconnection");
        for line in [
            "interface-name=eth0",
            "autoconnect=true",
            "autoconnect-priority=1",
            "address0=192.0.2.10/24",
            "dns=192.0.2.1",
        ] {
            assert_eq!(content.lines().filter(|other| *other == line).count(), 1, "{line} in\n{content}");
        }
        assert_eq!(generate(STATIC), generate(STATIC));
    }

    #[test]
    fn refused() {
        for (yaml, why) in [
            ("", "empty host YAML"),
            ("interfaces: 1", "InvalidArgument"),
            ("interfaces:\n- {name: eth0, nonsense: 1}\n", "nonsense"),
            (
                "interfaces:\n- {name: eth0, ipv4: {enabled: true, address: [{ip: 300.1.1.1, prefix-length: 24}]}}\n",
                "(interface eth0, ipv4.address[0]: ip: 300.1.1.1, prefix-length: 24; correct it or leave it out)",
            ),
            ("interfaces:\n- {name: ../eth0, type: ethernet, state: up}\n", "../eth0"),
        ] {
            let refused = generate(yaml).unwrap_err().to_string();
            assert!(refused.contains(why), "{why}: {refused}");
        }
        assert_eq!(preferred("interfaces: []"), Err(Error::Nothing));
    }

    #[test]
    fn options() {
        for (content, expected) in [
            ("[connection]\nid=a\n\n[ipv4]\nx=1\n", "[connection]\nid=a\np=1\n\n[ipv4]\nx=1\n"),
            ("[connection]\np=0\nid=a\n", "[connection]\np=1\nid=a\n"),
            ("[ipv4]\np=0\n", "[connection]\np=1\n\n[ipv4]\np=0\n"),
            ("[connection]\n[ipv4]\np=0\n", "[connection]\np=1\n[ipv4]\np=0\n"),
        ] {
            assert_eq!(with_option(content, "connection", "p", "1"), expected);
        }
    }
}
