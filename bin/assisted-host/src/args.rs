//! Command lines in the spelling of existing units: one dash before long names, and the part's name as the program's
//! (agent-protocol §1.1, §1.2).

use std::ffi::{OsStr, OsString};
use std::path::Path;

use assisted_base::boolean;

/// Names under which this program is one of its parts, and the arguments that name the part.
const PARTS: &[(&str, &[&str])] = &[
    ("agent", &["agent"]),
    ("next_step_runner", &["next-step-runner"]),
    ("installer", &["installer"]),
    ("assisted-installer", &["installer"]),
    ("inventory", &["inventory"]),
    ("logs_sender", &["logs-sender"]),
    ("free_addresses", &["step", "free-network-addresses"]),
    ("disk_speed_check", &["step", "installation-disk-speed-check"]),
    ("ntp-synchronizer", &["step", "ntp-synchronizer"]),
    ("domain-resolution", &["step", "domain-resolution"]),
    ("cp", &["cp"]),
    ("nsenter", &["nsenter"]),
];

fn base_name(program: &OsStr) -> &OsStr {
    Path::new(program).file_name().unwrap_or_default()
}

/// A truth value in any spelling that existing units may use (agent-protocol §1.2).
pub(crate) fn truth(text: &str) -> Result<bool, UnknownTruth> {
    boolean::parse(text).ok_or(UnknownTruth)
}

/// Neither yes nor no.
#[derive(Debug, thiserror::Error)]
#[error("neither true nor false")]
pub(crate) struct UnknownTruth;

/// The command line as this program's parser reads it.
pub(crate) fn normalise(argv: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut argv = argv.into_iter();
    let program = argv.next().unwrap_or_default();
    let part = PARTS.iter().find(|(name, _)| base_name(&program) == *name);
    let mut normal = vec![OsString::from("assisted-host")];
    normal.extend(part.iter().flat_map(|(_, part)| part.iter().map(OsString::from)));
    let mut options = true;
    for arg in argv {
        options &= arg != "--";
        normal.push(if options { two_dashes(arg) } else { arg });
    }
    normal
}

/// `-name` becomes `--name`; `-h`, `-1` and values stay.
fn two_dashes(arg: OsString) -> OsString {
    let bytes = arg.as_encoded_bytes();
    match bytes {
        [b'-', first, _, ..] if first.is_ascii_alphabetic() => {
            let mut long = OsString::from("-");
            long.push(arg);
            long
        }
        _ => arg,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(argv: &[&str]) -> Vec<String> {
        let normal = normalise(argv.iter().map(OsString::from));
        normal.into_iter().map(|arg| arg.into_string().unwrap()).collect()
    }

    #[test]
    fn one_dash_is_as_good_as_two() {
        assert_eq!(
            normal(&[
                "/usr/local/bin/agent",
                "-url",
                "http://h",
                "--infra-env-id=x",
                "-insecure=false",
                "-h"
            ]),
            ["assisted-host", "agent", "--url", "http://h", "--infra-env-id=x", "--insecure=false", "-h"]
        );
        assert_eq!(
            normal(&["assisted-host", "step", "x", "--", "-abc"]),
            ["assisted-host", "step", "x", "--", "-abc"]
        );
        assert_eq!(normal(&[]), ["assisted-host"]);
    }

    #[test]
    fn the_name_says_which_part_is_meant() {
        assert_eq!(normal(&["/usr/bin/inventory"]), ["assisted-host", "inventory"]);
        assert_eq!(normal(&["ntp-synchronizer", "{}"]), ["assisted-host", "step", "ntp-synchronizer", "{}"]);
        assert_eq!(normal(&["./domain-resolution"]), ["assisted-host", "step", "domain-resolution"]);
        assert_eq!(normal(&["assisted-host-x86_64", "version"]), ["assisted-host", "version"]);
        assert_eq!(
            normal(&["/usr/bin/next_step_runner", "-url", "x"])[1..],
            ["next-step-runner", "--url", "x"]
        );
        let enter = ["/usr/bin/nsenter", "--target", "1", "--mount", "--", "podman", "-v"];
        let expected = ["nsenter", "--target", "1", "--mount", "--", "podman", "-v"];
        assert_eq!(normal(&enter)[1..], expected);
        assert_eq!(normal(&["disk_speed_check", "{}"])[1..], ["step", "installation-disk-speed-check", "{}"]);
    }
}
