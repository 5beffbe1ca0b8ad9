//! Pull secrets.

use assisted_core::admission::field::pull_secret;
use assisted_core::policy::Policy;
use assisted_release::{PullSecret, Reference};
use assisted_wire::secret::Secret;

use crate::input;

pub fn run(bytes: &[u8]) {
    let Some(text) = input::text(bytes) else { return };
    let secret = Secret::from(text);
    let policy = Policy::default();
    if let Err(problem) = pull_secret::check(&secret, None, &policy) {
        assert!(problem.len() < 4096, "a refusal is short");
    }
    let _ = pull_secret::completed(&secret, &policy);
    let Ok(read) = PullSecret::parse(&secret) else { return };
    if let Ok(reference) = "quay.io/openshift-release-dev/ocp-release:4.20.1".parse::<Reference>() {
        let _ = read.find(&reference.repository);
    }
}
