//! The machines of a control plane: how they are, which comes or goes next (capi-providers §10.2 to §10.4).

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::cluster_api::cluster::Cluster;
use assisted_crd::cluster_api::common::ContractReference;
use assisted_crd::cluster_api::conditions::{control_plane as says, machine as of_machine};
use assisted_crd::cluster_api::labels::{BOOTSTRAP_GROUP, annotation, label};
use assisted_crd::cluster_api::machine::{Bootstrap, Machine, MachineSpec};
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfig;
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane;
use assisted_crd::condition::{Outcome, Statement, set};
use assisted_kube::cache::get;
use assisted_kube::error::{is_conflict, optional};
use assisted_kube::finalizer::is_deleting;
use assisted_kube::time::now;
use assisted_kube::write;
use assisted_reconcile::Failure;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::installation::{self, labels};
use super::management_cluster::is_owned;
use super::provider::Provider;
use super::report::{Counts, NEXT, Report, SOON};
use super::scale::{self, Member, Stage, Step, Wanted};
use super::template::{self, CloneError};
use crate::objects::{failed, owner};

/// How long a node may take to go away, where nobody says: what Cluster API fills in.
pub(crate) const NODE_DELETION: i32 = 10;

/// The Machines of a control plane as they are now: a copy may be late, and a machine too many would be made of that.
pub(super) async fn list(
    provider: &Provider,
    plane: &OpenshiftAssistedControlPlane,
    cluster: &str,
) -> Result<Vec<Machine>, Failure> {
    let api: Api<Machine> = provider.management.api(&plane.namespace().unwrap_or_default());
    let of_cluster = ListParams::default().labels(&format!("{}={cluster}", label::CLUSTER_NAME));
    let all = api.list(&of_cluster).await.map_err(|error| failed(&error))?;
    Ok(all.items.into_iter().filter(|machine| is_owned(machine, plane)).collect())
}

/// Why a machine is not what its control plane says now; none: it is.
fn outdated(
    machine: &Machine,
    plane: &OpenshiftAssistedControlPlane,
    config: Option<&OpenshiftAssistedConfig>,
) -> Option<String> {
    let filled = |deletion: Option<&_>| {
        let mut deletion: assisted_crd::cluster_api::common::MachineDeletion =
            Option::<&_>::cloned(deletion).unwrap_or_default();
        deletion.node_deletion_timeout_seconds.get_or_insert(NODE_DELETION);
        deletion
    };
    if filled(machine.spec.deletion.as_ref()) != filled(plane.spec.machine_template.deletion.as_ref()) {
        return Some("its deletion timeouts are others".to_owned());
    }
    let Some(config) = config else { return Some("its OpenshiftAssistedConfig is not there".to_owned()) };
    let wanted = json!(plane.spec.openshift_assisted_config_spec.clone().unwrap_or_default());
    differs(&wanted, &json!(config.spec), "spec")
        .map(|place| format!("{place} of its OpenshiftAssistedConfig is another"))
}

/// The first member that is wanted and not there; what is not wanted may be anything.
fn differs(wanted: &Value, is: &Value, place: &str) -> Option<String> {
    match (wanted, is) {
        (Value::Object(wanted), Value::Object(is)) => wanted.iter().find_map(|(name, wanted)| {
            differs(wanted, is.get(name).unwrap_or(&Value::Null), &format!("{place}.{name}"))
        }),
        _ => (wanted != is).then(|| place.to_owned()),
    }
}

/// A machine as it counts for scaling.
fn member(machine: &Machine, is_up_to_date: bool) -> Member {
    let says = |kind: &str| machine.condition(kind);
    let annotations = machine.annotations();
    Member {
        name: machine.name_any(),
        failure_domain: machine.spec.failure_domain.clone(),
        created: machine.metadata.creation_timestamp.as_ref().map(|time| time.0),
        is_healthy: says("Ready") == Some("True") && says("HealthCheckSucceeded") != Some("False"),
        is_up_to_date,
        is_deleting: is_deleting(&machine.metadata),
        is_marked: annotations.contains_key(annotation::DELETE_MACHINE),
        is_given_up: says("OwnerRemediated") == Some("False")
            || annotations.contains_key(annotation::REMEDIATE_MACHINE),
    }
}

/// Brings the machines to what is wanted, by one step, and tells how they are.
pub(super) async fn settle(
    provider: &Provider,
    plane: &OpenshiftAssistedControlPlane,
    cluster: &Cluster,
    stage: Stage,
    report: &mut Report,
) -> Result<(), Failure> {
    let cluster_name = cluster.name_any();
    let machines = list(provider, plane, &cluster_name).await?;
    let members = judge(provider, plane, &machines).await?;
    tell(plane, &machines, &members, report);
    let replicas = usize::try_from(plane.spec.replicas.unwrap_or_default()).unwrap_or_default();
    if remediate(provider, &machines, &members, stage, replicas, report).await? {
        return Ok(());
    }
    let arbiters = installation::others_of(&provider.management, cluster).arbiters;
    let wanted = Wanted {
        replicas,
        arbiters: usize::try_from(arbiters).unwrap_or_default(),
        stage,
        confirmed: plane.annotations().get(annotation::CONFIRM_REPLICAS).map(String::as_str),
    };
    let domains = cluster.status.as_ref().map(|status| status.failure_domains.clone()).unwrap_or_default();
    let step = scale::step(&members, &wanted, &domains);
    let staying = members.iter().filter(|member| !member.is_deleting).count();
    say_scaling(staying, replicas, &step, report);
    match step {
        Step::None => report.say(says::MACHINES_CREATED.with(&[])),
        Step::Wait(_) => report.again(SOON),
        Step::Create(domain) => {
            report.say(says::MACHINES_MISSING.with(&[&staying.to_string(), &replicas.to_string()]));
            create(provider, plane, cluster, &domain, &machines, report).await?;
            report.again(NEXT);
        }
        Step::Delete(name) => {
            delete(provider, plane, &name).await?;
            report.again(NEXT);
        }
    }
    Ok(())
}

/// Judges each machine, and tells it in the machine.
async fn judge(
    provider: &Provider,
    plane: &OpenshiftAssistedControlPlane,
    machines: &[Machine],
) -> Result<Vec<Member>, Failure> {
    let mut members = Vec::new();
    for machine in machines {
        let config = machine.spec.bootstrap.config_ref.as_ref();
        let key = config.map(|config| ObjectKey::new(machine.namespace().unwrap_or_default(), &config.name));
        let config = key.and_then(|key| get(&provider.management.cache.configs, &key));
        let why = outdated(machine, plane, config.as_deref());
        let statement = match &why {
            Some(why) => of_machine::NOT_UP_TO_DATE.with(&[why]),
            None => of_machine::UP_TO_DATE.with(&[]),
        };
        if !is_deleting(&machine.metadata) {
            say(provider, machine, statement).await?;
        }
        members.push(member(machine, why.is_none()));
    }
    Ok(members)
}

/// Tells something in a machine.
async fn say(provider: &Provider, machine: &Machine, statement: Statement) -> Result<(), Failure> {
    let statement = Statement { generation: machine.metadata.generation, ..statement };
    let tell = |machine: &mut Machine| {
        let status = machine.status.get_or_insert_default();
        set(&mut status.conditions, statement.clone(), &now());
    };
    let api: Api<Machine> = provider.management.api(&machine.namespace().unwrap_or_default());
    let written = optional(write::status(&api, machine, tell).await);
    written.map(drop).map_err(|error| failed(&error))
}

fn tell(
    plane: &OpenshiftAssistedControlPlane,
    machines: &[Machine],
    members: &[Member],
    report: &mut Report,
) {
    let count =
        |kind: &str| machines.iter().filter(|machine| machine.condition(kind) == Some("True")).count();
    let outdated: Vec<_> =
        members.iter().filter(|member| !member.is_up_to_date).map(|member| member.name.as_str()).collect();
    let counts = Counts {
        all: machines.len(),
        ready: count("Ready"),
        available: count("Available"),
        up_to_date: machines.len() - outdated.len(),
    };
    report.counts = Some(counts);
    let wanted = usize::try_from(plane.spec.replicas.unwrap_or_default()).unwrap_or_default();
    report.say(if counts.ready == wanted && counts.all == wanted {
        says::MACHINES_READY.with(&[])
    } else {
        says::MACHINES_NOT_READY.with(&[&counts.ready.to_string(), &wanted.to_string()])
    });
    report.say(if outdated.is_empty() {
        says::MACHINES_UP_TO_DATE.with(&[])
    } else {
        says::MACHINES_NOT_UP_TO_DATE.with(&[&outdated.join(", ")])
    });
    // Machines are changed by being replaced, one by one, when a person says so.
    report.say(says::NOT_ROLLING_OUT.with(&[]));
}

fn say_scaling(is: usize, wanted: usize, step: &Step, report: &mut Report) {
    let (from, to) = (is.to_string(), wanted.to_string());
    let why = match step {
        Step::Wait(why) => format!(": {why}"),
        _ => String::new(),
    };
    let told = |outcome: Outcome| outcome.with(&[&from, &to, &why]);
    report.say(if is < wanted { told(says::SCALING_UP) } else { says::NOT_SCALING_UP.with(&[]) });
    report.say(if is > wanted { told(says::SCALING_DOWN) } else { says::NOT_SCALING_DOWN.with(&[]) });
    if is != wanted && matches!(step, Step::Wait(_)) {
        report.say(says::MACHINES_MISSING.with(&[&from, &to]));
    }
}

/// Replaces a machine that a health check has given up; whether one is leaving for that now.
async fn remediate(
    provider: &Provider,
    machines: &[Machine],
    members: &[Member],
    stage: Stage,
    replicas: usize,
    report: &mut Report,
) -> Result<bool, Failure> {
    let Some(outcome) = scale::remediation(members, stage, replicas) else {
        report.say(says::NOT_REMEDIATING.with(&[""]));
        return Ok(false);
    };
    let (name, statement) = match &outcome {
        Ok(name) => (name, of_machine::REMEDIATION_DELETES.with(&[])),
        Err((name, why)) => (name, of_machine::REMEDIATION_DEFERRED.with(&[why])),
    };
    let Some(machine) = machines.iter().find(|machine| machine.name_any() == *name) else { return Ok(false) };
    say(provider, machine, statement).await?;
    match &outcome {
        Ok(name) => {
            report.say(says::REMEDIATING.with(&[&format!("{name} is replaced")]));
            let api: Api<Machine> = provider.management.api(&machine.namespace().unwrap_or_default());
            let removed = optional(api.delete(name, &DeleteParams::default()).await);
            removed.map_err(|error| failed(&error))?;
            report.again(NEXT);
            Ok(true)
        }
        Err((name, why)) => {
            report.say(says::NOT_REMEDIATING.with(&[&format!("{name} waits: {why}")]));
            report.again(SOON);
            Ok(false)
        }
    }
}

async fn delete(
    provider: &Provider,
    plane: &OpenshiftAssistedControlPlane,
    name: &str,
) -> Result<(), Failure> {
    let api: Api<Machine> = provider.management.api(&plane.namespace().unwrap_or_default());
    let removed = optional(api.delete(name, &DeleteParams::default()).await);
    let cause = |error: &kube::Error| assisted_base::error::chain(error);
    removed
        .map(drop)
        .map_err(|error| Failure::passing(format!("failed to scale down control plane: {}", cause(&error))))
}

/// Makes one: its machine of the infrastructure, its config, and the Machine that puts them together, all of one name.
async fn create(
    provider: &Provider,
    plane: &OpenshiftAssistedControlPlane,
    cluster: &Cluster,
    domain: &str,
    machines: &[Machine],
    report: &mut Report,
) -> Result<(), Failure> {
    let namespace = plane.namespace().unwrap_or_default();
    let scaling = |text: &str| Failure::passing(format!("failed to scale up control plane: {text}"));
    let (of_plane, of_cluster) = (owner(plane, false), owner(cluster, false));
    let cluster = cluster.name_any();
    let cluster = cluster.as_str();
    let wanted = template::Clone {
        prefix: format!("{}-", plane.name_any()),
        labels: labels(plane, cluster),
        annotations: annotations(plane),
        owner: &of_plane,
        cluster: &of_cluster,
    };
    let Some(reference) = &plane.spec.machine_template.infrastructure_ref else {
        let error = CloneError::Template("spec.machineTemplate.infrastructureRef says none".to_owned());
        report.say(says::CLONING_FAILED.with(&[&error.to_string()]));
        return Err(scaling(&error.to_string()));
    };
    // One that has been given something to boot was in use.
    let is_used = |name: &str| {
        let config = get(&provider.management.cache.configs, &ObjectKey::new(&namespace, name));
        let status = config.as_ref().and_then(|config| config.status.as_ref());
        status.is_some_and(|status| !status.data_secret_name.is_empty())
    };
    let is_taken = |name: &str| machines.iter().any(|machine| machine.name_any() == name) || is_used(name);
    // One that was made before this process was stopped is not left lying about.
    let left =
        template::left_over(&provider.management.client, &namespace, reference, &wanted, is_taken).await;
    let cloned = match left {
        Ok(Some(left)) => Ok(left),
        Ok(None) => template::clone(&provider.management.client, &namespace, reference, wanted).await,
        Err(error) => Err(error),
    };
    let infrastructure = match cloned {
        Ok(clone) => clone,
        Err(error) => {
            let text = CloneError::to_string(&error);
            report.say(says::CLONING_FAILED.with(&[&text]));
            return Err(scaling(&text));
        }
    };
    let name = &infrastructure.name;
    let configs: Api<OpenshiftAssistedConfig> = provider.management.api(&namespace);
    if let Err(error) = configs.create(&PostParams::default(), &config(plane, cluster, name)).await
        && !is_conflict(&error)
    {
        template::remove(&provider.management.client, &namespace, &infrastructure).await;
        let text = format!("error creating bootstrap config: {}", assisted_base::error::chain(&error));
        report.say(says::CONFIG_FAILED.with(&[&text]));
        return Err(scaling(&text));
    }
    let machines: Api<Machine> = provider.management.api(&namespace);
    let object = machine(plane, cluster, domain, &infrastructure);
    if let Err(error) = machines.create(&PostParams::default(), &object).await {
        if let Err(error) = configs.delete(name, &DeleteParams::default()).await {
            tracing::warn!(%name, %error, "a config that is of no use stays");
        }
        template::remove(&provider.management.client, &namespace, &infrastructure).await;
        let text = format!("error creating machine {}", assisted_base::error::chain(&error));
        report.say(says::MACHINE_FAILED.with(&[&text]));
        return Err(scaling(&text));
    }
    tracing::info!(%name, control_plane = %plane.name_any(), "a machine is made");
    Ok(())
}

fn annotations(plane: &OpenshiftAssistedControlPlane) -> std::collections::BTreeMap<String, String> {
    plane.spec.machine_template.metadata.clone().unwrap_or_default().annotations
}

/// The config of a new machine: with what the control plane says of all of them.
fn config(plane: &OpenshiftAssistedControlPlane, cluster: &str, name: &str) -> OpenshiftAssistedConfig {
    let spec = plane.spec.openshift_assisted_config_spec.clone().unwrap_or_default();
    let mut object = OpenshiftAssistedConfig::new(name, spec);
    let mut labels = labels(plane, cluster);
    for (key, value) in plane.labels() {
        labels.entry(key.clone()).or_insert_with(|| value.clone());
    }
    let mut annotations = annotations(plane);
    for (key, value) in plane.annotations() {
        // What an older version could not say of the control plane says nothing of the config, and neither does what kubectl applied.
        if key != annotation::CONVERSION_DATA && !key.starts_with("kubectl.kubernetes.io/") {
            annotations.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    object.metadata.namespace = plane.namespace();
    object.metadata.labels = Some(labels);
    object.metadata.annotations = Some(annotations);
    object.metadata.owner_references = Some(vec![owner(plane, false)]);
    object
}

fn machine(
    plane: &OpenshiftAssistedControlPlane,
    cluster: &str,
    domain: &str,
    infrastructure: &ContractReference,
) -> Machine {
    let config = ContractReference {
        api_group: BOOTSTRAP_GROUP.to_owned(),
        kind: "OpenshiftAssistedConfig".to_owned(),
        name: infrastructure.name.clone(),
    };
    let spec = MachineSpec {
        bootstrap: Bootstrap { config_ref: Some(config), data_secret_name: None },
        cluster_name: cluster.to_owned(),
        deletion: plane.spec.machine_template.deletion.clone(),
        failure_domain: domain.to_owned(),
        infrastructure_ref: infrastructure.clone(),
        provider_id: String::new(),
    };
    let mut object = Machine::new(&infrastructure.name, spec);
    let mut annotations = annotations(plane);
    annotations.insert(annotation::BMAC_ROLE.to_owned(), "master".to_owned());
    object.metadata.namespace = plane.namespace();
    object.metadata.labels = Some(labels(plane, cluster));
    object.metadata.annotations = Some(annotations);
    object.metadata.owner_references = Some(vec![owner(plane, true)]);
    object
}
