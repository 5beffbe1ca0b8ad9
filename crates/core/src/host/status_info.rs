//! Texts of `status_info`, which people and programs read (state-machines §4.2).
//!
//! [`FAILING`] in a text stands for the messages of all failing validations.

/// Stands for the messages of the failing validations, sorted, joined by ` ; `.
pub const FAILING: &str = "$FAILING_VALIDATIONS";

pub const DISCOVERING: &str = "Waiting for host to send hardware details";
pub const DISCONNECTED: &str = "Host has stopped communicating with the installation service";
pub const MEDIA: &str = "Unable to read from the discovery media. It was either disconnected or poor network conditions prevented it from being read. Try using the minimal ISO option and be sure to keep the media connected until the installation is completed";
pub const MIN_HARDWARE: &str = "Host does not meet the minimum hardware requirements: $FAILING_VALIDATIONS";
pub const PENDING: &str = "Waiting for user input: $FAILING_VALIDATIONS";
pub const NOT_READY: &str =
    "Host cannot be installed due to following failing validation(s): $FAILING_VALIDATIONS";
pub const KNOWN: &str = "Host is ready to be installed";
pub const BIND_READY: &str = "Host is ready to be bound to a cluster";
pub const BINDING: &str = "Host is waiting to be bound to the cluster";
pub const UNBINDING: &str = "Host is waiting to be unbound from the cluster";
pub const RESET: &str =
    "Host requires booting into the discovery image to complete resetting the installation";
pub const RESTARTED: &str = "The host unexpectedly restarted during the installation";
/// Followed by what is known of the disk.
pub const WRONG_BOOT: &str = "Expected the host to boot from disk, but it booted the installation image - please reboot and fix boot order to boot from disk";
