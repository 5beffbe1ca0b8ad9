//! Mirrors that a cluster has of its own.

use assisted_core::admission::install_config::Additions;
use assisted_core::model::cluster::ClusterRecord;
use assisted_release::Mirrors;

use super::refused;
use crate::generator::GenerateError;

/// What goes into a cluster's install config: mirrors of its own stand in the place of the service's.
pub(super) fn own_mirrors(common: &Additions, record: &ClusterRecord) -> Result<Additions, GenerateError> {
    let mut additions = common.clone();
    let Some(own) = &record.mirror_registry else { return Ok(additions) };
    if !own.registries_conf.is_empty() {
        let mirrors = Mirrors::from_registries_conf(&own.registries_conf);
        let mirrors =
            mirrors.map_err(|error| refused(format!("the registries.conf of the cluster: {error}")))?;
        additions.mirrors = mirrors.by_digest();
    }
    additions.authorities.push(own.authorities.clone());
    Ok(additions)
}

#[cfg(test)]
mod tests {
    use assisted_core::model::cluster::MirrorRegistry;
    use serde_json::json;

    use super::*;

    #[test]
    fn mirrors_of_a_cluster_stand_before_those_of_the_service() {
        let cluster = json!({
            "kind": "Cluster", "id": "1b7dbf10-3b7f-4a7b-8d1a-3a8c2c2f5a4e", "href": "", "status": "ready", "status_info": "",
            "image_info": {},
        });
        let mut record: ClusterRecord = serde_json::from_value(json!({"cluster": cluster})).unwrap();
        let pair = |source: &str, mirror: &str| (source.to_owned(), vec![mirror.to_owned()]);
        let common = Additions {
            mirrors: vec![pair("quay.io/a", "service.lab/a")],
            authorities: vec!["service".to_owned()],
        };
        assert_eq!(own_mirrors(&common, &record).unwrap(), common);
        let own = |conf: &str| {
            Some(MirrorRegistry { registries_conf: conf.to_owned(), authorities: "own".to_owned() })
        };
        record.mirror_registry = own("");
        let added = own_mirrors(&common, &record).unwrap();
        assert_eq!(
            (&added.mirrors, added.authorities.as_slice()),
            (&common.mirrors, &["service".to_owned(), "own".to_owned()][..])
        );
        record.mirror_registry =
            own("[[registry]]\nlocation = 'quay.io/b'\n[[registry.mirror]]\nlocation = 'own.lab/b'\n");
        assert_eq!(own_mirrors(&common, &record).unwrap().mirrors, [pair("quay.io/b", "own.lab/b")]);
        record.mirror_registry = own("[[registry");
        let error = own_mirrors(&common, &record).unwrap_err();
        assert!(error.to_string().starts_with("the registries.conf of the cluster: "), "{error}");
    }
}
