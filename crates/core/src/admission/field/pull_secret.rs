//! Pull secrets: credentials of image registries.

use assisted_wire::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::Invalidity;
use crate::policy::Policy;

/// A registry that never needs an entry.
const STAGING: &str = "registry.stage.redhat.io";
const DOCKER: &str = "docker.io";
const DOCKER_ENTRY: &str = "https://index.docker.io/v1/";

/// Checks a pull secret: its form, and that it has an entry for each image that will be pulled with it.
///
/// `release_image` is the release that a cluster is installed from; `None` for an infra-env. Refusals never quote a
/// credential.
pub fn check(secret: &Secret, release_image: Option<&str>, policy: &Policy) -> Result<(), Invalidity> {
    let entries = parse(secret)?;
    let images = &policy.images;
    let needed = [
        release_image.unwrap_or_default(),
        &images.release_image_mirror,
        &images.agent,
        &images.installer,
        &images.controller,
    ];
    let public = &policy.clusters.public_container_registries;
    for image in needed.into_iter().filter(|image| !image.is_empty()) {
        let repository = repository(image);
        let covered = |entry: &str| covers(entry, repository);
        let known =
            entries.keys().map(String::as_str).chain(public.iter().map(String::as_str)).chain([STAGING]);
        if !known.into_iter().any(covered) {
            return Err(format!("pull secret must contain auth for \"{repository}\""));
        }
    }
    Ok(())
}

/// The pull secret as it is kept: with the service's own credentials of the staging registry, if it has any
/// (`REGISTRY_CREDS`). An empty one stays empty.
pub fn completed(secret: &Secret, policy: &Policy) -> Result<Secret, Invalidity> {
    let own = &policy.clusters.registry_creds;
    if own.is_empty() || secret.is_empty() {
        return Ok(secret.clone());
    }
    let failed = || "Failed to update Pull-secret with additional credentials".to_owned();
    let mut document: Map<String, Value> = serde_json::from_str(secret.expose()).map_err(|_| failed())?;
    let entries = document.get_mut("auths").and_then(Value::as_object_mut).ok_or_else(failed)?;
    entries.insert(STAGING.to_owned(), serde_json::json!({"auth": STANDARD.encode(own.expose())}));
    serde_json::to_string(&document).map(Secret::from).map_err(|_| failed())
}

fn parse(secret: &Secret) -> Result<Map<String, Value>, Invalidity> {
    let malformed = || "pull secret must be a well-formed JSON".to_owned();
    let mut document: Map<String, Value> = serde_json::from_str(secret.expose()).map_err(|_| malformed())?;
    let entries = match document.remove("auths") {
        Some(Value::Object(entries)) if !entries.is_empty() => entries,
        None | Some(Value::Null | Value::Object(_)) => {
            return Err("pull secret must contain 'auths' JSON-object field".to_owned());
        }
        Some(_) => return Err(malformed()),
    };
    for (registry, entry) in &entries {
        match entry.get("auth") {
            None | Some(Value::Null) => {}
            Some(Value::String(auth)) => credentials(registry, auth)?,
            Some(other) => {
                return Err(format!(
                    "invalid pull secret: 'auth' field of \"{registry}\" is {other} but should be a string"
                ));
            }
        }
    }
    Ok(entries)
}

fn credentials(registry: &str, auth: &str) -> Result<(), Invalidity> {
    if auth.is_empty() {
        return Ok(());
    }
    let decoded = STANDARD
        .decode(auth)
        .map_err(|_| format!("invalid pull secret: 'auth' field of \"{registry}\" is not base64-encoded"))?;
    if decoded.contains(&b':') {
        return Ok(());
    }
    Err(format!("invalid pull secret: 'auth' for {registry} is not in 'user:password' format"))
}

/// The image without its tag and its digest.
fn repository(image: &str) -> &str {
    let image = image.split_once('@').map_or(image, |(name, _)| name);
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => image,
    }
}

/// Whether an entry is for the repository: it names it, or what it lies under.
fn covers(entry: &str, repository: &str) -> bool {
    let under = |prefix: &str| {
        repository.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    under(entry.trim_end_matches('/')) && !entry.is_empty() || (entry == DOCKER_ENTRY && under(DOCKER))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELEASE: &str = "quay.io/openshift-release-dev/ocp-release:4.22.9-x86_64";

    fn problem(secret: &str) -> Invalidity {
        check(&secret.into(), Some(RELEASE), &Policy::default()).unwrap_err()
    }

    #[test]
    fn entries_for_every_image() {
        let policy = Policy::default();
        let check = |secret: &str| check(&secret.into(), Some(RELEASE), &policy);
        assert_eq!(check(r#"{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz","email":"a@b.c"}}}"#), Ok(()));
        assert_eq!(check(r#"{"auths":{"quay.io":{}}}"#), Ok(()));
        assert_eq!(check(r#"{"auths":{"quay.io":{"auth":""}}}"#), Ok(()));
        assert_eq!(
            check(r#"{"auths":{"quay.io/assisted":{"auth":"dXNlcjpwYXNz"}}}"#),
            Err("pull secret must contain auth for \"quay.io/openshift-release-dev/ocp-release\"".to_owned())
        );
        let mut public = Policy::default();
        public.clusters.public_container_registries = vec!["quay.io".to_owned()];
        assert_eq!(super::check(&r#"{"auths":{"x.y":{}}}"#.into(), Some(RELEASE), &public), Ok(()));
    }

    #[test]
    fn own_credentials_of_the_staging_registry() {
        let given = Secret::from(r#"{"auths":{"quay.io":{"auth":""},"registry.stage.redhat.io":{}},"x":1}"#);
        let mut policy = Policy::default();
        assert_eq!(completed(&given, &policy), Ok(given.clone()));
        policy.clusters.registry_creds = "me:secret".into();
        let kept: Value = serde_json::from_str(completed(&given, &policy).unwrap().expose()).unwrap();
        let expected = serde_json::json!({
            "auths": {"quay.io": {"auth": ""}, "registry.stage.redhat.io": {"auth": "bWU6c2VjcmV0"}}, "x": 1
        });
        assert_eq!(kept, expected);
        assert_eq!(completed(&Secret::default(), &policy), Ok(Secret::default()));
        assert_eq!(
            completed(&"[]".into(), &policy),
            Err("Failed to update Pull-secret with additional credentials".to_owned())
        );
    }

    #[test]
    fn other_names_of_registries() {
        assert!(covers(DOCKER_ENTRY, "docker.io/library/x"));
        assert!(covers("localhost:5000", repository("localhost:5000/a/b@sha256:00")));
        assert!(!covers("quay.io", "quay.io.evil/x") && !covers("", "quay.io/x"));
    }

    #[test]
    fn forms() {
        for (secret, text) in [
            ("", "pull secret must be a well-formed JSON"),
            ("{", "pull secret must be a well-formed JSON"),
            ("[]", "pull secret must be a well-formed JSON"),
            (r#"{"auths":[]}"#, "pull secret must be a well-formed JSON"),
            ("{}", "pull secret must contain 'auths' JSON-object field"),
            (r#"{"auths":{}}"#, "pull secret must contain 'auths' JSON-object field"),
            (
                r#"{"auths":{"quay.io":{"auth":5}}}"#,
                "invalid pull secret: 'auth' field of \"quay.io\" is 5 but should be a string",
            ),
            (
                r#"{"auths":{"quay.io":{"auth":"?"}}}"#,
                "invalid pull secret: 'auth' field of \"quay.io\" is not base64-encoded",
            ),
            (
                r#"{"auths":{"quay.io":{"auth":"YWJj"}}}"#,
                "invalid pull secret: 'auth' for quay.io is not in 'user:password' format",
            ),
        ] {
            assert_eq!(problem(secret), text, "{secret}");
        }
    }
}
