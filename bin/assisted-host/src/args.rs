//! Command lines in the spelling of existing units: one dash before long names, and the part's name as the program's
//! (agent-protocol §1.1, §1.2).

use std::ffi::OsString;
use std::path::Path;

/// The command line as this program's parser reads it.
pub(crate) fn normalise(argv: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut argv = argv.into_iter();
    let program = argv.next().unwrap_or_default();
    let name = Path::new(&program).file_name().unwrap_or_default().to_owned();
    let mut normal = vec![OsString::from("assisted-host")];
    if name == "agent" || name == "inventory" {
        normal.push(name);
    }
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
}
