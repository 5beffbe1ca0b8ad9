//! Which machines an image is for. No image says it; its kernel does.

use serde::Serialize;

use crate::error::Result;
use crate::iso::{Iso, Node};
use crate::read::ReadAt;

/// Paths of the kernel; the second is the name on older images for s390x.
pub const KERNELS: [&str; 2] = ["/images/pxeboot/vmlinuz", "/images/pxeboot/kernel.img"];

/// Boot image of s390x, in which kernel, initramfs and ignition area lie together.
const CDBOOT: &str = "/images/cdboot.img";
/// Enough of a kernel to know its kind.
const HEAD: usize = 1024;

/// Named as in requests to the image service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Architecture {
    #[serde(rename = "x86_64")]
    X86_64,
    #[serde(rename = "arm64")]
    Arm64,
    #[serde(rename = "ppc64le")]
    Ppc64le,
    #[serde(rename = "s390x")]
    S390x,
}

impl Architecture {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Arm64 => "arm64",
            Self::Ppc64le => "ppc64le",
            Self::S390x => "s390x",
        }
    }

    /// The architecture of an image; `None` when its kernel is of no known kind.
    pub(crate) fn of(image: &dyn ReadAt, iso: &Iso) -> Result<Option<Self>> {
        if iso.find(CDBOOT).is_some() {
            return Ok(Some(Self::S390x));
        }
        let Some(kernel) = KERNELS.iter().find_map(|path| iso.find_file(path)) else { return Ok(None) };
        Ok(Self::of_kernel(&head(image, kernel)?))
    }

    fn of_kernel(head: &[u8]) -> Option<Self> {
        let at = |place: usize, what: &[u8]| head.get(place..).is_some_and(|rest| rest.starts_with(what));
        let number = |place: usize, len: usize| {
            let bytes = head.get(place..place + len)?;
            Some(bytes.iter().rev().fold(0, |number: usize, byte| number << 8 | usize::from(*byte)))
        };
        // The setup header of a bzImage; the header of an arm64 Image; else the machine of ELF or PE (a kernel that unpacks
        // itself).
        if at(0x202, b"HdrS") {
            return Some(Self::X86_64);
        }
        if at(0x38, b"ARM\x64") {
            return Some(Self::Arm64);
        }
        if at(0, b"\x7fELF") {
            return match number(18, 2)? {
                21 => Some(Self::Ppc64le),
                62 => Some(Self::X86_64),
                183 => Some(Self::Arm64),
                22 => Some(Self::S390x),
                // Big-endian: the field's bytes are the other way round.
                0x1600 => Some(Self::S390x),
                _ => None,
            };
        }
        let pe = number(0x3c, 4)?;
        if at(0, b"MZ") && at(pe, b"PE\0\0") {
            return match number(pe + 4, 2)? {
                0x8664 => Some(Self::X86_64),
                0xaa64 => Some(Self::Arm64),
                _ => None,
            };
        }
        None
    }
}

impl std::fmt::Display for Architecture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

fn head(image: &dyn ReadAt, kernel: &Node) -> Result<Vec<u8>> {
    let mut head = vec![0; HEAD.min(kernel.len() as usize)];
    if let Some(place) = kernel.place(0..head.len() as u64) {
        image.read_exact_at(&mut head, place.start)?;
    }
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_told_apart() {
        let kernel = |parts: &[(usize, &[u8])]| {
            let mut head = vec![0; HEAD];
            for (at, part) in parts {
                head[*at..at + part.len()].copy_from_slice(part);
            }
            Architecture::of_kernel(&head)
        };
        assert_eq!(kernel(&[(0, b"MZ"), (0x202, b"HdrS")]), Some(Architecture::X86_64));
        assert_eq!(kernel(&[(0, b"MZ"), (0x38, b"ARM\x64")]), Some(Architecture::Arm64));
        assert_eq!(kernel(&[(0, b"\x7fELF\x02\x01"), (18, &[21, 0])]), Some(Architecture::Ppc64le));
        assert_eq!(kernel(&[(0, b"\x7fELF\x02\x02"), (18, &[0, 22])]), Some(Architecture::S390x));
        let zboot: &[(usize, &[u8])] = &[(0, b"MZ"), (0x3c, &[0x40]), (0x40, b"PE\0\0\x64\xaa")];
        assert_eq!(kernel(zboot), Some(Architecture::Arm64));
        assert_eq!(kernel(&[(0, b"MZ"), (0x3c, &[0xff; 4])]), None);
        assert_eq!(Architecture::of_kernel(b"MZ"), None);
    }
}
