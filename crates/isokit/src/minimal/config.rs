//! The edits that make a boot configuration fetch the root file system (image-service §2.9).
//!
//! A configuration holds the area of its kernel arguments at an offset that `kargs.json` gives; an edit before it moves it.

use std::ops::Range;

use crate::area::RAMDISK;
use crate::area::kargs::find;
use crate::error::{Error, Result};

/// Tells the initramfs on which medium the root file system is: on none, now.
const LIVE_ISO: &[u8] = b"coreos.liveiso=";

/// Further archives that the boot loader loads, by their paths in the image.
pub struct Initrds(Vec<&'static str>);

/// The `nmstatectl` program for initramfs scripts of images that come with one.
pub const NMSTATE: &str = "/images/nmstate.img";

impl Initrds {
    pub fn new(nmstate: bool) -> Self {
        Self(if nmstate { vec![RAMDISK, NMSTATE] } else { vec![RAMDISK] })
    }

    fn joined(&self, before_each: char) -> String {
        self.0.iter().flat_map(|path| [before_each.to_string(), (*path).to_owned()]).collect()
    }
}

/// The kernel argument that names the root file system. It is quoted: GRUB takes `&` for the end of a command.
///
/// # Errors
/// When `url` holds what a boot loader would take for its own.
pub fn rootfs_karg(url: &str) -> Result<String> {
    let bad = |c: char| matches!(c, '$' | '\\' | '"') || c.is_whitespace() || c.is_control();
    match url.chars().find(|c| bad(*c)) {
        Some(c) => Err(Error::BadRootfsUrl(c)),
        None => Ok(format!(" coreos.live.rootfs_url=\"{url}\"")),
    }
}

/// A configuration being edited.
pub struct Config<'a> {
    path: &'a str,
    pub text: Vec<u8>,
    /// Where the area of kernel arguments begins, if it is known.
    pub area: Option<u64>,
}

impl<'a> Config<'a> {
    pub fn new(path: &'a str, text: Vec<u8>, area: Option<u64>) -> Self {
        Self { path, text, area }
    }

    pub fn edit_grub(&mut self, rootfs: &str, initrds: &Initrds) -> Result<()> {
        self.edit_kargs("linux", rootfs)?;
        match self.line("initrd") {
            Some(line) => self.replace(line.end..line.end, initrds.joined(' ').as_bytes()),
            None => Ok(()),
        }
    }

    pub fn edit_isolinux(&mut self, rootfs: &str, initrds: &Initrds) -> Result<()> {
        self.edit_kargs("append", rootfs)?;
        let Some(line) = self.line("append") else { return Ok(()) };
        let text = &self.text[line.clone()];
        let Some(last) = text.windows(7).rposition(|window| window == b"initrd=") else { return Ok(()) };
        let end = line.start + last + token(&text[last..]);
        self.replace(end..end, initrds.joined(',').as_bytes())
    }

    fn edit_kargs(&mut self, keyword: &str, rootfs: &str) -> Result<()> {
        if let Some(range) = live_iso(&self.text) {
            self.replace(range, b"")?;
        }
        match self.line(keyword) {
            Some(line) => self.replace(line.end..line.end, rootfs.as_bytes()),
            None => Ok(()),
        }
    }

    /// The first line that is indented and begins with `keyword`, without its line feed.
    fn line(&self, keyword: &str) -> Option<Range<usize>> {
        let mut start = 0;
        for line in self.text.split(|byte| *byte == b'\n') {
            let words = line.trim_ascii_start();
            let after = words.strip_prefix(keyword.as_bytes());
            if words.len() < line.len() && after.is_some_and(|after| after.starts_with(b" ")) {
                return Some(start..start + line.len());
            }
            start += line.len() + 1;
        }
        None
    }

    fn replace(&mut self, range: Range<usize>, with: &[u8]) -> Result<()> {
        if let Some(area) = &mut self.area {
            if range.end as u64 <= *area {
                // What is taken out before the area is part of what it stands behind.
                *area = *area + with.len() as u64 - range.len() as u64;
            } else if (range.start as u64) < *area {
                return Err(Error::Straddles(self.path.to_owned()));
            }
        }
        self.text.splice(range, with.iter().copied());
        Ok(())
    }
}

/// The default arguments with the same edits.
pub fn edit_default(default: &str, rootfs: &str) -> String {
    let mut text = default.as_bytes().to_vec();
    if let Some(range) = live_iso(&text) {
        text.drain(range);
    }
    text.extend_from_slice(rootfs.as_bytes());
    String::from_utf8_lossy(&text).into_owned()
}

/// The first argument that names the live medium, with a space behind it.
fn live_iso(text: &[u8]) -> Option<Range<usize>> {
    let start = find(text, LIVE_ISO)?;
    let end = start + token(&text[start..]);
    Some(start..if text.get(end) == Some(&b' ') { end + 1 } else { end })
}

/// Length of what stands before the next white space.
fn token(text: &[u8]) -> usize {
    text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://host:8080/boot-artifacts/rootfs?arch=x86_64&version=1";

    fn text(config: &Config<'_>) -> String {
        String::from_utf8(config.text.clone()).unwrap()
    }

    #[test]
    fn grub_fetches_the_root_file_system() {
        let grub = "linux x\n\tlinux /vmlinuz coreos.liveiso=id ignition.firstboot\n###### COREOS_KARG_EMBED_AREA\n\
                    \tinitrd /initrd.img /ignition.img\n\tinitrd /other\n";
        let offset = grub.find("coreos.liveiso").unwrap() as u64;
        let mut config = Config::new("grub.cfg", grub.into(), Some(offset));
        config.edit_grub(&rootfs_karg(URL).unwrap(), &Initrds::new(true)).unwrap();
        assert_eq!(
            text(&config),
            format!(
                "linux x\n\tlinux /vmlinuz ignition.firstboot coreos.live.rootfs_url=\"{URL}\"\n###### COREOS_KARG_EMBED_AREA\n\
                 \tinitrd /initrd.img /ignition.img {RAMDISK} {NMSTATE}\n\tinitrd /other\n"
            )
        );
        assert_eq!(config.area, Some(offset), "the area begins where it did");
    }

    #[test]
    fn the_area_moves_with_what_isolinux_loads() {
        let isolinux =
            "label linux\n  append initrd=/initrd.img,/ignition.img a coreos.liveiso=id\n#### COREOS";
        let offset = isolinux.find(" a ").unwrap() as u64 + 1;
        let mut config = Config::new("isolinux.cfg", isolinux.into(), Some(offset));
        config.edit_isolinux(" r=\"u\"", &Initrds::new(false)).unwrap();
        assert_eq!(
            text(&config),
            format!(
                "label linux\n  append initrd=/initrd.img,/ignition.img,{RAMDISK} a  r=\"u\"\n#### COREOS"
            )
        );
        assert_eq!(config.area, Some(offset + 1 + RAMDISK.len() as u64));
    }

    #[test]
    fn an_edit_across_the_beginning_of_the_area_is_refused() {
        let grub = "\tlinux /vmlinuz coreos.liveiso=id a\n";
        let offset = grub.find("liveiso").unwrap() as u64;
        let mut config = Config::new("grub.cfg", grub.into(), Some(offset));
        let error = config.edit_grub(" r", &Initrds::new(false)).unwrap_err();
        assert!(error.to_string().starts_with("replacement spans across embed area boundary"));
    }

    #[test]
    fn what_does_not_match_is_left_alone() {
        let mut config = Config::new("grub.cfg", b"menuentry\nlinux a\ninitrd b\n".to_vec(), None);
        config.edit_grub(" r", &Initrds::new(false)).unwrap();
        config.edit_isolinux(" r", &Initrds::new(false)).unwrap();
        assert_eq!(text(&config), "menuentry\nlinux a\ninitrd b\n");
        assert_eq!(edit_default("a coreos.liveiso=id b", " r"), "a b r");
        assert_eq!(edit_default("coreos.liveiso=id", " r"), " r");
    }

    #[test]
    fn urls_that_a_boot_loader_would_read_are_refused() {
        for (url, bad) in
            [("http://h/$a", '$'), ("http://h/\\", '\\'), ("http://h/\"", '"'), ("http://h/ a", ' ')]
        {
            assert!(matches!(rootfs_karg(url), Err(Error::BadRootfsUrl(c)) if c == bad), "{url}");
        }
        assert_eq!(
            rootfs_karg("a$b").unwrap_err().to_string(),
            "invalid rootfs URL: contains invalid character '$'"
        );
    }
}
