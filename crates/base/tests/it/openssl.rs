//! The program `openssl`, and what it makes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Two authorities with their keys in a folder.
pub struct Material {
    dir: TempDir,
}

impl Material {
    pub fn new() -> Self {
        let made = Self { dir: tempfile::tempdir().unwrap() };
        for name in ["one", "two"] {
            made.make(&format!(
                "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj /CN={name} -keyout {name}.key -out {name}.crt"
            ));
        }
        made
    }

    /// Runs the program in the folder; it must succeed.
    pub fn make(&self, arguments: &str) {
        let arguments: Vec<_> = arguments.split(' ').collect();
        run(&arguments, self.dir.path()).unwrap_or_else(|| panic!("openssl {arguments:?} fails"));
    }

    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The DER that the program makes of all certificates in a text; `None`: it refuses the text.
    pub fn certificates(&self, text: &[u8]) -> Option<Vec<Vec<u8>>> {
        std::fs::write(self.path("given"), text).unwrap();
        let held = run(&["crl2pkcs7", "-nocrl", "-certfile", "given", "-out", "held"], self.dir.path());
        held?;
        let listed = run(&["pkcs7", "-in", "held", "-print_certs"], self.dir.path()).unwrap();
        let listed = String::from_utf8(listed).unwrap();
        let blocks = listed.split("-----BEGIN CERTIFICATE-----").skip(1);
        Some(blocks.map(|block| self.der(&format!("-----BEGIN CERTIFICATE-----{block}"))).collect())
    }

    /// The DER of the first certificate in a text; `None`: the program finds none.
    pub fn first(&self, text: &[u8]) -> Option<Vec<u8>> {
        std::fs::write(self.path("given"), text).unwrap();
        run(&["x509", "-in", "given", "-outform", "DER"], self.dir.path())
    }

    fn der(&self, block: &str) -> Vec<u8> {
        self.first(block.as_bytes()).unwrap()
    }

    /// The public half of the private key in a text, as DER; `None`: the program finds no key.
    pub fn public_of(&self, text: &[u8]) -> Option<Vec<u8>> {
        std::fs::write(self.path("given"), text).unwrap();
        run(&["pkey", "-in", "given", "-pubout", "-outform", "DER", "-passin", "pass:"], self.dir.path())
    }

    /// The public key in a text, as DER.
    pub fn public(&self, text: &[u8]) -> Option<Vec<u8>> {
        std::fs::write(self.path("given"), text).unwrap();
        run(&["pkey", "-pubin", "-in", "given", "-outform", "DER"], self.dir.path())
    }

    /// The request for a certificate in a text, as DER.
    pub fn request(&self, text: &[u8]) -> Option<Vec<u8>> {
        std::fs::write(self.path("given"), text).unwrap();
        run(&["req", "-in", "given", "-outform", "DER"], self.dir.path())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

fn run(arguments: &[&str], dir: &Path) -> Option<Vec<u8>> {
    let mut command = Command::new("openssl");
    command.args(arguments).current_dir(dir).stdin(Stdio::null());
    let output = command.output().unwrap();
    output.status.success().then_some(output.stdout)
}

/// The letters of a block, without its first and its last line.
pub fn letters(block: &str) -> String {
    block.lines().filter(|line| !line.starts_with('-')).collect()
}

/// A block with its letters in lines of some length, each with something before and behind it.
pub fn wrapped(label: &str, letters: &str, columns: usize, before: &str, behind: &str) -> String {
    let letters: Vec<char> = letters.chars().collect();
    let lines = letters.chunks(columns).map(|line| line.iter().collect::<String>());
    let lines: String = lines.map(|line| format!("{before}{line}{behind}\n")).collect();
    format!("-----BEGIN {label}-----\n{lines}-----END {label}-----\n")
}
