//! Name resolution against a server of our own on the loopback network.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use assisted_hostinfo::dns::{domain_resolution, name_sources, unresolved};
use assisted_hostinfo::ntp::parse_sources;
use assisted_wire::probe_requests::DomainResolutionRequest;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::op::{Message, ResponseCode};
use hickory_resolver::proto::rr::rdata::{A, AAAA, CNAME, PTR};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use serde_json::json;
use tokio::net::UdpSocket;

fn answer(query: &[u8]) -> Vec<u8> {
    let query = Message::from_vec(query).unwrap();
    let question = query.queries[0].clone();
    let name = question.name().clone();
    let mut response = query.into_response();
    let mut add = |name: &Name, data: RData| {
        response.answers.push(Record::from_rdata(name.clone(), 60, data));
    };
    match (name.to_ascii().as_str(), question.query_type()) {
        ("api.c.example.com.", RecordType::A) => add(&name, RData::A(A(Ipv4Addr::new(192, 0, 2, 5)))),
        ("api.c.example.com.", RecordType::AAAA) => add(&name, RData::AAAA(AAAA("fd00::5".parse().unwrap()))),
        ("alias.example.com.", RecordType::A) => {
            let target = Name::from_ascii("real.example.com.").unwrap();
            add(&name, RData::CNAME(CNAME(target.clone())));
            add(&target, RData::A(A(Ipv4Addr::new(192, 0, 2, 6))));
        }
        ("mapped.example.com.", RecordType::AAAA) => {
            add(&name, RData::AAAA(AAAA("::ffff:192.0.2.7".parse().unwrap())));
        }
        ("relative.search.test.", RecordType::A) => add(&name, RData::A(A(Ipv4Addr::new(192, 0, 2, 8)))),
        ("5.2.0.192.in-addr.arpa.", RecordType::PTR) => {
            add(&name, RData::PTR(PTR(Name::from_ascii("time.example.com.").unwrap())));
        }
        ("broken.example.com.", _) => response.metadata.response_code = ResponseCode::ServFail,
        (
            "api.c.example.com." | "alias.example.com." | "mapped.example.com." | "relative.search.test.",
            _,
        ) => {}
        _ => response.metadata.response_code = ResponseCode::NXDomain,
    }
    response.to_vec().unwrap()
}

async fn server() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut buffer = [0; 4096];
        while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
            socket.send_to(&answer(&buffer[..length]), from).await.unwrap();
        }
    });
    address
}

fn resolver(server: SocketAddr) -> TokioResolver {
    let mut name_server = NameServerConfig::udp(server.ip());
    name_server.connections[0].port = server.port();
    let search = vec![Name::from_ascii("search.test.").unwrap()];
    let config = ResolverConfig::from_parts(None, search, vec![name_server]);
    let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
    let options = builder.options_mut();
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.timeout = Duration::from_secs(5);
    options.cache_size = 0;
    builder.build().unwrap()
}

#[tokio::test]
async fn names_resolve_as_the_protocol_asks() {
    let resolver = resolver(server().await);
    let names = [
        "api.c.example.com",
        "alias.example.com",
        "mapped.example.com",
        "relative",
        "validateNoWildcardDNS.c.example.com.",
        "broken.example.com",
        "not a name..",
    ];
    let domains =
        names.iter().map(|name| json!({"domain_name": name})).chain([json!(7), json!({})]).collect();
    let found = domain_resolution(&DomainResolutionRequest { domains }, &resolver).await;
    let expected = json!({"resolutions": [
        {"domain_name": "api.c.example.com", "ipv4_addresses": ["192.0.2.5"], "ipv6_addresses": ["fd00::5"],
         "cnames": ["api.c.example.com."]},
        {"domain_name": "alias.example.com", "ipv4_addresses": ["192.0.2.6"], "ipv6_addresses": [],
         "cnames": ["real.example.com."]},
        {"domain_name": "mapped.example.com", "ipv4_addresses": ["192.0.2.7"], "ipv6_addresses": [],
         "cnames": ["mapped.example.com."]},
        {"domain_name": "relative", "ipv4_addresses": ["192.0.2.8"], "ipv6_addresses": [],
         "cnames": ["relative.search.test."]},
        {"domain_name": "validateNoWildcardDNS.c.example.com.", "ipv4_addresses": [], "ipv6_addresses": [],
         "cnames": null},
        {"domain_name": "broken.example.com", "ipv4_addresses": [], "ipv6_addresses": [], "cnames": null},
        {"domain_name": "not a name..", "ipv4_addresses": [], "ipv6_addresses": [], "cnames": null},
    ]});
    assert_eq!(serde_json::to_value(found).unwrap(), expected);
}

#[test]
fn without_a_resolver_nothing_resolves() {
    let request = DomainResolutionRequest { domains: vec![json!({"domain_name": "api.c.d."}), json!({})] };
    let expected = json!({"resolutions": [
        {"domain_name": "api.c.d.", "ipv4_addresses": [], "ipv6_addresses": [], "cnames": null},
    ]});
    assert_eq!(serde_json::to_value(unresolved(&request)).unwrap(), expected);
}

#[tokio::test]
async fn time_sources_get_their_names() {
    let resolver = resolver(server().await);
    let mut sources = parse_sources("^* 192.0.2.5 2 6 377\n^? 192.0.2.9 0 6 0\n^- ntp.example.com 2 6 377\n");
    name_sources(&mut sources, &resolver, Duration::from_secs(30)).await;
    let names: Vec<_> = sources.iter().map(|source| source.source_name.as_str()).collect();
    assert_eq!(names, ["time.example.com", "192.0.2.9", "ntp.example.com"]);
}
