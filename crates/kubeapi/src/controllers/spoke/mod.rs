//! What the hub does in the clusters that it installed (kube-api §3.7): it takes in the nodes of hosts that are added to them, and
//! takes out those of hosts that leave.
//!
//! A cluster may be away, or never come back. Its work stands in a queue of its own ([`reconcile`]); who else needs the cluster
//! for a moment asks for it by [`client`], which fails at once for a while after it has been found away. What is in the way is shown
//! by the cluster's Agents and its AgentClusterInstall.

mod apply;
mod approval;
mod certificate;
mod client;
mod connections;
mod drain;
mod joining;
mod kubeconfig;
mod machine;
mod member;
mod pool;
mod reclaim;
mod reconcile;
mod removal;

pub(super) use certificate::server_authority;
pub(super) use connections::{SpokeError, Spokes};
pub(super) use drain::drain;
pub(super) use joining::{is_followed, looks_after_machines};
pub(super) use kubeconfig::secret_of;
pub(super) use member::{Member, Outcome as Membership, add_member};
pub(super) use reconcile::SpokeReconciler;
pub(super) use removal::remove_node;
