//! Which settings came from an object. What it gave goes with its field, and what it never gave is left to the REST API (kube-api §2);
//! an annotation remembers which those are, since an object says nothing of a field that it has no more.

use std::collections::BTreeSet;

use assisted_crd::labels::annotation::GIVEN_FIELDS;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The fields that an object gave, as the REST API calls them.
fn noted(metadata: &ObjectMeta) -> impl Iterator<Item = &str> {
    let text = metadata.annotations.as_ref().and_then(|annotations| annotations.get(GIVEN_FIELDS));
    text.into_iter().flat_map(|text| text.split(',')).filter(|field| !field.is_empty())
}

/// Whether the object gave a field, now or before.
pub(crate) fn was_given(metadata: &ObjectMeta, field: &str) -> bool {
    noted(metadata).any(|noted| noted == field)
}

/// A text that is wanted: the one that the object gives, an empty one where it gave one before.
pub(crate) fn or_emptied(given: Option<String>, metadata: &ObjectMeta, field: &str) -> Option<String> {
    given.or_else(|| was_given(metadata, field).then(String::new))
}

/// Remembers what the object gives now, beside what it gave before; to be written before anything is brought to the service.
pub(crate) fn note(metadata: &mut ObjectMeta, given: &[&str]) {
    let fields = noted(metadata).chain(given.iter().copied()).map(str::to_owned).collect();
    write(metadata, &fields);
}

/// Forgets what the object gives no more; to be written once that is gone from the service.
pub(crate) fn settle(metadata: &mut ObjectMeta, given: &[&str]) {
    write(metadata, &given.iter().map(|field| (*field).to_owned()).collect());
}

fn write(metadata: &mut ObjectMeta, fields: &BTreeSet<String>) {
    if fields.is_empty() {
        if let Some(annotations) = &mut metadata.annotations {
            annotations.remove(GIVEN_FIELDS);
        }
        return;
    }
    let fields: Vec<_> = fields.iter().map(String::as_str).collect();
    metadata.annotations.get_or_insert_default().insert(GIVEN_FIELDS.to_owned(), fields.join(","));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_is_remembered_until_it_is_gone() {
        let mut metadata = ObjectMeta::default();
        note(&mut metadata, &[]);
        settle(&mut metadata, &[]);
        assert_eq!(metadata, ObjectMeta::default(), "an object that gives nothing is not written");
        note(&mut metadata, &["proxy", "ntp_sources"]);
        let before = metadata.clone();
        note(&mut metadata, &["ntp_sources"]);
        assert_eq!(metadata, before, "one that is as it was is not written");
        assert!(was_given(&metadata, "proxy") && !was_given(&metadata, "prox"));
        assert_eq!(or_emptied(Some("a".to_owned()), &metadata, "ntp_sources").as_deref(), Some("a"));
        assert_eq!(or_emptied(None, &metadata, "ntp_sources").as_deref(), Some(""));
        assert_eq!(or_emptied(None, &metadata, "tags"), None);
        settle(&mut metadata, &["ntp_sources"]);
        assert!(!was_given(&metadata, "proxy") && was_given(&metadata, "ntp_sources"));
        settle(&mut metadata, &[]);
        assert_eq!(metadata.annotations, Some(std::collections::BTreeMap::new()));
    }
}
