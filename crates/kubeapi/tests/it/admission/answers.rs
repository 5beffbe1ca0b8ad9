//! What a review must be, and what the answer is.

use assisted_kubeapi::admission::review::{self, Resource};
use assisted_kubeapi::admission::{Addition, Denial, Verdict, WEBHOOKS};
use serde_json::{Value, json};

use super::{denial, request, resource, verdict};

#[test]
fn what_is_no_review_is_refused() {
    let good = request(&resource("agentvalidators"), "UPDATE", None, None);
    let without = |pointer: &str, member: &str| {
        let mut review = good.clone();
        review.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(member);
        review.to_string()
    };
    let with = |pointer: &str, value: Value| {
        let mut review = good.clone();
        *review.pointer_mut(pointer).unwrap() = value;
        review.to_string()
    };
    for (body, told) in [
        (String::new(), "the body is no AdmissionReview"),
        ("[]".to_owned(), "the body is no AdmissionReview"),
        (format!("{good} {good}"), "the body is no AdmissionReview"),
        (with("/request/uid", json!(5)), "the body is no AdmissionReview"),
        (with("/apiVersion", json!("admission.k8s.io/v1beta1")), "\"admission.k8s.io/v1beta1\""),
        (with("/kind", json!("Status")), "\"Status\""),
        (without("", "request"), "has no request"),
        (with("/request/uid", json!("")), "has no request"),
    ] {
        let error = review::read(body.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(told), "{body}: {error}");
    }
    // Objects that are nested without end exhaust no stack.
    let deep = format!("{}{}", "[".repeat(1 << 20), "]".repeat(1 << 20));
    assert!(review::read(deep.as_bytes()).is_err());
    let object = format!("{{\"spec\":{deep}}}");
    let deep =
        good.to_string().replace("\"object\":null", &format!("\"object\":{object},\"oldObject\":{object}"));
    let deep = deep.replacen("\"oldObject\":null,", "", 1);
    let request = review::read(deep.as_bytes()).unwrap();
    let webhook = WEBHOOKS.iter().find(|entry| entry.name == "agentvalidators").unwrap();
    let told = webhook.review(&request);
    assert!(denial(&told).unwrap().1.starts_with("the oldObject can't be read: "), "{told:?}");
}

#[test]
fn other_resources_are_allowed_unread() {
    let webhook = "infraenvvalidators";
    let own = resource(webhook);
    let strange = json!("no object at all");
    let review = |resource: &Resource, operation: &str| {
        verdict(webhook, &request(resource, operation, Some(&strange), Some(&strange)))
    };
    for other in [
        Resource { group: "other.io".to_owned(), ..own.clone() },
        Resource { version: "v1".to_owned(), ..own.clone() },
        Resource { resource: "agents".to_owned(), ..own.clone() },
    ] {
        assert_eq!(review(&other, "CREATE"), Verdict::Allowed);
    }
    for operation in ["DELETE", "CONNECT", ""] {
        assert_eq!(review(&own, operation), Verdict::Allowed);
    }
    let mut status = request(&own, "UPDATE", Some(&strange), Some(&strange));
    status["request"]["subResource"] = "status".into();
    assert_eq!(verdict(webhook, &status), Verdict::Allowed);
}

#[test]
fn objects_that_cannot_be_read_are_denied() {
    let own = resource("infraenvvalidators");
    for (operation, old, new, told) in [
        ("CREATE", None, None, "the request has no object"),
        ("CREATE", None, Some(json!("text")), "the object can't be read: "),
        ("CREATE", None, Some(json!({"spec": {"osImageVersion": 4}})), "the object can't be read: "),
        ("UPDATE", None, Some(json!({})), "the request has no oldObject"),
        ("UPDATE", Some(json!({"spec": 4})), Some(json!({"spec": 4})), "the oldObject can't be read: "),
    ] {
        let verdict = verdict("infraenvvalidators", &request(&own, operation, old.as_ref(), new.as_ref()));
        let (code, text) = denial(&verdict).unwrap();
        assert!(code == 400 && text.starts_with(told), "{text}");
    }
}

#[test]
fn answers_are_as_api_servers_read_them() {
    let of = |verdict: &Verdict| review::answer("1234", verdict);
    let review = |response: Value| json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
    assert_eq!(of(&Verdict::Allowed), review(json!({"uid": "1234", "allowed": true})));
    for (denial, code, reason) in
        [(Denial::bad_request("text"), 400, "BadRequest"), (Denial::conflict("text"), 409, "Conflict")]
    {
        let status = json!({"status": "Failure", "code": code, "reason": reason, "message": "text"});
        assert_eq!(
            of(&Verdict::Denied(denial)),
            review(json!({"uid": "1234", "allowed": false, "status": status}))
        );
    }
    let changed = of(&Verdict::Changed(Addition { path: "/spec/a", value: json!(true) }));
    assert_eq!(changed["response"]["patchType"], "JSONPatch");
    assert_eq!(changed["response"]["patch"], "W3sib3AiOiJhZGQiLCJwYXRoIjoiL3NwZWMvYSIsInZhbHVlIjp0cnVlfV0=");
}
