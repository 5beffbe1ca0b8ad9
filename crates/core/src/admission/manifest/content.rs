//! What stands in a manifest: base64 of YAML, JSON, or a list of patch operations, by the name's ending.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use saphyr_parser::{Event, Parser};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::ManifestPath;
use crate::model::refusal::Refusal;

/// Bytes of a manifest at most.
pub const LARGEST: usize = 1 << 20;

/// Levels of a document at most, as for JSON.
const DEEPEST: usize = 128;

/// One operation of a patch; only its form is judged here, what it names is found when it is applied.
#[derive(Deserialize)]
#[allow(dead_code, reason = "read for their form only")]
struct PatchOperation {
    op: String,
    path: String,
    #[serde(default)]
    from: Option<String>,
    #[serde(default)]
    value: Option<IgnoredAny>,
}

/// Decodes the content of a request.
///
/// # Errors
///
/// `Invalid` for what is empty, not base64 or too large.
pub fn decode(path: ManifestPath<'_>, encoded: &str) -> Result<Vec<u8>, Refusal> {
    let refused = |why: &str| refuse(path, format_args!("{why}"));
    if encoded.trim().is_empty() {
        return Err(refused("is empty"));
    }
    // Encoders that break lines are common.
    let packed: String = encoded.chars().filter(|letter| !matches!(letter, '\r' | '\n')).collect();
    let content = STANDARD.decode(packed).map_err(|_| {
        Refusal::invalid(format!(
            "failed to base64-decode cluster manifest content for cluster {}",
            path.cluster_id
        ))
    })?;
    if content.iter().all(u8::is_ascii_whitespace) {
        return Err(refused("is empty"));
    }
    if content.len() > LARGEST {
        return Err(refused("exceeds the maximum file size of 1MiB"));
    }
    Ok(content)
}

/// Checks a manifest's content by the ending of its name.
///
/// # Errors
///
/// `Invalid` for content that is not what the ending says, and for an ending that says nothing.
pub fn check(path: ManifestPath<'_>, content: &[u8]) -> Result<(), Refusal> {
    match path.extension() {
        ".yaml" | ".yml" => {
            yaml(content).map_err(|why| refuse(path, format_args!("has an invalid YAML format: {why}")))
        }
        ".json" => serde_json::from_slice::<IgnoredAny>(content)
            .map(drop)
            .map_err(|_| refuse(path, format_args!("has an illegal JSON format"))),
        extension if extension.starts_with(".patch") => patch(content).map_err(|why| {
            Refusal::invalid(format!(
                "Patch content of file {} for cluster ID {} is invalid: {why}",
                path.path(),
                path.cluster_id
            ))
        }),
        _ => Err(Refusal::invalid(format!(
            "Manifest filename of file {} for cluster ID {} is invalid. Only json, yaml and yml or patch extensions are \
             supported",
            path.path(),
            path.cluster_id
        ))),
    }
}

fn refuse(path: ManifestPath<'_>, why: std::fmt::Arguments<'_>) -> Refusal {
    Refusal::invalid(format!(
        "Manifest content of file {} for cluster ID {} {why}",
        path.path(),
        path.cluster_id
    ))
}

/// Any number of documents, read as a stream: what the parser of values holds and does grows with the square of some texts,
/// and aliases let a few bytes stand for many.
fn yaml(content: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(content).map_err(|_| "it is not UTF-8")?;
    if text.chars().any(|letter| letter.is_control() && !matches!(letter, '\t' | '\n' | '\r' | '\u{85}')) {
        return Err("control characters are not allowed".to_owned());
    }
    let mut depth = 0_usize;
    for event in Parser::new_from_str(text) {
        match event.map_err(|error| error.to_string())?.0 {
            Event::SequenceStart(..) | Event::MappingStart(..) if depth == DEEPEST => {
                return Err(format!("it has more than {DEEPEST} levels"));
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => depth += 1,
            Event::SequenceEnd | Event::MappingEnd => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

fn patch(content: &[u8]) -> Result<(), String> {
    yaml(content)?;
    serde_yaml_ng::from_slice::<Vec<PatchOperation>>(content)
        .map(drop)
        .map_err(|_| "a list of operations with op and path is wanted".to_owned())
}

#[cfg(test)]
mod tests {
    use assisted_wire::id::ClusterId;
    use assisted_wire::manifest::ManifestFolder;

    use super::*;
    use crate::model::refusal::RefusalKind;

    fn path(file_name: &str) -> ManifestPath<'_> {
        ManifestPath { cluster_id: ClusterId::default(), folder: ManifestFolder::Openshift, file_name }
    }

    fn text(outcome: Result<impl std::fmt::Debug, Refusal>) -> String {
        let refusal = outcome.unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Invalid);
        refusal.reason.replace(&ClusterId::default().to_string(), "C")
    }

    #[test]
    fn decoded() {
        let decode = |encoded: &str| decode(path("a.yaml"), encoded);
        assert_eq!(decode("YTogMQ==").unwrap(), b"a: 1");
        assert_eq!(decode("YTog\r\nMQ==\n").unwrap(), b"a: 1");
        let empty = "Manifest content of file openshift/a.yaml for cluster ID C is empty";
        for encoded in ["", " \n", "IAo=", "\u{a0}"] {
            assert_eq!(text(decode(encoded)), empty, "{encoded:?}");
        }
        assert_eq!(text(decode("a: 1")), "failed to base64-decode cluster manifest content for cluster C");
        assert!(decode(&STANDARD.encode(vec![b'a'; LARGEST])).is_ok());
        assert_eq!(
            text(decode(&STANDARD.encode(vec![b'a'; LARGEST + 1]))),
            "Manifest content of file openshift/a.yaml for cluster ID C exceeds the maximum file size of 1MiB"
        );
    }

    #[test]
    fn judged_by_the_ending() {
        for (name, content) in [
            ("a.yaml", "a: 1"),
            ("a.yml", "---\na: 1\n---\n---\nb: [1, {c: d}]\n"),
            ("a.yaml", "just text"),
            ("a.yaml", "script: |\n  if [[ -z x ]]; then\n    exit\n  fi\n"),
            ("a.json", r#"{"a": [1]}"#),
            ("a.yaml.patch", "- op: add\n  path: /a\n  value: {b: c}\n"),
            ("a.yml.patch_01_x", r#"[{"op": "move", "path": "/a", "from": "/b"}]"#),
        ] {
            assert_eq!(check(path(name), content.as_bytes()), Ok(()), "{name} {content}");
        }
        for (name, content, expected) in [
            (
                "a.json",
                "{",
                "Manifest content of file openshift/a.json for cluster ID C has an illegal JSON format",
            ),
            (
                "a.json",
                "{} {}",
                "Manifest content of file openshift/a.json for cluster ID C has an illegal JSON format",
            ),
            (
                "a.txt",
                "a",
                "Manifest filename of file openshift/a.txt for cluster ID C is invalid. Only json, yaml and yml or patch \
                 extensions are supported",
            ),
            (
                "a.yaml.patch",
                "a: 1",
                "Patch content of file openshift/a.yaml.patch for cluster ID C is invalid: a list of operations with op and \
                 path is wanted",
            ),
        ] {
            assert_eq!(text(check(path(name), content.as_bytes())), expected);
        }
        for content in ["a: [", "a: b: c", "a: *nobody", "a: 1\n---\nb: ]", "\u{1}", "- a\nb: c"] {
            let text = text(check(path("a.yaml"), content.as_bytes()));
            let start =
                "Manifest content of file openshift/a.yaml for cluster ID C has an invalid YAML format: ";
            assert!(text.starts_with(start), "{content:?}: {text}");
        }
        assert!(check(path("a.yaml"), b"a: \xff\xfe").is_err());
    }

    #[test]
    fn small_texts_that_would_grow() {
        let mut laughs = "a0: &a0 ha\n".to_owned();
        for level in 1..60 {
            let below = format!("*a{}, ", level - 1).repeat(9);
            laughs.push_str(&format!("a{level}: &a{level} [{below}x]\n"));
        }
        assert_eq!(check(path("a.yaml"), laughs.as_bytes()), Ok(()));
        let patch = format!("{laughs}\n");
        assert!(check(path("a.yaml.patch"), patch.as_bytes()).is_err());
        for deep in ["[", "{a: ", "{a:\n", "{a: \"]\", ", "- ", "? "] {
            let deep = deep.repeat(LARGEST / deep.len());
            for name in ["a.yaml", "a.yaml.patch", "a.json"] {
                assert_eq!(check(path(name), deep.as_bytes()).unwrap_err().kind, RefusalKind::Invalid);
            }
        }
    }
}
