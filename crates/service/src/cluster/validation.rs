//! A cluster's validations with the facts behind them.

use assisted_core::validation::cluster::evaluate;
use assisted_store::Deleted;
use assisted_wire::id::ClusterId;
use assisted_wire::validation::ValidationList;

use super::Clusters;
use crate::attempt::final_error;
use crate::not_found::no_cluster;
use crate::{Caller, Error};

impl Clusters {
    /// What each validation of a cluster finds now. None once the installation runs: nothing is validated then.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster.
    pub async fn list_validations(&self, _: &Caller, id: ClusterId) -> Result<ValidationList, Error> {
        let work = self
            .database
            .load_cluster(id, Deleted::Hidden)
            .await
            .map_err(final_error)?
            .ok_or_else(no_cluster)?;
        Ok(evaluate(&work.facts).explained())
    }
}
