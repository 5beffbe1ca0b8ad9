use std::collections::BTreeSet;
use std::time::Duration;

use assisted_wire::version::ImageCpuArchitecture;

use super::*;

fn from(pairs: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    Settings::from_env(&|name| {
        pairs.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn nothing_set_gives_the_defaults() {
    let settings = from(&[]).unwrap();
    assert_eq!(settings.clusters, Clusters::default());
    assert_eq!(settings.clusters.cluster_network_cidr.to_string(), "10.128.0.0/14");
    assert_eq!(settings.clusters.service_network_cidr_ipv6.to_string(), "fd02::/112");
    assert_eq!(settings.hosts.max_disconnection_time, Duration::from_secs(180));
    assert_eq!(settings.host_stages.copying_registry_data_to_disk, Duration::from_secs(5400));
    assert_eq!(settings.versions.os_images, None);
    assert_eq!(settings.auth.auth_type, AuthType::None);
}

#[test]
fn values_are_read() {
    let settings = from(&[
        ("HOST_MAX_DISCONNECTION_TIME", "90s"),
        ("IPV6_SUPPORT", "false"),
        ("CLUSTER_NETWORK_HOST_PREFIX", "24"),
        ("DISABLED_STEPS", "dhcp-lease-allocate, tang-connectivity-check"),
        ("IGNORED_OPENSHIFT_VERSIONS", r#"["4.10","4.11.59"]"#),
        ("AUTH_TYPE", "local"),
        (
            "OS_IMAGES",
            r#"[{"openshift_version":"4.22","cpu_architecture":"aarch64","url":"u","version":"v"}]"#,
        ),
        (
            "RELEASE_IMAGES",
            r#"[{"openshift_version":"4.22","cpu_architecture":"arm64","url":"u","version":"4.22.9"}]"#,
        ),
    ])
    .unwrap();
    assert_eq!(settings.hosts.max_disconnection_time, Duration::from_secs(90));
    assert!(!settings.clusters.ipv6_support);
    assert_eq!(settings.clusters.cluster_network_host_prefix, 24);
    assert_eq!(settings.hosts.disabled_steps, ["dhcp-lease-allocate", "tang-connectivity-check"]);
    assert_eq!(settings.versions.ignored.0, ["4.10", "4.11.59"]);
    assert_eq!(settings.auth.auth_type, AuthType::Local);
    assert_eq!(settings.versions.os_images.unwrap().0[0].cpu_architecture, ImageCpuArchitecture::Arm64);
    assert_eq!(
        settings.versions.release_images.unwrap().0[0].cpu_architectures.as_deref(),
        Some(&["arm64".to_owned()][..])
    );
}

#[test]
fn an_empty_text_is_a_value_where_nothing_is_one() {
    let settings = from(&[("AGENT_DOCKER_IMAGE", ""), ("HOST_MAX_DISCONNECTION_TIME", "")]).unwrap();
    assert_eq!(settings.images.agent, "");
    assert_eq!(settings.hosts.max_disconnection_time, Duration::from_secs(180));
}

#[test]
fn a_bad_value_names_variable_problem_and_remedy() {
    for (variable, value, problem, remedy) in [
        ("HOST_MAX_DISCONNECTION_TIME", "5", "no unit", "a duration such as"),
        ("IPV6_SUPPORT", "maybe", "neither true nor false", "true or false"),
        ("CLUSTER_NETWORK_CIDR", "fd01::/48", "is not an IPv4 network", "10.128.0.0/14"),
        ("OS_IMAGES", "[{}]", "missing field", "a JSON list of OS images"),
        (
            "RELEASE_IMAGES",
            r#"[{"openshift_version":"4.22","cpu_architecture":"arm64","url":"","version":"4.22.9"}]"#,
            "Missing value in ReleaseImage for 'url' field",
            "a JSON list of release images",
        ),
        (
            "DISABLED_HOST_VALIDATIONS",
            "ntp-synced,nonsense",
            "'nonsense' is not a known host",
            "ids of host validations",
        ),
        ("DISABLED_CLUSTER_VALIDATIONS", "a,,b", "not a known cluster", "ids of cluster validations"),
        ("MUST_GATHER_IMAGES", "[", "\"[\" is not the JSON", "a JSON map"),
        ("AUTH_TYPE", "basic", "is not none, local", "none, local"),
        ("DB_MAX_OPEN_CONNECTIONS", "-1", "is not a whole number", "a whole number"),
        ("DB_MAX_OPEN_CONNECTIONS", "0", "is not a whole number above 0", "above 0"),
    ] {
        let error = from(&[(variable, value)]).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with(&format!("{variable}: ")), "{text}");
        assert!(text.contains(problem) && text.contains(remedy), "{text}");
    }
}

#[test]
fn every_variable_is_documented_once_and_its_default_can_be_given_back() {
    let all = variables();
    let names: BTreeSet<_> = all.iter().map(|variable| variable.name).collect();
    assert_eq!(names.len(), all.len());
    for variable in &all {
        assert!(variable.meaning.ends_with('.'), "{}: {}", variable.name, variable.meaning);
        if variable.default != "built in" {
            Settings::from_env(&|name| (name == variable.name).then(|| variable.default.clone())).unwrap();
        }
    }
}

#[test]
fn settings_of_operators_have_the_defaults_of_the_reference() {
    let reference = include_str!("../../../docs/reference/operators.md");
    let section = reference.split("## 6. Environment").nth(1).unwrap();
    let rows = section.lines().skip_while(|line| !line.starts_with("| Variable")).skip(2);
    let code = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let all = variables();
    let mut compared = 0;
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").collect();
        let (names, defaults) = (code(cells[0]), code(cells[1]));
        for (number, name) in names.iter().enumerate() {
            let name = name.replace('…', names[0].trim_end_matches("_UNREADY_DURATION"));
            let known = all.iter().find(|variable| variable.name == name);
            let known = known.unwrap_or_else(|| panic!("{name} is not known"));
            // One of two that are told together, one for both, or none that is a value.
            let default = defaults.get(number).or(defaults.first()).map(String::as_str).unwrap_or_default();
            // Images are our own.
            let default = match name.as_str() {
                "CONTROLLER_IMAGE" => "quay.io/assisted/assisted-installer-controller:latest",
                _ => default,
            };
            assert_eq!(known.default, default, "{name}");
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn defaults_are_those_of_the_replaced_service_but_for_what_the_documentation_names() {
    let theirs = include_str!("../tests/data/defaults.txt");
    let document = include_str!("../../../docs/environment.md");
    let (_, differs) = document.split_once("| what differs |").unwrap();
    let (differs, _) = differs.split_once("\nOf ").unwrap();
    let all = variables();
    let (mut compared, mut named) = (0, BTreeSet::new());
    for row in theirs.lines().filter(|row| !row.starts_with('#')) {
        let (name, default) = row.split_once(' ').unwrap_or((row, ""));
        let known = all.iter().find(|variable| variable.name == name);
        let known = known.unwrap_or_else(|| panic!("{name} is not known"));
        if known.default != default {
            let told = differs.contains(&format!("`{name}`"));
            assert!(told, "{name}: theirs is {default:?}, ours {:?}", known.default);
            named.insert(name);
        }
        compared += 1;
    }
    assert!(compared > 130, "{compared}");
    assert!(named.contains("MUST_GATHER_IMAGES") && named.len() > 10, "{named:?}");
}
