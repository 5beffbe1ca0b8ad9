//! Which clusters have been told about to who supports them.

use assisted_wire::id::ClusterId;
use jiff::Timestamp;

use crate::batch::Batch;
use crate::error::Error;
use crate::statement::Statement;
use crate::store::Reader;
use crate::value::nanoseconds;

// Those that hosts are added to count once they were installed here, which their documents tell.
const ENDED: &str = "select c.id from clusters c where c.deleted_at is null \
     and c.status in ('installed', 'cancelled', 'error', 'adding-hosts') \
     and not exists (select 1 from uploads u where u.cluster_id = c.id) order by c.created_at, c.id limit $1";

const UPLOADED: &str = "insert into uploads (cluster_id, uploaded_at) values ($1, $2) on conflict do nothing";

impl Batch {
    /// Notes that nothing more is to be told about a cluster.
    pub fn finish_upload(&mut self, id: ClusterId, now: Timestamp) -> &mut Self {
        self.push(Statement::new(UPLOADED, vec![id.0.into(), nanoseconds(now)]))
    }
}

impl Reader {
    /// Up to `limit` clusters whose installation has ended and that nobody was told about, oldest first.
    pub async fn clusters_to_upload(&self, limit: u32) -> Result<Vec<ClusterId>, Error> {
        let statement = Statement::new(ENDED, vec![i64::from(limit).into()]);
        self.read(statement).await?.iter().map(|row| row.uuid(0).map(ClusterId)).collect()
    }
}
