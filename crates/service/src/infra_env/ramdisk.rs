//! What a minimal image adds to its initramfs: networks, and the proxies through which the rest is fetched
//! (image-service §3.4).

use assisted_isokit::cpio::Writer;
use assisted_isokit::cpio::compression::gzip;
use assisted_netconf::{File, image_files};
use assisted_wire::infra_env::Proxy;

const UNITS: &str = "/etc/systemd/system";

/// Packs the files of networks and the proxies; `None` when there are neither.
///
/// # Errors
///
/// None while there is memory.
pub(super) fn pack(files: &[File], delay: u64, proxy: Option<&Proxy>) -> std::io::Result<Option<Vec<u8>>> {
    let proxy = proxy.and_then(proxies);
    if files.is_empty() && proxy.is_none() {
        return Ok(None);
    }
    let mut archive = Archive { writer: Writer::new(), last: String::new() };
    for file in files {
        archive.file(&file.path, file.mode, &file.content);
    }
    if !files.is_empty() {
        let unit = format!("{UNITS}/{}", image_files::UNIT);
        archive.file(&unit, 0o644, &image_files::initrd_unit(delay));
        let link = format!("{UNITS}/initrd.target.wants/{}", image_files::UNIT);
        archive.parents(&link);
        archive.writer.symlink(&link, &unit);
    }
    if let Some(proxy) = proxy {
        archive.file(&format!("{UNITS}/coreos-livepxe-rootfs.service.d/10-proxy.conf"), 0o664, &proxy);
    }
    gzip(&archive.writer.finish()).map(Some)
}

struct Archive {
    writer: Writer,
    /// The folder that was written last.
    last: String,
}

impl Archive {
    fn file(&mut self, path: &str, mode: u32, content: &str) {
        self.parents(path);
        self.writer.file(path, mode, content.as_bytes());
    }

    /// The folders above a path: the kernel makes none by itself.
    fn parents(&mut self, path: &str) {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        if folder == self.last {
            return;
        }
        for (end, _) in folder.match_indices('/').skip(1).chain([(folder.len(), "")]) {
            self.writer.directory(&folder[..end], 0o755);
        }
        folder.clone_into(&mut self.last);
    }
}

/// Settings of the unit that fetches the rest of a minimal image; `None` without proxies.
fn proxies(proxy: &Proxy) -> Option<String> {
    let values = [&proxy.http_proxy, &proxy.https_proxy, &proxy.no_proxy]
        .map(|value| value.as_deref().unwrap_or_default());
    if values.iter().all(|value| value.is_empty()) {
        return None;
    }
    let [http, https, no_proxy] = values;
    // What an earlier release let in must not begin a line of its own.
    let values = [http.replace('%', "%%"), https.replace('%', "%%"), no_proxy.to_owned()]
        .map(|value| value.replace(char::is_control, ""));
    let names = ["http_proxy", "https_proxy", "no_proxy"];
    let lower = names.iter().zip(&values).map(|(name, value)| format!("Environment={name}={value}"));
    let upper = names
        .iter()
        .zip(&values)
        .map(|(name, value)| format!("Environment={}={value}", name.to_ascii_uppercase()));
    let lines: Vec<String> = std::iter::once("[Service]".to_owned()).chain(lower).chain(upper).collect();
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use assisted_isokit::cpio::{Limits, read};

    use super::*;

    #[test]
    fn nothing_to_add() {
        assert_eq!(pack(&[], 0, None).unwrap(), None);
        assert_eq!(pack(&[], 0, Some(&Proxy::default())).unwrap(), None);
        assert!(
            pack(&[], 0, Some(&Proxy { no_proxy: Some("x".to_owned()), ..Proxy::default() }))
                .unwrap()
                .is_some()
        );
    }

    #[test]
    fn no_value_begins_a_line() {
        let no_proxy = Some("*\nExecStartPre=/bin/sh -c id\r".to_owned());
        let text = proxies(&Proxy { no_proxy, ..Proxy::default() }).unwrap();
        assert!(text.lines().skip(1).all(|line| line.starts_with("Environment=")), "{text}");
        assert!(!text.contains('\r'), "{text:?}");
    }

    #[test]
    fn networks_and_proxies() {
        let file = |path: &str| File { path: path.to_owned(), mode: 0o600, content: "x".to_owned() };
        let proxy = Proxy {
            http_proxy: Some("http://a%20b".to_owned()),
            https_proxy: None,
            no_proxy: Some("a%b".to_owned()),
        };
        let packed = pack(
            &[file("/etc/assisted/network/host0/a"), file("/etc/assisted/network/host0/b")],
            7,
            Some(&proxy),
        );
        let members = read(&packed.unwrap().unwrap(), Limits::default()).unwrap();
        let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(
            names[..6],
            [
                "/etc",
                "/etc/assisted",
                "/etc/assisted/network",
                "/etc/assisted/network/host0",
                "/etc/assisted/network/host0/a",
                "/etc/assisted/network/host0/b"
            ]
        );
        let member = |name: &str| members.iter().find(|member| member.name.ends_with(name)).unwrap();
        assert_eq!(member("host0/a").mode, 0o100_600);
        let link = member("initrd.target.wants/pre-network-manager-config.service");
        assert_eq!(
            (link.mode, link.content.as_slice()),
            (0o120_777, &b"/etc/systemd/system/pre-network-manager-config.service"[..])
        );
        assert_eq!(
            String::from_utf8(member("10-proxy.conf").content.clone()).unwrap(),
            "[Service]\nEnvironment=http_proxy=http://a%%20b\nEnvironment=https_proxy=\nEnvironment=no_proxy=a%b\n\
             Environment=HTTP_PROXY=http://a%%20b\nEnvironment=HTTPS_PROXY=\nEnvironment=NO_PROXY=a%b"
        );
    }
}
