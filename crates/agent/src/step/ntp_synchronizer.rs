//! Step `ntp-synchronizer`: adds time sources and reports the state of all (agent-protocol §2.4.7).

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use assisted_base::process::{CmdError, Tools};
use assisted_hostinfo::{dns, ntp};
use assisted_wire::probe_requests::NtpSynchronizationRequest;
use assisted_wire::probe_responses::{NtpSource, NtpSynchronizationResponse};
use tokio::time::timeout;
use tracing::warn;

use super::{only_arg, output};
use crate::reply::Outcome;

/// More sources than any cluster names.
const MOST_SOURCES: usize = 32;

/// Limit for one call of chronyc.
const CHRONYC_LIMIT: Duration = Duration::from_secs(30);

/// Limit for turning a name into addresses, or back.
const LOOKUP_LIMIT: Duration = Duration::from_secs(10);

/// Limit for the names of all sources: they are for people, and a dead name server must not hold the states back.
const NAMES_LIMIT: Duration = Duration::from_secs(20);

/// The host's chronyd, as its tool reaches it.
#[derive(Debug, Default)]
pub(super) struct Chrony {
    /// Command socket, where it is not the one that the tool expects.
    pub(super) socket: Option<PathBuf>,
}

pub(super) async fn run(args: &[String], chrony: &Chrony, tools: &Tools) -> Outcome {
    let request: NtpSynchronizationRequest = match only_arg("ntp synchronizer", args) {
        Ok(request) => request,
        Err(outcome) => return outcome,
    };
    let wanted: Vec<_> =
        request.ntp_source.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if wanted.len() > MOST_SOURCES {
        return Outcome::failed(format!("ntp synchronizer: more than {MOST_SOURCES} sources"));
    }
    if let Some(bad) = wanted.iter().find(|source| !is_source(source)) {
        let bad: String = bad.chars().take(255).collect();
        return Outcome::failed(format!("ntp synchronizer: {bad:?} is neither an address nor a host name"));
    }
    for source in wanted {
        if let Err(error) = chrony.add(source, tools).await {
            warn!(source, %error, "time source not added");
        }
    }
    match chrony.sources(tools).await {
        Ok(mut found) => {
            if let Ok(resolver) = dns::system_resolver() {
                dns::name_sources(&mut found, &resolver, NAMES_LIMIT).await;
            }
            output(&NtpSynchronizationResponse { ntp_sources: Some(found) })
        }
        Err(error) => Outcome::failed(error.to_string()),
    }
}

/// An address, or a host name in the protocol's pattern: what begins with a letter or digit is never an option.
fn is_source(text: &str) -> bool {
    let word = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let inside = |c: u8| word(c) || c == b'-' || c == b'.';
    let bytes = text.as_bytes();
    text.parse::<IpAddr>().is_ok()
        || ((2..=63).contains(&bytes.len())
            && bytes.iter().all(|&c| inside(c))
            && word(bytes[0])
            && word(bytes[bytes.len() - 1]))
}

#[derive(Debug, thiserror::Error)]
enum ChronyError {
    #[error(transparent)]
    Cmd(#[from] CmdError),
    #[error("chronyc exited with {code}: {text}")]
    Exit { code: i32, text: String },
}

impl Chrony {
    async fn ask(&self, tools: &Tools, args: &[&str]) -> Result<String, ChronyError> {
        let mut cmd = tools.cmd("chronyc");
        if let Some(socket) = &self.socket {
            cmd = cmd.arg("-h").arg(socket);
        }
        let output = cmd.args(args).timeout(CHRONYC_LIMIT).run().await?;
        if output.success() {
            return Ok(output.text());
        }
        // Its refusals stand on standard output.
        Err(ChronyError::Exit { code: output.code(), text: output.complaint() })
    }

    async fn sources(&self, tools: &Tools) -> Result<Vec<NtpSource>, ChronyError> {
        self.ask(tools, &["-n", "sources"]).await.map(|text| ntp::parse_sources(&text))
    }

    async fn add(&self, source: &str, tools: &Tools) -> Result<(), ChronyError> {
        // Where the check fails the source is added: chrony itself refuses what it has.
        if let Ok(known) = self.sources(tools).await {
            let has = |text: &str| known.iter().any(|known| known.source_name == text);
            if has(source) {
                return Ok(());
            }
            let lookup = tokio::net::lookup_host((source, 123));
            if let Ok(Ok(mut addresses)) = timeout(LOOKUP_LIMIT, lookup).await
                && addresses.any(|address| has(&address.ip().to_string()))
            {
                return Ok(());
            }
        }
        self.ask(tools, &["add", "server", source, "iburst"]).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_addresses_or_names() {
        for good in ["10.0.0.1", "fd00::1", "::1", "time.example.com", "ab", "0.pool.ntp.org"] {
            assert!(is_source(good), "{good}");
        }
        let long = "a".repeat(64);
        for bad in ["-x", "a", "a b", "a;b", "time.example.com.", "Time.example.com", "a\n", "é.com", &long]
        {
            assert!(!is_source(bad), "{bad}");
        }
    }
}
