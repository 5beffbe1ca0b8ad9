//! AgentClassifications.

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::agent_classification::{AgentClassification, AgentClassificationStatus};
use assisted_crd::labels::{finalizer as names, label};
use assisted_kube::finalizer;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::agent::{infra_env_id, register, report_sufficient};
use super::world::{Site, until};

async fn classification(site: &Site, name: &str, value: &str, query: &str) {
    let spec = json!({"labelKey": "size", "labelValue": value, "query": query});
    site.create::<AgentClassification>(name, json!({"metadata": {}, "spec": spec})).await;
}

fn counts(status: Option<&AgentClassificationStatus>) -> (Option<i64>, Option<i64>, &str) {
    let said = status.and_then(|status| status.conditions.first());
    (
        status.and_then(|status| status.matched_count),
        status.and_then(|status| status.error_count),
        said.map_or("", |condition| condition.reason.as_str()),
    )
}

async fn counted(site: &Site, name: &str, matched: i64, failed: i64) -> AgentClassification {
    let reason = if failed == 0 { "NoQueryErrors" } else { "HasQueryErrors" };
    until(&site.api(), name, |object: &AgentClassification| {
        counts(object.status.as_ref()) == (Some(matched), Some(failed), reason)
    })
    .await
}

async fn labelled(site: &Site, name: &str, value: Option<&str>) -> Agent {
    let key = format!("{}size", label::CLASSIFICATION_PREFIX);
    until(&site.api(), name, |agent: &Agent| agent.labels().get(&key).map(String::as_str) == value).await
}

fn query(query: &str) -> Value {
    json!({"spec": {"query": query}})
}

#[tokio::test]
async fn agents_carry_the_labels_that_queries_give_them() {
    let site = Site::new("classification").await;
    site.pull_secret().await;
    classification(&site, "large", "large", ".cpu.count > 1").await;
    let kept = counted(&site, "large", 0, 0).await;
    assert!(finalizer::has(&kept.metadata, names::AGENT_CLASSIFICATION));
    site.infra_env("pool", json!({})).await;
    let host = register(&site, infra_env_id(&site, "pool").await).await;
    let name = host.host_id.to_string();
    report_sufficient(&site, host).await;
    labelled(&site, &name, Some("large")).await;
    counted(&site, "large", 1, 0).await;

    // The query changes: it fails, then it is not true any more.
    site.merge::<AgentClassification>("large", query(".cpu.count, 2")).await;
    labelled(&site, &name, Some("QUERYERROR-large")).await;
    let said = counted(&site, "large", 0, 1).await.status.unwrap().conditions;
    assert_eq!(
        (said[0].status.as_str(), said[0].message.as_str()),
        ("True", "1 Agents failed to apply the classification")
    );
    site.merge::<AgentClassification>("large", query("1 > 2")).await;
    labelled(&site, &name, None).await;
    counted(&site, "large", 0, 0).await;

    // Another one with the same key sets its own, and the first leaves that alone.
    classification(&site, "small", "small", ".cpu.count > 1").await;
    labelled(&site, &name, Some("small")).await;
    counted(&site, "small", 1, 0).await;
    site.delete::<AgentClassification>("large").await;
    site.gone::<AgentClassification>("large").await;
    labelled(&site, &name, Some("small")).await;

    // A query that ends the process, or would show its environment, does nothing of that.
    site.merge::<AgentClassification>("small", query("env | halt")).await;
    labelled(&site, &name, Some("QUERYERROR-small")).await;
    counted(&site, "small", 0, 1).await;

    // It goes when no Agent carries its label any more.
    site.delete::<AgentClassification>("small").await;
    site.gone::<AgentClassification>("small").await;
    labelled(&site, &name, None).await;
}

#[tokio::test]
async fn two_classifications_with_one_label_share_it() {
    let site = Site::new("classifications").await;
    site.pull_secret().await;
    site.infra_env("pool", json!({})).await;
    let host = register(&site, infra_env_id(&site, "pool").await).await;
    let name = host.host_id.to_string();
    report_sufficient(&site, host).await;
    classification(&site, "one", "large", ".cpu.count > 1").await;
    classification(&site, "two", "large", "true").await;
    labelled(&site, &name, Some("large")).await;
    counted(&site, "one", 1, 0).await;
    counted(&site, "two", 1, 0).await;
    site.delete::<AgentClassification>("one").await;
    site.gone::<AgentClassification>("one").await;
    labelled(&site, &name, Some("large")).await;
    // An Agent that goes is not waited for.
    site.delete::<Agent>(&name).await;
    site.gone::<Agent>(&name).await;
    site.delete::<AgentClassification>("two").await;
    site.gone::<AgentClassification>("two").await;
}
