//! Names of images, in the forms that MachineOSConfigs and their statuses take (ocl-day1 §A2.1).

/// Longest name of a pushed image.
const LONGEST: usize = 447;
const LONGEST_PART: usize = 61;

/// Where an image is pushed: `host[:port]/[namespace/]name:tag`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushSpec<'a> {
    /// Host, with its port if there is one.
    pub host: &'a str,
    /// Everything before the tag.
    pub repository: &'a str,
    pub tag: &'a str,
    /// Parts between host and name.
    pub namespaces: usize,
}

impl<'a> PushSpec<'a> {
    /// Reads one.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    pub fn parse(text: &'a str) -> Result<Self, &'static str> {
        if text.is_empty() || text.len() > LONGEST {
            return Err("it must have 1 to 447 characters");
        }
        if text.contains('@') {
            return Err("it must name a tag, not a digest");
        }
        let slash = text.rfind('/').ok_or("it must name a host and a repository")?;
        let (name, tag) = text[slash + 1..].split_once(':').ok_or("it must end with a tag")?;
        if !is_word(tag, |c| matches!(c, '-' | '_' | '.')) || tag.len() > 128 {
            return Err("its tag must be of letters, digits, and the signs - _ .");
        }
        let repository = &text[..text.len() - tag.len() - 1];
        let (host, path) = repository.split_once('/').ok_or("it must name a host and a repository")?;
        check_host(host)?;
        let namespaces = check_path(path, name)?;
        Ok(Self { host, repository, tag, namespaces })
    }
}

/// Whether a text is `host[:port]/[namespace/]name@sha256:<64 digits>`, the only form in which a status holds an image: without a
/// tag, and with one namespace at most.
pub fn is_digest_reference(text: &str) -> bool {
    let Some((repository, digest)) = text.split_once("@sha256:") else { return false };
    let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let Some((host, path)) = repository.split_once('/') else { return false };
    let name = path.rsplit('/').next().unwrap_or_default();
    text.len() <= LONGEST
        && digest.len() == 64
        && digest.chars().all(hex)
        && check_host(host).is_ok()
        && check_path(path, name).is_ok_and(|namespaces| namespaces <= 1)
}

/// A host with a dot in it, and a port of two to five digits.
fn check_host(host: &str) -> Result<(), &'static str> {
    let (name, port) = match host.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (host, None),
    };
    let label = |label: &str| is_word(label, |c| c == '-');
    if !name.contains('.') || !name.split('.').all(label) {
        return Err("its host must be a name with at least one dot, or an IPv4 address");
    }
    let digits = |port: &str| (2..=5).contains(&port.len()) && port.chars().all(|c| c.is_ascii_digit());
    if port.is_some_and(|port| !digits(port)) {
        return Err("its port must have 2 to 5 digits");
    }
    Ok(())
}

/// How many namespaces a path has before its name.
fn check_path(path: &str, name: &str) -> Result<usize, &'static str> {
    if !is_word(name, |c| matches!(c, '-' | '_' | '.')) {
        return Err("its name must be of letters, digits, and the signs - _ .");
    }
    let before = path.strip_suffix(name).unwrap_or_default();
    let parts: Vec<_> = before.split_terminator('/').collect();
    let namespace = |part: &&str| part.len() <= LONGEST_PART && is_word(part, |c| matches!(c, '-' | '_'));
    if !parts.iter().all(namespace) {
        return Err("its namespaces must have 1 to 61 letters, digits, or the signs - _");
    }
    Ok(parts.len())
}

fn is_word(text: &str, sign: impl Fn(char) -> bool) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || sign(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn push_specs() {
        let spec = PushSpec::parse("registry.example.com:5000/acme/os-master:latest").unwrap();
        assert_eq!((spec.host, spec.tag, spec.namespaces), ("registry.example.com:5000", "latest", 1));
        assert_eq!(spec.repository, "registry.example.com:5000/acme/os-master");
        for (text, namespaces) in [
            ("r.example.com/os:v1", 0),
            ("10.0.0.1:5000/a_b/os.x:1.2-3_4", 1),
            ("r.example.com/a/b/c/os:1", 3),
            ("image-registry.openshift-image-registry.svc:5000/ns/os:1", 1),
        ] {
            assert_eq!(PushSpec::parse(text).map(|spec| spec.namespaces), Ok(namespaces), "{text}");
        }
        let long = format!("r.example.com/{}:1", "a".repeat(440));
        let digest = format!("r.example.com/a/os@sha256:{}", "0".repeat(64));
        let both = format!("r.example.com/a/os:1@sha256:{}", "0".repeat(64));
        for text in [
            "",
            "os",
            "os:1",
            "a/os:1",
            "localhost:5000/a/os:1",
            "registry/a/os:1",
            "[fd00::1]:5000/a/os:1",
            "r.example.com/a/os",
            "r.example.com:5/a/os:1",
            "r.example.com:123456/a/os:1",
            "r.example.com//os:1",
            "r.example.com/a/:1",
            "r.example.com/a/os:",
            "r.example.com/a.b/os:1",
            "r.example.com:5000/a/os:t g",
            "https://r.example.com/a/os:1",
            &long,
            &digest,
            &both,
        ] {
            assert!(PushSpec::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn digest_references() {
        let digest = "0123456789abcdef".repeat(4);
        for name in ["r.example.com/os", "r.example.com:22626/ocl/os-image-master", "10.0.0.1:5000/a/b"] {
            assert!(is_digest_reference(&format!("{name}@sha256:{digest}")), "{name}");
        }
        for name in
            ["r.example.com/a/os:tag", "r.example.com/a/b/os", "localhost/os", "os", "[fd00::1]:5000/os"]
        {
            assert!(!is_digest_reference(&format!("{name}@sha256:{digest}")), "{name}");
        }
        for digest in ["0".repeat(63), "0".repeat(65), "G".repeat(64), "A".repeat(64)] {
            assert!(!is_digest_reference(&format!("r.example.com/os@sha256:{digest}")), "{digest}");
        }
        assert!(!is_digest_reference("r.example.com/os:latest"));
    }
}
