//! A DHCP lease as text, in the form of a `dhclient` lease file (agent-protocol §2.4.4): the service keeps it and gives
//! it back, and hosts that run the virtual IPs read it.

use std::fmt::{self, Write};
use std::net::Ipv4Addr;

use jiff::{SignedDuration, Timestamp, tz::TimeZone};

/// Longest text that is read, in bytes.
const LONGEST: usize = 16 << 10;

/// A lease as a server gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub interface: String,
    pub address: Ipv4Addr,
    pub subnet_mask: Option<Ipv4Addr>,
    pub router: Option<Ipv4Addr>,
    pub dns_servers: Vec<Ipv4Addr>,
    pub server: Option<Ipv4Addr>,
    /// When the server gave it.
    pub begun: Timestamp,
    /// Seconds from then until it is to be renewed, renewed by anyone, and over.
    pub renew: u32,
    pub rebind: u32,
    pub expire: u32,
}

impl fmt::Display for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "lease {{")?;
        writeln!(f, "  interface \"{}\";", self.interface)?;
        writeln!(f, "  fixed-address {};", self.address)?;
        if let Some(mask) = self.subnet_mask {
            writeln!(f, "  option subnet-mask {mask};")?;
        }
        if let Some(router) = self.router {
            writeln!(f, "  option routers {router};")?;
        }
        writeln!(f, "  option dhcp-lease-time {};", self.expire)?;
        writeln!(f, "  option dhcp-message-type 5;")?;
        if !self.dns_servers.is_empty() {
            let servers: Vec<_> = self.dns_servers.iter().map(ToString::to_string).collect();
            writeln!(f, "  option domain-name-servers {};", servers.join(","))?;
        }
        if let Some(server) = self.server {
            writeln!(f, "  option dhcp-server-identifier {server};")?;
        }
        for (name, seconds) in [("renew", self.renew), ("rebind", self.rebind), ("expire", self.expire)] {
            writeln!(f, "  {name} {};", date(self.begun, seconds))?;
        }
        f.write_char('}')
    }
}

/// Day of the week from Sunday, date, time; all UTC.
fn date(begun: Timestamp, seconds: u32) -> String {
    let at = begun.checked_add(SignedDuration::from_secs(seconds.into())).unwrap_or(Timestamp::MAX);
    let at = at.to_zoned(TimeZone::UTC);
    format!("{} {}", at.weekday().to_sunday_zero_offset(), at.strftime("%Y/%m/%d %H:%M:%S"))
}

impl Lease {
    /// The address in a lease's text: the last one, as leases are added at the end. `None` for what is no lease.
    pub fn address_in(text: &str) -> Option<Ipv4Addr> {
        if text.len() > LONGEST || !text.trim_start().starts_with("lease") || !text.trim_end().ends_with('}')
        {
            return None;
        }
        let statements = text.split(['{', ';']).map(str::trim);
        statements.rev().find_map(|statement| statement.strip_prefix("fixed-address ")?.trim().parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_written_as_it_is_read() {
        let lease = Lease {
            interface: "api".into(),
            address: Ipv4Addr::new(192, 168, 126, 100),
            subnet_mask: Some(Ipv4Addr::new(255, 255, 255, 0)),
            router: Some(Ipv4Addr::new(192, 168, 126, 1)),
            dns_servers: vec![Ipv4Addr::new(192, 168, 126, 1), Ipv4Addr::new(8, 8, 8, 8)],
            server: Some(Ipv4Addr::new(192, 168, 126, 1)),
            begun: "2020-10-25T13:48:38Z".parse().unwrap(),
            renew: 1_800,
            rebind: 3_150,
            expire: 3_600,
        };
        let text = lease.to_string();
        assert_eq!(
            text,
            r#"lease {
  interface "api";
  fixed-address 192.168.126.100;
  option subnet-mask 255.255.255.0;
  option routers 192.168.126.1;
  option dhcp-lease-time 3600;
  option dhcp-message-type 5;
  option domain-name-servers 192.168.126.1,8.8.8.8;
  option dhcp-server-identifier 192.168.126.1;
  renew 0 2020/10/25 14:18:38;
  rebind 0 2020/10/25 14:41:08;
  expire 0 2020/10/25 14:48:38;
}"#
        );
        assert_eq!(Lease::address_in(&text), Some(lease.address));
    }

    #[test]
    fn what_is_no_lease() {
        let two =
            "lease {\n fixed-address 10.0.0.1;\n}\nlease {\n fixed-address 10.0.0.2;\n renew never;\n}\n";
        assert_eq!(Lease::address_in(two), Some(Ipv4Addr::new(10, 0, 0, 2)));
        let long = format!("lease {{ fixed-address 10.0.0.1;{}}}", " ".repeat(LONGEST));
        for bad in ["", "lease", "lease { fixed-address x; }", "fixed-address 10.0.0.1;", &long] {
            assert_eq!(Lease::address_in(bad), None);
        }
    }
}
