//! What is refused, and what it leaves behind: nothing but its event.

use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::RefusalKind;
use assisted_service::cluster::GetCluster;
use assisted_service::{Caller, TokenResource};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::operation::Role;
use serde_json::json;
use uuid::Uuid;

use crate::lab::{Database, Lab, PULL_SECRET, Time, on_both_engines, refusal};

on_both_engines![nothing_is_left_behind, settings_of_a_cluster, checks_that_start_over, an_id_that_is_fixed,];

async fn nothing_is_left_behind(database: Database) {
    let lab = Lab::start(&database).await;
    let service = &lab.service;
    let bad = json!({"name": "Not A Name", "openshift_version": "4.22", "pull_secret": PULL_SECRET});
    let outcome = service.clusters().register(&lab.caller, serde_json::from_value(bad).unwrap()).await;
    assert_eq!(refusal(outcome).0, RefusalKind::Invalid);
    assert!(service.clusters().list(&lab.caller, Default::default()).await.unwrap().0.is_empty());

    let nobodys = HostKey { infra_env_id: InfraEnvId::random(), host_id: HostId::random() };
    assert_eq!(refusal(lab.register(nobodys.infra_env_id, nobodys.host_id).await).0, RefusalKind::NotFound);
    assert_eq!(refusal(lab.poll(nobodys).await).0, RefusalKind::NotFound);
    assert_eq!(
        refusal(service.hosts().list(&lab.caller, nobodys.infra_env_id).await).0,
        RefusalKind::NotFound
    );
    assert_eq!(
        refusal(service.infra_envs().get(&lab.caller, nobodys.infra_env_id).await).0,
        RefusalKind::NotFound
    );

    let cluster_id = ClusterId::random();
    let params = json!({"name": "i", "pull_secret": PULL_SECRET, "cluster_id": cluster_id});
    let outcome = service.infra_envs().register(&lab.caller, serde_json::from_value(params).unwrap()).await;
    assert_eq!(refusal(outcome), (RefusalKind::NotFound, format!("Cluster ID {cluster_id} does not exist")));
    let told = lab.events(Default::default()).await.events.0;
    assert!(told.iter().any(|event| event.name == "infra_env_registration_failed"), "{told:?}");

    let user = Caller { role: Role::User, ..Caller::admin(Uuid::new_v4()) };
    let deleted = GetCluster { cluster_id, get_unregistered_clusters: true, exclude_hosts: false };
    let error = service.clusters().get(&user, deleted).await.unwrap_err();
    assert!(
        matches!(error, assisted_service::Error::Infra { kind: RefusalKind::Forbidden, .. }),
        "{error:?}"
    );
    let scoped = Caller { resource: Some(TokenResource::Cluster(cluster_id)), ..lab.caller.clone() };
    assert!(!scoped.is_admin());
    lab.stop().await;
}

async fn settings_of_a_cluster(database: Database) {
    let lab = Lab::start(&database).await;
    let (service, caller) = (&lab.service, &lab.caller);
    let id = lab.single_node().await.id;
    assert_eq!(service.clusters().get_ui_settings(caller, id).await.unwrap(), "");
    let text = "{not read by anybody".to_owned();
    assert_eq!(service.clusters().update_ui_settings(caller, id, text.clone()).await.unwrap(), text);
    assert_eq!(service.clusters().get_ui_settings(caller, id).await.unwrap(), text);

    let ignore = |hosts: &str, clusters: &str| {
        serde_json::from_value(json!({"host-validation-ids": hosts, "cluster-validation-ids": clusters}))
            .unwrap()
    };
    let outcome =
        service.clusters().set_ignored_validations(caller, id, ignore(r#"["connected"]"#, "")).await;
    let text = "cannot proceed due to the following errors: unable to ignore the following host validations (connected)";
    assert_eq!(refusal(outcome), (RefusalKind::Invalid, text.to_owned()));
    let good = ignore(r#"["ntp-synced"]"#, r#"["all"]"#);
    let set = service.clusters().set_ignored_validations(caller, id, good).await.unwrap();
    assert_eq!(service.clusters().get_ignored_validations(caller, id).await.unwrap(), set);
    let shown = lab.get_cluster(id).await;
    assert_eq!(
        (shown.ignored_host_validations.as_str(), shown.ignored_cluster_validations.as_str()),
        ("", "")
    );

    assert!(service.clusters().get_preflight_requirements(caller, id).await.unwrap().ocp.is_some());
    let platforms = service.clusters().get_supported_platforms(caller, id).await.unwrap();
    assert_eq!(platforms.iter().map(|platform| platform.as_str()).collect::<Vec<_>>(), ["none"]);
    assert_eq!(
        refusal(service.clusters().get_preflight_requirements(caller, ClusterId::random()).await).0,
        RefusalKind::NotFound
    );
    lab.stop().await;
}

async fn checks_that_start_over(database: Database) {
    let lab = Lab::start(&database).await;
    let reset = async |host, validation: &str| {
        refusal(lab.service.hosts().reset_validation(&lab.caller, host, validation).await)
    };
    let nobodys = HostKey { infra_env_id: InfraEnvId::random(), host_id: HostId::random() };
    let HostKey { host_id, infra_env_id } = nobodys;
    let text = format!("Host {host_id} of cluster {infra_env_id} was not found: record not found");
    assert_eq!(reset(nobodys, "container-images-available").await, (RefusalKind::NotFound, text));
    let pooled = lab.host(lab.infra_env(None).await.id).await;
    let text = format!("host {} is not bound to any cluster, reset validation", pooled.host_id);
    assert_eq!(reset(pooled, "container-images-available").await, (RefusalKind::Internal, text));
    let cluster = lab.single_node().await;
    let bound = lab.host(lab.infra_env(Some(cluster.id)).await.id).await;
    for id in ["ntp-synced", "nonsense", ""] {
        let text = format!("Validation \"{id}\" cannot be reset or does not exist");
        assert_eq!(reset(bound, id).await, (RefusalKind::Invalid, text));
    }
    for id in ["container-images-available", "sufficient-installation-disk-speed"] {
        lab.service.hosts().reset_validation(&lab.caller, bound, id).await.unwrap();
    }

    // What a user says about a host is noted with its cluster.
    let name = serde_json::from_value(json!({"host_name": "a"})).unwrap();
    lab.service.hosts().update(&lab.caller, bound, name).await.unwrap();
    let config = |text: &str| serde_json::from_value(json!({"config": text})).unwrap();
    let given = config(r#"{"ignition":{"version":"3.1.0"}}"#);
    lab.service.hosts().update_ignition(&lab.caller, bound, given).await.unwrap();
    let usage = lab.get_cluster(cluster.id).await.feature_usage;
    assert!(
        usage.contains("\"Requested hostname\"") && usage.contains(r#"{"host":true,"infra-env":false}"#),
        "{usage}"
    );
    lab.service.hosts().update_ignition(&lab.caller, bound, config("")).await.unwrap();
    let usage = lab.get_cluster(cluster.id).await.feature_usage;
    assert!(!usage.contains("Ignition Config Override"), "{usage}");
    assert_eq!(
        refusal(lab.service.hosts().update_ignition(&lab.caller, bound, config("x")).await).0,
        RefusalKind::Invalid
    );
    assert_eq!(
        refusal(lab.service.hosts().update_ignition(&lab.caller, nobodys, config("x")).await).0,
        RefusalKind::NotFound
    );
    let args = |list: &[&str]| serde_json::from_value(json!({"args": list})).unwrap();
    // Arguments are judged before the host is looked for (service-api §20, 8).
    for host in [bound, nobodys] {
        let outcome = lab.service.hosts().update_installer_args(&lab.caller, host, args(&["--evil"])).await;
        let (kind, text) = refusal(outcome);
        assert_eq!(kind, RefusalKind::Invalid);
        assert!(
            text.starts_with("found unexpected flag --evil for installer - allowed flags are ["),
            "{text}"
        );
    }
    let good = args(&["--append-karg", "a=b"]);
    let shown = lab.service.hosts().update_installer_args(&lab.caller, bound, good).await.unwrap();
    assert_eq!(shown.installer_args, r#"["--append-karg","a=b"]"#);
    lab.stop().await;
}

async fn an_id_that_is_fixed(database: Database) {
    let id = InfraEnvId::random();
    let fix = |settings: &mut assisted_config::Settings| settings.clusters.infra_env_id = id.to_string();
    let lab = Lab::with(&database, Time::default(), fix).await;
    assert_eq!(lab.infra_env(None).await.id, id);
    let params = serde_json::from_value(json!({"name": "again", "pull_secret": PULL_SECRET})).unwrap();
    let outcome = lab.service.infra_envs().register(&lab.caller, params).await;
    assert_eq!(refusal(outcome), (RefusalKind::Conflict, format!("infraEnv {id} is already registered")));
    lab.stop().await;
}
