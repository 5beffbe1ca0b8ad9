//! The installation disk: freed of whatever holds it, written, and made what the machine boots from.

mod boot_order;
mod clean;
mod existing_root;
mod format;
mod os_image;
mod partition;
mod progress;
mod registry;
mod write;

pub use boot_order::{BootOrderError, set_boot_order};
pub use clean::{CleanError, clean};
pub use existing_root::{DeployError, deploy_beside};
pub use format::format;
pub use os_image::{OsImage, OverwriteError, overwrite};
pub use partition::PartitionError;
pub(crate) use partition::{Partitions, ROOT};
pub use progress::{Percent, Progress};
pub use registry::{REGISTRY, RegistryError, copy_registry};
pub use write::write;

/// What follows each of a flag among arguments: the values of `--append-karg`, in their order.
pub(crate) fn values<'a>(args: &'a [String], flag: &'a str) -> impl Iterator<Item = &'a str> {
    args.iter()
        .zip(args.iter().skip(1))
        .filter(move |(name, _)| *name == flag)
        .map(|(_, value)| value.as_str())
}
