//! The firmware's table.

pub fn run(bytes: &[u8]) {
    let (_, addresses) = assisted_hostinfo::fuzz::smbios(bytes);
    // Each takes more than this in the table.
    assert!(addresses.len() <= bytes.len() / 32);
}
