//! Architectures, and whether a program is one for them that needs nothing else.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Context, Result, bail};

/// An architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// As the kernel names it.
    pub name: &'static str,
    /// As Go and images name it.
    pub go: &'static str,
    /// As Debian names it.
    pub debian: &'static str,
    /// What programs are built for.
    pub triple: &'static str,
    /// As ELF names it.
    elf: u16,
}

/// All that programs are made for.
pub const MACHINES: [Machine; 4] = [
    Machine { name: "x86_64", go: "amd64", debian: "amd64", triple: "x86_64-unknown-linux-musl", elf: 62 },
    Machine { name: "aarch64", go: "arm64", debian: "arm64", triple: "aarch64-unknown-linux-musl", elf: 183 },
    Machine { name: "s390x", go: "s390x", debian: "s390x", triple: "s390x-unknown-linux-gnu", elf: 22 },
    Machine {
        name: "ppc64le",
        go: "ppc64le",
        debian: "ppc64el",
        triple: "powerpc64le-unknown-linux-gnu",
        elf: 21,
    },
];

/// What a program is, as its head tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    machine: u16,
    /// Whether it names a loader, which brings it libraries.
    is_dynamic: bool,
}

impl Machine {
    /// Holds that a program is for this architecture, and runs where there is nothing else.
    ///
    /// # Errors
    /// It is not.
    pub fn check(&self, program: &Path, may_be_dynamic: bool) -> Result<()> {
        let shown = program.display();
        let mut file = File::open(program).with_context(|| format!("can't read {shown}"))?;
        let head = head(&mut file).with_context(|| format!("{shown} is no program"))?;
        if head.machine != self.elf {
            bail!("{shown} is not a program for {}", self.name);
        }
        if head.is_dynamic && !may_be_dynamic {
            bail!(
                "{shown} is linked with libraries, which an image without a base does not have: build it static ({})",
                self.triple
            );
        }
        Ok(())
    }
}

/// Reads the head of a program: its kind, and its table of segments.
fn head(file: &mut (impl Read + Seek)) -> Result<Head> {
    const INTERPRETER: u32 = 3;
    let mut head = [0_u8; 64];
    file.read_exact(&mut head)?;
    let [0x7f, b'E', b'L', b'F', 2, order, ..] = head else { bail!("it is no 64-bit ELF file") };
    let number = |bytes: &[u8]| {
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        if order == 2 { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
    };
    let (start, size, count) = (number(&head[32..40]), number(&head[54..56]), number(&head[56..58]));
    let mut is_dynamic = false;
    for index in 0..count {
        let mut kind = [0; 4];
        file.seek(SeekFrom::Start(start.saturating_add(index * size)))?;
        file.read_exact(&mut kind)?;
        is_dynamic |= number(&kind) == u64::from(INTERPRETER);
    }
    Ok(Head { machine: u16::try_from(number(&head[18..20]))?, is_dynamic })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A program with one segment.
    fn program(big: bool, machine: u16, kind: u32) -> Cursor<Vec<u8>> {
        let mut bytes = vec![0; 120];
        bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, if big { 2 } else { 1 }]);
        let mut put = |at: usize, value: &[u8]| {
            let mut value = value.to_vec();
            if big {
                value.reverse();
            }
            bytes[at..at + value.len()].copy_from_slice(&value);
        };
        put(18, &machine.to_le_bytes());
        put(32, &64_u64.to_le_bytes());
        put(54, &56_u16.to_le_bytes());
        put(56, &1_u16.to_le_bytes());
        put(64, &kind.to_le_bytes());
        Cursor::new(bytes)
    }

    #[test]
    fn programs_say_what_they_are() {
        for (big, machine) in [(false, 62), (true, 22)] {
            assert_eq!(head(&mut program(big, machine, 1)).unwrap(), Head { machine, is_dynamic: false });
            assert_eq!(head(&mut program(big, machine, 3)).unwrap(), Head { machine, is_dynamic: true });
        }
        assert!(head(&mut Cursor::new(b"#!/bin/sh\n".repeat(20))).is_err());
        assert!(head(&mut Cursor::new(b"short")).is_err());
        let own = std::env::current_exe().unwrap();
        let other = MACHINES.iter().find(|machine| machine.name != std::env::consts::ARCH).unwrap();
        assert!(other.check(&own, true).unwrap_err().to_string().contains("is not a program for"));
    }
}
