//! Names of hosts.

/// Names that a host may not have, in the order in which they are listed.
pub const FORBIDDEN: &[&str] = &[
    "localhost",
    "localhost.localdomain",
    "localhost4",
    "localhost4.localdomain4",
    "localhost6",
    "localhost6.localdomain6",
];

/// What a name must look like, as texts quote it.
pub const PATTERN: &str = "^[a-z0-9][a-z0-9-]{0,62}(?:[.][a-z0-9-]{1,63})*$";
const LONGEST: usize = 63;

/// Whether a host may not have the name.
pub fn is_forbidden(name: &str) -> bool {
    FORBIDDEN.contains(&name)
}

/// Whether the name is not too long, and looks as [`PATTERN`] says.
pub fn is_well_formed(name: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len()) && label.bytes().all(|byte| is_lower_alnum(byte) || byte == b'-')
    };
    name.len() <= LONGEST && name.bytes().next().is_some_and(is_lower_alnum) && name.split('.').all(label)
}

/// Checks a requested name; an error is the text that the client sees.
pub fn check(name: &str) -> Result<(), String> {
    if name.len() > LONGEST {
        return Err(format!(
            "hostname is too long, must be 63 characters or less. Hostname: {name} has {} characters",
            name.len()
        ));
    }
    if !is_well_formed(name) {
        return Err(format!("Hostname does not pass required regex validation: {PATTERN}. Hostname: {name}"));
    }
    if is_forbidden(name) { Err(format!("The host name {name} is forbidden")) } else { Ok(()) }
}

/// Whether it is a lower-case letter or a digit.
pub(crate) fn is_lower_alnum(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in ["a", "master-0", "host.example.com", "a.-b", "a-.b", "1"] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        for name in ["", "-a", "A", "a..b", ".a", "a.", "a_b", "ä", "a b", "a\n", "a;reboot"] {
            assert_eq!(
                check(name),
                Err(format!("Hostname does not pass required regex validation: {PATTERN}. Hostname: {name}"))
            );
        }
        let long = "a".repeat(64);
        assert_eq!(
            check(&long),
            Err(format!(
                "hostname is too long, must be 63 characters or less. Hostname: {long} has 64 characters"
            ))
        );
        assert_eq!(check("localhost"), Err("The host name localhost is forbidden".to_owned()));
    }
}
