//! Who a simulated host is: its ids, its addresses, its paths. What it does is in [`crate::machine`].

use assisted_wire::host_params::HostCreateParams;
use assisted_wire::id::{HostId, InfraEnvId};
use assisted_wire::operation::BASE_PATH;
use assisted_wire::step::{StepReply, StepType};
use uuid::Uuid;

use crate::network::Platform;
use crate::topology::Build;
use crate::world::NetworkAddress;

/// A host of an infra-env; `index` makes it unlike the others (ids, hardware addresses, serial numbers).
#[derive(Clone, Debug)]
pub struct SimHost {
    pub infra_env_id: InfraEnvId,
    pub id: HostId,
    pub index: u32,
    pub place: NetworkAddress,
    pub build: Build,
    pub platform: Platform,
}

/// The id of the host number `index` of an infra-env.
fn id(infra_env_id: InfraEnvId, index: u32) -> HostId {
    let id = Uuid::from_u64_pair(
        infra_env_id.0.as_u64_pair().0 ^ 0x5150,
        u64::from(index) | 0x8000_0000_0000_0000,
    );
    HostId(id)
}

/// Path of the host number `index` of an infra-env.
pub fn path(infra_env_id: InfraEnvId, index: u32) -> String {
    format!("{BASE_PATH}/v2/infra-envs/{infra_env_id}/hosts/{}", id(infra_env_id, index))
}

impl SimHost {
    /// The control-plane server number `index` of an infra-env, on one network with all others; the same arguments give
    /// the same host.
    pub fn new(infra_env_id: InfraEnvId, index: u32) -> Self {
        let [_, b, c, d] = index.to_be_bytes();
        let place = NetworkAddress { address: [10, b, c, d].into(), prefix: 8, dual: false };
        Self::at(infra_env_id, index, place, Build::ControlPlane)
    }

    /// The same somewhere else.
    pub fn at(infra_env_id: InfraEnvId, index: u32, place: NetworkAddress, build: Build) -> Self {
        let id = id(infra_env_id, index);
        Self { infra_env_id, id, index, place, build, platform: Platform::default() }
    }

    /// The same with a discovery image of another infra-env.
    pub fn move_to(&mut self, infra_env_id: InfraEnvId) {
        (self.infra_env_id, self.id) = (infra_env_id, id(infra_env_id, self.index));
    }

    /// Its host name.
    pub fn name(&self) -> String {
        format!("sim-{}", self.index)
    }

    /// Hardware address of the interface that has the address.
    pub fn mac(&self) -> String {
        self.nth_mac(0xa4)
    }

    /// Hardware address of the interface that has none.
    pub fn second_mac(&self) -> String {
        self.nth_mac(0xa5)
    }

    fn nth_mac(&self, card: u8) -> String {
        let [_, b, c, d] = self.index.to_be_bytes();
        format!("f8:75:{card:02x}:{b:02x}:{c:02x}:{d:02x}")
    }

    /// Path of its registration.
    pub fn hosts_path(&self) -> String {
        format!("{BASE_PATH}/v2/infra-envs/{}/hosts", self.infra_env_id)
    }

    /// Path of the host itself.
    pub fn path(&self) -> String {
        path(self.infra_env_id, self.index)
    }

    /// Path of its polls and replies.
    pub fn instructions_path(&self) -> String {
        format!("{}/instructions", self.path())
    }

    /// Path of the Ignition config of its node; the contract has one word in the singular here.
    pub fn ignition_path(&self) -> String {
        format!("{BASE_PATH}/v2/infra-env/{}/hosts/{}/downloads/ignition", self.infra_env_id, self.id)
    }

    /// Body of its registration.
    pub fn registration(&self) -> HostCreateParams {
        HostCreateParams { host_id: self.id, discovery_agent_version: "sim".to_owned() }
    }

    /// Reply to an `inventory` step. `revision` changes a fact, so that the service can't take it for the last one.
    pub fn inventory_reply(&self, revision: u32) -> Result<StepReply, serde_json::Error> {
        Ok(StepReply {
            step_type: Some(StepType::Inventory),
            step_id: format!("inventory-{revision:08x}"),
            exit_code: 0,
            output: serde_json::to_string(&self.inventory(revision))?,
            error: String::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_differ_and_stay_themselves() {
        let infra_env = InfraEnvId::random();
        assert_eq!(SimHost::new(infra_env, 7).id, SimHost::new(infra_env, 7).id);
        assert_ne!(SimHost::new(infra_env, 7).id, SimHost::new(infra_env, 8).id);
        let host = SimHost::new(infra_env, 7);
        assert_ne!(host.inventory_reply(1).unwrap().output, host.inventory_reply(2).unwrap().output);
    }
}
