//! What is asked for, written by an independent library, and what may be had.

use k8s_openapi::ByteString;
use rcgen::{CertificateParams, CustomExtension, DnType, KeyPair, SanType};
use serde_json::json;

use super::*;
use crate::host::tests::host;

struct TestRequest {
    signer: &'static str,
    user: &'static str,
    groups: &'static [&'static str],
    usages: &'static [&'static str],
    common_name: &'static str,
    organization: Option<&'static str>,
    names: &'static [&'static str],
    addresses: &'static [&'static str],
}

const CLIENT_REQUEST: TestRequest = TestRequest {
    signer: CLIENT,
    user: BOOTSTRAPPER,
    groups: BOOTSTRAPPER_GROUPS,
    usages: &["digital signature", "client auth"],
    common_name: "system:node:master-1",
    organization: Some(NODES),
    names: &[],
    addresses: &[],
};

const SERVING_REQUEST: TestRequest = TestRequest {
    signer: SERVING,
    user: "system:node:master-0",
    groups: &[NODES, AUTHENTICATED],
    usages: &["digital signature", "key encipherment", "server auth"],
    common_name: "system:node:master-0",
    organization: Some(NODES),
    names: &["master-0"],
    addresses: &["192.168.1.10", "fd00::10"],
};

impl TestRequest {
    fn params(&self) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, self.common_name);
        if let Some(organization) = self.organization {
            params.distinguished_name.push(DnType::OrganizationName, organization);
        }
        let names = self.names.iter().map(|name| SanType::DnsName((*name).try_into().unwrap()));
        let addresses = self.addresses.iter().map(|address| SanType::IpAddress(address.parse().unwrap()));
        params.subject_alt_names = names.chain(addresses).collect();
        params
    }

    fn spec(&self, params: &CertificateParams) -> CertificateSigningRequestSpec {
        let texts = |texts: &[&str]| Some(texts.iter().map(|text| (*text).to_owned()).collect());
        let pem = params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap();
        CertificateSigningRequestSpec {
            request: ByteString(pem.into_bytes()),
            signer_name: self.signer.to_owned(),
            username: Some(self.user.to_owned()),
            groups: texts(self.groups),
            usages: texts(self.usages),
            ..CertificateSigningRequestSpec::default()
        }
    }
}

fn cluster() -> Cluster {
    serde_json::from_value(json!({
        "kind": "Cluster", "id": uuid(), "href": "", "status": "installing", "status_info": "",
        "image_info": {}, "api_vips": [{"ip": "192.168.1.100"}], "ingress_vips": [{"ip": "192.168.1.101"}],
    }))
    .unwrap()
}

fn uuid() -> String {
    assisted_wire::id::ClusterId::random().to_string()
}

fn node(name: &str, ready: bool, names: &[&str], addresses: &[&str]) -> Node {
    let addresses: Vec<_> = addresses.iter().map(|address| address.parse().unwrap()).collect();
    Node {
        name: name.to_owned(),
        internal: addresses.clone(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        addresses,
        ready,
        ..Node::default()
    }
}

fn verdict(spec: &CertificateSigningRequestSpec) -> Result<(), Rejection> {
    let hosts = [
        host("master-0", "", &["192.168.1.10/24", "fd00::10/64"]),
        host("master-1", "", &["192.168.1.11/24"]),
        host("worker-0", "w0.lab.example.com", &["192.168.1.20/24"]),
        host("worker-1.lab.example.com", "", &["192.168.1.21/24"]),
        // Their short names collide.
        host("infra-0.a.example.com", "", &["192.168.1.30/24"]),
        host("infra-0.b.example.com", "", &["192.168.1.31/24"]),
    ];
    let nodes = [
        // It has a new address, and claims some that are not its own.
        node(
            "master-0",
            true,
            &["master-0", "master-0.lab.example.com", "master-1", "api.lab.example.com"],
            &[
                "192.168.1.10",
                "fd00::10",
                "192.168.1.77",
                "192.168.1.11",
                "192.168.1.20",
                "192.168.1.100",
                "10.9.9.9",
            ],
        ),
        node("worker-0.lab.example.com", false, &["worker-0.lab.example.com"], &["192.168.1.20"]),
        node("worker-1", false, &["worker-1"], &["192.168.1.21"]),
        node("infra-0", false, &["infra-0"], &["192.168.1.31"]),
        node("infra-0.b.example.com", false, &["infra-0"], &["192.168.1.31"]),
        node("balancer", false, &["balancer"], &["192.168.1.30", "192.168.1.31"]),
    ];
    check("csr-x7k2p", spec, &Known::new(&cluster(), &hosts, &nodes))
}

fn of(asked: &TestRequest) -> Result<(), Rejection> {
    verdict(&asked.spec(&asked.params()))
}

#[test]
fn what_hosts_ask_for_is_approved() {
    for common_name in [
        "system:node:master-1",
        "system:node:MASTER-1",
        "system:node:master-1.lab.example.com",
        "system:node:w0",
        "system:node:worker-1.lab.example.com",
        "system:node:worker-1",
        "system:node:infra-0.a.example.com",
    ] {
        assert_eq!(of(&TestRequest { common_name, ..CLIENT_REQUEST }), Ok(()), "{common_name}");
    }
    let usages = &["digital signature", "key encipherment", "client auth"];
    assert_eq!(of(&TestRequest { usages, ..CLIENT_REQUEST }), Ok(()));
    let renewed = TestRequest {
        user: "system:node:master-0",
        groups: &[NODES, AUTHENTICATED],
        common_name: "system:node:master-0",
        ..CLIENT_REQUEST
    };
    assert_eq!(of(&renewed), Ok(()));

    assert_eq!(of(&SERVING_REQUEST), Ok(()));
    for (names, addresses) in [
        (&["master-0"][..], &[][..]),
        (&["master-0", "master-0.lab.example.com"], &["192.168.1.10"]),
        // A lease that has changed.
        (&[], &["192.168.1.77"]),
    ] {
        assert_eq!(
            of(&TestRequest { names, addresses, ..SERVING_REQUEST }),
            Ok(()),
            "{names:?} {addresses:?}"
        );
    }
    for (user, names, addresses) in [
        // The node has the full form of the host's name, or the short form of it.
        ("system:node:worker-0.lab.example.com", &["worker-0.lab.example.com"][..], &["192.168.1.20"][..]),
        ("system:node:worker-1", &["worker-1"], &["192.168.1.21"]),
        // Two hosts have this short form, and one of them this node's address.
        ("system:node:infra-0", &["infra-0"], &["192.168.1.31"]),
    ] {
        let renamed = TestRequest { user, common_name: user, names, addresses, ..SERVING_REQUEST };
        assert_eq!(of(&renamed), Ok(()), "{user}");
    }
}

#[test]
fn what_a_client_may_not_have() {
    let name = |name: &str| name.to_owned();
    let requestor = |user: &str| Err(Rejection::Requestor { user: user.to_owned() });
    for (asked, expected) in [
        (TestRequest { user: "system:node:master-1", ..CLIENT_REQUEST }, requestor("system:node:master-1")),
        (TestRequest { user: "kube:admin", ..CLIENT_REQUEST }, requestor("kube:admin")),
        (TestRequest { groups: &[AUTHENTICATED], ..CLIENT_REQUEST }, requestor(BOOTSTRAPPER)),
        (
            TestRequest {
                groups: &[
                    "system:masters",
                    "system:serviceaccounts:openshift-machine-config-operator",
                    "system:serviceaccounts",
                    AUTHENTICATED,
                ],
                ..CLIENT_REQUEST
            },
            requestor(BOOTSTRAPPER),
        ),
        (
            TestRequest { signer: "kubernetes.io/kube-apiserver-client", ..CLIENT_REQUEST },
            Err(Rejection::Signer),
        ),
        (TestRequest { signer: "kubernetes.io/legacy-unknown", ..CLIENT_REQUEST }, Err(Rejection::Signer)),
        (
            TestRequest { usages: &["digital signature", "client auth", "server auth"], ..CLIENT_REQUEST },
            Err(Rejection::Usages),
        ),
        (
            TestRequest { usages: &["digital signature", "cert sign", "client auth"], ..CLIENT_REQUEST },
            Err(Rejection::Usages),
        ),
        (TestRequest { usages: &["client auth"], ..CLIENT_REQUEST }, Err(Rejection::Usages)),
        (
            TestRequest { organization: Some("system:masters"), ..CLIENT_REQUEST },
            Err(Rejection::Organizations),
        ),
        (TestRequest { organization: None, ..CLIENT_REQUEST }, Err(Rejection::Organizations)),
        (
            TestRequest { common_name: "system:admin", ..CLIENT_REQUEST },
            Err(Rejection::CommonName { name: name("system:admin") }),
        ),
        (
            TestRequest { common_name: "system:node:", ..CLIENT_REQUEST },
            Err(Rejection::CommonName { name: name("system:node:") }),
        ),
        (
            TestRequest { common_name: "system:node:stranger", ..CLIENT_REQUEST },
            Err(Rejection::UnknownHost { name: name("stranger") }),
        ),
        (
            TestRequest { common_name: "system:node:master-0", ..CLIENT_REQUEST },
            Err(Rejection::ReadyNode { name: name("master-0") }),
        ),
        // The same host under another form of its name.
        (
            TestRequest { common_name: "system:node:master-0.lab.example.com", ..CLIENT_REQUEST },
            Err(Rejection::ReadyNode { name: name("master-0") }),
        ),
        (
            TestRequest { common_name: "system:node:worker-1.other.example.com", ..CLIENT_REQUEST },
            Err(Rejection::UnknownHost { name: name("worker-1.other.example.com") }),
        ),
        (
            TestRequest { common_name: "system:node:balancer", ..CLIENT_REQUEST },
            Err(Rejection::Ambiguous { name: name("balancer") }),
        ),
        (TestRequest { names: &["master-1"], ..CLIENT_REQUEST }, Err(Rejection::ClientNames)),
        (TestRequest { addresses: &["192.168.1.11"], ..CLIENT_REQUEST }, Err(Rejection::ClientNames)),
    ] {
        assert_eq!(of(&asked), expected);
    }
}

#[test]
fn what_a_server_may_not_have() {
    let address = |address: &str| Err(Rejection::Address { address: address.parse().unwrap() });
    let named = |name: &str| Err(Rejection::Name { name: name.to_owned() });
    for (asked, expected) in [
        (
            TestRequest { user: "system:node:master-1", ..SERVING_REQUEST },
            Err(Rejection::Requestor { user: "system:node:master-1".to_owned() }),
        ),
        (
            TestRequest { user: BOOTSTRAPPER, groups: BOOTSTRAPPER_GROUPS, ..SERVING_REQUEST },
            Err(Rejection::Requestor { user: BOOTSTRAPPER.to_owned() }),
        ),
        (
            TestRequest { groups: &[AUTHENTICATED], ..SERVING_REQUEST },
            Err(Rejection::Requestor { user: "system:node:master-0".to_owned() }),
        ),
        (
            TestRequest { usages: &["digital signature", "client auth"], ..SERVING_REQUEST },
            Err(Rejection::Usages),
        ),
        (TestRequest { names: &[], addresses: &[], ..SERVING_REQUEST }, Err(Rejection::NoNames)),
        (
            TestRequest {
                user: "system:node:master-1",
                common_name: "system:node:master-1",
                names: &["master-1"],
                addresses: &["192.168.1.11"],
                ..SERVING_REQUEST
            },
            Err(Rejection::NoNode { name: "master-1".to_owned() }),
        ),
        // Its own node claims them, and yet they are another's.
        (TestRequest { names: &["master-0", "master-1"], ..SERVING_REQUEST }, named("master-1")),
        (TestRequest { addresses: &["192.168.1.11"], ..SERVING_REQUEST }, address("192.168.1.11")),
        (TestRequest { addresses: &["192.168.1.20"], ..SERVING_REQUEST }, address("192.168.1.20")),
        (TestRequest { addresses: &["192.168.1.100"], ..SERVING_REQUEST }, address("192.168.1.100")),
        // The short form of two hosts' names.
        (
            TestRequest {
                user: "system:node:infra-0.b.example.com",
                common_name: "system:node:infra-0.b.example.com",
                names: &["infra-0"],
                addresses: &["192.168.1.31"],
                ..SERVING_REQUEST
            },
            named("infra-0"),
        ),
        // Nobody's, but not the host's either.
        (TestRequest { names: &["api.lab.example.com"], ..SERVING_REQUEST }, named("api.lab.example.com")),
        (TestRequest { names: &["*.lab.example.com"], ..SERVING_REQUEST }, named("*.lab.example.com")),
        (TestRequest { addresses: &["10.9.9.9"], ..SERVING_REQUEST }, address("10.9.9.9")),
        (TestRequest { addresses: &["172.30.0.1"], ..SERVING_REQUEST }, address("172.30.0.1")),
        (TestRequest { addresses: &["127.0.0.1"], ..SERVING_REQUEST }, address("127.0.0.1")),
    ] {
        assert_eq!(of(&asked), expected);
    }
}

#[test]
fn what_no_kubelet_writes_is_not_read() {
    let with = |change: &dyn Fn(&mut CertificateParams)| {
        let mut params = CLIENT_REQUEST.params();
        change(&mut params);
        verdict(&CLIENT_REQUEST.spec(&params))
    };
    let unreadable = |why| Err(Rejection::Unreadable(why));
    let more = with(&|params| params.distinguished_name.push(DnType::OrganizationalUnitName, "x"));
    assert_eq!(more, unreadable(Unreadable::Subject));
    let mail =
        with(&|params| params.subject_alt_names.push(SanType::Rfc822Name("a@b.c".try_into().unwrap())));
    assert_eq!(mail, unreadable(Unreadable::NameKind));
    let uri = with(&|params| params.subject_alt_names.push(SanType::URI("spiffe://x".try_into().unwrap())));
    assert_eq!(uri, unreadable(Unreadable::NameKind));
    let extension = CustomExtension::from_oid_content(&[2, 5, 29, 19], vec![0x30, 3, 1, 1, 0xff]);
    let authority = with(&|params| params.custom_extensions.push(extension.clone()));
    assert_eq!(authority, unreadable(Unreadable::Extension));

    let mut spec = CLIENT_REQUEST.spec(&CLIENT_REQUEST.params());
    let whole = spec.request.0.clone();
    let mut two = whole.clone();
    two.extend_from_slice(&whole);
    for (bytes, why) in [
        (Vec::new(), Unreadable::Encoding),
        (b"no PEM".to_vec(), Unreadable::Encoding),
        (whole[..whole.len() / 2].to_vec(), Unreadable::Encoding),
        (two, Unreadable::Encoding),
        (vec![b'-'; 1 << 20], Unreadable::TooLong),
    ] {
        spec.request = ByteString(bytes);
        assert_eq!(verdict(&spec), unreadable(why));
    }
}

#[test]
fn the_short_form_of_two_names_is_nobodys() {
    let hosts = [
        host("infra-0.a.example.com", "", &["192.168.1.30/24"]),
        host("infra-0.b.example.com", "", &["192.168.1.31/24"]),
    ];
    let client = TestRequest { common_name: "system:node:infra-0", ..CLIENT_REQUEST };
    let spec = client.spec(&client.params());
    let ambiguous = Err(Rejection::Ambiguous { name: "infra-0".to_owned() });
    // No node tells an address that would decide; or it tells those of both.
    let of_both = [node("infra-0", false, &["infra-0"], &["192.168.1.30", "192.168.1.31"])];
    for nodes in [&[][..], &of_both] {
        assert_eq!(check("csr-x7k2p", &spec, &Known::new(&cluster(), &hosts, nodes)), ambiguous, "{nodes:?}");
    }
}

#[test]
fn requests_with_odd_names_of_their_own() {
    let spec = CLIENT_REQUEST.spec(&CLIENT_REQUEST.params());
    let (cluster, hosts) = (cluster(), [host("master-1", "", &[])]);
    let known = Known::new(&cluster, &hosts, &[]);
    for name in ["csr-x7k2p", "node-csr-Ab_9-x", "system.openshift.0"] {
        assert_eq!(check(name, &spec, &known), Ok(()), "{name}");
    }
    let long = "x".repeat(254);
    for name in ["", "--all", "a b", "$(reboot)", "a?dryRun=All", "a:b", "..", "a\n", &long] {
        assert_eq!(check(name, &spec, &known), Err(Rejection::RequestName), "{name}");
    }
}
