//! What the kernel and tools on a host print, captured machines, and what is shown on a terminal.

use assisted_console::output::{indented, printable};
use assisted_hostinfo::capture::Tree;
use assisted_hostinfo::{bmc, fuzz, ntp};

use crate::input;

pub fn run(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    let _ = ntp::parse_sources(text);
    let _ = (bmc::lan_address(text), bmc::lan6_address(text), bmc::lan6_enabled(text));
    let _ = fuzz::mounts(text);
    assert!(!printable(text).contains('\x1b'), "a terminal obeys nothing of it");
    let _ = indented(text);
    if let Some(Ok(tree)) = input::text(bytes).map(str::parse::<Tree>) {
        assert_eq!(tree.to_string().parse(), Ok(tree), "a captured tree reads as it is written");
    }
}
