//! References of container images, as the service sends them.

/// Longest image reference that is taken.
const LONGEST_IMAGE: usize = 4_096;

/// Whether a text matches [`assisted_wire::pattern::IMAGE_REFERENCE`], without a regex engine on every host. What a
/// program would take for an option is no reference either, though the pattern lets it pass.
pub(crate) fn is_image_reference(text: &str) -> bool {
    let in_path = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-/@".contains(c);
    let in_tag = |c: char| c.is_ascii_alphanumeric() || "?:_-.".contains(c);
    // One or more characters of the path, then one or more of the tag; many belong to both.
    let rest = |text: &str| {
        let path = text.find(|c| !in_path(c)).unwrap_or(text.len());
        let tag = text.rfind(|c| !in_tag(c)).map_or(0, |last| last + 1);
        text.is_ascii() && tag.max(1) <= path.min(text.len().saturating_sub(1))
    };
    let registry = |text: &str| {
        let (host, port) = text.split_once(':').unwrap_or((text, "0"));
        !host.is_empty()
            && host.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.')
            && !port.is_empty()
            && port.chars().all(|c| c.is_ascii_digit())
    };
    text.len() <= LONGEST_IMAGE
        && !text.starts_with('-')
        && (rest(text) || text.split_once('/').is_some_and(|(before, after)| registry(before) && rest(after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_references() {
        for good in
            ["demo", "quay.io/example/agent:v1", "host:5000/a@sha256:0abc", "REG.io:1/a/b", "ab", "a?b"]
        {
            assert!(is_image_reference(good), "{good}");
        }
        let long = "a".repeat(LONGEST_IMAGE + 1);
        for bad in [
            "",
            "a",
            "A",
            "a b:c",
            "rm -rf /",
            "é:x",
            "host:/a:b",
            "a:b/c",
            "$(x)",
            "-x:y",
            "--authfile=x",
            &long,
        ] {
            assert!(!is_image_reference(bad), "{bad}");
        }
    }
}
