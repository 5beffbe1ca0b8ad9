//! What holds for all validations: order, what is left out, disabled or ignored, and what makes no sense.

use super::*;
use crate::catalogue::operators::OPERATORS;
use crate::validation::Scope;
use crate::validation::host::{CHECKS, evaluate_in, fits_role};

#[test]
fn every_id_is_evaluated_once_and_in_order() {
    let facts = with(&inventory());
    let results = evaluate(&facts, &facts.hosts[0]).unwrap();
    let ids: Vec<Id> = results.entries().iter().map(|entry| entry.id).collect();
    assert_eq!(
        ids[..6],
        [
            Connected,
            MediaConnected,
            HasInventory,
            InventoryNotPartiallyTruncated,
            InventoryNotFullyTruncated,
            HasMinCpuCores
        ]
    );
    let never = [ReleaseDomainNameResolvedCorrectly, OcsRequirementsSatisfied];
    for id in Id::ALL {
        // Those of image mode are asked of its clusters alone.
        let left_out = never.contains(id) || [OclDiskCompatible, OclBuildResources].contains(id);
        assert_eq!(ids.iter().filter(|each| *each == id).count(), usize::from(!left_out), "{id}");
    }
    assert_eq!(results.entries().len(), CHECKS.len() + OPERATORS.len());
    // Of a host of a pool nobody asks what operators need.
    let pool = unbound();
    assert_eq!(evaluate(&pool, &pool.hosts[0]).unwrap().entries().len(), CHECKS.len());
}

#[test]
fn hosts_that_make_no_sense_are_not_judged() {
    let text = |facts: &Facts| evaluate(facts, &facts.hosts[0]).unwrap_err().to_string();
    assert_eq!(
        text(&with(&inventory().with(|inventory| inventory.memory = None))),
        "Inventory is not valid, Memory not detected"
    );
    assert_eq!(
        text(&with(&inventory().with(|inventory| inventory.cpu = None))),
        "Inventory is not valid, CPU not detected"
    );
    assert_eq!(text(&role(facts(1), HostRole::Bootstrap)), "Illegal role defined: bootstrap");
    assert!(text(&facts(1).with_machine_networks(&["nonsense"])).contains("nonsense"));
    let none = settings(facts(1), |policy| policy.hardware.requirements = Arc::default());
    assert_eq!(text(&none), "requirements for version 4.20.1 not found");
}

#[test]
fn disabled_and_ignored() {
    let id = NtpSynced;
    let off = || {
        settings(facts(1), |policy| {
            policy.hosts.disabled_host_validations = [NtpSynced].into();
        })
    };
    assert_eq!(
        shown(&off(), id),
        Some((Status::Disabled, "Validation disabled by configuration".to_owned()))
    );
    // A cluster's own list takes the place of the service's, even an empty one.
    let own = |mut facts: Facts, list: &str| {
        list.clone_into(&mut facts.cluster.as_mut().unwrap().ignored_host_validations);
        facts
    };
    failure(&own(off(), "[]"), id, "Host couldn't synchronize with any NTP server");
    let ignored = own(facts(1), r#"["ntp-synced","has-inventory"]"#);
    let results = evaluate(&ignored, &ignored.hosts[0]).unwrap();
    assert!(results.condition(id) && results.status(id) == Some(Status::Failure));
    assert!(!results.condition(HasInventory));
    assert!(results.failing().contains("NTP"), "what is ignored is still told");
}

#[test]
fn roles_that_fit() {
    let fits = |facts: &Facts, role| fits_role(&Scope::new(facts), &facts.hosts[0], role);
    let small = with(&inventory().cores(2).memory_mib(8192));
    assert!(!fits(&small, HostRole::Master));
    assert!(fits(&small, HostRole::Worker) && fits(&small, HostRole::Arbiter));
    let worker = role(with(&inventory()), HostRole::Worker);
    assert!(!fits(&worker, HostRole::Master), "the user decided otherwise");
    assert!(fits(&role(with(&inventory()), HostRole::Bootstrap), HostRole::Master));
    assert!(!fits(&facts(1), HostRole::Worker), "nothing is known of the host");
}

#[test]
fn the_facts_behind_a_failure_are_told() {
    let facts = with(&inventory().cores(1));
    let results = evaluate_in(&Scope::new(&facts), &facts.hosts[0]).unwrap();
    let told = &results.get(HasMinCpuCores).unwrap().outcome.facts;
    assert_eq!(told.measured.as_deref(), Some("1 cores"));
    assert_eq!(told.required.as_deref(), Some("2 cores"));
    assert!(told.remedy.is_some());
}
