//! What there is to choose from: releases, features, operators, platforms, and what hardware they require.

pub mod feature;
pub mod hardware;
pub mod operators;
pub mod platform;
pub mod release;
