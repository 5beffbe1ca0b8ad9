//! How a topic is declared: its structure, its defaults, its reader and its documentation are made from one list.

use crate::value::Value;

/// A value that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// It is not of the kind that the variable takes.
    #[error("{variable}: {problem}; give {remedy}, or leave it unset for the default {default:?}")]
    Invalid {
        /// Name of the environment variable.
        variable: &'static str,
        /// What is wrong with its value. Never holds the value of a secret.
        problem: String,
        /// What would be right.
        remedy: &'static str,
        /// What is used when the variable is not set.
        default: String,
    },
    /// It asks for what this version can't do.
    #[error("{variable}={value} is refused: {why}. Please {remedy}")]
    Refused {
        /// Name of the environment variable; none that holds a secret is refused.
        variable: &'static str,
        /// The beginning of its value.
        value: String,
        why: &'static str,
        /// What to do about it.
        remedy: String,
    },
}

/// An environment variable, as the documentation prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The structure that holds it.
    pub topic: &'static str,
    /// The field of the settings that holds this structure, and the structure's that holds the variable.
    pub field: (&'static str, &'static str),
    /// Its name.
    pub name: &'static str,
    /// What is used when it is not set; empty: nothing.
    pub default: String,
    /// What kind of value it takes.
    pub kind: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// The environment that settings are read from.
pub(crate) struct Env<'a>(pub(crate) &'a dyn Fn(&str) -> Option<String>);

impl Env<'_> {
    pub(crate) fn read<T: Value>(&self, variable: &'static str, default: T) -> Result<T, SettingsError> {
        let Some(text) = (self.0)(variable) else { return Ok(default) };
        if text.is_empty() {
            // An empty value says "nothing" where nothing is a value, else it is as if it were not set.
            return Ok(T::empty().unwrap_or(default));
        }
        T::parse(&text).map_err(|problem| SettingsError::Invalid {
            variable,
            problem,
            remedy: T::KIND,
            default: default.show(),
        })
    }
}

/// Declares a topic: `field: Type = default, "VARIABLE";`, the field's documentation being the variable's meaning.
macro_rules! topic {
    ($(#[$attr:meta])* $name:ident {
        $($(#[doc = $meaning:literal])+ $field:ident: $type:ty = $default:expr, $variable:literal;)+
    }) => {
        $(#[$attr])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[doc = $meaning])+ pub $field: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        impl $name {
            pub(crate) fn read(
                env: &$crate::topic::Env<'_>,
            ) -> Result<Self, $crate::SettingsError> {
                Ok(Self { $($field: env.read($variable, $default)?,)+ })
            }

            /// The values of the variables, in their order, each read by itself; those of secrets are not shown.
            pub(crate) fn given(
                env: &$crate::topic::Env<'_>,
            ) -> Vec<Result<String, $crate::SettingsError>> {
                vec![$(env.read::<$type>($variable, $default).map(|value| $crate::value::Value::show(&value)),)+]
            }

            pub(crate) fn variables(section: &'static str) -> Vec<$crate::Variable> {
                let default = Self::default();
                vec![$($crate::Variable {
                    topic: stringify!($name),
                    field: (section, stringify!($field)),
                    name: $variable,
                    default: $crate::value::Value::show(&default.$field),
                    kind: <$type as $crate::value::Value>::KIND,
                    meaning: concat!($($meaning),+).trim_ascii(),
                },)+]
            }
        }
    };
}

pub(crate) use topic;
