//! Another agent's image comes, and goes on in this one's place; and hosts that another program has registered.

use std::path::Path;

use assisted_agent::{End, UpgradeError, program_of};
use assisted_base::process::Tools;
use serde_json::json;

use crate::script::script;
use crate::service::{HOST, Kind, Pretender, Service, ends, quiet, registered, steps};

fn upgraded(result: &str) -> serde_json::Value {
    let output = json!({"agent_image": "agent:2", "result": result}).to_string();
    json!([{"step_type": "upgrade-agent", "args": [output]}])
}

#[tokio::test]
async fn a_pulled_agent_goes_on_after_the_reply() {
    let mut service = Service::start().await;
    service
        .register(registered())
        .poll(steps(&upgraded("failure"), 0, "continue"))
        .poll(steps(&upgraded("success"), 0, "continue"))
        .poll(quiet());
    let end = ends(service.agent(Pretender).unwrap()).await;
    assert!(matches!(&end, End::Upgraded(image) if image == "agent:2"), "{end:?}");
    for result in ["failure", "success"] {
        let reply = service.next_of(Kind::Reply).await;
        assert!(reply.body["output"].as_str().unwrap().contains(result));
        assert!(reply.body.get("step_id").is_none(), "this step alone has no id");
    }
}

#[tokio::test]
async fn a_registered_host_is_only_polled_for() {
    let mut service = Service::start().await;
    service.poll(steps(&json!([]), 0, "exit"));
    let agent = service.agent(Pretender).unwrap();
    let end = agent.run_steps(HOST.parse().unwrap()).await;
    assert!(matches!(end, End::Register), "{end:?}");
    assert_eq!(service.take_requests(), [Kind::Poll]);
}

/// A podman whose images hold `program`.
fn podman(dir: &Path, program: &str) -> Tools {
    let text = format!(
        "echo \"$*\" >> {0}/asked\ncase $1 in\n  cp) cp {program} \"$3\" ;;\n  create) [ \"$4\" != missing:1 ] ;;\nesac",
        dir.display()
    );
    script(&dir.join("podman"), &text);
    Tools::at(dir)
}

#[tokio::test]
async fn the_program_comes_out_of_the_image_if_it_runs() {
    let dir = tempfile::tempdir().unwrap();
    let own = dir.path().join("agent");
    std::fs::write(&own, "old").unwrap();

    let error = program_of("broken:1", &own, &podman(dir.path(), "/bin/false")).await.unwrap_err();
    assert!(matches!(error, UpgradeError::Broken { .. }), "{error}");
    let error = program_of("missing:1", &own, &podman(dir.path(), "/bin/true")).await.unwrap_err();
    assert!(matches!(error, UpgradeError::Podman { what: "create", .. }), "{error}");
    let error = program_of("empty:1", &own, &podman(dir.path(), "/no/such/file")).await.unwrap_err();
    assert!(matches!(error, UpgradeError::Podman { what: "cp", .. }), "{error}");
    assert_eq!(std::fs::read(&own).unwrap(), b"old", "the running program stays until there is another");

    program_of("good:1", &own, &podman(dir.path(), "/bin/true")).await.unwrap();
    assert_eq!(std::fs::read(&own).unwrap(), std::fs::read("/bin/true").unwrap());
    let asked = std::fs::read_to_string(dir.path().join("asked")).unwrap();
    let last: Vec<_> = asked.lines().rev().take(4).collect();
    assert_eq!(
        last,
        [
            "rm assisted-agent-upgrade".to_owned(),
            format!("cp assisted-agent-upgrade:/usr/bin/agent {}", own.with_extension("new").display()),
            "create --pull=never --name=assisted-agent-upgrade good:1".to_owned(),
            "rm --ignore assisted-agent-upgrade".to_owned(),
        ]
    );
}
