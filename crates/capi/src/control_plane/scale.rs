//! Which machine comes or goes next, pure: one at a time, placed evenly, and never one that etcd can't spare.

use std::collections::BTreeMap;

use assisted_crd::cluster_api::cluster::FailureDomain;
use jiff::Timestamp;

/// A machine of a control plane, as far as it counts here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) failure_domain: String,
    pub(super) created: Option<Timestamp>,
    /// Whether its node does what a node of a control plane does.
    pub(super) is_healthy: bool,
    pub(super) is_up_to_date: bool,
    pub(super) is_deleting: bool,
    /// Whether a person wants it to go first.
    pub(super) is_marked: bool,
    /// Whether a health check has given it up.
    pub(super) is_given_up: bool,
}

/// How far the cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing is installed: machines come and go as they like.
    Before,
    /// The installation is under way: no machine comes or goes.
    Installing,
    /// The cluster runs, and etcd with it.
    Running,
}

impl Stage {
    /// By the status of the cluster as the REST API calls it.
    pub(super) fn of(state: &str, was_available: bool) -> Self {
        match state {
            "" | "insufficient" | "pending-for-input" | "ready" if !was_available => Self::Before,
            "adding-hosts" | "installed" => Self::Running,
            _ if was_available && !["installing", "finalizing"].contains(&state) => Self::Running,
            _ => Self::Installing,
        }
    }
}

/// What is to be done about the number of machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    None,
    /// One more, in this place; empty: none is told.
    Create(String),
    Delete(String),
    /// One more or less is wanted, and not now.
    Wait(String),
}

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) replicas: usize,
    pub(super) arbiters: usize,
    pub(super) stage: Stage,
    /// The number that a person has confirmed.
    pub(super) confirmed: Option<&'a str>,
}

/// The next step towards the number that is wanted.
pub(super) fn step(members: &[Member], wanted: &Wanted<'_>, domains: &[FailureDomain]) -> Step {
    let staying: Vec<&Member> = members.iter().filter(|member| !member.is_deleting).collect();
    let leaving = members.len() - staying.len();
    let busy = wanted.stage == Stage::Installing && staying.len() != wanted.replicas;
    if busy {
        return Step::Wait("the installation is under way".to_owned());
    }
    if staying.len() < wanted.replicas {
        // One that leaves still has its place in etcd.
        if wanted.stage == Stage::Running && leaving > 0 {
            return Step::Wait(format!("{leaving} machines are leaving"));
        }
        return Step::Create(place(&staying, domains));
    }
    if staying.len() == wanted.replicas {
        return Step::None;
    }
    if wanted.stage == Stage::Running {
        if let Some(why) = unconfirmed(wanted) {
            return Step::Wait(why);
        }
        if leaving > 0 {
            return Step::Wait(format!("{leaving} machines are leaving"));
        }
    }
    let Some(victim) = victim(&staying) else { return Step::None };
    match unsafe_without(&staying, victim) {
        Some(why) if wanted.stage == Stage::Running => Step::Wait(why),
        _ => Step::Delete(victim.name.clone()),
    }
}

/// The machine that is replaced since a health check has given it up, or why not now.
pub(super) fn remediation(
    members: &[Member],
    stage: Stage,
    replicas: usize,
) -> Option<Result<String, (String, String)>> {
    let given_up: Vec<&Member> =
        members.iter().filter(|member| member.is_given_up && !member.is_deleting).collect();
    let member = given_up.iter().min_by_key(|member| (member.is_healthy, member.created, &member.name))?;
    let refused = |why: String| Some(Err((member.name.clone(), why)));
    match stage {
        Stage::Before => return Some(Ok(member.name.clone())),
        Stage::Installing => return refused("the installation is under way".to_owned()),
        Stage::Running => {}
    }
    if replicas < 2 {
        return refused("the control plane has no other machine".to_owned());
    }
    let leaving = members.iter().filter(|member| member.is_deleting).count();
    if leaving > 0 {
        return refused(format!("{leaving} machines are leaving"));
    }
    let staying: Vec<&Member> = members.iter().collect();
    match unsafe_without(&staying, member) {
        Some(why) => refused(why),
        None => Some(Ok(member.name.clone())),
    }
}

/// Why a number of machines is not one that etcd likes, unless a person has confirmed it.
fn unconfirmed(wanted: &Wanted<'_>) -> Option<String> {
    let Wanted { replicas, arbiters, confirmed, .. } = wanted;
    let voters = replicas + arbiters;
    let is_odd_one = voters < 3 || voters % 2 == 0;
    if !is_odd_one || *confirmed == Some(replicas.to_string().as_str()) {
        return None;
    }
    Some(format!(
        "{replicas} machines are less safe; the annotation {} with the value {replicas} confirms it",
        assisted_crd::cluster_api::labels::annotation::CONFIRM_REPLICAS
    ))
}

/// Why a machine can't go now: of etcd's members, as many as there are now, more than half stay healthy.
fn unsafe_without(members: &[&Member], leaving: &Member) -> Option<String> {
    let healthy = members.iter().filter(|member| member.name != leaving.name && member.is_healthy).count();
    // With two, whoever leaves takes the quorum along until etcd has forgotten it: a person has confirmed that.
    let quorum = if members.len() == 2 { 1 } else { members.len() / 2 + 1 };
    (healthy < quorum).then(|| {
        format!("{healthy} other machines are healthy, and etcd needs {quorum} of {}", members.len())
    })
}

/// The place with the fewest machines, those that are up to date first.
fn place(members: &[&Member], domains: &[FailureDomain]) -> String {
    let count = |name: &str| {
        let there = members.iter().filter(|member| member.failure_domain == name);
        (there.clone().filter(|member| member.is_up_to_date).count(), there.count())
    };
    let usable = domains.iter().filter(|domain| domain.control_plane == Some(true));
    let fewest = usable.min_by_key(|domain| (count(&domain.name), &domain.name));
    fewest.map(|domain| domain.name.clone()).unwrap_or_default()
}

/// The machine that goes first: one that a person has marked, one that is broken, one that is out of date; of these one of the place
/// with the most of them; the oldest.
fn victim<'a>(members: &[&'a Member]) -> Option<&'a Member> {
    let mut candidates: Vec<&Member> = members.to_vec();
    for is_it in [
        (|member: &Member| member.is_marked) as fn(&Member) -> bool,
        |member| !member.is_healthy,
        |member| !member.is_up_to_date,
    ] {
        if candidates.iter().any(|member| is_it(member)) {
            candidates.retain(|member| is_it(member));
        }
    }
    // The place that is fullest as a whole decides.
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for member in members {
        *places.entry(&member.failure_domain).or_default() += 1;
    }
    let full = |member: &Member| places.get(member.failure_domain.as_str()).copied().unwrap_or_default();
    candidates.into_iter().min_by_key(|member| {
        (std::cmp::Reverse(full(member)), member.failure_domain.clone(), member.created, member.name.clone())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, failure_domain: &str) -> Member {
        Member {
            name: name.to_owned(),
            failure_domain: failure_domain.to_owned(),
            is_healthy: true,
            is_up_to_date: true,
            ..Member::default()
        }
    }

    fn wanted(replicas: usize, stage: Stage) -> Wanted<'static> {
        Wanted { replicas, arbiters: 0, stage, confirmed: None }
    }

    fn domains() -> Vec<FailureDomain> {
        let of = |name: &str, control_plane| FailureDomain {
            name: name.to_owned(),
            control_plane: Some(control_plane),
            ..FailureDomain::default()
        };
        vec![of("c", true), of("a", true), of("b", true), of("0", false)]
    }

    fn delete(name: &str) -> Step {
        Step::Delete(name.to_owned())
    }

    fn waits(step: Step, why: &str) {
        match step {
            Step::Wait(told) => assert!(told.contains(why), "{told}"),
            other => panic!("{other:?} instead of {why}"),
        }
    }

    #[test]
    fn machines_are_placed_evenly() {
        let mut members = Vec::new();
        for place in ["a", "b", "c", "a"] {
            let next = step(&members, &wanted(4, Stage::Before), &domains());
            assert_eq!(next, Step::Create(place.to_owned()));
            members.push(member(&format!("m{}", members.len()), place));
        }
        assert_eq!(step(&members, &wanted(4, Stage::Before), &domains()), Step::None);
        assert_eq!(step(&[], &wanted(1, Stage::Before), &[]), Step::Create(String::new()));
        // The fullest place loses one.
        assert_eq!(step(&members, &wanted(3, Stage::Running), &domains()), delete("m0"));
        // One that a person has marked goes before it; of several, that of the fullest place.
        members[1].is_marked = true;
        assert_eq!(step(&members, &wanted(3, Stage::Running), &domains()), delete("m1"));
        members[3].is_marked = true;
        assert_eq!(step(&members, &wanted(3, Stage::Running), &domains()), delete("m3"));
        // Machines without a place are taken as well.
        let mut bare: Vec<_> = ["x", "y", "z", "w"].iter().map(|name| member(name, "")).collect();
        bare[2].created = Some(Timestamp::UNIX_EPOCH);
        for other in [0, 1, 3] {
            bare[other].created = Some(Timestamp::MAX);
        }
        assert_eq!(step(&bare, &wanted(3, Stage::Running), &[]), delete("z"));
        bare[3].is_up_to_date = false;
        assert_eq!(step(&bare, &wanted(3, Stage::Running), &[]), delete("w"));
        bare[0].is_healthy = false;
        assert_eq!(step(&bare, &wanted(3, Stage::Running), &[]), delete("x"));
    }

    #[test]
    fn etcd_keeps_its_quorum() {
        let all = |count: usize| -> Vec<Member> {
            (0..count).map(|number| member(&format!("m{number}"), "")).collect()
        };
        let mut five = all(5);
        assert_eq!(step(&five, &wanted(3, Stage::Running), &[]), delete("m0"));
        five[0].is_deleting = true;
        waits(step(&five, &wanted(3, Stage::Running), &[]), "1 machines are leaving");
        waits(step(&five, &wanted(5, Stage::Running), &[]), "1 machines are leaving");
        let mut five = all(5);
        (five[1].is_healthy, five[2].is_healthy) = (false, false);
        // A broken one goes, since three of five stay healthy.
        assert_eq!(step(&five, &wanted(3, Stage::Running), &[]), delete("m1"));
        five[3].is_healthy = false;
        waits(step(&five, &wanted(3, Stage::Running), &[]), "etcd needs 3 of 5");
        // Fewer than three, or an even number, is confirmed by a person.
        for replicas in [2, 1, 0] {
            waits(step(&all(3), &wanted(replicas, Stage::Running), &[]), "confirm-replicas");
        }
        waits(step(&all(5), &wanted(4, Stage::Running), &[]), "confirm-replicas");
        let confirmed = Wanted { confirmed: Some("2"), ..wanted(2, Stage::Running) };
        assert_eq!(step(&all(3), &confirmed, &[]), delete("m0"));
        waits(step(&all(3), &Wanted { confirmed: Some("1"), ..confirmed }, &[]), "confirm-replicas");
        let confirmed = Wanted { confirmed: Some("1"), ..wanted(1, Stage::Running) };
        assert_eq!(step(&all(2), &confirmed, &[]), delete("m0"));
        // Two with an arbiter are three.
        assert_eq!(step(&all(3), &Wanted { arbiters: 1, ..wanted(2, Stage::Running) }, &[]), delete("m0"));
    }

    #[test]
    fn an_installation_is_not_disturbed() {
        let three: Vec<Member> = (0..3).map(|number| member(&format!("m{number}"), "")).collect();
        waits(step(&three, &wanted(5, Stage::Installing), &[]), "installation is under way");
        waits(step(&three, &wanted(2, Stage::Installing), &[]), "installation is under way");
        assert_eq!(step(&three, &wanted(3, Stage::Installing), &[]), Step::None);
        assert_eq!(step(&three, &wanted(1, Stage::Before), &[]), delete("m0"));
        for (state, was_available, stage) in [
            ("", false, Stage::Before),
            ("insufficient", false, Stage::Before),
            ("ready", false, Stage::Before),
            ("preparing-for-installation", false, Stage::Installing),
            ("installing", false, Stage::Installing),
            ("finalizing", true, Stage::Installing),
            ("error", false, Stage::Installing),
            ("installed", true, Stage::Running),
            ("adding-hosts", false, Stage::Running),
            ("", true, Stage::Running),
        ] {
            assert_eq!(Stage::of(state, was_available), stage, "{state}");
        }
    }

    #[test]
    fn what_a_health_check_gives_up_is_replaced() {
        let mut three: Vec<Member> = (0..3).map(|number| member(&format!("m{number}"), "")).collect();
        let of = |members: &[Member], stage| remediation(members, stage, members.len());
        assert_eq!(of(&three, Stage::Running), None);
        (three[1].is_given_up, three[1].is_healthy) = (true, false);
        assert_eq!(of(&three, Stage::Running), Some(Ok("m1".to_owned())));
        let why = |outcome: Option<Result<String, (String, String)>>| outcome.unwrap().unwrap_err().1;
        assert!(why(of(&three, Stage::Installing)).contains("under way"));
        three[2].is_healthy = false;
        assert_eq!(why(of(&three, Stage::Running)), "1 other machines are healthy, and etcd needs 2 of 3");
        three[2].is_healthy = true;
        three[0].is_deleting = true;
        assert_eq!(why(of(&three, Stage::Running)), "1 machines are leaving");
        assert!(why(remediation(&three[1..2], Stage::Running, 1)).contains("no other machine"));
    }
}
