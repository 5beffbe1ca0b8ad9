//! The cluster's virtual addresses: each is held by one machine, which tells its neighbours.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Result, bail};
use assisted_base::process::Cmd;
use assisted_hostinfo::Root;
use assisted_hostinfo::nic::Nic;
use assisted_hostinfo::probe::{ArpAsk, ProbeRounds, arp};
use kube::Client;
use tokio::time::{Instant, sleep, timeout};
use tracing::{info, warn};

use crate::cluster::addresses;
use crate::lease::{Lease, POLL_INTERVAL};

/// How long a holder that can't renew its lease keeps the address: less than others wait.
const GRACE: Duration = Duration::from_secs(60);

/// Addresses of this machine that it may have to give up.
#[derive(Clone, Debug)]
pub struct Virtual {
    addresses: Vec<IpAddr>,
    interface: String,
}

impl Virtual {
    pub fn new(addresses: &[IpAddr], interface: &str) -> Self {
        Self { addresses: addresses.to_vec(), interface: interface.to_owned() }
    }

    /// Takes the addresses, and tells the neighbours.
    pub async fn take(&self) -> Result<()> {
        let have = addresses();
        for ip in &self.addresses {
            if !have.iter().any(|(own, _)| own == ip) {
                self.change("add", *ip).await?;
                info!(%ip, "taken");
            }
            self.announce(*ip).await;
        }
        Ok(())
    }

    /// Gives them up, where this machine has them.
    pub async fn give_up(&self) -> Result<()> {
        let have = addresses();
        for ip in &self.addresses {
            if have.iter().any(|(own, _)| own == ip) {
                self.change("delete", *ip).await?;
                info!(%ip, "given up");
            }
        }
        Ok(())
    }

    async fn change(&self, what: &str, ip: IpAddr) -> Result<()> {
        let bits = if ip.is_ipv4() { 32 } else { 128 };
        let cmd =
            Cmd::new("ip").args(["address", what]).arg(format!("{ip}/{bits}")).args(["dev", &self.interface]);
        let output = cmd.run().await?;
        if !output.success() {
            bail!("ip address {what} {ip}: {}", output.complaint());
        }
        Ok(())
    }

    /// Asks for the address in its own name, as machines do that want to be known.
    async fn announce(&self, ip: IpAddr) {
        let IpAddr::V4(ip) = ip else { return };
        let Some(nic) = Nic::list(&Root::live()).into_iter().find(|nic| nic.name == self.interface) else {
            return;
        };
        let rounds = ProbeRounds { count: 2, spacing: Duration::from_millis(200), wait: Duration::ZERO };
        if let Err(error) = arp(&nic, &[ArpAsk { sender: ip, target: ip }], rounds, false).await {
            warn!(%ip, %error, "the neighbours are not told");
        }
    }
}

/// Holds the addresses whenever this machine holds the lease. It goes on until it is dropped.
pub async fn share(client: &Client, name: &str, own: &str, addresses: Virtual) {
    if addresses.addresses.is_empty() {
        return std::future::pending().await;
    }
    let lease = Lease::new(client, name, own);
    let mut renewed: Option<Instant> = None;
    loop {
        let (held, fresh) = match timeout(GRACE / 2, lease.hold()).await {
            Ok(Ok(held)) => (held, true),
            failed => {
                warn!(lease = name, error = ?failed, "not renewed");
                (renewed.is_some_and(|renewed| renewed.elapsed() < GRACE), false)
            }
        };
        let done = match (held, renewed) {
            (true, None) => addresses.take().await,
            (false, Some(_)) => addresses.give_up().await,
            _ => Ok(()),
        };
        match done {
            Ok(()) if !held => renewed = None,
            Ok(()) if fresh => renewed = Some(Instant::now()),
            Ok(()) => {}
            Err(error) => warn!(lease = name, error = format!("{error:#}"), "the address stays where it is"),
        }
        sleep(POLL_INTERVAL).await;
    }
}
