//! Reviews for which API servers ask, answered by each webhook.

use assisted_kubeapi::admission::review::{self, Request};
use assisted_kubeapi::admission::{Addition, Entry, Verdict, WEBHOOKS};
use serde_json::{Value, json};

pub fn run(bytes: &[u8]) {
    let Ok(request) = review::read(bytes) else { return };
    for webhook in WEBHOOKS {
        let verdict = webhook.review(&request);
        let answer = review::answer(&request.uid, &verdict);
        let response = &answer["response"];
        assert!(response["uid"] == request.uid, "an answer is to its question");
        let allowed = matches!(verdict, Verdict::Allowed | Verdict::Changed(_));
        assert!(response["allowed"] == allowed, "what is answered is what was found");
        if let Verdict::Changed(addition) = &verdict {
            check_change(webhook, &request, addition);
        }
    }
}

/// What was filled in is not filled in once more.
fn check_change(webhook: &Entry, request: &Request<'_>, addition: &Addition) {
    let Ok(mut object) = request.object::<Value>() else { return };
    let Some((parent, member)) = addition.path.rsplit_once('/') else { return };
    let Some(Value::Object(parent)) = object.pointer_mut(parent) else { return };
    parent.insert(member.to_owned(), addition.value.clone());
    let resource = &request.resource;
    let changed = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": request.uid, "operation": "CREATE", "object": object,
        "resource": {"group": resource.group, "version": resource.version, "resource": resource.resource},
    }})
    .to_string();
    let Ok(again) = review::read(changed.as_bytes()) else { return };
    assert!(!matches!(webhook.review(&again), Verdict::Changed(_)), "an object is changed once more");
}
