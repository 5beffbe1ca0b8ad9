//! ConversionReview: what an API server asks where it serves an object in another version than the stored one.

use assisted_crd::cluster_api::conversion::convert;
use kube::core::Status;
use kube::core::conversion::{ConversionRequest, ConversionResponse, ConversionReview};
use serde_json::Value;

/// Answers a review: all objects of it are converted, or none.
///
/// # Errors
/// The body is no review with a request.
pub(super) fn answer(body: &[u8]) -> Result<Value, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("the body is no ConversionReview: {error}");
    let review: ConversionReview = serde_json::from_slice(body).map_err(|error| unreadable(&error))?;
    let mut request = ConversionRequest::from_review(review).map_err(|error| unreadable(&error))?;
    let objects = std::mem::take(&mut request.objects);
    let wanted = request.desired_api_version.clone();
    let response = ConversionResponse::for_request(request);
    let converted: Result<Vec<_>, _> = objects.iter().map(|object| convert(object, &wanted)).collect();
    let response = match converted {
        Ok(converted) => response.success(converted),
        Err(error) => {
            tracing::warn!(wanted, %error, "an object can't be converted");
            response.failure(Status::failure(&error.to_string(), "BadRequest"))
        }
    };
    serde_json::to_value(response.into_review()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn review(wanted: &str, objects: &Value) -> Value {
        let review = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "request": {"uid": "1", "desiredAPIVersion": wanted, "objects": objects}});
        answer(review.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn all_objects_are_converted_or_none() {
        let config = |version: &str| {
            json!({"apiVersion": format!("bootstrap.cluster.x-k8s.io/{version}"), "kind": "OpenshiftAssistedConfig",
                "metadata": {"name": "a"}, "spec": {"sshAuthorizedKey": "key"}})
        };
        let wanted = "bootstrap.cluster.x-k8s.io/v1alpha2";
        let told = review(wanted, &json!([config("v1alpha1"), config("v1alpha2")]));
        assert_eq!((&told["kind"], &told["response"]["uid"]), (&json!("ConversionReview"), &json!("1")));
        assert_eq!(told["response"]["result"]["status"], "Success");
        assert_eq!(told["response"]["convertedObjects"], json!([config("v1alpha2"), config("v1alpha2")]));

        let told = review(wanted, &json!([config("v1alpha1"), config("v9")]));
        assert_eq!(told["response"]["result"]["status"], "Failure");
        let message = told["response"]["result"]["message"].as_str().unwrap();
        assert!(message.contains("can't be converted from bootstrap.cluster.x-k8s.io/v9"), "{message}");
    }

    #[test]
    fn what_is_no_review_is_refused() {
        for body in ["", "{}", r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}"#] {
            assert!(answer(body.as_bytes()).unwrap_err().contains("no ConversionReview"), "{body}");
        }
    }
}
