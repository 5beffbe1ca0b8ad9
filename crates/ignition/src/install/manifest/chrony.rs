//! Where nodes get the time.

use assisted_wire::host::HostRole;
use serde_json::json;

use super::{Manifest, file, machine_config};

/// Where nodes get the time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeSources {
    /// Whether no others than these are asked.
    pub only: bool,
    pub servers: Vec<String>,
}

/// The configuration of chrony on the nodes of a role.
pub fn chrony(role: HostRole, sources: &TimeSources) -> Manifest {
    let name = format!("50-{role}s-chrony-configuration");
    let config = json!({
        "ignition": {"version": "3.1.0"},
        "storage": {"files": [file("/etc/chrony.conf", 0o644, &text(sources))]},
    });
    Manifest::new(format!("{name}.yaml"), &machine_config(&name, role, &config))
}

fn text(sources: &TimeSources) -> String {
    let pool = (!sources.only).then_some("pool 0.rhel.pool.ntp.org iburst");
    let fixed = [
        "sourcedir /run/chrony-dhcp",
        "driftfile /var/lib/chrony/drift",
        "makestep 1.0 3",
        "rtcsync",
        "logdir /var/log/chrony",
    ];
    let servers = sources.servers.iter().map(|server| format!("server {server} iburst"));
    let lines = pool.into_iter().chain(fixed).map(str::to_owned).chain(servers);
    lines.map(|line| format!("\n{line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn sources() {
        let some = TimeSources { only: false, servers: vec!["a".into(), "b".into()] };
        let manifest = chrony(HostRole::Master, &some);
        assert_eq!(manifest.name, "50-masters-chrony-configuration.yaml");
        let object = testing::read(&manifest);
        assert_eq!(object["metadata"]["name"], "50-masters-chrony-configuration");
        assert_eq!(object["metadata"]["labels"]["machineconfiguration.openshift.io/role"], "master");
        let (mode, text) = testing::file(&object, "/etc/chrony.conf");
        assert_eq!(mode, 0o644);
        assert_eq!(
            text,
            "\npool 0.rhel.pool.ntp.org iburst\nsourcedir /run/chrony-dhcp\ndriftfile /var/lib/chrony/drift\nmakestep 1.0 3\n\
             rtcsync\nlogdir /var/log/chrony\nserver a iburst\nserver b iburst"
        );
        let only = TimeSources { only: true, servers: vec!["a".into()] };
        let (_, text) = testing::file(&testing::read(&chrony(HostRole::Arbiter, &only)), "/etc/chrony.conf");
        assert!(text.starts_with("\nsourcedir") && text.ends_with("\nserver a iburst"), "{text}");
    }
}
