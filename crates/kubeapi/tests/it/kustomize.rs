//! `kubectl kustomize … | assisted apply -f -`: what kustomize makes of manifests is a cluster of a service, without any hub.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use assisted_testkit::{Server, built, kubernetes};
use serde_json::{Value, json};

const FILES: [&str; 3] = ["cluster.yaml", "infra-env.yaml", "pull-secret.yaml"];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The examples as kustomize renders them, with another domain.
fn rendered(dir: &Path) -> Vec<u8> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/cluster-manifests");
    for file in FILES {
        std::fs::copy(examples.join(file), dir.join(file)).unwrap();
    }
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": FILES,
        "patches": [{
            "target": {"kind": "ClusterDeployment"},
            "patch": r#"[{"op": "replace", "path": "/spec/baseDomain", "value": "rendered.example.com"}]"#,
        }],
    });
    std::fs::write(dir.join("kustomization.yaml"), kustomization.to_string()).unwrap();
    let kubectl = kubernetes::find("kubectl").unwrap();
    let output = Command::new(kubectl).arg("kustomize").arg(dir).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    output.stdout
}

/// What the command line answers to what it is given on standard input.
fn answered(program: &Path, service: &Server, args: &[&str], input: &[u8]) -> Value {
    let mut command = Command::new(program);
    command.args(["--url", &service.url(), "-o", "json"]).args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{args:?}: {}\n{}", text(&output.stderr), service.log());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn what_kustomize_renders_is_applied_from_standard_input() {
    let (data, manifests) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let rendered = rendered(manifests.path());
    let program = built("assisted").unwrap();
    let service = Server::start(&program, data.path(), |_| ()).unwrap();
    for action in ["created", "unchanged"] {
        let answer = answered(&program, &service, &["apply", "-f", "-"], &rendered);
        let became: Vec<_> =
            answer.as_array().unwrap().iter().map(|object| (&object["object"], &object["action"])).collect();
        let expected = ["ClusterDeployment site/rack", "InfraEnv site/rack"].map(Value::from);
        let action = Value::from(action);
        assert_eq!(became, [(&expected[0], &action), (&expected[1], &action)]);
    }
    let cluster = answered(&program, &service, &["cluster", "show", "rack"], &[]);
    assert_eq!(cluster["base_dns_domain"], "rendered.example.com");
}
