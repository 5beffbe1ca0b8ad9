//! The cluster and the infra-env, as the service is told of them.

use super::{DOMAIN, Lab, LabError, NAME, heading, machines, payload, service};
use crate::network::{API_VIP, GATEWAY, INGRESS_VIP};

impl Lab {
    /// Describes the cluster, which is the editor's where the service asks who somebody is, and fetches its discovery image.
    pub(super) fn define(&mut self, masters: usize) -> Result<(), LabError> {
        if self.plan.cluster_api.is_some() {
            return self.define_by_cluster_api(masters);
        }
        if self.plan.hub.is_some() {
            return self.define_by_manifests(masters);
        }
        if self.plan.by_hand {
            return self.await_image();
        }
        heading("A cluster and an infra-env");
        let secret = service::pull_secret(&self.plan.dir, self.image_registry.as_ref())?;
        let (count, gateway) = (masters.to_string(), GATEWAY.to_string());
        let common = [
            "--pull-secret-file",
            &secret,
            "--openshift-version",
            payload::VERSION,
            "--ntp-source",
            &gateway,
        ];
        let (api, ingress) = (API_VIP.to_string(), INGRESS_VIP.to_string());
        let mut create =
            vec!["cluster", "create", NAME, "--base-domain", DOMAIN, "--control-plane-count", &count];
        create.extend(common);
        let operators = self.plan.operators.iter().map(|operator| operator.name.as_str());
        create.extend(operators.flat_map(|name| ["--operator", name]));
        if masters == 1 {
            create.extend(["--machine-network", "192.168.126.0/24", "--user-managed-networking", "true"]);
        } else {
            create.extend(["--api-vip", &api, "--ingress-vip", &ingress]);
        }
        self.editor.show(&create)?;
        self.make_install_token()?;
        self.define_image_mode()?;
        let kind = if self.plan.minimal { "minimal-iso" } else { "full-iso" };
        let mut create = vec!["infra-env", "create", NAME, "--cluster", NAME, "--image-type", kind];
        create.extend(common);
        if self.plan.static_network {
            let networks = self.plan.dir.join("networks.yaml");
            let planned = self.machines.iter().map(|(planned, _)| planned);
            std::fs::write(&networks, machines::networks(planned)).map_err(LabError::io(&networks))?;
            create.extend(["--static-network-file", "networks.yaml"]);
        }
        self.editor.show(&create)?;
        match self.plan.rack {
            // Their controllers fetch it.
            Some(_) => self.cli.show(&["iso", "url", NAME]),
            None => self.cli.show(&["iso", "download", NAME, "--to", machines::ISO]),
        }
    }
}
