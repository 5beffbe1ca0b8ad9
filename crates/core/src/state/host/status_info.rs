//! Texts of `status_info`, which people and programs read (state-machines §4.2), and what is put into them.
//!
//! A text may hold macros: `$FAILING_VALIDATIONS`, `$FAILING_CONDITIONS`, `$STAGE`, `$MAX_TIME`, `$INSTALLATION_DISK`.

use std::borrow::Cow;

use assisted_wire::host::HostStage;

use super::limits;
use super::rule_context::RuleContext;
use crate::model::disk;
use crate::model::facts::HostFacts;
use crate::validation::Results;

/// Messages of the failing validations, sorted, joined by ` ; `.
const FAILING_VALIDATIONS: &str = "$FAILING_VALIDATIONS";
/// What a preparation still waited for when its time was over, a line each.
const FAILING_CONDITIONS: &str = "$FAILING_CONDITIONS";
const STAGE: &str = "$STAGE";
/// The time limit of the stage.
const MAX_TIME: &str = "$MAX_TIME";
/// Name and id of the installation disk, in parentheses; nothing when it can't be found.
const INSTALLATION_DISK: &str = "$INSTALLATION_DISK";

pub const DISCOVERING: &str = "Waiting for host to send hardware details";
pub const DISCONNECTED: &str = "Host has stopped communicating with the installation service";
pub const DISABLED: &str = "Host was manually disabled";
pub const MEDIA: &str = "Unable to read from the discovery media. It was either disconnected or poor network conditions prevented it from being read. Try using the minimal ISO option and be sure to keep the media connected until the installation is completed";
pub const MIN_HARDWARE: &str = "Host does not meet the minimum hardware requirements: $FAILING_VALIDATIONS";
pub const PENDING: &str = "Waiting for user input: $FAILING_VALIDATIONS";
pub const NOT_READY: &str =
    "Host cannot be installed due to following failing validation(s): $FAILING_VALIDATIONS";
pub const KNOWN: &str = "Host is ready to be installed";
/// Of hosts that prepare and of hosts that have done so (state-machines §11.1).
pub const PREPARED: &str = "Host finished successfully to prepare for installation";
pub const PREPARATION_TIMED_OUT: &str =
    "The host has encountered a preparation timeout, the following conditions failed: $FAILING_CONDITIONS";
pub const PREPARATION_FAILED: &str =
    "Host failed to prepare for installation due to following failing validation(s): $FAILING_VALIDATIONS";
pub const PREPARATION_DISCONNECTED: &str =
    "Host failed to install due to timeout while connecting to host during the preparation phase.";
pub const INSTALLING: &str = "Installation is in progress";
pub const ABORTED: &str = "Host is part of a cluster that failed to install";
pub const START_TIMED_OUT: &str = "Host failed to install due to timeout while starting installation";
pub const CONNECTION_TIMED_OUT: &str =
    "Host failed to install due to timeout while connecting to host during the installation phase.";
pub const CONNECTION_SOFT: &str =
    "Host is failing to perform periodic health check during the installation phase.";
pub const CONNECTION_RECOVERED: &str =
    "Host recovered from failure to perform periodic health check during the installation phase.";
pub const STAGE_TIMED_OUT: &str =
    "Host failed to install because its installation stage $STAGE took longer than expected $MAX_TIME";
pub const STAGE_SOFT: &str = "Host installation stage $STAGE is taking longer than expected $MAX_TIME";
/// Of stages that write: their clock starts anew with each sign of progress.
pub const WRITE_TIMED_OUT: &str = "Host failed to install because its installation stage $STAGE did not sufficiently progress in the last $MAX_TIME.";
pub const WRITE_SOFT: &str = "Host installation stage $STAGE is not progressing sufficiently in the last $MAX_TIME. To troubleshoot use kubeconfig or connect to the node using ssh";
pub const REBOOT_TIMED_OUT: &str = "Host timed out when pulling the configuration files. Verify in the host console that the host boots from the OpenShift installation disk $INSTALLATION_DISK and has network access to the cluster API. The installation will resume after the host successfully boots and can access the cluster API";
pub const USER_ACTION_TIMED_OUT: &str =
    "Host failed to boot from the installation disk within the expected time.";
/// Followed by what is known of the disk.
pub const WRONG_BOOT: &str = "Expected the host to boot from disk, but it booted the installation image - please reboot and fix boot order to boot from disk";
pub const RESTARTED: &str = "The host unexpectedly restarted during the installation";
pub const INSTALL_FAILED: &str = "installation command failed";
pub const CANCELLED: &str = "Installation was cancelled by user";
pub const RESET: &str =
    "Host requires booting into the discovery image to complete resetting the installation";
pub const DAY2_DONE: &str = "Host has rebooted and no further updates will be posted. Please check console for progress and to possibly approve pending CSRs";
/// The text is the name of the stage.
pub const STAGE_NAME: &str = STAGE;
pub const BIND_READY: &str = "Host is ready to be bound to a cluster";
pub const BINDING: &str = "Host is waiting to be bound to the cluster";
pub const UNBINDING: &str = "Host is waiting to be unbound from the cluster";
pub const RECLAIM_REBOOTING: &str = "Host is rebooting into the discovery image";

/// Puts what is known into a text.
pub(crate) fn fill<'t>(text: &'t str, rule_context: &RuleContext<'_>) -> Cow<'t, str> {
    if !text.contains('$') {
        return Cow::Borrowed(text);
    }
    let stage = rule_context.stage();
    let values: [(&str, &dyn Fn() -> String); 5] = [
        (FAILING_VALIDATIONS, &|| rule_context.results.map(Results::failing).unwrap_or_default()),
        (FAILING_CONDITIONS, &|| unfinished(rule_context)),
        (STAGE, &|| stage.map(HostStage::as_str).unwrap_or_default().to_owned()),
        // The limit in the text is that of all topologies, even where a longer one is kept.
        (MAX_TIME, &|| limits::text(rule_context.stage_limit())),
        (INSTALLATION_DISK, &|| installation_disk(rule_context.host)),
    ];
    let mut text = Cow::Borrowed(text);
    for (name, value) in values {
        if text.contains(name) {
            text = Cow::Owned(text.replacen(name, &value(), 1));
        }
    }
    text
}

fn unfinished(rule_context: &RuleContext<'_>) -> String {
    let checks = [
        (
            rule_context.is_disk_tested(),
            "the installation disk speed check did not complete within the timeout.",
        ),
        (rule_context.are_images_pulled(), "container availability was not determined within the timeout."),
    ];
    let failed: Vec<_> = checks.iter().filter(|(done, _)| !done).map(|(_, text)| *text).collect();
    failed.join("\n")
}

fn installation_disk(host: &HostFacts) -> String {
    let inventory = host.inventory.as_deref();
    let disk = inventory.and_then(|inventory| disk::find(inventory, disk::chosen(&host.record.host)));
    disk.map_or_else(String::new, |disk| format!("({}, {})", disk.name, disk.id))
}
