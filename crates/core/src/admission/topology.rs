//! How many control-plane nodes a cluster has (service-api §4.2 step 2).

use assisted_base::version::{at_least, below};
use assisted_wire::cluster_params::HighAvailabilityMode;

use crate::model::refusal::Refusal;
use crate::policy::Policy;

/// Fills in what was not given.
pub fn resolve(mode: Option<HighAvailabilityMode>, count: Option<i64>) -> (HighAvailabilityMode, i64) {
    match (mode, count) {
        (None, None) => (HighAvailabilityMode::Full, 3),
        (Some(mode), Some(count)) => (mode, count),
        (Some(HighAvailabilityMode::None), None) => (HighAvailabilityMode::None, 1),
        (Some(HighAvailabilityMode::Full), None) => (HighAvailabilityMode::Full, 3),
        (None, Some(1)) => (HighAvailabilityMode::None, 1),
        (None, Some(count)) => (HighAvailabilityMode::Full, count),
    }
}

/// Checks that mode, count and version go together.
pub fn check(mode: HighAvailabilityMode, count: i64, version: &str, policy: &Policy) -> Result<(), Refusal> {
    let clusters = &policy.clusters;
    let refuse = |text: String| Err(Refusal::invalid(text));
    if mode == HighAvailabilityMode::None {
        return if count == 1 {
            Ok(())
        } else {
            refuse("single-node clusters must have a single control plane node".to_owned())
        };
    }
    if below(version, 4, 18) {
        return if count == 3 {
            Ok(())
        } else {
            refuse(
                "there should be exactly 3 dedicated control plane nodes for high availability mode Full in openshift \
                 version older than 4.18"
                    .to_owned(),
            )
        };
    }
    let two_nodes =
        at_least(version, 4, 19) && (clusters.tna_clusters_support || clusters.tnf_clusters_support);
    let (least, since) = if two_nodes { (2, "4.19") } else { (3, "4.18") };
    if (least..=5).contains(&count) {
        return Ok(());
    }
    refuse(format!(
        "there should be {least}-5 dedicated control plane nodes for high availability mode Full in openshift version \
         {since} or newer"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use HighAvailabilityMode::{Full, None as Single};

    #[test]
    fn what_is_not_given_is_filled_in() {
        for (mode, count, expected) in [
            (None, None, (Full, 3)),
            (Some(Single), None, (Single, 1)),
            (Some(Full), None, (Full, 3)),
            (None, Some(1), (Single, 1)),
            (None, Some(4), (Full, 4)),
            (Some(Single), Some(3), (Single, 3)),
        ] {
            assert_eq!(resolve(mode, count), expected);
        }
    }

    #[test]
    fn refusals() {
        let policy = Policy::default();
        let mut old = Policy::default();
        old.clusters.tna_clusters_support = false;
        let text = |mode, count, version, policy| check(mode, count, version, policy).map_err(|r| r.reason);
        assert_eq!(text(Single, 1, "4.22", &policy), Ok(()));
        assert_eq!(text(Full, 2, "4.19", &policy), Ok(()));
        assert_eq!(text(Full, 5, "4.18.3", &policy), Ok(()));
        for (mode, count, version, policy, expected) in [
            (Single, 3, "4.22", &policy, "single-node clusters must have a single control plane node"),
            (
                Full,
                4,
                "4.17",
                &policy,
                "there should be exactly 3 dedicated control plane nodes for high availability mode Full in openshift version older than 4.18",
            ),
            (
                Full,
                2,
                "4.18",
                &policy,
                "there should be 3-5 dedicated control plane nodes for high availability mode Full in openshift version 4.18 or newer",
            ),
            (
                Full,
                1,
                "4.22",
                &policy,
                "there should be 2-5 dedicated control plane nodes for high availability mode Full in openshift version 4.19 or newer",
            ),
            (
                Full,
                2,
                "4.22",
                &old,
                "there should be 3-5 dedicated control plane nodes for high availability mode Full in openshift version 4.18 or newer",
            ),
        ] {
            assert_eq!(text(mode, count, version, policy), Err(expected.to_owned()));
        }
    }
}
