//! Members of etcd, by its API over JSON.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use reqwest::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::pki::Pair;

/// The folder with etcd's data.
pub const DATA: &str = "/var/lib/etcd";
const LIMIT: Duration = Duration::from_secs(60);

pub struct Etcd {
    http: Client,
}

/// A member. One that has not started yet has no name.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Member {
    /// A number as text: it is longer than JSON's numbers.
    #[serde(rename = "ID")]
    pub id: String,
    pub name: String,
    #[serde(rename = "peerURLs")]
    pub peer_urls: Vec<String>,
    pub is_learner: bool,
}

impl Member {
    pub fn votes(&self) -> bool {
        !self.is_learner && !self.name.is_empty()
    }

    pub fn is_at(&self, address: IpAddr) -> bool {
        self.peer_urls.iter().any(|url| *url == peer_url(address))
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Response {
    member: Member,
    members: Vec<Member>,
    /// The id that etcd gave to the member.
    leader: String,
}

pub fn host(address: IpAddr) -> String {
    match address {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

pub fn peer_url(address: IpAddr) -> String {
    format!("https://{}:2380", host(address))
}

impl Etcd {
    pub fn new(authority: &str, own: &Pair) -> Result<Self> {
        let identity = assisted_base::http::identity(format!("{}\n{}", own.certificate, own.key).as_bytes())?;
        let builder = Client::builder().tls_built_in_root_certs(false).identity(identity);
        let http = assisted_base::http::authorities(authority.as_bytes())?
            .into_iter()
            .fold(builder, reqwest::ClientBuilder::add_root_certificate)
            .timeout(LIMIT)
            .no_proxy()
            .build()?;
        Ok(Self { http })
    }

    /// The members, as the one at an address knows them.
    pub async fn members(&self, at: IpAddr) -> Result<Vec<Member>> {
        Ok(self.ask(at, "cluster/member/list", &json!({})).await?.members)
    }

    /// Adds a member that doesn't vote yet; gives it, and all that there are now.
    pub async fn add_learner(&self, at: IpAddr, address: IpAddr) -> Result<(Member, Vec<Member>)> {
        let wish = json!({"peerURLs": [peer_url(address)], "isLearner": true});
        let answer = self.ask(at, "cluster/member/add", &wish).await?;
        Ok((answer.member, answer.members))
    }

    /// Lets a member vote; refused until it has all that the others have.
    pub async fn promote(&self, at: IpAddr, id: &str) -> Result<()> {
        self.ask(at, "cluster/member/promote", &json!({"ID": id})).await.map(drop)
    }

    pub async fn remove(&self, at: IpAddr, id: &str) -> Result<()> {
        self.ask(at, "cluster/member/remove", &json!({"ID": id})).await.map(drop)
    }

    /// The member that leads, as the one at an address knows it.
    pub async fn leader(&self, at: IpAddr) -> Result<String> {
        Ok(self.ask(at, "maintenance/status", &json!({})).await?.leader)
    }

    /// Has another member lead; the one at the address leads now.
    pub async fn lead(&self, at: IpAddr, id: &str) -> Result<()> {
        self.ask(at, "maintenance/transfer-leadership", &json!({"targetID": id})).await.map(drop)
    }

    async fn ask(&self, at: IpAddr, what: &str, wish: &Value) -> Result<Response> {
        let url = format!("https://{}:2379/v3/{what}", host(at));
        let answer =
            self.http.post(&url).json(wish).send().await.with_context(|| format!("{url}: no answer"))?;
        let status = answer.status();
        let text = answer.text().await?;
        if !status.is_success() {
            bail!("{url}: {status}: {text}");
        }
        serde_json::from_str(&text).with_context(|| format!("{url}: {text}"))
    }
}

/// Members as a new one is told them: each by its name, the new one by its own.
pub fn initial(members: &[Member], own: &str, address: IpAddr) -> String {
    let name = |member: &Member| if member.is_at(address) { own.to_owned() } else { member.name.clone() };
    let each = members.iter().flat_map(|member| {
        let name = name(member);
        member.peer_urls.iter().map(move |url| format!("{name}={url}"))
    });
    each.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_member_is_told_all() {
        let text = r#"{"header":{"member_id":"1"},"members":[
            {"ID":"18249187646912138824","name":"bootstrap","peerURLs":["https://192.0.2.1:2380"],"clientURLs":["x"]},
            {"ID":"2","peerURLs":["https://[fd00::2]:2380"],"isLearner":true}]}"#;
        let answer: Response = serde_json::from_str(text).unwrap();
        let [first, second] = &answer.members[..] else { panic!("two") };
        assert!(first.votes() && !second.votes() && second.is_at("fd00::2".parse().unwrap()));
        let told = initial(&answer.members, "m0", "fd00::2".parse().unwrap());
        assert_eq!(told, "bootstrap=https://192.0.2.1:2380,m0=https://[fd00::2]:2380");
    }
}
