//! Records at Amazon's Route 53, by its REST interface.

mod credentials;
mod sign;
mod xml;

use std::path::PathBuf;
use std::time::Duration;

use assisted_base::http::{self, Proxies, Trust};
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Method, Url};

use crate::{Change, DnsError, Provider, Record};
use xml::{Action, RecordSet};

const USER_AGENT: &str = concat!("assisted-dns/", env!("CARGO_PKG_VERSION"));
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(20);
/// Longest answer, in bytes.
const LONGEST: usize = 1 << 20;
/// The version of the interface.
const VERSION: &str = "2013-04-01";
/// So many record sets may have the name that is looked for before the ones that matter: one of each kind, and some to spare.
const SETS: usize = 20;
/// What stands in a query as it is.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A zone at Route 53.
#[derive(Debug)]
pub struct Route53 {
    endpoint: Url,
    region: String,
    zone: String,
    credentials: PathBuf,
    http: Client,
}

impl Route53 {
    /// The zone with this id, asked about at this address.
    ///
    /// # Errors
    /// When the client of HTTP can't be made.
    pub fn new(endpoint: Url, region: &str, zone: &str, credentials: PathBuf) -> reqwest::Result<Self> {
        let http =
            http::builder(USER_AGENT, Trust::System, &Proxies::FromEnvironment)?.timeout(ANSWER).build()?;
        Ok(Self { endpoint, region: region.to_owned(), zone: zone.to_owned(), credentials, http })
    }

    fn server(&self) -> String {
        self.endpoint.host_str().unwrap_or_default().to_owned()
    }

    /// Makes a request about the zone; `rest` is what of its path follows the zone's.
    async fn ask(&self, method: Method, rest: &str, query: &str, body: String) -> Result<String, DnsError> {
        let by = credentials::read(&self.credentials).await?;
        let mut url = self.endpoint.clone();
        url.set_path(&format!("/{VERSION}/hostedzone/{}{rest}", self.zone));
        url.set_query((!query.is_empty()).then_some(query));
        let host = self.server();
        let host = url.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}"));
        let request = sign::Request {
            method: method.as_str(),
            host: &host,
            path: url.path(),
            query,
            body: body.as_bytes(),
            region: &self.region,
            service: "route53",
        };
        let mut asked = self.http.request(method.clone(), url.clone());
        for (name, value) in sign::headers(&request, &by, Timestamp::now()) {
            asked = asked.header(name, value);
        }
        if !body.is_empty() {
            asked = asked.header(CONTENT_TYPE, "application/xml").body(body);
        }
        let server = self.server();
        let mut answer = asked
            .send()
            .await
            .map_err(|source| DnsError::Unreachable { server: server.clone(), source: source.into() })?;
        let status = answer.status();
        let text = http::read(&mut answer, LONGEST)
            .await
            .map_err(|source| DnsError::Body { server: server.clone(), source })?;
        let text = String::from_utf8_lossy(&text).into_owned();
        if status.is_success() {
            return Ok(text);
        }
        let said = xml::complaint(&text).unwrap_or_else(|| status.to_string());
        if said.contains("NoSuchHostedZone") {
            return Err(DnsError::NoZone { server, zone: self.zone.clone() });
        }
        Err(DnsError::Refused { server, said })
    }

    /// The record sets of a name.
    async fn sets(&self, name: &str) -> Result<Vec<RecordSet>, DnsError> {
        // Ordered by name, as the signature wants it.
        let query = format!("maxitems={SETS}&name={}", utf8_percent_encode(name, UNRESERVED));
        let text = self.ask(Method::GET, "/rrset", &query, String::new()).await?;
        let sets =
            xml::record_sets(&text).map_err(|problem| DnsError::Answer { server: self.server(), problem })?;
        Ok(sets.into_iter().filter(|set| set.name == name).collect())
    }

    async fn change(&self, changes: &[(Action, &Record, u32)]) -> Result<(), DnsError> {
        if changes.is_empty() {
            return Ok(());
        }
        self.ask(Method::POST, "/rrset/", "", xml::changes(changes)).await.map(drop)
    }
}

impl Provider for Route53 {
    fn zone(&self) -> BoxFuture<'_, Result<String, DnsError>> {
        async move {
            let text = self.ask(Method::GET, "", "", String::new()).await?;
            xml::zone_name(&text).map_err(|problem| DnsError::Answer { server: self.server(), problem })
        }
        .boxed()
    }

    fn taken<'a>(&'a self, names: &'a [String]) -> BoxFuture<'a, Result<Vec<String>, DnsError>> {
        async move {
            let mut taken = Vec::new();
            for name in names {
                if self.sets(name).await?.iter().any(|set| xml::occupies(&set.kind)) {
                    taken.push(name.clone());
                }
            }
            Ok(taken)
        }
        .boxed()
    }

    fn put<'a>(&'a self, changes: &'a [Change]) -> BoxFuture<'a, Result<(), DnsError>> {
        async move {
            let action = |change: &Change| if change.replaces { Action::Upsert } else { Action::Create };
            let changes: Vec<_> =
                changes.iter().map(|change| xml::made(action(change), &change.record)).collect();
            self.change(&changes).await.map_err(|error| match error {
                DnsError::Refused { said, .. } if said.contains("already exists") => DnsError::Taken { said },
                error => error,
            })
        }
        .boxed()
    }

    fn delete<'a>(&'a self, records: &'a [Record]) -> BoxFuture<'a, Result<(), DnsError>> {
        async move {
            let mut changes = Vec::new();
            for record in records {
                let sets = self.sets(&record.name).await?;
                // Only what is named just as it is kept is deleted.
                let kept = sets.iter().find(|set| set.is(record));
                changes.extend(kept.and_then(|set| set.ttl).map(|ttl| (Action::Delete, record, ttl)));
            }
            self.change(&changes).await
        }
        .boxed()
    }
}
