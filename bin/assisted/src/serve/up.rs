//! `assisted up`: the service for somebody who has read nothing, with the address to open.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use anyhow::Result;
use clap::Args;

use super::reached::Reached;
use super::{Serve, images, storage};

/// An address of a network for documents: nothing is sent there, it is only asked which way would be taken.
const ELSEWHERE: [(IpAddr, IpAddr); 2] = [
    (IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))),
    (IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1))),
];

/// Run service and web UI for the machines around, and print the address to open
///
/// What `assisted serve` does, with other defaults: it listens on all addresses of this computer, tells machines to come to the one that
/// leads to the network, and lets people log in (AUTH_TYPE=users). The address that it prints makes the first administrator, once.
/// Variables of the environment win. Without SERVE_HTTPS passwords travel as they are: use it on networks that you trust.
#[derive(Args, Debug)]
pub struct Up {
    /// Address under which browsers and machines reach this computer [default: that of the interface which leads to the network]
    #[arg(long, value_name = "IP")]
    address: Option<IpAddr>,
    /// Port of web UI and API; 0 takes a free one
    #[arg(long, default_value_t = 8090)]
    port: u16,
    #[command(flatten)]
    storage: storage::StorageArgs,
    /// What generates the files that hosts are installed with: openshift, or simulation, for simulated hosts only
    /// [default: GENERATOR, else openshift]
    #[arg(long)]
    generator: Option<String>,
    #[command(flatten)]
    images: images::ImageFlags,
}

impl Up {
    /// Runs the service until SIGTERM or SIGINT.
    pub fn run(self) -> Result<()> {
        let address = self.address.or_else(outward).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let serve = Serve {
            listen: SocketAddr::new(listen(address), self.port),
            port: None,
            storage: self.storage,
            allow_unauthenticated: false,
            generator: self.generator,
            images: self.images,
            up: Some(Reached(address)),
        };
        serve.run()
    }
}

/// Who is reached on loopback alone listens there alone.
fn listen(address: IpAddr) -> IpAddr {
    match address {
        _ if address.is_loopback() => address,
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    }
}

/// The address from which this computer would speak to others; none without a network.
fn outward() -> Option<IpAddr> {
    ELSEWHERE.into_iter().find_map(|(from, to)| {
        let socket = UdpSocket::bind((from, 0)).ok()?;
        socket.connect((to, 9)).ok()?;
        Some(socket.local_addr().ok()?.ip()).filter(|ip| !ip.is_unspecified())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_addresses_are_listened_on_but_for_loopback() {
        for (address, listened) in
            [("127.0.0.1", "127.0.0.1"), ("192.0.2.7", "0.0.0.0"), ("fd00::7", "::"), ("::1", "::1")]
        {
            assert_eq!(listen(address.parse().unwrap()).to_string(), listened);
        }
    }
}
