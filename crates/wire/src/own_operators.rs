//! Operators that this project offers and the published contract does not have: a line in `with_own_operators` each.
//!
//! The values that the API's enumerations have for them, and the reviewed additions to the contract, follow from the lines. The
//! published operators stand in the enumerations themselves, in the contract's order.

/// An operator that the published contract does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnOperator {
    /// Its name among the operators of a cluster.
    pub name: &'static str,
    /// The id of the feature that it is.
    pub feature: &'static str,
    /// The id of its validation of hosts, and of the one of clusters.
    pub validation: &'static str,
    /// Why it is offered.
    pub why: &'static str,
}

/// Hands a macro what it is given, and the operators.
macro_rules! with_own_operators {
    ($then:ident! $($given:tt)*) => {
        $then! { $($given)* own [
            // Variant: "name", "FEATURE", Validation = "validation-id", "why it is offered";
        ] }
    };
}

/// Defines an enumeration that has a value for each operator.
macro_rules! operator_enum {
    (name $(#[$meta:meta])* pub enum $name:ident { $($values:tt)+ }
        own [$($own:ident: $operator:literal, $feature:literal, $validation:ident = $id:literal, $why:literal;)*]) => {
        $crate::text_enum! { $(#[$meta])* pub enum $name { $($values)+ } added { $($own = $operator: $why,)* } }
    };
    (feature $(#[$meta:meta])* pub enum $name:ident { $($values:tt)+ } added { $($added:tt)* }
        own [$($own:ident: $operator:literal, $feature:literal, $validation:ident = $id:literal, $why:literal;)*]) => {
        $crate::text_enum! {
            $(#[$meta])* pub enum $name { $($values)+ } added { $($added)* $($own = $feature: $why,)* }
        }
    };
    (validation $(#[$meta:meta])* pub enum $name:ident { $($values:tt)+ } added { $($added:tt)* }
        own [$($own:ident: $operator:literal, $feature:literal, $validation:ident = $id:literal, $why:literal;)*]) => {
        $crate::text_enum! {
            $(#[$meta])* pub enum $name { $($values)+ } added { $($added)* $($validation = $id: $why,)* }
        }
    };
}

macro_rules! list {
    (own [$($own:ident: $operator:literal, $feature:literal, $validation:ident = $id:literal, $why:literal;)*]) => {
        /// All of them.
        pub const OWN_OPERATORS: &[OwnOperator] =
            &[$(OwnOperator { name: $operator, feature: $feature, validation: $id, why: $why },)*];
    };
}

with_own_operators! { list! }

pub(crate) use {operator_enum, with_own_operators};
