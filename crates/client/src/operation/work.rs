//! Operations on the service's own work; additions to the contract.

use assisted_wire::operation::OperationId;
use assisted_wire::work::WorkList;

use crate::{Client, Error};

impl Client {
    /// What the service works on, or has to work on: at most `limit` actions and as many rows of due work.
    pub async fn list_work(&self, limit: Option<u32>) -> Result<WorkList, Error> {
        self.call(OperationId::ListWork).query("limit", limit).send().await
    }

    /// Has work that was set aside tried again at once.
    pub async fn release_work(&self, id: &str) -> Result<(), Error> {
        self.call(OperationId::ReleaseWork).path("work_id", id).send_empty().await
    }
}
