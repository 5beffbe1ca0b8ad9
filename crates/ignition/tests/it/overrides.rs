//! Our judgement of configs against Ignition's own, on overrides that somebody got wrong.

use assisted_ignition_spec::overlay;
use serde_json::{Value, json};

use crate::discovery::with;
use crate::validate;

fn over(member: &str, value: &Value) -> String {
    json!({"ignition": {"version": "3.2.0"}, member: value}).to_string()
}

/// What we refuse, Ignition refuses too.
#[test]
fn both_refuse() {
    for (member, value) in [
        ("storage", json!({"files": [{"path": "relative", "contents": {"source": "data:,"}}]})),
        ("storage", json!({"files": [{"path": "/a", "mode": 10_000, "contents": {"source": "data:,"}}]})),
        ("storage", json!({"files": [{"path": "/a", "contents": {"source": "ftp://a/b"}}]})),
        (
            "storage",
            json!({"files": [{"path": "/a", "contents": {"source": "data:,", "compression": "xz"}}]}),
        ),
        (
            "storage",
            json!({"files": [{"path": "/a", "contents": {"source": "data:,", "verification": {"hash": "sha512-0"}}}]}),
        ),
        ("storage", json!({"files": [{"path": "/a"}, {"path": "/a"}]})),
        ("passwd", json!({"users": [{"name": "a"}, {"name": "a"}]})),
        ("systemd", json!({"units": [{"name": "a"}]})),
        ("systemd", json!({"units": [{"name": "a.service", "contents": "[Unit"}]})),
        ("systemd", json!({"units": [{"name": "a.service", "dropins": [{"name": "a"}]}]})),
    ] {
        let text = over(member, &value);
        assert!(validate(text.as_bytes()).is_err(), "Ignition accepts {text}");
        with(|_| {}, |config| assert!(overlay(&config, &text).is_err(), "{text}"));
    }
}

/// And what it accepts is ours to accept.
#[test]
fn both_accept() {
    for (member, value) in [
        (
            "storage",
            json!({"files": [{"path": "/a", "mode": 420, "contents": {"source": "data:text/plain;base64,YQ=="}}],
            "directories": [{"path": "/b", "mode": 493}], "links": [{"path": "/c", "target": "../d"}]}),
        ),
        (
            "storage",
            json!({"disks": [{"device": "/dev/sda", "wipeTable": true, "partitions": [{"number": 1, "label": "x"}]}]}),
        ),
        (
            "passwd",
            json!({"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 AAAA"]}, {"name": "x", "uid": 7}]}),
        ),
        (
            "systemd",
            json!({"units": [{"name": "a@1.service", "mask": true}, {"name": "b.timer", "contents": "[Timer]\nOnBootSec=1\n"}]}),
        ),
    ] {
        let text = over(member, &value);
        assert_eq!(validate(text.as_bytes()), Ok(()), "{text}");
        with(
            |_| {},
            |config| {
                let merged = overlay(&config, &text).unwrap_or_else(|error| panic!("{text}: {error}"));
                assert_eq!(validate(&merged.to_json().unwrap()), Ok(()), "{text}");
            },
        );
    }
}
