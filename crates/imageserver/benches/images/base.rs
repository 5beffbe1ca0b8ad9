//! The base image, and a certificate.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use rustls::ClientConfig;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// A live image as large as real ones, with nothing in it.
pub struct Base {
    dir: tempfile::TempDir,
    pub path: PathBuf,
    pub length: u64,
}

impl Base {
    pub fn make(size: u64) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let tree = dir.path().join("tree");
        let write = |path: &str, content: &[u8]| -> Result<()> {
            let path = tree.join(path);
            fs::create_dir_all(path.parent().context("no folder")?)?;
            Ok(fs::write(path, content)?)
        };
        let kargs = "coreos.liveiso=rhcos-bench ignition.firstboot ignition.platform.id=metal";
        let area = format!("{}# COREOS_KARG_EMBED_AREA", "#".repeat(1023));
        let grub = format!(
            "\tlinux /images/pxeboot/vmlinuz {kargs}\n{area}\n\tinitrd /images/pxeboot/initrd.img /images/ignition.img\n"
        );
        let isolinux =
            format!("  append initrd=/images/pxeboot/initrd.img,/images/ignition.img {kargs}\n{area}\n");
        let place = |path: &str, text: &str| serde_json::json!({"path": path, "offset": text.find(kargs).unwrap_or_default()});
        let description = serde_json::json!({
            "default": kargs,
            "files": [place("EFI/redhat/grub.cfg", &grub), place("isolinux/isolinux.cfg", &isolinux)],
            "size": kargs.len() + 1024,
        });
        write("coreos/igninfo.json", br#"{"file": "images/ignition.img"}"#)?;
        write("coreos/kargs.json", description.to_string().as_bytes())?;
        write("EFI/redhat/grub.cfg", grub.as_bytes())?;
        write("isolinux/isolinux.cfg", isolinux.as_bytes())?;
        write("images/ignition.img", &[0; 256 << 10])?;
        for (path, length) in [("rootfs.img", size << 20), ("initrd.img", 60 << 20), ("vmlinuz", 10 << 20)] {
            let path = format!("images/pxeboot/{path}");
            write(&path, b"")?;
            File::options().write(true).open(tree.join(path))?.set_len(length)?;
        }
        let path = dir.path().join("base.iso");
        let made = Command::new("xorriso")
            .args(["-as", "mkisofs", "-quiet", "-V", "rhcos-bench", "-R", "-o"])
            .args([&path, &tree])
            .output()
            .context("xorriso is missing: run `cargo xtask setup`")?;
        ensure!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        // As after its first download: in memory.
        std::io::copy(&mut File::open(&path)?, &mut std::io::sink())?;
        let length = fs::metadata(&path)?.len();
        Ok(Self { dir, path, length })
    }

    /// Its path below the folder that it is in.
    pub fn name(&self) -> String {
        "/base.iso".to_owned()
    }

    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// The list of OS images with it.
    pub fn list(&self) -> String {
        serde_json::json!([{
            "openshift_version": "4.18",
            "cpu_architecture": "x86_64",
            "version": "418.94",
            "url": format!("file://{}", self.path.display()),
        }])
        .to_string()
    }
}

/// A certificate for this machine.
pub struct Certificate {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Certificate {
    pub fn make(dir: &Path) -> Result<Self> {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let (certificate, key) = (dir.join("tls.crt"), dir.join("tls.key"));
        fs::write(&certificate, made.cert.pem())?;
        fs::write(&key, made.signing_key.serialize_pem())?;
        Ok(Self { certificate, key })
    }

    /// What clients need to trust it.
    pub fn trust(&self) -> Result<Arc<ClientConfig>> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&self.certificate)?)?;
        Ok(Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()))
    }
}
