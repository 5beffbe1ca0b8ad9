//! When agents were last heard. Kept apart from the hosts, and written for many hosts at once.

use std::collections::BTreeMap;

use assisted_core::model::host::HostKey;
use jiff::Timestamp;

use crate::batch::Batch;
use crate::error::WriteError;
use crate::host_key;
use crate::statement::{Bulk, Column, Duplicates, Statement};
use crate::store::Store;

const PUT: &str = "insert into check_ins (infra_env_id, host_id, at) values ($1, $2, $3) \
     on conflict (infra_env_id, host_id) do update set at = excluded.at";

static PUT_BULK: Bulk = Bulk {
    table: "check_ins",
    columns: &[Column::Uuid, Column::Uuid, Column::Int],
    duplicates: Duplicates::Last(2),
};

impl Batch {
    /// Sets when a host was last heard.
    pub fn check_in(&mut self, key: HostKey, at: Timestamp) -> &mut Self {
        let mut params = host_key::params(key);
        params.push(at.into());
        self.push(Statement::new(PUT, params).bulk(&PUT_BULK))
    }
}

impl Store {
    /// Moves the check-ins of many hosts forward, never back; one statement on PostgreSQL.
    ///
    /// Hosts that do not exist are left out. A crash right after may lose it: the next poll brings it again.
    pub async fn flush_checkins(&self, check_ins: &[(HostKey, Timestamp)]) -> Result<(), WriteError> {
        let mut latest: BTreeMap<HostKey, Timestamp> = BTreeMap::new();
        for &(key, at) in check_ins {
            latest.entry(key).and_modify(|known| *known = at.max(*known)).or_insert(at);
        }
        if latest.is_empty() {
            return Ok(());
        }
        self.engine().flush_checkins(&latest).await
    }
}
