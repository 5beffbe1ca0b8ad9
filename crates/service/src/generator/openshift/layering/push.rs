//! Whether images can be pushed where they will be (ocl-day1 §B3.2, V19): tried by the service already, best effort. What it can't reach the
//! bootstrap host may, which judges it before it builds.

use std::time::Duration;

use assisted_core::layering::{Violation, cluster_rules};
use assisted_release::{PullSecret, Reference, Registries};
use assisted_wire::on_cluster_layering::Pool;
use assisted_wire::secret::Secret;

/// How long a registry may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Where the image of a pool will be pushed.
pub(in crate::generator::openshift) struct Push {
    pub pool: Pool,
    /// Without the tag.
    pub repository: String,
    /// Credentials of registries.
    pub secret: Secret,
}

/// What is to be told of those that don't take an image.
pub(in crate::generator::openshift) async fn try_all(
    registries: &Registries,
    pushes: &[Push],
) -> Vec<Violation> {
    let mut warnings = Vec::new();
    for push in pushes {
        let why = match tokio::time::timeout(LIMIT, try_one(registries, push)).await {
            Ok(Ok(())) => continue,
            Ok(Err(why)) => why,
            Err(_) => format!("no answer within {} seconds", LIMIT.as_secs()),
        };
        warnings.push(cluster_rules::v19(push.pool, &push.repository, &why));
    }
    warnings
}

/// The text of an error holds no secret.
async fn try_one(registries: &Registries, push: &Push) -> Result<(), String> {
    let name = push.repository.parse::<Reference>().map_err(|error| error.to_string())?;
    let secret = PullSecret::parse(&push.secret).map_err(|error| error.to_string())?;
    let tried = registries.session(secret).try_upload(&name.repository).await;
    tried.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use assisted_release::mirror::Rule;
    use assisted_release::{Mirrors, Proxies, Retry, Transport};
    use assisted_testkit::{Access, Auth, DockerRegistry};
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn what_a_registry_does_not_take_is_a_warning() {
        let dir = tempfile::tempdir().unwrap();
        let access = Access { auth: Auth::Basic, ..Access::default() };
        let registry = DockerRegistry::start(dir.path(), &access).unwrap();
        let name = registry.name();
        let prefix = name.clone();
        let rule = Rule { prefix, location: None, blocked: false, insecure: true, mirrors: Vec::new() };
        let proxies = Proxies::Given { http: String::new(), https: String::new(), none_for: String::new() };
        let transport = Transport { proxies, ..Transport::default() };
        let mirrors = Mirrors::new([rule]).unwrap();
        let registries = Registries::new(&transport, mirrors, Retry::default()).unwrap();
        let push = |host: &str, user: &str| {
            let auth = STANDARD.encode(user);
            let secret = json!({"auths": {host: {"auth": auth}}}).to_string();
            Push { pool: Pool::Master, repository: format!("{host}/acme/os-master"), secret: secret.into() }
        };
        let right = push(&name, &format!("{}:{}", Auth::USER, Auth::PASSWORD));
        assert_eq!(try_all(&registries, &[right]).await, Vec::new());
        let wrong = [push(&name, "reader:wrong-word"), push("127.0.0.1:1", "reader:wrong-word")];
        let warnings = try_all(&registries, &wrong).await;
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        for warning in warnings {
            let told = warning.to_string();
            assert!(told.contains("(V19)") && told.contains("acme/os-master"), "{told}");
            assert!(
                !told.contains("wrong-word") && !told.contains(&STANDARD.encode("reader:wrong-word")),
                "{told}"
            );
        }
    }
}
