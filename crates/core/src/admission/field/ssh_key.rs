//! Public SSH keys.

use super::Invalidity;

/// Kinds of keys, each with the first letters of its encoded form.
const KINDS: &[(&str, &str)] = &[
    ("ssh-rsa", "AAAAB3NzaC1yc2"),
    ("ecdsa-sha2-nistp256", "AAAAE2VjZHNhLXNoYTItbmlzdHAyNT"),
    ("ecdsa-sha2-nistp384", "AAAAE2VjZHNhLXNoYTItbmlzdHAzOD"),
    ("ecdsa-sha2-nistp521", "AAAAE2VjZHNhLXNoYTItbmlzdHA1Mj"),
    ("ssh-ed25519", "AAAAC3NzaC1lZDI1NTE5"),
    ("ssh-dss", "AAAAB3NzaC1kc3"),
];

/// Checks public keys, one a line.
pub fn check(keys: &str) -> Result<(), Invalidity> {
    for line in keys.trim().split('\n') {
        let key = line.trim();
        if !is_supported(key) {
            return Err(format!(
                "SSH key: {key} does not match any supported type: ssh-rsa, ssh-ed25519, ecdsa-[VARIANT]"
            ));
        }
        if let Err(error) = ssh_key::PublicKey::from_openssh(key) {
            return Err(format!("Malformed SSH key: {key}: {error}"));
        }
    }
    Ok(())
}

fn is_supported(key: &str) -> bool {
    let mut parts = key.splitn(3, ' ');
    let (Some(kind), Some(encoded)) = (parts.next(), parts.next()) else { return false };
    let Some((_, start)) = KINDS.iter().find(|(name, _)| *name == kind) else { return false };
    let body = encoded.trim_end_matches('=');
    encoded.len() - body.len() <= 3
        && body.len() > start.len()
        && body.starts_with(start)
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ED25519: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti me@example.com";

    #[test]
    fn keys() {
        assert_eq!(check(ED25519), Ok(()));
        assert_eq!(check(&format!("  {ED25519}\n{ED25519}\r\n")), Ok(()));
    }

    #[test]
    fn refusals() {
        for (keys, key) in [
            ("ssh-rsa AAAB", "ssh-rsa AAAB"),
            ("nothing", "nothing"),
            ("", ""),
            ("ssh-ed448 AAAA", "ssh-ed448 AAAA"),
        ] {
            assert_eq!(
                check(keys),
                Err(format!(
                    "SSH key: {key} does not match any supported type: ssh-rsa, ssh-ed25519, ecdsa-[VARIANT]"
                ))
            );
        }
        let blank_between = check(&format!("{ED25519}\n\n{ED25519}")).unwrap_err();
        assert!(blank_between.starts_with("SSH key:  does not match"), "{blank_between}");
        let cut = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM";
        assert!(check(cut).unwrap_err().starts_with(&format!("Malformed SSH key: {cut}: ")));
    }
}
