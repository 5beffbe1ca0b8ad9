//! `assisted mcp`: an assistant's side of the protocol.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::service::Service;

struct Assistant {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    last: u64,
}

impl Assistant {
    fn start(service: &Service, more: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
        command.args(["--url", &service.url, "mcp"]).args(more).envs(env.iter().copied());
        command.env("XDG_CONFIG_HOME", service.dir.path()).current_dir(service.dir.path());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, to, from, last: 0 }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.to.as_mut().unwrap(), "{line}").unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.send(&request.to_string());
        let answer = self.read();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(self.last)), "{answer}");
        answer
    }

    /// What a tool says, and whether it failed.
    fn call(&mut self, name: &str, arguments: &Value) -> (String, bool) {
        let answer = self.ask("tools/call", &json!({"name": name, "arguments": arguments}));
        let result = &answer["result"];
        assert_eq!(result["content"][0]["type"], "text", "{answer}");
        (result["content"][0]["text"].as_str().unwrap().to_owned(), result["isError"] == true)
    }

    fn tools(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Assistant {
    fn drop(&mut self) {
        drop(self.to.take());
        let _ = self.child.wait();
    }
}

#[test]
fn an_assistant_makes_a_cluster_and_reads_what_it_lacks() {
    let service = Service::start();
    let mut assistant = Assistant::start(&service, &["--pull-secret-file", "pull-secret.json"], &[]);
    let begun = assistant.ask(
        "initialize",
        &json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}),
    );
    assert_eq!(begun["result"]["protocolVersion"], "2025-03-26");
    assert_eq!(begun["result"]["serverInfo"]["name"], "assisted");
    // A notification has no answer: the next one is that of the next request.
    assistant.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(assistant.ask("ping", &json!({}))["result"], json!({}));
    assert!(assistant.tools().contains(&"cluster_create".to_owned()));

    let (text, failed) =
        assistant.call("cluster_create", &json!({"name": "demo", "control_plane_count": "1"}));
    assert!(!failed && text.contains("demo"), "{text}");
    let (text, failed) = assistant.call("cluster_show", &json!({"cluster": "demo"}));
    assert!(!failed && text.contains("what to do") && text.contains("base_dns_domain"), "{text}");
    let (text, failed) = assistant.call("cluster_install", &json!({"cluster": "demo"}));
    assert!(failed && text.contains("not ready"), "{text}");
    let (text, failed) = assistant.call("cluster_show", &json!({"cluster": "--help"}));
    assert!(failed && text.contains("no cluster has the id or name \"--help\""), "{text}");

    for (line, code) in [
        ("nonsense", -32700),
        (r#"{"id": 1}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":"a","method":"resources/list"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"admin_keys"}}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"cluster_create",
               "arguments":{"name":"b","pull_secret_file":"/etc/passwd"}}}"#,
            -32602,
        ),
    ] {
        assistant.send(&line.replace('\n', ""));
        assert_eq!(assistant.read()["error"]["code"], code, "{line}");
    }
}

#[test]
fn manifests_are_applied_and_compared() {
    let service = Service::start();
    let mut assistant = Assistant::start(&service, &[], &[]);
    let folder =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/cluster-manifests");
    let files = std::fs::read_dir(folder).unwrap();
    let texts: Vec<_> = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let manifests = json!({"manifests": texts.join("\n---\n")});
    let (text, failed) = assistant.call("diff", &manifests);
    assert!(failed && text.contains("would be created"), "{text}");
    let (text, failed) = assistant.call("apply", &manifests);
    assert!(!failed && text.contains("created"), "{text}");
    let (text, failed) = assistant.call("diff", &manifests);
    assert!(!failed && text.contains("nothing differs"), "{text}");
}

#[test]
fn who_may_only_look_lets_the_assistant_only_look() {
    let service = Service::start_with_env(&[("AUTH_TYPE", "users")]);
    let code = service.setup_code();
    let log_in = |args: &[&str], password: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
        command.args(["--url", &service.url]).args(args).env("XDG_CONFIG_HOME", service.dir.path());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        writeln!(child.stdin.take().unwrap(), "{password}").unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{args:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    log_in(&["login", "--setup", &code, "--name", "root"], "correct horse battery");
    let token = log_in(&["token", "create", "assistant", "--expires", "1h", "--role", "viewer"], "");
    let mut assistant = Assistant::start(
        &service,
        &["--pull-secret-file", "pull-secret.json"],
        &[("ASSISTED_TOKEN", &token)],
    );
    let (text, failed) = assistant.call("cluster_list", &json!({}));
    assert!(!failed, "{text}");
    let (text, failed) = assistant.call("cluster_create", &json!({"name": "demo"}));
    assert!(failed && !text.contains(&token), "{text}");

    let mut reader = Assistant::start(&service, &["--read-only"], &[]);
    assert!(reader.tools().iter().all(|tool| !tool.contains("create") && !tool.contains("delete")));
    let refused = reader.ask("tools/call", &json!({"name": "cluster_delete", "arguments": {"cluster": "a"}}));
    assert_eq!(refused["error"]["code"], -32602);
}
