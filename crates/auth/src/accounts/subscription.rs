//! Subscriptions that the account service keeps of clusters, from their registration to their end (service-api §14.6,
//! running §7.2).

use assisted_wire::id::ClusterId;
use jiff::Timestamp;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Accounts;
use super::ocm::AskError;
use crate::fetch::FetchError;

/// The status of a subscription whose cluster was never installed.
const RESERVED: &str = "Reserved";

/// The longest name of a subscription that is taken for one.
const LONGEST: usize = 64;

/// What changes about a subscription.
#[derive(Clone, Copy, Debug)]
pub enum SubscriptionChange<'a> {
    /// The name of its cluster.
    DisplayName(&'a str),
    /// The id that the installed cluster has.
    OpenshiftClusterId(Uuid),
    /// The address of the cluster's console.
    ConsoleUrl(&'a str),
    /// The cluster is installed.
    Active,
}

impl SubscriptionChange<'_> {
    /// The name by which the request is timed.
    const fn name(&self) -> &'static str {
        match self {
            Self::DisplayName(_) => "OCM-UpdateSubscriptionDisplayName",
            Self::OpenshiftClusterId(_) => "OCM-UpdateSubscriptionOpenshiftClusterID",
            Self::ConsoleUrl(_) => "OCM-UpdateSubscriptionConsoleUrl",
            Self::Active => "OCM-UpdateSubscriptionStatusActive",
        }
    }

    fn body(&self) -> Value {
        match self {
            Self::DisplayName(name) => json!({"display_name": name}),
            Self::OpenshiftClusterId(id) => json!({"external_cluster_id": id}),
            Self::ConsoleUrl(url) => json!({"console_url": url}),
            Self::Active => json!({"status": "Active"}),
        }
    }
}

#[derive(Deserialize)]
struct Authorized {
    subscription: Named,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

#[derive(Deserialize)]
struct Subscription {
    #[serde(default)]
    status: String,
}

impl Accounts {
    /// Has a subscription made for a cluster that somebody has registered; gives its name, which is no UUID.
    ///
    /// # Errors
    ///
    /// There is none.
    pub async fn subscribe(
        &self,
        user_name: &str,
        cluster_id: ClusterId,
        display_name: &str,
        now: Timestamp,
    ) -> Result<String, AskError> {
        let body = json!({
            "account_username": user_name, "product_category": "AssistedInstall", "product_id": "OCP",
            "cluster_id": cluster_id, "display_name": display_name, "managed": false, "resources": [], "reserve": true,
        });
        let path = "api/accounts_mgmt/v1/cluster_authorizations";
        let question =
            self.ocm.question("OCM-CreateClusterAuthorization", Method::POST, path, Some(&body))?;
        let Authorized { subscription: Named { id } } = self.ocm.ask(&question, now).await?;
        path_of(&id)?;
        Ok(id)
    }

    /// Changes a subscription.
    ///
    /// # Errors
    ///
    /// It is as before, as far as is known.
    pub async fn change_subscription(
        &self,
        id: &str,
        change: &SubscriptionChange<'_>,
        now: Timestamp,
    ) -> Result<(), AskError> {
        let body = change.body();
        let question = self.ocm.question(change.name(), Method::PATCH, &path_of(id)?, Some(&body))?;
        let answer = self.ocm.send(&question, now).await?;
        if answer.is_empty() { Err(unusable()) } else { Ok(()) }
    }

    /// Ends a subscription whose cluster was never installed; another one stays. One that is gone already is no failure, so that
    /// whoever failed after this may do it again.
    ///
    /// # Errors
    ///
    /// It may be there still.
    pub async fn end_reservation(&self, id: &str, now: Timestamp) -> Result<(), AskError> {
        let path = path_of(id)?;
        let question = self.ocm.question("OCM-GetSubscription", Method::GET, &path, None)?;
        let found: Subscription = match self.ocm.ask(&question, now).await {
            Err(AskError::Refused { status: 404 }) => return Ok(()),
            found => found?,
        };
        if found.status != RESERVED {
            return Ok(());
        }
        let question = self.ocm.question("OCM-DeleteSubscription", Method::DELETE, &path, None)?;
        match self.ocm.send(&question, now).await {
            Ok(_) | Err(AskError::Refused { status: 404 }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The path of a subscription. What could lead elsewhere is the name of none.
fn path_of(id: &str) -> Result<String, AskError> {
    let is_name = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if !is_name || id.is_empty() || id.len() > LONGEST {
        return Err(unusable());
    }
    Ok(format!("api/accounts_mgmt/v1/subscriptions/{id}"))
}

fn unusable() -> AskError {
    FetchError::Form("the account service".to_owned()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_subscriptions_stand_in_paths() {
        let long = "x".repeat(LONGEST + 1);
        for id in ["2KJxXxXxXxXxXxXxXxXxXxXxXxX", "a-b_c", "f31b5bd8-64f6-4c0b-a9d7-b3a5f4b0d9f1"] {
            assert_eq!(path_of(id).unwrap(), format!("api/accounts_mgmt/v1/subscriptions/{id}"));
        }
        for id in ["", "..", "a/b", "a?b", "a#b", "a%2fb", "ä", "a b", &long] {
            path_of(id).unwrap_err();
        }
    }
}
