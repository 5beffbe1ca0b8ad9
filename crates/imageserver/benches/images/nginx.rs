//! nginx on the same file: sendfile, and as many workers as there are processors.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use assisted_testkit::tied;

use super::base::{Base, Certificate};
use super::process::children;

pub struct Nginx {
    child: Child,
    pub address: SocketAddr,
}

impl Nginx {
    pub fn start(dir: &Path, base: &Base, tls: Option<&Certificate>) -> Result<Self> {
        // Free until nginx takes it.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let (listen, keys) = match tls {
            None => ("", String::new()),
            Some(tls) => (
                " ssl",
                format!(
                    "ssl_certificate {};\nssl_certificate_key {};",
                    tls.certificate.display(),
                    tls.key.display()
                ),
            ),
        };
        let (folder, root) = (dir.display(), base.folder().display());
        let config = format!(
            "daemon off;\nuser root;\nworker_processes auto;\npid {folder}/nginx.pid;\nerror_log {folder}/nginx.log;\n\
             events {{ worker_connections 4096; }}\n\
             http {{\naccess_log off;\nsendfile on;\ntcp_nopush on;\nkeepalive_requests 1000000;\n\
             client_body_temp_path {folder}/nginx-body;\nproxy_temp_path {folder}/nginx-proxy;\n\
             fastcgi_temp_path {folder}/nginx-fastcgi;\nuwsgi_temp_path {folder}/nginx-uwsgi;\n\
             scgi_temp_path {folder}/nginx-scgi;\n\
             server {{ listen {address}{listen}; {keys} root {root}; }}\n}}\n"
        );
        let path = dir.join("nginx.conf");
        std::fs::write(&path, config)?;
        let child = tied(Path::new("/usr/sbin/nginx"))
            .arg("-c")
            .arg(&path)
            .stdin(Stdio::null())
            .spawn()
            .context("nginx is missing: run `cargo xtask setup`")?;
        let nginx = Self { child, address };
        let until = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(address).is_err() {
            ensure!(Instant::now() < until, "nginx does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(nginx)
    }

    /// Its processes: the workers do the work.
    pub fn pids(&self) -> Result<Vec<u32>> {
        let mut all = children(self.child.id())?;
        all.push(self.child.id());
        Ok(all)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Its workers end when it is asked to, not when it is killed.
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let _ = self.child.wait();
    }
}
