//! Records of the wire that are read leniently or out of texts within texts.

use assisted_core::model::connectivity_report::ParsedConnectivity;
use assisted_core::model::{disk, embedded, facts};
use assisted_wire::host::Host;
use assisted_wire::inventory::Inventory;
use assisted_wire::lenient;
use assisted_wire::machine::Machine;
use assisted_wire::probe_responses::ConnectivityReport;
use assisted_wire::step::Steps;

use crate::input;

pub fn run(bytes: &[u8]) {
    let Some(text) = input::text(bytes) else { return };
    if let (Ok(inventory), _) = lenient::read::<Inventory>(text) {
        let written = serde_json::to_string(&inventory).unwrap_or_default();
        assert_eq!(facts::read_inventory(&written), Some(inventory), "what is kept is read again");
    }
    let (report, notes) = lenient::read::<ConnectivityReport>(text);
    assert!(notes.len() <= 8);
    if let Ok(report) = report {
        let written = serde_json::to_string(&report).unwrap_or_default();
        assert!(ParsedConnectivity::parse(&written).is_some(), "what is kept is read again");
    }
    let _ = serde_json::from_str::<Steps>(text);
    let _ = serde_json::from_str::<Host>(text);
    let _ = Machine::parse(text);
    let _ = embedded::texts(text);
    let _ = embedded::feature_usage(text);
    let _ = disk::speed_of(text, "/dev/sda");
}
