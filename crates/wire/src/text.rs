//! Enumerations that are text on the wire.

/// Defines an enumeration whose values have one text each, on the wire, in the database and in messages. Values that the
/// published contract does not have stand apart, behind `added`, each with the reason for it.
macro_rules! text_enum {
    ($(#[$meta:meta])* pub enum $name:ident { $($variant:ident = $text:literal,)+ }
        added { $($added:ident = $added_text:literal: $why:literal,)* }) => {
        $crate::text_enum! {
            $(#[$meta])* pub enum $name { $($variant = $text,)+ $($added = $added_text,)* }
        }

        impl $name {
            /// The values that the published contract does not have, each with the reason for it.
            pub const ADDED: &[(Self, &'static str)] = &[$((Self::$added, $why),)*];
        }
    };
    ($(#[$meta:meta])* pub enum $name:ident { $($variant:ident = $text:literal,)+ }) => {
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord,
            serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        $(#[$meta])*
        pub enum $name {
            $(#[serde(rename = $text)] $variant,)+
        }

        impl $name {
            /// Every value, in the order of the contract.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The value's text.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Self::ALL.iter().copied().find(|value| value.as_str() == text).ok_or_else(|| {
                    let all: Vec<_> = Self::ALL.iter().map(|value| value.as_str()).collect();
                    format!("{text:?} is not one of {}", all.join(", "))
                })
            }
        }
    };
}

pub(crate) use text_enum;
