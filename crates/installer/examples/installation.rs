//! An installation of a made-up machine, as the tests make them: the process that they kill. Arguments: the machine's folder,
//! and the service's address.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)] // it shares the helpers of the tests

#[path = "../tests/it/machine.rs"]
mod machine;
#[path = "../../agent/tests/it/script.rs"]
mod script;
#[path = "../tests/it/service.rs"]
mod service;

use std::path::PathBuf;

use assisted_installer::Installer;
use assisted_wire::host::HostRole;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [root, url] = arguments.as_slice() else { panic!("which machine, and which service?") };
    let host = machine::Machine::host(&PathBuf::from(root));
    Installer::new(machine::config(url, HostRole::Bootstrap, 1), host).unwrap().run().await.unwrap();
}
