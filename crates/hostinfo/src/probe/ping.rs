//! ICMP echo: whether machines answer, how fast, and how much is lost on the way.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use rand::Rng;
use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{Icmpv4Message, Icmpv4Packet, Icmpv4Repr, Icmpv6Message, Icmpv6Packet, Ipv4Packet};

use super::socket::{Datagram, Socket};
use super::{ProbeRounds, Shared, exchange};

/// Our mark in each echo and the number of what was asked: without both nothing counts as an answer.
const MARK: usize = 8;

/// How the echo is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Echo<'a> {
    pub rounds: ProbeRounds,
    /// Bytes after the ICMP header; at least 8 are sent.
    pub size: usize,
    /// The interface to use, if not the one that the routes say.
    pub device: Option<&'a str>,
    /// Whether nobody may cut the packets on their way.
    pub whole: bool,
}

/// What came back from one address.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answers {
    pub sent: u16,
    pub received: u16,
    /// All round trips together.
    total: Duration,
}

impl Answers {
    /// The mean round trip; `None` where nothing came back.
    pub fn average(&self) -> Option<Duration> {
        (self.received > 0).then(|| self.total / u32::from(self.received))
    }

    /// How much got lost, in percent.
    pub fn loss(&self) -> f64 {
        if self.sent == 0 {
            100.0
        } else {
            f64::from(self.sent - self.received) * 100.0 / f64::from(self.sent)
        }
    }
}

/// Asks each address in each round, and returns what came back, in the order of `targets`.
///
/// # Errors
/// When there is no raw socket to be had, or not on that interface.
pub async fn ping(targets: &[IpAddr], echo: Echo<'_>) -> io::Result<Vec<Answers>> {
    let of =
        |v6: bool| -> Vec<usize> { (0..targets.len()).filter(|&at| targets[at].is_ipv6() == v6).collect() };
    let (v4, v6) = (of(false), of(true));
    let (first, second) =
        tokio::try_join!(family(false, targets, &v4, echo), family(true, targets, &v6, echo))?;
    let mut answers = vec![Answers::default(); targets.len()];
    for (at, answer) in v4.into_iter().zip(first).chain(v6.into_iter().zip(second)) {
        answers[at] = answer;
    }
    Ok(answers)
}

struct EchoesInFlight {
    /// When each was sent, by round and target; taken out when its answer comes.
    out: Vec<Option<Instant>>,
    answers: Vec<Answers>,
    missing: usize,
}

async fn family(v6: bool, targets: &[IpAddr], own: &[usize], echo: Echo<'_>) -> io::Result<Vec<Answers>> {
    if own.is_empty() {
        return Ok(Vec::new());
    }
    let socket = Socket::icmp(v6, echo.device)?;
    if echo.whole {
        if v6 {
            sockopt::set_ipv6_mtu_discover(socket.fd(), Ipv6PathMtuDiscovery::DO)?;
        } else {
            sockopt::set_ip_mtu_discover(socket.fd(), Ipv4PathMtuDiscovery::DO)?;
        }
    }
    let (ident, mark): (u16, [u8; 4]) = (rand::rng().random(), rand::rng().random());
    let count = own.len() * usize::from(echo.rounds.count);
    let flight = Shared::new(EchoesInFlight {
        out: vec![None; count],
        answers: vec![Answers::default(); own.len()],
        missing: count,
    });
    let ask = |round: u16, question: usize| {
        let index = u32::try_from(question).unwrap_or_default();
        let mut data = vec![0; echo.size.max(MARK)];
        data[..4].copy_from_slice(&mark);
        data[4..MARK].copy_from_slice(&index.to_be_bytes());
        let bytes = if v6 { v6_request(ident, round, &data) } else { v4_request(ident, round, &data) };
        flight.with(|flight| {
            flight.answers[question].sent += 1;
            flight.out[usize::from(round) * own.len() + question] = Some(Instant::now());
        });
        Some(Datagram { bytes, to: Some(SocketAddr::new(targets[own[question]], 0)) })
    };
    let take = |bytes: &[u8], _| {
        let now = Instant::now();
        let reply = if v6 { v6_reply(bytes) } else { v4_reply(bytes) };
        let Some((_, round, data)) = reply.filter(|(id, _, data)| *id == ident && data.len() >= MARK) else {
            return false;
        };
        let question = u32::from_be_bytes([data[4], data[5], data[6], data[7]]) as usize;
        if data[..4] != mark || question >= own.len() || round >= echo.rounds.count {
            return false;
        }
        flight.with(|flight| {
            // A second answer to the same echo is no second answer.
            if let Some(at) = flight.out[usize::from(round) * own.len() + question].take() {
                let answers = &mut flight.answers[question];
                answers.received += 1;
                answers.total += now.duration_since(at);
                flight.missing -= 1;
            }
            flight.missing == 0
        })
    };
    exchange(&socket, echo.rounds, own.len(), ask, take).await?;
    Ok(flight.into_inner().answers)
}

fn v4_request(ident: u16, seq_no: u16, data: &[u8]) -> Vec<u8> {
    let request = Icmpv4Repr::EchoRequest { ident, seq_no, data };
    let mut bytes = vec![0; request.buffer_len()];
    request.emit(&mut Icmpv4Packet::new_unchecked(&mut bytes[..]), &ChecksumCapabilities::default());
    bytes
}

/// The kernel adds the checksum, since it knows from which address the packet leaves.
fn v6_request(ident: u16, seq_no: u16, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 8 + data.len()];
    let mut packet = Icmpv6Packet::new_unchecked(&mut bytes[..]);
    packet.set_msg_type(Icmpv6Message::EchoRequest);
    packet.set_msg_code(0);
    packet.set_echo_ident(ident);
    packet.set_echo_seq_no(seq_no);
    packet.payload_mut().copy_from_slice(data);
    bytes
}

/// Identifier, number and data of an echo reply; the kernel hands out the IP header too.
pub(crate) fn v4_reply(bytes: &[u8]) -> Option<(u16, u16, &[u8])> {
    let ip = Ipv4Packet::new_checked(bytes).ok()?;
    let start = usize::from(ip.header_len());
    let icmp = Icmpv4Packet::new_checked(bytes.get(start..)?).ok()?;
    (icmp.msg_type() == Icmpv4Message::EchoReply)
        .then(|| (icmp.echo_ident(), icmp.echo_seq_no(), bytes.get(start + 8..).unwrap_or_default()))
}

pub(crate) fn v6_reply(bytes: &[u8]) -> Option<(u16, u16, &[u8])> {
    let icmp = Icmpv6Packet::new_checked(bytes).ok()?;
    (icmp.msg_type() == Icmpv6Message::EchoReply)
        .then(|| (icmp.echo_ident(), icmp.echo_seq_no(), bytes.get(8..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_and_mean() {
        let answers = Answers { sent: 3, received: 2, total: Duration::from_millis(5) };
        assert!((answers.loss() - 33.333).abs() < 0.001);
        assert_eq!(answers.average(), Some(Duration::from_micros(2_500)));
        let silent = Answers { sent: 3, ..Answers::default() };
        assert_eq!((silent.loss(), silent.average()), (100.0, None));
    }

    #[test]
    fn only_replies_are_answers() {
        let request = v4_request(7, 3, b"12345678");
        let mut packet = vec![0x45, 0, 0, 36, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet.extend_from_slice(&request);
        assert_eq!(v4_reply(&packet), None);
        packet[20] = 0;
        assert_eq!(v4_reply(&packet), Some((7, 3, &b"12345678"[..])));
        for length in 0..packet.len() {
            assert_eq!(
                v4_reply(&packet[..length]).filter(|(_, _, data)| data.len() >= MARK),
                None,
                "{length}"
            );
        }
        let mut packet = v6_request(7, 3, b"12345678");
        assert_eq!(v6_reply(&packet), None);
        packet[0] = 129;
        assert_eq!(v6_reply(&packet), Some((7, 3, &b"12345678"[..])));
    }
}
