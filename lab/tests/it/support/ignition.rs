//! Ignition configs of tests.

use serde_json::{Value, json};

fn data(text: &str) -> Value {
    let text: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
    json!({ "source": format!("data:,{text}") })
}

/// A file with a text.
pub fn file(path: &str, mode: u32, text: &str) -> Value {
    json!({ "path": path, "mode": mode, "contents": data(text) })
}

/// A unit that runs a program once, at each start.
pub fn unit(name: &str, run: &str) -> Value {
    let text = format!(
        "[Unit]\nAfter=network-online.target lab-firstboot-complete.service\nWants=network-online.target\n[Service]\nType=oneshot\nExecStart={run}\n\
         [Install]\nWantedBy=multi-user.target\n"
    );
    json!({ "name": name, "enabled": true, "contents": text })
}

/// A config with files, a unit, and a user who administers.
pub fn config(files: &[Value], unit: &Value) -> String {
    json!({
        "ignition": { "version": "3.2.0" },
        "passwd": { "users": [{ "name": "core", "groups": ["sudo"] }] },
        "storage": { "files": files },
        "systemd": { "units": [unit] },
    })
    .to_string()
}
