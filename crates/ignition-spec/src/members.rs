//! How the structures of a config are declared.

/// Declares structures whose members are left out when they are empty, as Ignition's own writer does.
macro_rules! members {
    ($($(#[doc = $doc:literal])* $name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty,)+ })+) => {
        $(
            $(#[doc = $doc])*
            #[derive(Clone, Default, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
            #[serde(rename_all = "camelCase", default)]
            pub struct $name {
                $($(#[$attribute])* #[serde(skip_serializing_if = "crate::members::is_default")] pub $field: $type,)+
            }
        )+
    };
}
pub(crate) use members;

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
