//! Archives that the kernel unpacks at boot: newc cpio, compressed or not, one after the other.

pub mod compression;
mod reader;
mod writer;

pub use reader::{Limits, Member, read};
pub use writer::Writer;

/// Before each member.
const MAGIC: &[u8] = b"070701";
/// The same with a checksum that nobody checks.
const MAGIC_WITH_SUM: &[u8] = b"070702";
/// Bytes of a header: the magic and thirteen numbers of eight hexadecimal digits.
const HEADER: usize = 110;
/// Name of the member that ends an archive.
const TRAILER: &str = "TRAILER!!!";
/// Names and data are padded to this.
const ALIGN: usize = 4;

/// Bits of a mode that tell the kind of file.
pub const TYPE_MASK: u32 = 0o170_000;
pub const DIRECTORY: u32 = 0o040_000;
pub const REGULAR: u32 = 0o100_000;
pub const SYMLINK: u32 = 0o120_000;
