//! Services of AWS: moto (PyPI), which keeps buckets and zones in memory.

use std::path::Path;
use std::process::Command;

use crate::bucket::{Bucket, SharedServer};
use crate::local_server::LocalServer;
use crate::shared::shared;
use crate::{Authority, Error, python};

const PROGRAM: &str = "moto_server";

/// A running server. It is killed when this is dropped, and when the thread that started it ends.
#[derive(Debug)]
pub struct AwsServer {
    _server: LocalServer,
    /// Its address.
    pub url: String,
}

impl AwsServer {
    /// Starts a server without buckets; it takes any credentials.
    ///
    /// # Errors
    /// When moto is not installed, or does not listen in time.
    pub fn start() -> Result<Self, Error> {
        Self::launch(|_| ())
    }

    /// The same by TLS alone, with an authority's certificate for 127.0.0.1; the files of it and of its key are in `dir`.
    ///
    /// # Errors
    /// As [`Self::start`], and when there is no certificate.
    pub fn start_with_tls(authority: &Authority, dir: &Path) -> Result<Self, Error> {
        let (certificate, key) = authority.certificate(dir, &["127.0.0.1"], (2020, 2090))?;
        let mut server = Self::launch(|command| {
            command.arg("--ssl-cert").arg(&certificate).arg("--ssl-key").arg(&key);
        })?;
        server.url = server.url.replacen("http://", "https://", 1);
        Ok(server)
    }

    fn launch(more: impl FnOnce(&mut Command)) -> Result<Self, Error> {
        let missing = |_| Error::NotInstalled { program: PROGRAM };
        let program = python().map_err(missing)?.with_file_name(PROGRAM);
        let server = LocalServer::start(PROGRAM, &program, |command, port, files| {
            command.args(["-H", "127.0.0.1", "-p", port]).env("TMPDIR", files).env("NO_PROXY", "*");
            more(command);
        })?;
        Ok(Self { url: server.url.clone(), _server: server })
    }

    /// Makes a zone in Route 53; its id.
    ///
    /// # Errors
    /// What the server answers instead.
    pub async fn create_zone(url: &str, name: &str) -> Result<String, String> {
        let body = format!(
            "<CreateHostedZoneRequest xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\"><Name>{name}.</Name>\
             <CallerReference>{name}</CallerReference></CreateHostedZoneRequest>"
        );
        let answer = ask(reqwest::Method::POST, &format!("{url}/2013-04-01/hostedzone"), body).await?;
        let id = between(&answer, "<Id>", "</Id>").next().ok_or_else(|| answer.clone())?;
        Ok(id.trim_start_matches("/hostedzone/").to_owned())
    }

    /// The addresses in a zone of Route 53: name, type and address, as the server writes them.
    ///
    /// # Errors
    /// What the server answers instead.
    pub async fn zone_records(url: &str, zone: &str) -> Result<Vec<String>, String> {
        let list = format!("{url}/2013-04-01/hostedzone/{zone}/rrset");
        let answer = ask(reqwest::Method::GET, &list, String::new()).await?;
        let one = |text: &str, begin: &str, end: &str| {
            between(text, begin, end).next().unwrap_or_default().trim_end_matches('.').to_owned()
        };
        let mut records: Vec<_> = between(&answer, "<ResourceRecordSet>", "</ResourceRecordSet>")
            .map(|set| {
                let (name, kind) = (one(set, "<Name>", "</Name>"), one(set, "<Type>", "</Type>"));
                format!("{name} {kind} {} {}", one(set, "<TTL>", "</TTL>"), one(set, "<Value>", "</Value>"))
            })
            .filter(|record| [" A ", " AAAA "].iter().any(|kind| record.contains(kind)))
            .collect();
        records.sort();
        Ok(records)
    }

    /// A bucket that no other test uses, of a server that all tests of this process share; it is not made yet.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn bucket() -> Result<Bucket, Error> {
        static SERVER: SharedServer = SharedServer::new();
        Bucket::on(&SERVER, || shared(Self::start, |server| server.url.clone()))
    }
}

async fn ask(method: reqwest::Method, url: &str, body: String) -> Result<String, String> {
    // Without a look at who asks: moto only wants to see that somebody does.
    let by = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/route53/aws4_request, SignedHeaders=host, Signature=0";
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().map_err(|error| error.to_string())?;
    let asked = client.request(method, url).header("authorization", by).body(body).send().await;
    let answer = asked.map_err(|error| error.to_string())?;
    let is_success = answer.status().is_success();
    let text = answer.text().await.map_err(|error| error.to_string())?;
    if is_success { Ok(text) } else { Err(text) }
}

fn between<'a>(text: &'a str, begin: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(begin).skip(1).filter_map(move |rest| rest.split(end).next())
}
