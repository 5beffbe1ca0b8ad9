//! The addresses of services, and what leads from them to pods.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};

use super::network::add_address;
use super::variables::KUBERNETES;
use super::{Endpoint, address_of};

type Endpoints = Arc<Mutex<Vec<Endpoint>>>;

/// The services that lead somewhere.
pub(super) struct Services {
    led: BTreeMap<String, String>,
    endpoints: Endpoints,
}

impl Services {
    /// Begins with that of the API.
    pub(super) async fn start(api: SocketAddr) -> Self {
        add_address(KUBERNETES);
        lead((KUBERNETES, 443).into(), move || Some(api)).await;
        Self { led: BTreeMap::new(), endpoints: Endpoints::default() }
    }

    /// Leads those that are new.
    pub(super) async fn follow(&mut self, services: &[Service]) {
        for service in services {
            let spec = service.spec.as_ref().unwrap();
            let address = spec.cluster_ip.clone().unwrap();
            if self.led.insert(service.name_any(), address.clone()).is_some_and(|before| before == address) {
                continue;
            }
            add_address(address.parse().unwrap());
            for port in spec.ports.iter().flatten() {
                let number = u16::try_from(port.port).unwrap();
                let target = match &port.target_port {
                    Some(IntOrString::Int(target)) => u16::try_from(*target).unwrap(),
                    Some(IntOrString::String(name)) => panic!("the port {name} is one of a name"),
                    None => number,
                };
                let (selector, endpoints) =
                    (spec.selector.clone().unwrap_or_default(), Arc::clone(&self.endpoints));
                let to = move || {
                    let endpoints = endpoints.lock();
                    let is_selected = |endpoint: &&Endpoint| {
                        selector.iter().all(|(name, value)| endpoint.labels.get(name) == Some(value))
                    };
                    let found = endpoints.iter().find(is_selected)?;
                    Some((found.address, target).into())
                };
                lead(address_of(service, number), to).await;
            }
        }
    }

    /// These pods are ready, and no others.
    pub(super) fn ready(&self, endpoints: Vec<Endpoint>) {
        *self.endpoints.lock() = endpoints;
    }
}

/// Leads each connection to an address of this machine to another one; where there is none, it ends.
pub(super) async fn lead(
    from: SocketAddr,
    to: impl Fn() -> Option<SocketAddr> + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind(from).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut from, _)) = listener.accept().await {
            let to = to();
            tokio::spawn(async move {
                let Some(to) = to else { return };
                if let Ok(mut to) = TcpStream::connect(to).await {
                    drop(tokio::io::copy_bidirectional(&mut from, &mut to).await);
                }
            });
        }
    });
    address
}
