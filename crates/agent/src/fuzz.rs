//! Ways in for the fuzz targets (`fuzz/`) to what reads the service's answers and the output of tools. Nothing else calls this.

use assisted_wire::probe_requests::InstallCmdRequest;

use crate::instruction::Answer;
use crate::step::install::request;
use crate::step::{api_vip_connectivity_check, installation_disk_speed_check};

/// Reads the answer to a poll; how many instructions of it are followed, `None` where it is no answer.
pub fn answer(text: &[u8]) -> Option<usize> {
    let answer: Answer = serde_json::from_slice(text).ok()?;
    Some(answer.instructions.list.len())
}

/// Whether a text is the request of an installation that may begin, and its arguments those of the tool that writes disks.
pub fn installation(text: &str) -> Option<Vec<String>> {
    let asked: InstallCmdRequest = serde_json::from_str(text).ok()?;
    request::check(&asked).ok()?;
    request::installer_args(&asked.installer_args).ok()
}

/// Reads the output of a disk's measurement, and the configuration that a cluster has for its nodes.
pub fn outputs(text: &[u8]) {
    let _ = installation_disk_speed_check::latency(text);
    let _ = api_vip_connectivity_check::read(text);
}

/// Whether a text names an image.
pub fn image(text: &str) -> bool {
    crate::image::is_image_reference(text)
}
