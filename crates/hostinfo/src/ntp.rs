//! What `chronyc -n sources` prints (agent-protocol §2.4.7).
//!
//! Its command socket speaks a protocol that chrony doesn't promise to keep, so the tool is asked; the caller runs it.

use assisted_wire::probe_responses::{NtpSource, SourceState};

/// The sources with their states; names are the addresses as printed. Lines that name no server are passed over.
pub fn parse_sources(output: &str) -> Vec<NtpSource> {
    output
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let state = words.next()?.strip_prefix('^')?;
            Some(NtpSource { source_name: words.next()?.to_owned(), source_state: Some(source_state(state)) })
        })
        .collect()
}

fn source_state(mark: &str) -> SourceState {
    match mark.chars().next() {
        Some('*') => SourceState::Synced,
        Some('+') => SourceState::Combined,
        Some('-') => SourceState::NotCombined,
        Some('?') => SourceState::Unreachable,
        Some('~') => SourceState::Variable,
        _ => SourceState::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mark_has_its_state() {
        let output = "MS Name/IP address         Stratum Poll Reach LastRx Last sample\n\
            ===============================================================================\n\
            ^* 10.0.0.1                      2   6   377    10   -123us[ -200us] +/-   15ms\n\
            ^+ 10.0.0.2                      2   6   377    10   +1us[ +1us] +/-   15ms\n\
            ^- fd00::3                       2   6   377    10   +1us[ +1us] +/-   15ms\n\
            ^? 10.0.0.4                      0   6     0     -   +0ns[ +0ns] +/-    0ns\n\
            ^x 10.0.0.5                      2   6   377    10   +1us[ +1us] +/-   15ms\n\
            ^~ 10.0.0.6                      2   6   377    10   +1us[ +1us] +/-   15ms\n\
            #* PPS0                          0   4   377    10   +1us[ +1us] +/-   15ms\n^\n^*\n";
        let sources = parse_sources(output);
        let states: Vec<_> = sources.iter().filter_map(|source| source.source_state).collect();
        use SourceState::{Combined, Error, NotCombined, Synced, Unreachable, Variable};
        assert_eq!(states, [Synced, Combined, NotCombined, Unreachable, Error, Variable]);
        assert_eq!(sources[2].source_name, "fd00::3");
    }
}
