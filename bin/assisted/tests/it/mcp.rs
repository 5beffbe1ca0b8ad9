//! `assisted mcp`: an assistant's side of the protocol.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::service::{PULL_SECRET, Service, text};

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

/// The manifests of the example.
fn manifests() -> String {
    let folder =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/cluster-manifests");
    let files = std::fs::read_dir(folder).unwrap();
    let texts: Vec<_> = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    texts.join("\n---\n")
}

#[test]
fn manifests_are_applied_and_compared() {
    let service = Service::start();
    let mut assistant = Assistant::start(&service, &[], &[]);
    let manifests = json!({"manifests": manifests()});
    let (text, failed) = assistant.call("diff", &manifests);
    assert!(failed && text.contains("would be created"), "{text}");
    let (text, failed) = assistant.call("apply", &manifests);
    assert!(!failed && text.contains("created"), "{text}");
    let (text, failed) = assistant.call("diff", &manifests);
    assert!(!failed && text.contains("nothing differs"), "{text}");
}

/// Types a command of somebody who logs in, and a password: what it shows.
fn typed(service: &Service, args: &[&str], password: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
    command.args(["--url", &service.url]).args(args).env("XDG_CONFIG_HOME", service.dir.path());
    command.current_dir(service.dir.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // What reads nothing may have ended.
    let _ = writeln!(child.stdin.take().unwrap(), "{password}");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{args:?}\n{}", service.log());
    text(&output.stdout).trim().to_owned()
}

/// A service of people, whose first administrator has logged in.
fn of_people() -> Service {
    let service = Service::start_with_env(&[("AUTH_TYPE", "users")]);
    let code = service.setup_code();
    typed(&service, &["login", "--setup", &code, "--name", "root"], "correct horse battery");
    service
}

/// An assistant of whoever has a token.
fn with_token(service: &Service, token: &str) -> Assistant {
    Assistant::start(service, &["--pull-secret-file", "pull-secret.json"], &[("ASSISTED_TOKEN", token)])
}

#[test]
fn who_may_only_look_lets_the_assistant_only_look() {
    let service = of_people();
    let token = typed(&service, &["token", "create", "assistant", "--expires", "1h", "--role", "viewer"], "");
    let mut assistant = with_token(&service, &token);
    let (text, failed) = assistant.call("cluster_create", &json!({"name": "demo"}));
    assert!(failed && text.contains(": 403") && !text.contains(&token), "{text}");
    let (text, failed) = assistant.call("cluster_list", &json!({}));
    assert!(!failed && !text.contains("demo"), "{text}");

    let mut reader = Assistant::start(&service, &["--read-only"], &[]);
    assert!(reader.tools().iter().all(|tool| !tool.contains("create") && !tool.contains("delete")));
    let refused = reader.ask("tools/call", &json!({"name": "cluster_delete", "arguments": {"cluster": "a"}}));
    assert_eq!(refused["error"]["code"], -32602);
}

#[test]
fn what_its_person_does_not_see_the_assistant_does_not_see() {
    let service = of_people();
    for (name, organisation) in [("ann", "blue"), ("eve", "red")] {
        let add = ["user", "add", name, "--role", "editor", "--organisation", organisation];
        typed(&service, &add, "another good password");
    }
    typed(&service, &["login", "--name", "ann"], "another good password");
    for name in ["anns-first", "anns-second"] {
        typed(&service, &["cluster", "create", name, "--pull-secret-file", "pull-secret.json"], "");
    }
    let create = ["token", "create", "assistant", "--expires", "1h"];
    let whole = typed(&service, &create, "");
    let narrow = typed(&service, &[create.as_slice(), &["--cluster", "anns-first"]].concat(), "");
    typed(&service, &["login", "--name", "eve"], "another good password");
    let foreign = typed(&service, &create, "");

    // A token for one cluster, and one of another organisation.
    for (token, seen) in [(&narrow, "anns-first"), (&foreign, "")] {
        let mut assistant = with_token(&service, token);
        let (list, failed) = assistant.call("cluster_list", &json!({}));
        assert!(!failed, "{list}");
        for name in ["anns-first", "anns-second"] {
            assert_eq!(list.contains(name), name == seen, "{list}");
            let (text, failed) = assistant.call("cluster_show", &json!({"cluster": name}));
            assert_eq!(failed, name != seen, "{text}");
            if name != seen {
                let unknown = format!("no cluster has the id or name {name:?}");
                assert!(text.contains(&unknown), "{text}");
                for (tool, more) in [
                    ("cluster_update", json!({"cluster": name, "base_domain": "example.com"})),
                    ("cluster_delete", json!({"cluster": name})),
                ] {
                    let (text, failed) = assistant.call(tool, &more);
                    assert!(failed && text.contains(&unknown), "{tool}: {text}");
                }
            }
        }
    }
    let (text, failed) = with_token(&service, &narrow).call("cluster_create", &json!({"name": "third"}));
    assert!(failed && text.contains(": 403"), "{text}");
    let (text, failed) = with_token(&service, &whole).call("cluster_list", &json!({}));
    assert!(!failed && text.contains("anns-first") && text.contains("anns-second"), "{text}");
    assert!(!text.contains("third"), "{text}");
}

/// All that an assistant can read of an installed cluster has nothing that opens it, and nothing that it was given in confidence.
#[test]
fn what_opens_a_cluster_is_not_given_out() {
    let service = Service::simulating();
    let (cluster, infra_env) = service.cluster("demo");
    let installed = ["--cluster", &cluster, "--infra-env", &infra_env, "--speed", "600"];
    let output = service.simulation(&installed).output().unwrap();
    assert!(output.status.success(), "{}\n{}", text(&output.stderr), service.log());
    let download =
        |file: &str| text(&service.cli(&["cluster", "download", "demo", file, "--to", "-"]).stdout);
    let kubeconfig = download("kubeconfig");
    assert!(kubeconfig.contains("current-context"), "{kubeconfig}");
    let image = service.json(&["infra-env", "show", "demo_infra-env"])["download_url"].clone();
    let (password, image) = (download("kubeadmin-password"), image.as_str().unwrap().to_owned());
    assert!(password.trim().len() > 16 && image.ends_with(".iso"), "{image}");
    let pull_secret = "dXNlcjpwYXNz";
    assert!(PULL_SECRET.contains(pull_secret));
    let secrets = ["current-context", password.trim(), image.as_str(), pull_secret];

    let mut assistant =
        Assistant::start(&service, &["--read-only", "--pull-secret-file", "pull-secret.json"], &[]);
    let (host, manifests) =
        (service.json(&["host", "list"])[0]["id"].as_str().unwrap().to_owned(), manifests());
    let listed = assistant.ask("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.len() > 8, "{listed}");
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        let needed = tool["inputSchema"]["required"].as_array().unwrap();
        let mut arguments = json!({});
        for argument in needed.iter().map(|argument| argument.as_str().unwrap()) {
            arguments[argument] = json!(match argument {
                "cluster" => "demo",
                "infra_env" => "demo_infra-env",
                "host" => host.as_str(),
                "name" => "odf",
                "manifests" => manifests.as_str(),
                other => panic!("{name} needs {other}: give it something"),
            });
        }
        let (text, failed) = assistant.call(name, &arguments);
        // It fails where something differs.
        assert!(!failed || name == "diff", "{name}: {text}");
        for secret in secrets {
            assert!(!text.contains(secret), "{name} gives {secret} out: {text}");
        }
    }
    for name in ["cluster_download", "infra_env_download", "iso_url", "token_create", "admin_keys_list"] {
        let refused = assistant.ask("tools/call", &json!({"name": name, "arguments": {"cluster": "demo"}}));
        assert_eq!(refused["error"]["code"], -32602, "{name}");
    }
}
