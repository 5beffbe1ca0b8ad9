//! What a host forgets when it boots anew or leaves its cluster.

use assisted_wire::host::{HostKind, HostProgressInfo, HostRole};
use assisted_wire::time::DateTime;

use crate::model::facts::HostFacts;
use crate::model::report::ReportKind;

/// Forgets what the last boot reported.
pub(crate) fn forget(host: &mut HostFacts, keep_inventory: bool) {
    let fields = &mut host.record.host;
    fields.progress = Some(HostProgressInfo::default());
    fields.stage_started_at = DateTime::ZERO;
    fields.stage_updated_at = DateTime::ZERO;
    forget_logs(host);
    for kind in [ReportKind::ImagesStatus, ReportKind::NtpSources] {
        host.put_report(kind, "".into());
    }
    if !keep_inventory {
        host.record.host.bootstrap = false;
        host.put_report(ReportKind::Inventory, "".into());
    }
}

/// Forgets all that belonged to the cluster; NTP sources, requested name and labels stay.
pub(crate) fn leave_cluster(host: &mut HostFacts) {
    let sources = host.reports.get(&ReportKind::NtpSources).cloned();
    forget(host, false);
    for kind in [
        ReportKind::Connectivity,
        ReportKind::DomainNameResolutions,
        ReportKind::FreeAddresses,
        ReportKind::ApiVipConnectivity,
    ] {
        host.put_report(kind, "".into());
    }
    host.reports.extend(sources.map(|sources| (ReportKind::NtpSources, sources)));
    let fields = &mut host.record.host;
    fields.cluster_id = None;
    fields.kind = HostKind::Host;
    fields.installation_disk_id.clear();
    fields.installation_disk_path.clear();
    fields.machine_config_pool_name.clear();
    fields.role = Some(HostRole::AutoAssign);
    fields.suggested_role = None;
}

/// Forgets the logs of an earlier installation.
pub(crate) fn forget_logs(host: &mut HostFacts) {
    let fields = &mut host.record.host;
    fields.logs_info = None;
    (fields.logs_started_at, fields.logs_collected_at) = (DateTime::ZERO, DateTime::ZERO);
}
