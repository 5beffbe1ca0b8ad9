//! Answers of the kernel about links, addresses and routes.

pub fn run(bytes: &[u8]) {
    assisted_hostinfo::fuzz::netlink(bytes);
}
