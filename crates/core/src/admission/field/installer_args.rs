//! Arguments that a user adds to the installer of the OS.

use super::Invalidity;

/// Flags that may be used.
pub const ALLOWED: &[&str] = &[
    "--append-karg",
    "--delete-karg",
    "-n",
    "--copy-network",
    "--network-dir",
    "--save-partlabel",
    "--save-partindex",
    "--image-url",
    "--image-file",
];

/// Checks arguments: flags must be allowed, and values of harmless characters.
pub fn check(args: &[String]) -> Result<(), Invalidity> {
    for arg in args {
        if arg.starts_with('-') {
            if !ALLOWED.contains(&arg.as_str()) {
                return Err(format!(
                    "found unexpected flag {arg} for installer - allowed flags are [{}]",
                    ALLOWED.join(" ")
                ));
            }
        } else if arg.is_empty() || !arg.bytes().all(is_harmless) {
            return Err(format!("found unexpected chars in value {arg} for installer"));
        }
    }
    Ok(())
}

/// The range from `+` to `=` is part of the rule, so `<` and `;` pass (service-api §6.6).
fn is_harmless(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || (b'+'..=b'=').contains(&byte) || b"@!#$%*()_./\",';:{}[]".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        let check = |args: &[&str]| check(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            check(&["--append-karg", "ip=192.0.2.2::192.0.2.254:255.255.255.0:core0:eth0:none", "-n"]),
            Ok(())
        );
        assert_eq!(
            check(&["--firstboot-args"]),
            Err("found unexpected flag --firstboot-args for installer - allowed flags are [--append-karg --delete-karg -n \
                 --copy-network --network-dir --save-partlabel --save-partindex --image-url --image-file]"
                .to_owned())
        );
        for value in ["a b", "a`b", "a|b", "a\nb", "", "a&b", "a>b", "a\\b"] {
            assert_eq!(
                check(&["--append-karg", value]),
                Err(format!("found unexpected chars in value {value} for installer"))
            );
        }
    }
}
