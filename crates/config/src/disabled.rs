//! Lists of validations that a service does without (validations §1.3).

use std::collections::BTreeSet;

use assisted_wire::cluster::ClusterValidationId;
use assisted_wire::host::HostValidationId;

use crate::value::Value;

/// How deployments write a list without items.
const NONE: &str = "\"\"";

macro_rules! ids {
    ($($id:ty: $kind:literal, $example:literal;)+) => {
        $(impl Value for BTreeSet<$id> {
            const KIND: &'static str =
                concat!("ids of ", $kind, " validations separated by commas, such as ", $example);

            fn parse(text: &str) -> Result<Self, String> {
                if text == NONE {
                    return Ok(Self::new());
                }
                let id = |item: &str| match item.trim() {
                    "" => Err(format!(concat!("empty ", $kind, " validation ID found in '{}'"), text)),
                    id => id.parse().map_err(|_| {
                        format!(
                            concat!("disabled ", $kind, " validation ID '{}' is not a known ", $kind, " validation"),
                            id
                        )
                    }),
                };
                text.split(',').map(id).collect()
            }

            fn show(&self) -> String {
                self.iter().map(|id| id.as_str()).collect::<Vec<_>>().join(",")
            }

            fn empty() -> Option<Self> {
                Some(Self::new())
            }
        })+
    };
}

ids! {
    HostValidationId: "host", "ntp-synced,mtu-valid";
    ClusterValidationId: "cluster", "ntp-server-configured";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let parse = <BTreeSet<HostValidationId> as Value>::parse;
        assert!(parse("\"\"").unwrap().is_empty());
        let both = parse(" ntp-synced , mtu-valid,ntp-synced").unwrap();
        assert_eq!(both, BTreeSet::from([HostValidationId::MtuValid, HostValidationId::NtpSynced]));
        assert_eq!(parse(&both.show()), Ok(both));
        assert_eq!(
            parse("ntp-synced,,mtu-valid").unwrap_err(),
            "empty host validation ID found in 'ntp-synced,,mtu-valid'"
        );
        assert_eq!(
            <BTreeSet<ClusterValidationId> as Value>::parse("ntp-synced").unwrap_err(),
            "disabled cluster validation ID 'ntp-synced' is not a known cluster validation"
        );
    }
}
