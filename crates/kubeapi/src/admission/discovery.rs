//! What an API server asks a server that is aggregated into it (kube-api §5.1): the webhooks answer under the paths of such a server,
//! and work behind an `APIService`, too.

use serde_json::{Value, json};

use super::table::WEBHOOKS;
use super::{GROUP, VERSION};

/// The answer to a question of discovery; none: there is nothing at this path.
pub(super) fn answer(path: &str) -> Option<Value> {
    let group_version = format!("{GROUP}/{VERSION}");
    let version = json!({"groupVersion": group_version, "version": VERSION});
    let group = json!({"name": GROUP, "versions": [version], "preferredVersion": version});
    let path = path.strip_prefix('/')?;
    if path == "apis" {
        return Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]}));
    }
    if path == "openapi/v2" {
        let info = json!({"title": GROUP, "version": VERSION});
        return Some(json!({"swagger": "2.0", "info": info, "paths": {}}));
    }
    if path == "openapi/v3" {
        return Some(json!({"paths": {}}));
    }
    let path = path.strip_prefix("apis/")?;
    if path == GROUP {
        let mut answer = group;
        answer["kind"] = "APIGroup".into();
        answer["apiVersion"] = "v1".into();
        return Some(answer);
    }
    if path == group_version {
        let resources = WEBHOOKS.iter().map(|entry| {
            json!({"name": entry.name, "singularName": entry.name.trim_end_matches('s'), "namespaced": false,
                   "group": "admission.k8s.io", "version": "v1", "kind": "AdmissionReview", "verbs": ["create"]})
        });
        let resources: Vec<Value> = resources.collect();
        return Some(json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version,
                           "resources": resources}));
    }
    None
}
