//! A broker of Kafka: one process, without a helper beside it.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use assisted_lab_tools::kafka;

use crate::{Authority, Error, Port, tied};

/// How long it may take until it listens.
const START: Duration = Duration::from_secs(60);

/// For how long a broker that was killed counts as one that is there: its successor is let in afterwards. By itself it is nine seconds.
const SESSION: Duration = Duration::from_secs(3);

const PROGRAM: &str = "java";

/// A broker that listens without and with TLS, and keeps its data in a folder. It is killed when this is dropped, and when the
/// thread that started it ends.
#[derive(Debug)]
pub struct Kafka {
    child: Option<Child>,
    dir: PathBuf,
    plain: Port,
    tls: Port,
    _controller: Port,
}

impl Kafka {
    /// Who may log in where there is TLS.
    pub const USER: &'static str = "ann";
    pub const PASSWORD: &'static str = "hunter2";
    /// The partitions that a topic gets.
    pub const PARTITIONS: i32 = 6;

    /// Starts one whose certificate an authority signed. Topics are not made by whoever names one.
    ///
    /// # Errors
    /// It is not fetched, or it does not start.
    pub fn start(dir: &Path, authority: &Authority) -> Result<Self, Error> {
        let (plain, tls, controller) = (Port::free()?, Port::free()?, Port::free()?);
        let (certificates, key) = authority.certificate(dir, &["localhost"], (2020, 2040))?;
        let settings = settings(
            dir,
            [plain.number, tls.number, controller.number],
            &std::fs::read_to_string(certificates)?,
            &std::fs::read_to_string(key)?,
        );
        std::fs::write(dir.join("server.properties"), settings)?;
        let mut broker = Self { child: None, dir: dir.to_owned(), plain, tls, _controller: controller };
        let login = format!("SCRAM-SHA-512=[name={},password={}]", Self::USER, Self::PASSWORD);
        let format = ["format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-S", &login, "-c"];
        let mut laid = broker.java("kafka.tools.StorageTool")?;
        let laid = laid.args(format).arg(dir.join("server.properties")).output();
        let laid = laid.map_err(|source| Error::Run { program: PROGRAM, source })?;
        if !laid.status.success() {
            return Err(Error::Silent { log: String::from_utf8_lossy(&laid.stderr).into_owned() });
        }
        broker.restart()?;
        Ok(broker)
    }

    /// Starts it again, at the same ports and with what it had.
    ///
    /// # Errors
    /// It does not start.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.kill();
        let log = self.dir.join("broker.log");
        let mut command = self.java("kafka.Kafka")?;
        command.arg(self.dir.join("server.properties")).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(std::fs::File::options().create(true).append(true).open(&log)?);
        self.child = Some(command.spawn().map_err(|source| Error::Run { program: PROGRAM, source })?);
        let began = Instant::now();
        let listens = |port: &Port| TcpStream::connect((Ipv4Addr::LOCALHOST, port.number)).is_ok();
        while !(listens(&self.plain) && listens(&self.tls)) {
            let ended = self.child.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)));
            if ended || began.elapsed() > START {
                return Err(Error::Silent { log: std::fs::read_to_string(&log).unwrap_or_default() });
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Kills it; its data stays.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Fails only when it has ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Where it listens without TLS, and lets everybody in.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.plain.number)
    }

    /// Where it listens with TLS, and wants a login.
    pub fn tls_address(&self) -> String {
        format!("localhost:{}", self.tls.number)
    }

    fn java(&self, class: &str) -> Result<Command, Error> {
        let archives = kafka::fetched().map_err(|error| Error::Silent { log: error.to_string() })?;
        let program = assisted_lab_tools::on_path(PROGRAM).ok_or(Error::NotInstalled { program: PROGRAM })?;
        let mut command = tied(&program);
        // A short life on little memory: no time for the compiler that makes long lives quick.
        command.args(["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp"]);
        command.arg(archives.join("*")).arg(class);
        Ok(command)
    }
}

impl Drop for Kafka {
    fn drop(&mut self) {
        self.kill();
    }
}

fn settings(dir: &Path, [plain, tls, controller]: [u16; 3], certificates: &str, key: &str) -> String {
    let listeners = format!("PLAINTEXT://127.0.0.1:{plain},SASL_SSL://localhost:{tls}");
    let one_line = |pem: &str| pem.trim_end().replace('\n', "\\n");
    let modules = "org.apache.kafka.common.security";
    let of = "listener.name.sasl_ssl";
    let mut text = format!(
        "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n\
         listeners={listeners},CONTROLLER://127.0.0.1:{controller}\nadvertised.listeners={listeners}\n\
         listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT\n\
         controller.listener.names=CONTROLLER\ninter.broker.listener.name=PLAINTEXT\n\
         log.dirs={}\noffsets.topic.replication.factor=1\nauto.create.topics.enable=false\n\
         controlled.shutdown.enable=false\nsasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512\n\
         broker.session.timeout.ms={}\nbroker.heartbeat.interval.ms={}\n",
        dir.join("data").display(),
        SESSION.as_millis(),
        (SESSION / 6).as_millis()
    );
    let (user, password) = (Kafka::USER, Kafka::PASSWORD);
    let _ = write!(
        text,
        "{of}.plain.sasl.jaas.config={modules}.plain.PlainLoginModule required user_{user}=\"{password}\";\n\
         {of}.scram-sha-512.sasl.jaas.config={modules}.scram.ScramLoginModule required;\n\
         {of}.ssl.keystore.type=PEM\n{of}.ssl.keystore.certificate.chain={}\n{of}.ssl.keystore.key={}\n",
        one_line(certificates),
        one_line(key)
    );
    text
}
