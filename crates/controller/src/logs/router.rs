//! Whether the router of a single node answers, for the log of an installation that went wrong.

use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

use assisted_base::http::{Proxies, Trust, builder};
use reqwest::redirect::Policy;
use tokio::time::{Instant, sleep};
use tracing::info;

use crate::context::Context;

const LIMIT: Duration = Duration::from_secs(10);

/// Asks the router every so often, as long as logs are collected.
pub(super) async fn diagnose(context: &Context) {
    // Only whether it answers matters, not who it is.
    let client = builder(crate::USER_AGENT, Trust::Any, &Proxies::None)
        .and_then(|client| client.redirect(Policy::default()).timeout(LIMIT).build());
    let (Ok(client), Ok(cluster)) = (client, context.service.cluster().await) else { return };
    let canary = format!(
        "https://canary-openshift-ingress-canary.apps.{}.{}/health",
        cluster.name, cluster.base_dns_domain
    );
    let own = outbound().map(|address| match address {
        IpAddr::V4(address) => format!("http://{address}/_______internal_router_healthz"),
        IpAddr::V6(address) => format!("http://[{address}]/_______internal_router_healthz"),
    });
    let deadline = Instant::now() + context.config.intervals.summary_limit;
    while Instant::now() < deadline {
        for url in [Some(&canary), own.as_ref()].into_iter().flatten() {
            match client.get(url).send().await {
                Ok(answer) => info!(url, status = answer.status().as_u16(), "the router answers"),
                Err(error) => info!(url, error = %error.without_url(), "the router does not answer"),
            }
        }
        sleep(context.config.intervals.resync).await;
    }
}

/// The address that packets leave this machine from; none is sent.
fn outbound() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip())
}
