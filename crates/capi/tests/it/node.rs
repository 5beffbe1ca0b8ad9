//! What nodes are told: Ignition takes the configs, and the scripts in them do what they should.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use assisted_capi::node::{Metadata, discovery, installed, installer_arguments};
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfigSpec;
use assisted_ignition_spec::Excerpt;
use assisted_testkit::{ignition_validate, skip};
use serde_json::{Value, json};

fn spec(fields: Value) -> OpenshiftAssistedConfigSpec {
    serde_json::from_value(fields).unwrap()
}

fn everything() -> OpenshiftAssistedConfigSpec {
    spec(json!({
        "nodeRegistration": {
            "name": "$METADATA_NAME",
            "kubeletExtraLabels": ["b=2", "metal3.io/uuid=\"${METADATA_UUID}\"", "no pair"],
            "providerID": " metal3://\"$METADATA_UUID\" ",
        },
        "preBootstrapCommands": ["echo one", "echo two"],
        "postBootstrapCommands": ["echo three"],
        "bootstrapCommandSentinelDir": "/var/lib/mine/",
        "postBootstrapKubeconfigPath": "/etc/my/kubeconfig",
    }))
}

fn excerpt(config: &str) -> Excerpt {
    let said = ignition_validate(config.as_bytes()).unwrap();
    assert_eq!(said, "", "{config}");
    Excerpt::read(config.as_bytes()).unwrap()
}

fn file(config: &str, path: &str) -> String {
    let found = excerpt(config).file(path).and_then(|file| file.contents.data());
    String::from_utf8(found.unwrap_or_else(|| panic!("there is no {path}"))).unwrap()
}

fn unit(config: &str, name: &str) -> String {
    let config: Value = serde_json::from_str(config).unwrap();
    let units = config["systemd"]["units"].as_array().cloned().unwrap_or_default();
    let found = units.iter().find(|unit| unit["name"] == name);
    found.unwrap_or_else(|| panic!("there is no {name}"))["contents"].as_str().unwrap().to_owned()
}

fn names(config: &str) -> Vec<String> {
    let config: Value = serde_json::from_str(config).unwrap();
    let units = config["systemd"]["units"].as_array().cloned().unwrap_or_default();
    units.iter().map(|unit| unit["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_installed_node_is_told_what_its_config_says() {
    let config = installed(&everything(), Metadata::ConfigDrive, None).unwrap();
    assert_eq!(
        names(&config),
        [
            "configdrive-metadata.service",
            "set-hostname.service",
            "kubelet-customlabels.service",
            "capoa-inject-provider-id.service",
            "capoa-pre-bootstrap.service",
            "capoa-post-bootstrap.service",
        ]
    );
    let labels = unit(&config, "kubelet-customlabels.service");
    let start = "ExecStart=/bin/bash /usr/local/bin/kubelet_custom_labels \"metal3://${METADATA_UUID}\" \"b=2\" \
                 \"metal3.io/uuid=${METADATA_UUID}\"\n";
    assert!(labels.contains(start), "{labels}");
    assert!(labels.contains("EnvironmentFile=-/etc/metadata_env\n"));
    let before = unit(&config, "capoa-pre-bootstrap.service");
    assert!(before.contains("ConditionPathExists=!/var/lib/mine/pre-bootstrap.done\n"), "{before}");
    for earlier in
        ["configdrive-metadata", "kubelet-customlabels", "set-hostname", "capoa-inject-provider-id"]
    {
        assert!(before.contains(&format!("{earlier}.service")), "{before}");
    }
    let script = file(&config, "/usr/local/bin/capoa-pre-bootstrap.sh");
    assert_eq!(
        script,
        "#!/bin/bash\nset -euo pipefail\necho one\necho two\nmkdir -p /var/lib/mine\ntouch /var/lib/mine/pre-bootstrap.done\n"
    );
    let after = file(&config, "/usr/local/bin/capoa-post-bootstrap.sh");
    assert!(after.contains("--kubeconfig /etc/my/kubeconfig get --raw /readyz"), "{after}");
    assert!(after.ends_with("echo three\nmkdir -p /var/lib/mine\ntouch /var/lib/mine/post-bootstrap.done\n"));
    // Equal specs give equal configs: nothing is ever written twice.
    assert_eq!(config, installed(&everything(), Metadata::ConfigDrive, None).unwrap());

    let nothing = installed(&spec(json!({})), Metadata::ConfigDrive, None).unwrap();
    assert_eq!(nothing, r#"{"ignition":{"version":"3.1.0"}}"#);
    let blank = spec(json!({"nodeRegistration": {"providerID": "  ", "name": ""}}));
    assert_eq!(installed(&blank, Metadata::ConfigDrive, None).unwrap(), nothing);
    let defaults =
        installed(&spec(json!({"postBootstrapCommands": ["true"]})), Metadata::ConfigDrive, None).unwrap();
    let script = file(&defaults, "/usr/local/bin/capoa-post-bootstrap.sh");
    assert!(
        script.contains("/var/lib/kubelet/kubeconfig")
            && script.contains("/var/lib/capoa/post-bootstrap.done")
    );
}

#[test]
fn a_config_of_ones_own_is_merged_over_it() {
    let over = |text: &'static str| installed(&everything(), Metadata::ConfigDrive, Some(("the", text)));
    let config = over(
        r#"{"ignition":{"version":"3.1.0"},"storage":{"files":[{"path":"/etc/mine"},
            {"path":"/usr/local/bin/set_hostname","overwrite":true,"contents":{"source":"data:,mine"}}]}}"#,
    )
    .unwrap();
    assert!(excerpt(&config).file("/etc/mine").is_some());
    assert_eq!(file(&config, "/usr/local/bin/set_hostname"), "mine");
    assert_eq!(over("{").unwrap(), installed(&everything(), Metadata::ConfigDrive, None).unwrap());
    let refused = over(r#"{"ignition":{"version":"2.2.0"}}"#).unwrap_err().to_string();
    assert!(refused.starts_with("invalid the annotation: "), "{refused}");
}

#[test]
fn what_only_a_shell_would_understand_is_refused() {
    for (fields, text) in [
        (
            json!({"kubeletExtraLabels": ["a=$(id)"]}),
            "invalid kubelet extra labels: in label \"a=$(id)\": invalid variable name",
        ),
        (json!({"providerID": "$A;id"}), "invalid providerID: invalid variable name"),
        (json!({"name": "`id`"}), "invalid node name: "),
    ] {
        let spec = spec(json!({"nodeRegistration": fields}));
        let error = installed(&spec, Metadata::ConfigDrive, None).unwrap_err().to_string();
        assert!(error.starts_with(text), "{error}");
    }
}

#[test]
fn a_discovery_keeps_what_it_has_and_its_version() {
    let base = r#"{"ignition":{"version":"3.4.0","config":{"merge":[]}},"systemd":{"units":[{"name":"a.service"}]},"kernelArguments":{"shouldExist":["a"]}}"#;
    let plain = discovery(&spec(json!({"kernelArguments": []})), Metadata::ConfigDrive, base.into()).unwrap();
    assert_eq!(plain, base.as_bytes());
    let named: Value =
        serde_json::from_slice(&discovery(&everything(), Metadata::ConfigDrive, base.into()).unwrap())
            .unwrap();
    assert_eq!(named["ignition"]["version"], "3.4.0");
    assert_eq!(named["kernelArguments"], json!({"shouldExist": ["a"]}));
    assert_eq!(
        names(&named.to_string()),
        ["a.service", "configdrive-metadata.service", "set-hostname.service"]
    );
    assert!(discovery(&everything(), Metadata::ConfigDrive, b"no JSON".to_vec()).is_err());
}

#[test]
fn a_machine_without_a_config_drive_is_told_its_metadata() {
    let known = BTreeMap::from([("METADATA_NAME".to_owned(), "it's".to_owned())]);
    let config = installed(&everything(), Metadata::Known(&known), None).unwrap();
    assert!(!names(&config).contains(&"configdrive-metadata.service".to_owned()));
    assert_eq!(file(&config, "/etc/metadata_env"), "METADATA_NAME='its'\n");
}

#[test]
fn kernel_arguments_become_arguments_of_the_program_that_writes_the_disk() {
    let arguments = |list: Value| installer_arguments(&spec(json!({"kernelArguments": list})));
    assert_eq!(arguments(json!([])), "[]");
    let list = json!([
        {"operation": "append", "value": "a=b"}, {"operation": "replace", "value": "c=d=e"},
        {"operation": "delete", "value": "f"},
    ]);
    assert_eq!(arguments(list), r#"["--append-karg","a=b","--replace-karg","c=d=e","--delete-karg","f"]"#);
}

/// Runs a script of a config below a folder; programs that only a node has are replaced.
fn run(root: &Path, script: &str, arguments: &[&str]) -> String {
    let place = |path: &str| format!("{}{path}", root.display());
    let mut script = script.to_owned();
    for path in
        ["/etc/metadata_env", "/etc/kubernetes", "/etc/systemd", "/run/kubelet-provider-id", "/dev/disk"]
    {
        script = script.replace(path, &place(path));
    }
    let file = root.join("script");
    fs::write(&file, script).unwrap();
    let programs = format!("{}:{}", root.join("bin").display(), std::env::var("PATH").unwrap());
    let output = Command::new("/bin/bash").arg(&file).args(arguments).env("PATH", programs).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn program(root: &Path, name: &str, text: &str) {
    let path = root.join("bin").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/bash\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn scripts_give_the_kubelet_its_labels_and_its_provider_id() {
    let config = installed(&everything(), Metadata::ConfigDrive, None).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    fs::create_dir_all(root.join("etc/kubernetes")).unwrap();
    fs::create_dir_all(root.join("run")).unwrap();
    fs::write(root.join("etc/kubernetes/kubelet-env"), "OTHER=1\n").unwrap();
    let labels = file(&config, "/usr/local/bin/kubelet_custom_labels");
    // As often as it boots.
    for _ in 0..2 {
        run(root, &labels, &["metal3://1 $x", "a=1", "b=2"]);
        let expected = "OTHER=1\nCUSTOM_KUBELET_LABELS=a=1,b=2\nKUBELET_PROVIDERID=metal3://1 $x\n";
        assert_eq!(read("etc/kubernetes/kubelet-env"), expected);
    }
    assert_eq!(read("run/kubelet-provider-id"), "metal3://1 $x\n");

    let inject = file(&config, "/usr/local/bin/inject-provider-id");
    let cat =
        "printf '%s\\n' '[Service]' 'ExecStart=/old' 'ExecStart=' 'ExecStart=/usr/bin/kubelet \\' '  --v=2'";
    program(root, "systemctl", &format!("[ \"$1\" != cat ] || {cat}"));
    run(root, &inject, &[]);
    let drop_in = "etc/systemd/system/kubelet.service.d/20-provider-id.conf";
    assert_eq!(
        read(drop_in),
        "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet    --v=2 --provider-id=\"metal3://1 $$x\"\n"
    );
    // One that has it is left alone, and so is one without an id.
    fs::remove_file(root.join(drop_in)).unwrap();
    program(root, "systemctl", "echo ExecStart=/usr/bin/kubelet --provider-id=mine");
    run(root, &inject, &[]);
    fs::remove_file(root.join("run/kubelet-provider-id")).unwrap();
    program(root, "systemctl", "exit 1");
    run(root, &inject, &[]);
    assert!(!root.join(drop_in).exists());
}

#[test]
fn scripts_read_the_metadata_and_set_the_name() {
    let config = installed(&everything(), Metadata::ConfigDrive, None).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let name = file(&config, "/usr/local/bin/set_hostname");
    program(root, "hostnamectl", "echo \"$@\"");
    assert_eq!(run(root, &name, &["node-1"]), "set-hostname node-1\n");
    assert_eq!(run(root, &name, &[""]), "");

    let metadata = file(&config, "/usr/local/bin/configdrive_metadata");
    fs::create_dir_all(root.join("etc")).unwrap();
    // Without a drive there are no variables, but a file.
    run(root, &metadata, &[]);
    assert_eq!(fs::read_to_string(root.join("etc/metadata_env")).unwrap(), "");
    if !Path::new("/usr/bin/jq").exists() {
        skip("jq is not here: what the config drive says is not read");
        return;
    }
    let data = root.join("dev/disk/by-label/config-2/openstack/latest");
    fs::create_dir_all(&data).unwrap();
    let said = json!({"name": "host-1", "local-hostname": "h", "odd": "it's $x", "list": [1], "two": "a\nb", "n": 7});
    fs::write(data.join("meta_data.json"), said.to_string()).unwrap();
    program(root, "mount", r#"cp -r "$3/." "$4""#);
    program(root, "umount", r#"rm -r "$1"/*"#);
    run(root, &metadata, &[]);
    let lines = "METADATA_LOCAL_HOSTNAME=h\nMETADATA_N=7\nMETADATA_NAME=host-1\nMETADATA_ODD='it'\\''s $x'\n";
    assert_eq!(fs::read_to_string(root.join("etc/metadata_env")).unwrap(), lines);
}
