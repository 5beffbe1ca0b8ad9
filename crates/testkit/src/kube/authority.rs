//! The certificates of an API for tests, the keys of its accounts, and who may reach it.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, Stream};

pub(super) const CA_CERTIFICATE: &str = "ca.crt";
pub(super) const CA_KEY: &str = "ca.key";
pub(super) const API_CERTIFICATE: &str = "api.crt";
pub(super) const API_KEY: &str = "api.key";
/// Signs the tokens of service accounts.
pub(super) const ACCOUNTS_KEY: &str = "accounts.key";
/// Tells whose tokens those are.
pub(super) const ACCOUNTS_PUBLIC_KEY: &str = "accounts.pub";
pub(super) const KUBECONFIG: &str = "kubeconfig";

/// How long one look may take.
const LOOK: Duration = Duration::from_secs(10);

/// Who somebody is said to be.
pub(super) struct Identity<'a> {
    pub(super) user: &'a str,
    pub(super) groups: &'a [&'a str],
}

/// A certificate and its key, in PEM form.
#[derive(Debug)]
struct Pair {
    certificate: String,
    key: String,
}

/// The authority, and what it has signed.
#[derive(Debug)]
pub(super) struct Authority {
    ca: Pair,
    api: Pair,
    admin: Pair,
    accounts: KeyPair,
    tls: Arc<ClientConfig>,
}

impl Authority {
    pub(super) fn new() -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name.push(DnType::CommonName, "assisted-testkit");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates([ca.der().clone()]);
        let provider = Arc::new(ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();

        // The last is its own service: the first address of their range.
        let names = ["127.0.0.1", "localhost", "kubernetes.default.svc", "172.30.0.1"].map(str::to_owned);
        let mut api = CertificateParams::new(names)?;
        api.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let mut admin = CertificateParams::new(Vec::new())?;
        admin.distinguished_name.push(DnType::CommonName, "admin");
        admin.distinguished_name.push(DnType::OrganizationName, "system:masters");
        admin.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let sign = |params: CertificateParams| {
            let key = KeyPair::generate()?;
            let certificate = params.signed_by(&key, &ca)?.pem();
            Ok::<_, rcgen::Error>(Pair { certificate, key: key.serialize_pem() })
        };
        Ok(Self {
            api: sign(api)?,
            admin: sign(admin)?,
            ca: Pair { certificate: ca.pem(), key: ca.key().serialize_pem() },
            accounts: KeyPair::generate()?,
            tls: Arc::new(tls),
        })
    }

    /// Writes what the servers read, and the administrator's kubeconfig.
    pub(super) fn write(&self, dir: &Path, api: SocketAddr) -> std::io::Result<()> {
        let kubeconfig = self.kubeconfig(api, None);
        for (name, text) in [
            (CA_CERTIFICATE, &self.ca.certificate),
            (CA_KEY, &self.ca.key),
            (API_CERTIFICATE, &self.api.certificate),
            (API_KEY, &self.api.key),
            (ACCOUNTS_KEY, &self.accounts.serialize_pem()),
            (ACCOUNTS_PUBLIC_KEY, &self.accounts.public_key_pem()),
            (KUBECONFIG, &kubeconfig),
        ] {
            std::fs::write(dir.join(name), text)?;
        }
        Ok(())
    }

    pub(super) fn certificate(&self) -> String {
        self.ca.certificate.clone()
    }

    /// A kubeconfig of the administrator, who may say that they are somebody else.
    pub(super) fn kubeconfig(&self, api: SocketAddr, other: Option<&Identity<'_>>) -> String {
        // JSON is YAML, and quotes what a name may hold.
        let text = |value: &str| serde_json::Value::from(value).to_string();
        let block = |pem: &str| text(&STANDARD.encode(pem));
        let mut user = format!(
            "client-certificate-data: {}, client-key-data: {}",
            block(&self.admin.certificate),
            block(&self.admin.key)
        );
        if let Some(other) = other {
            let groups = serde_json::Value::from(other.groups);
            let _ = write!(user, ", as: {}, as-groups: {groups}", text(other.user));
        }
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
             clusters: [{{name: test, cluster: {{server: 'https://{api}', certificate-authority-data: {}}}}}]\n\
             users: [{{name: test, user: {{{user}}}}}]\n\
             contexts: [{{name: test, context: {{cluster: test, user: test}}}}]\n",
            block(&self.ca.certificate)
        )
    }

    /// Whether the API says that it is ready; anybody may ask that.
    pub(super) fn is_ready(&self, api: SocketAddr) -> bool {
        let ask = || {
            let mut socket = TcpStream::connect(api)?;
            socket.set_read_timeout(Some(LOOK))?;
            let name = ServerName::IpAddress(api.ip().into());
            let mut session = ClientConnection::new(self.tls.clone(), name).map_err(std::io::Error::other)?;
            let mut stream = Stream::new(&mut session, &mut socket);
            stream.write_all(b"GET /readyz HTTP/1.0\r\nHost: kubernetes\r\n\r\n")?;
            let mut answer = Vec::new();
            // Whether the end is announced or not, what came counts.
            let _ = stream.read_to_end(&mut answer);
            Ok::<_, std::io::Error>(answer)
        };
        ask().is_ok_and(|answer| {
            answer.split(|byte| *byte == b'\r').next().is_some_and(|line| line.ends_with(b"200 OK"))
        })
    }
}
