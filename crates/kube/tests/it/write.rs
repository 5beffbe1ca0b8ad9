//! What is written, and what is not.

use assisted_kube::error::{is_conflict, optional};
use assisted_kube::finalizer;
use assisted_kube::write::{Guard, object, status};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, NamespaceCondition};
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt};

use crate::client;

const FINALIZER: &str = "assisted.example.com/test";

#[tokio::test]
async fn only_what_differs_is_written() {
    let api: Api<ConfigMap> = Api::namespaced(client().await, "default");
    let mut wanted = ConfigMap::default();
    wanted.metadata.name = Some("written".to_owned());
    let first = api.create(&PostParams::default(), &wanted).await.unwrap();

    assert_eq!(object(&api, &first, &first, Guard::Version).await.unwrap(), None);
    assert_eq!(api.get("written").await.unwrap().resource_version(), first.resource_version());

    let mut changed = first.clone();
    changed.data.get_or_insert_default().insert("a".to_owned(), "1".to_owned());
    let second = object(&api, &first, &changed, Guard::Version).await.unwrap().unwrap();
    assert_eq!(second.data, changed.data);

    // Decided on what is not so any more.
    let mut other = first.clone();
    other.data.get_or_insert_default().insert("b".to_owned(), "2".to_owned());
    let error = object(&api, &first, &other, Guard::Version).await.unwrap_err();
    assert!(is_conflict(&error), "{error}");
    let third = object(&api, &first, &other, Guard::Free).await.unwrap().unwrap();
    assert_eq!(third.data.unwrap().len(), 2);
}

#[tokio::test]
async fn a_status_is_written_by_itself() {
    let api: Api<Namespace> = Api::all(client().await);
    let mut wanted = Namespace::default();
    wanted.metadata.name = Some("with-status".to_owned());
    let first = api.create(&PostParams::default(), &wanted).await.unwrap();
    let second = status(&api, &first, |namespace| tell(namespace, "Example")).await.unwrap();
    assert_eq!(told(&second), ["Example"]);
    let third = status(&api, &second, |_| ()).await.unwrap();
    assert_eq!(third.resource_version(), second.resource_version());
}

#[tokio::test]
async fn a_status_is_worked_out_from_what_others_have_written_meanwhile() {
    let api: Api<Namespace> = Api::all(client().await);
    let mut wanted = Namespace::default();
    wanted.metadata.name = Some("shown-by-two".to_owned());
    let first = api.create(&PostParams::default(), &wanted).await.unwrap();
    status(&api, &first, |namespace| tell(namespace, "One")).await.unwrap();
    // As a cache has it that was not told of the first yet.
    let second = status(&api, &first, |namespace| tell(namespace, "Two")).await.unwrap();
    assert_eq!(told(&second), ["One", "Two"]);

    // Another object has the name by now.
    let mut replaced = first.clone();
    replaced.metadata.uid = Some("another".to_owned());
    let error = status(&api, &replaced, |namespace| tell(namespace, "Three")).await.unwrap_err();
    assert!(is_conflict(&error), "{error}");
    assert_eq!(told(&api.get("shown-by-two").await.unwrap()), ["One", "Two"]);
}

/// Adds a condition.
fn tell(namespace: &mut Namespace, r#type: &str) {
    let told = NamespaceCondition {
        type_: r#type.to_owned(),
        status: "True".to_owned(),
        ..NamespaceCondition::default()
    };
    namespace.status.get_or_insert_default().conditions.get_or_insert_default().push(told);
}

fn told(namespace: &Namespace) -> Vec<&str> {
    let conditions = namespace.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().map(|condition| condition.type_.as_str()).collect()
}

#[tokio::test]
async fn a_finalizer_keeps_an_object_until_it_is_removed() {
    let api: Api<ConfigMap> = Api::namespaced(client().await, "default");
    let mut wanted = ConfigMap::default();
    wanted.metadata.name = Some("kept".to_owned());
    assert!(finalizer::add(&mut wanted.metadata, FINALIZER));
    assert!(!finalizer::add(&mut wanted.metadata, FINALIZER));
    api.create(&PostParams::default(), &wanted).await.unwrap();
    api.delete("kept", &DeleteParams::default()).await.unwrap();

    let kept = api.get("kept").await.unwrap();
    assert!(finalizer::is_deleting(&kept.metadata) && finalizer::has(&kept.metadata, FINALIZER));
    let mut released = kept.clone();
    assert!(finalizer::remove(&mut released.metadata, FINALIZER));
    object(&api, &kept, &released, Guard::Version).await.unwrap();
    assert_eq!(optional(api.get("kept").await).unwrap(), None);
}
