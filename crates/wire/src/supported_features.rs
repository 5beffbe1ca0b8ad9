//! The support of features and operators in detail.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operator::Operator;
use crate::support_level::Feature;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct DetailedSupportedFeatures {
    #[serde(default)]
    pub features: Option<Vec<Feature>>,
    #[serde(default)]
    pub operators: Option<Vec<Operator>>,
}
