//! What metal3 needs in an image, alone and laid over a discovery config.

use assisted_ignition::ironic::{Ironic, IronicError, ironic};
use assisted_ignition_spec::overlay;
use assisted_wire::infra_env::Proxy;

use crate::discovery::with;
use crate::validate;

fn plain() -> Ironic<'static> {
    Ironic {
        api: "https://192.0.2.1",
        inspector: "https://192.0.2.1",
        image: "quay.io/lab/ironic-agent@sha256:aa",
        proxy: None,
        has_static_network: false,
    }
}

#[test]
fn ironic_is_called_and_the_agent_waits_for_it() {
    let proxy = Proxy { https_proxy: Some("http://u:p%40@proxy".to_owned()), ..Proxy::default() };
    let config = ironic(&Ironic { proxy: Some(&proxy), ..plain() }).unwrap();
    let json = config.to_json().unwrap();
    assert_eq!(validate(&json), Ok(()), "{}", String::from_utf8_lossy(&json));
    let file = &config.storage.files[0];
    assert_eq!((file.path.as_str(), file.mode), ("/etc/ironic-python-agent.conf", Some(0o644)));
    assert_eq!(
        String::from_utf8(file.contents.data().unwrap_or_default()).unwrap(),
        "[DEFAULT]\napi_url = https://192.0.2.1:6385\ninspection_callback_url = https://192.0.2.1:5050/v1/continue\n\
         insecure = True\nenable_vlan_interfaces = all\n"
    );
    let unit = config.systemd.units[0].contents.clone().unwrap();
    for line in [
        "Restart=on-failure\nRestartSec=5\n",
        "Environment=\"https_proxy=http://u:p%%40@proxy\"\n",
        "ExecStartPre=/usr/bin/podman pull --tls-verify=false --authfile /root/.docker/config.json quay.io/lab/ironic-agent@sha256:aa\n",
        "--privileged --network=host",
        "--mount=type=bind,src=/,dst=/mnt/coreos",
    ] {
        assert!(unit.contains(line), "{unit}");
    }

    let text = String::from_utf8(json).unwrap();
    with(
        |input| input.agent.starts_at_boot = false,
        |base| {
            let whole = overlay(&base, &text).unwrap();
            assert_eq!(validate(&whole.to_json().unwrap()), Ok(()));
            let enabled = |name: &str| {
                whole.systemd.units.iter().find(|unit| unit.name == name).and_then(|unit| unit.enabled)
            };
            assert_eq!(enabled("agent.service"), Some(false));
            assert_eq!(enabled("ironic-agent.service"), Some(true));
            assert_eq!(whole.ignition.version, "3.2.0");
        },
    );
}

#[test]
fn settings_of_a_host_and_bad_addresses() {
    let text = |input: &Ironic<'_>| {
        let config = ironic(input).unwrap();
        String::from_utf8(config.storage.files[0].contents.data().unwrap_or_default()).unwrap()
    };
    let own = text(&Ironic { has_static_network: true, inspector: "", ..plain() });
    assert!(own.ends_with("enable_vlan_interfaces = \n") && !own.contains("inspection"), "{own}");
    assert_eq!(ironic(&Ironic { image: "", ..plain() }).err(), Some(IronicError::Image));
    for api in ["", "192.0.2.1", "https://a\nx = y"] {
        assert!(matches!(ironic(&Ironic { api, ..plain() }), Err(IronicError::Url(_))), "{api}");
    }
}
