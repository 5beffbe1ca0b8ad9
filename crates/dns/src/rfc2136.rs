//! Records at a server that takes dynamic updates (RFC 2136), signed with a shared key (TSIG, RFC 8945), over TCP.
//!
//! Whether a name is free is asked with the prerequisites of an update that changes nothing: a question would be answered from
//! wildcards too, and by resolvers that stand in between.

use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use futures::FutureExt;
use futures::future::BoxFuture;
use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::tsig::TsigAlgorithm;
use hickory_proto::rr::rdata::{A, AAAA};
use hickory_proto::rr::{DNSClass, Name, RData, Record as Entry, RecordType, TSigner};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::record::TTL;
use crate::{Change, DnsError, Provider, Record};

/// How long an exchange may take.
const EXCHANGE: Duration = Duration::from_secs(10);
/// How far the clocks of both sides may be apart, in seconds.
const FUDGE: u16 = 300;
/// Kinds of records that keep a name from being given an address.
const OCCUPYING: [RecordType; 3] = [RecordType::A, RecordType::AAAA, RecordType::CNAME];
const ADDRESSES: [RecordType; 2] = [RecordType::A, RecordType::AAAA];

/// How updates are signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    #[default]
    HmacSha256,
    HmacSha384,
    HmacSha512,
}

/// A key that the server knows.
#[derive(Clone)]
pub struct Key {
    /// Its name, as the server knows it.
    pub name: String,
    /// What is shared, decoded.
    pub secret: Vec<u8>,
    pub algorithm: Algorithm,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("name", &self.name)
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

/// A zone at a server that takes dynamic updates.
pub struct DynamicUpdate {
    /// Where the server listens: host and port.
    server: String,
    zone: Name,
    zone_name: String,
    signer: Option<TSigner>,
}

impl fmt::Debug for DynamicUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicUpdate")
            .field("server", &self.server)
            .field("zone", &self.zone_name)
            .finish_non_exhaustive()
    }
}

impl DynamicUpdate {
    /// The zone with this name at the server that listens there (`host:port`). Without a key, updates are not signed.
    ///
    /// # Errors
    /// When the zone or the key can't be used.
    pub fn new(server: &str, zone: &str, key: Option<&Key>) -> Result<Self, DnsError> {
        let signer = key.map(signer).transpose()?;
        Ok(Self { server: server.to_owned(), zone: parsed(zone)?, zone_name: zone.to_owned(), signer })
    }

    /// An update that changes nothing yet.
    fn update(&self) -> Message {
        let mut message = Message::query();
        message.metadata.op_code = OpCode::Update;
        message.metadata.recursion_desired = false;
        message.add_query(Query::query(self.zone.clone(), RecordType::SOA));
        message
    }

    async fn exchange(&self, message: Message) -> Result<Message, DnsError> {
        let server = || self.server.clone();
        match tokio::time::timeout(EXCHANGE, self.try_exchange(message)).await {
            Ok(answer) => answer,
            Err(_) => Err(DnsError::Timeout { server: server(), seconds: EXCHANGE.as_secs() }),
        }
    }

    async fn try_exchange(&self, mut message: Message) -> Result<Message, DnsError> {
        let unclear = |problem: String| DnsError::Answer { server: self.server.clone(), problem };
        let lost = |source: std::io::Error| DnsError::Unreachable {
            server: self.server.clone(),
            source: source.into(),
        };
        let mut verifier = None;
        if let Some(signer) = self.signer.as_ref().filter(|signer| signer.should_sign_message(&message)) {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
            let (signature, expected) =
                signer.sign_message(&message, now).map_err(|error| unclear(error.to_string()))?;
            message.set_signature(signature);
            verifier = expected;
        }
        let bytes = message.to_vec().map_err(|error| unclear(error.to_string()))?;
        let length = u16::try_from(bytes.len()).map_err(|error| unclear(error.to_string()))?;
        let mut stream = TcpStream::connect(self.server.as_str()).await.map_err(lost)?;
        stream.write_all(&[&length.to_be_bytes(), bytes.as_slice()].concat()).await.map_err(lost)?;
        let length = stream.read_u16().await.map_err(lost)?;
        let mut answer = vec![0; usize::from(length)];
        stream.read_exact(&mut answer).await.map_err(lost)?;
        let read = Message::from_vec(&answer).map_err(|error| unclear(error.to_string()))?;
        if read.metadata.id != message.metadata.id || read.metadata.message_type != MessageType::Response {
            return Err(unclear("it belongs to another question".to_owned()));
        }
        if let Some(mut verifier) = verifier
            && let Err(error) = verifier.verify(&answer)
        {
            // A server that does not know the key can't sign its refusal.
            return Err(match read.metadata.response_code {
                ResponseCode::NoError => unclear(error.to_string()),
                code => self.refused(code),
            });
        }
        Ok(read)
    }

    fn refused(&self, code: ResponseCode) -> DnsError {
        let said = match code {
            ResponseCode::NotAuth => {
                "not authorised (NOTAUTH): it does not know the key, the secret is another one, or it does not serve the zone"
                    .to_owned()
            }
            ResponseCode::Refused => "the key may not change these names (REFUSED)".to_owned(),
            ResponseCode::NotZone => "a name lies outside of the zone (NOTZONE)".to_owned(),
            code => code.to_string(),
        };
        DnsError::Refused { server: self.server.clone(), said }
    }

    /// Whether a name leads somewhere.
    async fn is_taken(&self, name: &str) -> Result<bool, DnsError> {
        let mut message = self.update();
        let name = parsed(name)?;
        for kind in OCCUPYING {
            message.add_answer(absent(&name, kind));
        }
        match self.exchange(message).await?.metadata.response_code {
            ResponseCode::NoError => Ok(false),
            ResponseCode::YXRRSet => Ok(true),
            code => Err(self.refused(code)),
        }
    }
}

impl Provider for DynamicUpdate {
    fn zone(&self) -> BoxFuture<'_, Result<String, DnsError>> {
        async move {
            let mut message = Message::query();
            message.metadata.recursion_desired = false;
            message.add_query(Query::query(self.zone.clone(), RecordType::SOA));
            let answer = self.exchange(message).await?;
            let is_zone = |entry: &Entry| entry.name == self.zone && entry.record_type() == RecordType::SOA;
            if answer.metadata.authoritative && answer.answers.iter().any(is_zone) {
                return Ok(self.zone_name.clone());
            }
            Err(DnsError::NoZone { server: self.server.clone(), zone: self.zone_name.clone() })
        }
        .boxed()
    }

    fn taken<'a>(&'a self, names: &'a [String]) -> BoxFuture<'a, Result<Vec<String>, DnsError>> {
        async move {
            let mut taken = Vec::new();
            for name in names {
                if self.is_taken(name).await? {
                    taken.push(name.clone());
                }
            }
            Ok(taken)
        }
        .boxed()
    }

    fn put<'a>(&'a self, changes: &'a [Change]) -> BoxFuture<'a, Result<(), DnsError>> {
        async move {
            let mut message = self.update();
            for Change { record, replaces } in changes {
                let name = parsed(&record.name)?;
                if *replaces {
                    for kind in ADDRESSES {
                        message.add_authority(cleared(&name, kind));
                    }
                } else {
                    for kind in OCCUPYING {
                        message.add_answer(absent(&name, kind));
                    }
                }
                message.add_authority(Entry::from_rdata(name, TTL, data(record)));
            }
            match self.exchange(message).await?.metadata.response_code {
                ResponseCode::NoError => Ok(()),
                ResponseCode::YXRRSet => {
                    let names = changes.iter().filter(|change| !change.replaces);
                    let said = names.map(|change| change.record.name.as_str()).collect::<Vec<_>>().join(", ");
                    Err(DnsError::Taken { said })
                }
                code => Err(self.refused(code)),
            }
        }
        .boxed()
    }

    fn delete<'a>(&'a self, records: &'a [Record]) -> BoxFuture<'a, Result<(), DnsError>> {
        async move {
            if records.is_empty() {
                return Ok(());
            }
            let mut message = self.update();
            for record in records {
                // Of this class: the record with just this address, if it is there.
                let mut entry = Entry::from_rdata(parsed(&record.name)?, 0, data(record));
                entry.dns_class = DNSClass::NONE;
                message.add_authority(entry);
            }
            match self.exchange(message).await?.metadata.response_code {
                ResponseCode::NoError => Ok(()),
                code => Err(self.refused(code)),
            }
        }
        .boxed()
    }
}

fn signer(key: &Key) -> Result<TSigner, DnsError> {
    let algorithm = match key.algorithm {
        Algorithm::HmacSha256 => TsigAlgorithm::HmacSha256,
        Algorithm::HmacSha384 => TsigAlgorithm::HmacSha384,
        Algorithm::HmacSha512 => TsigAlgorithm::HmacSha512,
    };
    TSigner::new(key.secret.clone(), algorithm, parsed(&key.name)?, FUDGE)
        .map_err(|error| DnsError::Name { name: key.name.clone(), problem: error.to_string() })
}

fn parsed(name: &str) -> Result<Name, DnsError> {
    let refused = |problem: String| DnsError::Name { name: name.to_owned(), problem };
    let mut parsed = Name::from_ascii(name).map_err(|error| refused(error.to_string()))?;
    parsed.set_fqdn(true);
    Ok(parsed)
}

fn data(record: &Record) -> RData {
    match record.address {
        IpAddr::V4(address) => RData::A(A(address)),
        IpAddr::V6(address) => RData::AAAA(AAAA(address)),
    }
}

/// The prerequisite that a name has no records of a kind.
fn absent(name: &Name, kind: RecordType) -> Entry {
    let mut entry = Entry::update0(name.clone(), 0, kind).into_record_of_rdata();
    entry.dns_class = DNSClass::NONE;
    entry
}

/// The change by which a name has no records of a kind any more.
fn cleared(name: &Name, kind: RecordType) -> Entry {
    let mut entry = Entry::update0(name.clone(), 0, kind).into_record_of_rdata();
    entry.dns_class = DNSClass::ANY;
    entry
}
