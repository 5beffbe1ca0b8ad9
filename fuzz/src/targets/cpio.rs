//! Archives in images: ramdisks, and the area of the Ignition config.

use assisted_isokit::cpio::{self, Limits};
use assisted_isokit::ignition::Contents;
use assisted_isokit::inspect::Config;

pub fn run(bytes: &[u8]) {
    let limits = Limits { bytes: 1 << 20, members: 256 };
    if let Ok(members) = cpio::read(bytes, limits) {
        assert!(members.len() <= limits.members);
        let unpacked: u64 =
            members.iter().map(|member| (member.name.len() + member.content.len()) as u64).sum();
        assert!(unpacked <= limits.bytes, "no more is unpacked than allowed");
    }
    if let Ok(Contents { config: Some(config), .. }) = Contents::read(bytes) {
        let _ = Config::read(&config);
    }
    let _ = Config::read(bytes);
}
