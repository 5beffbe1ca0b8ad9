//! Leases: which of several nodes does what only one may do.

use std::time::Duration;

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease as Object, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};

use crate::kube_api::is_absent;

const NAMESPACE: &str = "kube-system";
/// How long a holder that says nothing more is believed to live: machines of a lab are slow.
const LIFE: Duration = Duration::from_secs(75);
/// How old a renewal is that its holder repeats, in seconds: each is a write that all members of etcd wait for.
const RENEWAL: i64 = 5;
/// Between two looks.
pub const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// A lease that this machine wants to hold.
pub struct Lease {
    leases: Api<Object>,
    name: String,
    own: String,
}

impl Lease {
    pub fn new(client: &Client, name: &str, own: &str) -> Self {
        Self {
            leases: Api::namespaced(client.clone(), NAMESPACE),
            name: name.to_owned(),
            own: own.to_owned(),
        }
    }

    /// Takes or renews it; whether this machine holds it now.
    pub async fn hold(&self) -> Result<bool> {
        let now = Timestamp::now();
        let found = match self.leases.get(&self.name).await {
            Ok(found) => Some(found),
            Err(error) if is_absent(&error) => None,
            Err(error) => return Err(error.into()),
        };
        if found.as_ref().is_some_and(|found| !self.may_take(found, now)) {
            return Ok(false);
        }
        if found.as_ref().is_some_and(|found| self.is_fresh(found, now)) {
            return Ok(true);
        }
        let spec = LeaseSpec {
            holder_identity: Some(self.own.clone()),
            lease_duration_seconds: i32::try_from(LIFE.as_secs()).ok(),
            renew_time: Some(MicroTime(now)),
            ..LeaseSpec::default()
        };
        self.write(found, spec).await
    }

    /// Gives it up, so that another one needn't wait.
    pub async fn release(&self) -> Result<()> {
        let found = self.leases.get(&self.name).await?;
        if holder(&found) == Some(&self.own) {
            self.write(
                Some(found),
                LeaseSpec { holder_identity: Some(String::new()), ..LeaseSpec::default() },
            )
            .await?;
        }
        Ok(())
    }

    fn may_take(&self, found: &Object, now: Timestamp) -> bool {
        let holder = holder(found).map(String::as_str).unwrap_or_default();
        if holder.is_empty() || holder == self.own {
            return true;
        }
        let spec = found.spec.as_ref();
        let renewed = spec.and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0);
        let life = spec.and_then(|spec| spec.lease_duration_seconds).unwrap_or_default();
        renewed.is_none_or(|renewed| now.duration_since(renewed) > SignedDuration::from_secs(life.into()))
    }

    /// Whether this machine holds it, and has renewed it lately.
    fn is_fresh(&self, found: &Object, now: Timestamp) -> bool {
        let renewed = found.spec.as_ref().and_then(|spec| spec.renew_time.as_ref());
        let is_recent =
            renewed.is_some_and(|renewed| now.duration_since(renewed.0) < SignedDuration::from_secs(RENEWAL));
        is_recent && holder(found) == Some(&self.own)
    }

    /// Writes what follows on what was read; false where somebody was faster.
    async fn write(&self, found: Option<Object>, spec: LeaseSpec) -> Result<bool> {
        let written = match found {
            Some(found) => {
                let lease = Object { spec: Some(spec), ..found };
                self.leases.replace(&self.name, &PostParams::default(), &lease).await
            }
            None => {
                let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
                self.leases.create(&PostParams::default(), &Object { metadata, spec: Some(spec) }).await
            }
        };
        match written {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn holder(lease: &Object) -> Option<&String> {
    lease.spec.as_ref()?.holder_identity.as_ref()
}
