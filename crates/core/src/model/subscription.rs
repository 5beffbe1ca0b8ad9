//! What is kept of the subscription that an account service keeps of a cluster (service-api §14.6). Its name stands in the cluster.

use serde::{Deserialize, Serialize};

use crate::model::action::{Attempt, SubscriptionUpdate};

/// What the account service was told of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionRecord {
    /// The attempt to install for which it is to be told the address of the console; `None`: for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console_url_asked_for: Option<Attempt>,
    /// Whether it was told that address, which is told once.
    #[serde(default)]
    pub console_url_told: bool,
    /// The attempt to install that it is to be told the success of; `None`: of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation_asked_for: Option<Attempt>,
    /// Whether it was told that the cluster is installed.
    #[serde(default)]
    pub is_active: bool,
}

impl SubscriptionRecord {
    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The attempt to install for which an update was asked for.
    pub const fn asked_for(&self, update: SubscriptionUpdate) -> Option<Attempt> {
        match update {
            SubscriptionUpdate::ConsoleUrl => self.console_url_asked_for,
            SubscriptionUpdate::Active => self.activation_asked_for,
        }
    }

    /// Whether the account service knows it.
    pub const fn is_told(&self, update: SubscriptionUpdate) -> bool {
        match update {
            SubscriptionUpdate::ConsoleUrl => self.console_url_told,
            SubscriptionUpdate::Active => self.is_active,
        }
    }

    /// Notes that an update was asked for.
    pub fn ask(&mut self, update: SubscriptionUpdate, attempt: Attempt) {
        match update {
            SubscriptionUpdate::ConsoleUrl => self.console_url_asked_for = Some(attempt),
            SubscriptionUpdate::Active => self.activation_asked_for = Some(attempt),
        }
    }

    /// Notes that the account service knows it.
    pub fn tell(&mut self, update: SubscriptionUpdate) {
        match update {
            SubscriptionUpdate::ConsoleUrl => self.console_url_told = true,
            SubscriptionUpdate::Active => self.is_active = true,
        }
    }

    /// Forgets the attempt to install. The address of the console stays told.
    pub fn forget(&mut self) {
        *self = Self {
            console_url_asked_for: None,
            console_url_told: self.console_url_told,
            activation_asked_for: None,
            is_active: false,
        };
    }
}
