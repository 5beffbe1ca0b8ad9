//! Reports of 16 MiB that no machine sends. The service reads 100,000 objects of a report, 1,000,000 members and texts of 64 KiB, and keeps
//! 8 MiB: most of these stay just within what is read, one within what is kept, too; the others are to be refused at once.

use anyhow::{Result, bail};
use bytes::Bytes;
use serde_json::json;

/// The longest body of a report that is taken, in bytes, less what stands around the output.
const ROOM: usize = (16 << 20) - 4096;

/// What a report begins with, of which number it is, what comes again and again, and how it ends.
pub struct Shape {
    pub name: &'static str,
    /// The step that it answers; `None`: the text is the whole body.
    step: Option<&'static str>,
    head: fn(u32) -> String,
    element: fn(usize) -> String,
    tail: &'static str,
}

pub const SHAPES: [Shape; 20] = [
    Shape {
        name: "disks of multipaths",
        step: Some("inventory"),
        head: |number| format!(r#"{{"hostname":"h{number}","disks":["#),
        element: |at| {
            let (half, pad) = (at / 2, "d".repeat(100));
            if at.is_multiple_of(2) {
                format!(r#"{{"drive_type":"Multipath","name":"dm-{half}","model":"{pad}"}}"#)
            } else {
                format!(r#"{{"drive_type":"FC","holders":"dm-{half}","name":"sd{at}","model":"{pad}"}}"#)
            }
        },
        tail: "]}",
    },
    Shape {
        name: "disks without anything",
        step: Some("inventory"),
        head: |number| format!(r#"{{"hostname":"h{number}","disks":["#),
        element: |_| "{}".to_owned(),
        tail: "]}",
    },
    Shape {
        name: "disks with long names",
        step: Some("inventory"),
        head: |number| format!(r#"{{"hostname":"h{number}","disks":["#),
        element: |at| format!(r#"{{"name":"sd{at}","model":"{}"}}"#, "n".repeat(64_000)),
        tail: "]}",
    },
    Shape {
        name: "addresses",
        step: Some("inventory"),
        head: |number| {
            format!(
                r#"{{"hostname":"h{number}","interfaces":[{{"name":"eth0","mac_address":"52:54:00:00:00:01","ipv4_addresses":["#
            )
        },
        element: |at| format!(r#""{}/32""#, address(at)),
        tail: "]}]}",
    },
    Shape {
        name: "interfaces with addresses",
        step: Some("inventory"),
        head: |number| format!(r#"{{"hostname":"h{number}","interfaces":["#),
        element: |at| {
            let [_, b, c, d] = (at as u32).to_be_bytes();
            let mac = format!("52:54:00:{b:02x}:{c:02x}:{d:02x}");
            let (ipv4, pad) = (address(at), "p".repeat(60));
            format!(
                r#"{{"name":"eth{at}","mac_address":"{mac}","ipv4_addresses":["{ipv4}/8"],"ipv6_addresses":["fd00::{at:x}/64"],"product":"{pad}"}}"#
            )
        },
        tail: "]}",
    },
    Shape {
        name: "routes",
        step: Some("inventory"),
        head: |number| format!(r#"{{"hostname":"h{number}","routes":["#),
        element: |at| {
            let (destination, pad) = (address(256 * at), "e".repeat(60));
            format!(
                r#"{{"destination":"{destination}","gateway":"10.0.0.1","interface":"{pad}","family":2,"metric":{at}}}"#
            )
        },
        tail: "]}",
    },
    Shape {
        name: "one long name",
        step: Some("inventory"),
        head: |number| format!(r#"{{"hostname":"h{number}"#),
        element: long,
        tail: r#""}"#,
    },
    Shape {
        name: "hosts on the same link",
        step: Some("connectivity-check"),
        head: remote_hosts,
        element: |at| {
            let (remote, nic) = (address(at), "e".repeat(120));
            format!(
                r#"{{"host_id":"00000000-0000-4000-8000-{at:012x}","l2_connectivity":[{{"outgoing_nic":"{nic}","outgoing_ip_address":"10.0.0.1","remote_ip_address":"{remote}","remote_mac":"52:54:00:00:00:01","successful":true}}]}}"#
            )
        },
        tail: "]}",
    },
    Shape {
        // As many hosts as are kept, and as much of each.
        name: "links to each host",
        step: Some("connectivity-check"),
        head: remote_hosts,
        element: |at| {
            let (remote, pad) = (address(at), "e".repeat(100));
            let link = format!(
                r#"{{"outgoing_nic":"eth0","outgoing_ip_address":"10.0.0.1","remote_ip_address":"{remote}","remote_mac":"52:54:00:00:00:01","successful":true,"more":"{pad}"}}"#
            );
            let links = vec![link; 12].join(",");
            format!(r#"{{"host_id":"00000000-0000-4000-8000-{at:012x}","l2_connectivity":[{links}]}}"#)
        },
        tail: "]}",
    },
    Shape {
        name: "hosts that can be reached",
        step: Some("connectivity-check"),
        head: remote_hosts,
        element: |at| {
            let (remote, nic) = (address(at), "e".repeat(180));
            format!(
                r#"{{"host_id":"00000000-0000-4000-8000-{at:012x}","l3_connectivity":[{{"outgoing_nic":"{nic}","remote_ip_address":"{remote}","successful":true}}]}}"#
            )
        },
        tail: "]}",
    },
    Shape {
        name: "names that were resolved",
        step: Some("domain-resolution"),
        head: |number| format!(r#"{{"resolutions":[{{"domain_name":"first{number}.example.com"}},"#),
        element: |at| {
            let pad = "n".repeat(100);
            format!(r#"{{"domain_name":"{at}.{pad}.example.com","ipv4_addresses":["10.0.0.1"]}}"#)
        },
        tail: "]}",
    },
    Shape {
        name: "free addresses",
        step: Some("free-network-addresses"),
        head: |number| {
            format!(r#"[{{"network":"192.168.{number}.0/24","free_addresses":["192.168.{number}.1"]}},"#)
        },
        element: |at| {
            let free: Vec<_> = (1..10).map(|last| format!(r#""{}""#, address(256 * at + last))).collect();
            format!(r#"{{"network":"{}/24","free_addresses":[{}]}}"#, address(256 * at), free.join(","))
        },
        tail: "]",
    },
    Shape {
        name: "time servers",
        step: Some("ntp-synchronizer"),
        head: |number| format!(r#"{{"ntp_sources":[{{"source_name":"{number}","source_state":"synced"}},"#),
        element: |at| {
            let pad = "n".repeat(110);
            format!(r#"{{"source_name":"{at}.{pad}.example.com","source_state":"synced"}}"#)
        },
        tail: "]}",
    },
    Shape {
        name: "images",
        step: Some("container-image-availability"),
        head: |number| format!(r#"{{"images":[{{"name":"quay.io/{number}","result":"success"}},"#),
        element: |at| {
            let pad = "i".repeat(70);
            format!(
                r#"{{"name":"quay.io/{pad}/{at}","size_bytes":1048576.0,"time":1.5,"download_rate":0.7,"result":"success"}}"#
            )
        },
        tail: "]}",
    },
    Shape {
        name: "virtual addresses",
        step: Some("verify-vips"),
        head: |number| {
            format!(r#"[{{"vip":"192.168.0.{number}","vip_type":"api","verification":"failed"}},"#)
        },
        element: |at| {
            let (vip, pad) = (address(at), "v".repeat(90));
            format!(r#"{{"vip":"{vip}","vip_type":"api","verification":"succeeded","more":"{pad}"}}"#)
        },
        tail: "]",
    },
    Shape {
        name: "an Ignition config",
        step: Some("api-vip-connectivity-check"),
        head: |number| format!(r#"{{"is_success":true,"url":"{number}","ignition":""#),
        element: long,
        tail: r#""}"#,
    },
    Shape {
        name: "an error, at length",
        step: None,
        head: |number| {
            format!(
                r#"{{"step_type":"tang-connectivity-check","step_id":"x","exit_code":1,"output":"","error":"{number}"#
            )
        },
        element: long,
        tail: r#""}"#,
    },
    Shape {
        name: "members that nobody knows",
        step: None,
        head: |number| {
            format!(r#"{{"step_type":"inventory","step_id":"x","exit_code":0,"output":"{number}","#)
        },
        element: |at| format!(r#""m{at}":{at}"#),
        tail: "}",
    },
    Shape {
        name: "levels that never end",
        step: Some("inventory"),
        head: |number| format!(r#"{{"hostname":"h{number}","disks":"#),
        element: levels,
        tail: "",
    },
    Shape {
        name: "levels instead of a report",
        step: None,
        head: |number| format!(r#"{{"step_type":"inventory","step_id":"{number}","output":"#),
        element: levels,
        tail: "",
    },
];

/// The shapes of these names; without any all of them.
pub fn named(names: &[String]) -> Result<Vec<&'static Shape>> {
    let known = |name: &String| SHAPES.iter().any(|shape| shape.name == name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all: Vec<_> = SHAPES.iter().map(|shape| shape.name).collect();
        bail!("there is no shape \"{unknown}\"; there are: {}", all.join(", "));
    }
    let wanted = |shape: &&Shape| names.is_empty() || names.iter().any(|name| shape.name == name);
    Ok(SHAPES.iter().filter(wanted).collect())
}

/// One address of many.
fn address(number: usize) -> String {
    let [_, b, c, d] = (number as u32).to_be_bytes();
    format!("10.{b}.{c}.{d}")
}

/// What a report of connectivity begins with: a host of its own for each number.
fn remote_hosts(number: u32) -> String {
    format!(r#"{{"remote_hosts":[{{"host_id":"00000000-0000-4000-9000-{number:012x}"}},"#)
}

fn long(_: usize) -> String {
    "n".repeat(1024)
}

fn levels(_: usize) -> String {
    "[".repeat(1024)
}

impl Shape {
    /// The body of a report, as long as it may be.
    pub fn body(&self, number: u32) -> Result<Bytes> {
        // Within an output each quote has a backslash before it.
        let length = |text: &str| text.len() + self.step.map_or(0, |_| text.matches('"').count());
        let mut text = (self.head)(number);
        let mut taken = length(&text);
        for at in 0.. {
            let element = (self.element)(at);
            taken += length(&element) + 1;
            if taken > ROOM {
                break;
            }
            // Parts of one text, and of one depth, follow each other as they are.
            if at > 0 && matches!(element.as_bytes().first(), Some(b'{' | b'"')) {
                text.push(',');
            }
            text.push_str(&element);
        }
        text.push_str(self.tail);
        let Some(step) = self.step else { return Ok(text.into()) };
        let reply = json!({"step_type": step, "step_id": "x", "exit_code": 0, "output": text});
        Ok(serde_json::to_vec(&reply)?.into())
    }
}
