//! A way in for the fuzz targets (`fuzz/`) to what reads the answers of controllers. Nothing else calls this.

use serde_json::Value;

use crate::resource::{action, complaint, link, links};

/// Reads an answer in every way; where it leads.
pub fn answer(answer: &Value) -> Vec<String> {
    assert!(complaint(answer).chars().count() <= 500);
    let reset = action(answer, "ComputerSystem.Reset");
    reset.into_iter().chain(link(answer)).chain(links(&answer["Members"])).map(str::to_owned).collect()
}
