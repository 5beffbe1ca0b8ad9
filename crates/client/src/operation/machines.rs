//! Operations on machines by their management controllers; additions to the contract.

use assisted_wire::id::InfraEnvId;
use assisted_wire::operation::OperationId;
use assisted_wire::rack::{
    MachineBootParams, MachineCreateParams, MachineList, MachinePower, MachinePowerParams, RackMachine,
};
use uuid::Uuid;

use crate::{Client, Error};

impl Client {
    /// The machines that the service knows; no controller is asked.
    pub async fn list_machines(&self) -> Result<MachineList, Error> {
        self.call(OperationId::ListMachines).send().await
    }

    /// One machine, with what its controller says of its power.
    pub async fn machine(&self, id: Uuid) -> Result<RackMachine, Error> {
        self.call(OperationId::GetMachine).path("machine_id", id).send().await
    }

    /// Makes a machine known.
    pub async fn add_machine(&self, params: &MachineCreateParams) -> Result<RackMachine, Error> {
        self.call(OperationId::AddMachine).json(params).send().await
    }

    /// Forgets a machine.
    pub async fn remove_machine(&self, id: Uuid) -> Result<(), Error> {
        self.call(OperationId::RemoveMachine).path("machine_id", id).send_empty().await
    }

    /// Has a machine switched on or off, or restarted.
    pub async fn switch_machine(&self, id: Uuid, power: MachinePower) -> Result<RackMachine, Error> {
        let call = self.call(OperationId::SwitchMachine).path("machine_id", id);
        call.json(&MachinePowerParams { power }).send().await
    }

    /// Has a machine start once from the discovery image of an infra-env.
    pub async fn boot_machine(&self, id: Uuid, infra_env_id: InfraEnvId) -> Result<RackMachine, Error> {
        let call = self.call(OperationId::BootMachine).path("machine_id", id);
        call.json(&MachineBootParams { infra_env_id }).send().await
    }
}
