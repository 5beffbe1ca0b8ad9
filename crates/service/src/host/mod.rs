//! Use cases of hosts: registering, polling, replying, changing, leaving; one file for each.

mod bind;
mod deregister;
mod enable;
mod install;
mod installer;
mod memo;
mod object;
mod poll;
mod read;
mod register;
mod reply;
mod reset;
mod restore;
mod update;
mod validation;

use std::num::NonZeroUsize;
use std::sync::Arc;

use assisted_blob::Blob;
use assisted_core::model::refusal::Refusal;

use crate::Caller;
use crate::database::Database;
use crate::generator::Generator;
use crate::keyed_mutex::KeyedMutex;
use crate::parts::Parts;

pub use poll::Poll;
pub use restore::LostHost;

/// The use cases of hosts.
pub struct Hosts {
    database: Arc<Database>,
    blob: Blob,
    generator: Arc<dyn Generator>,
    /// Held by hosts that report what their cluster is to show at once.
    reports: KeyedMutex,
    /// Bytes of replies that a host may send each second.
    reply_rate: NonZeroUsize,
}

impl Hosts {
    pub(crate) fn new(parts: &Parts) -> Self {
        Self {
            database: Arc::clone(&parts.database),
            blob: parts.blob.clone(),
            generator: Arc::clone(&parts.generator),
            reports: KeyedMutex::default(),
            reply_rate: parts.settings.limits.reply_bytes_per_second,
        }
    }
}

/// Refuses who shows another key than the one that a host's agent registered with. All machines of an infra-env have one token: by the key
/// none of them speaks as another.
fn check_agent(registered: Option<&str>, caller: &Caller) -> Result<(), Refusal> {
    if registered.is_none() || registered == caller.host_key.as_deref() {
        return Ok(());
    }
    Err(Refusal::conflict("this is not the agent that has registered as the host: register anew"))
}
