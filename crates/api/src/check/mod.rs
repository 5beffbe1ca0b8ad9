//! Checks of a request before its use case runs: made from the table of operations and the schemas of our own types.

pub(crate) mod params;
mod read;
pub(crate) mod schema;
mod validate;

use std::collections::HashMap;
use std::sync::Arc;

use assisted_wire::operation::{self, OperationId};
use bytes::Bytes;
use serde::de::DeserializeOwned;

use self::read::ReadError;
use self::schema::{Node, SchemaError};
use crate::error::ApiError;
use crate::openapi::schemas::Schemas;

/// The compiled checks of all bodies.
pub(crate) struct Bodies {
    checks: HashMap<OperationId, Body>,
    reject_unknown: bool,
}

struct Body {
    /// The parameter's name as the texts of existing clients show it.
    name: String,
    required: bool,
    node: Arc<Node>,
}

impl Bodies {
    /// Compiles the checks of every operation that has a body.
    pub(crate) fn compile(reject_unknown: bool) -> Result<Self, SchemaError> {
        let mut schemas = Schemas::new();
        let bodies: Vec<_> = operation::all()
            .filter_map(|operation| operation.body.map(|body| (operation, schemas.of(body.schema), body)))
            .collect();
        let definitions = schemas.definitions();
        let mut checks = HashMap::new();
        let mut compiler = schema::Compiler::new(&definitions);
        for (operation, schema, body) in bodies {
            checks.insert(
                operation.id,
                Body {
                    name: go_name(body.name),
                    required: body.required,
                    node: Arc::new(compiler.compile(operation.name, &schema)?),
                },
            );
        }
        Ok(Self { checks, reject_unknown })
    }

    /// Reads, judges and decodes the body of a request; an optional one that is absent is the type's default.
    pub(crate) fn decode<T: DeserializeOwned + Default>(
        &self,
        id: OperationId,
        text: &Bytes,
    ) -> Result<T, ApiError> {
        Ok(self.decode_optional(id, text)?.unwrap_or_default())
    }

    /// The same for types without a default; `None`: an optional body is absent.
    pub(crate) fn decode_optional<T: DeserializeOwned>(
        &self,
        id: OperationId,
        text: &Bytes,
    ) -> Result<Option<T>, ApiError> {
        let Some(body) = self.checks.get(&id) else { return Ok(None) };
        let malformed = |reason: &dyn std::fmt::Display| {
            ApiError::framework(400, format!("parsing {} body from \"\" failed, because {reason}", body.name))
        };
        let value = match read::read(&body.node, text, self.reject_unknown) {
            Ok(value) => value,
            Err(ReadError::Empty) if !body.required => return Ok(None),
            Err(ReadError::Empty) => {
                return Err(ApiError::framework(400, format!("{} in body is required", body.name)));
            }
            Err(ReadError::Malformed(reason)) => return Err(malformed(&reason)),
        };
        validate::validate(&body.node, &value).map_err(|reason| ApiError::framework(400, reason))?;
        serde_json::from_value(value).map(Some).map_err(|error| malformed(&error))
    }

    /// Decodes a body that must be there.
    pub(crate) fn decode_required<T: DeserializeOwned>(
        &self,
        id: OperationId,
        text: &Bytes,
    ) -> Result<T, ApiError> {
        self.decode_optional(id, text)?
            .ok_or_else(|| ApiError::framework(400, "body in body is required".to_owned()))
    }
}

/// `new-cluster-params` as the texts of existing clients show it: `newClusterParams`.
fn go_name(name: &str) -> String {
    let name = schema::type_name(name);
    let mut letters = name.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use assisted_wire::cluster_params::ClusterCreateParams;
    use assisted_wire::infra_env::InfraEnvCreateParams;
    use assisted_wire::step::StepReply;

    use super::*;

    fn text<T: DeserializeOwned>(id: OperationId, body: &str) -> String {
        let bodies = Bodies::compile(true).unwrap();
        match bodies.decode_optional::<T>(id, &Bytes::copy_from_slice(body.as_bytes())) {
            Ok(Some(_)) => "decoded".to_owned(),
            Ok(None) => "absent".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    fn create(extra: &str) -> String {
        let body = format!(r#"{{"name":"c","openshift_version":"4.20","pull_secret":"{{}}"{extra}}}"#);
        text::<ClusterCreateParams>(OperationId::RegisterCluster, &body)
    }

    #[test]
    fn texts_of_refusals() {
        for (extra, expected) in [
            ("", "decoded"),
            (r#","NAME":"d""#, "decoded"),
            (r#","http_proxy":null"#, "decoded"),
            (r#","cpu_architecture":"""#, "decoded"),
            ("} trailing", "decoded"),
            (
                r#","base_dns_doman":"x""#,
                r#"parsing newClusterParams body from "" failed, because json: unknown field "base_dns_doman""#,
            ),
            (
                r#","platform":{"type":"none","tipe":1}"#,
                r#"parsing newClusterParams body from "" failed, because json: unknown field "tipe""#,
            ),
            (r#","name":"","name":null"#, "name in body is required"),
            (r#","name":"""#, "name in body should be at least 1 chars long"),
            (
                r#","cluster_network_host_prefix":129"#,
                "cluster_network_host_prefix in body should be less than or equal to 128",
            ),
            (
                r#","network_type":"Token""#,
                "network_type in body should be one of [OpenShiftSDN OVNKubernetes CiscoACI Cilium Calico None]",
            ),
            (r#","platform":{}"#, "platform.type in body is required"),
            (
                r#","name":5"#,
                r#"parsing newClusterParams body from "" failed, because json: cannot unmarshal number into Go struct field ClusterCreateParams.name of type string"#,
            ),
        ] {
            assert_eq!(create(extra), expected, "{extra}");
        }
        let long = format!(r#","name":"{}""#, "n".repeat(55));
        assert_eq!(create(&long), "name in body should be at most 54 chars long");
        let vip = create(r#","api_vips":[{"ip":"1.2.3.4"},{"ip":"x"}]"#);
        assert!(vip.starts_with("api_vips.1.ip in body should match '^(?:"), "{vip}");
    }

    #[test]
    fn ids_and_absent_bodies() {
        assert_eq!(
            text::<InfraEnvCreateParams>(
                OperationId::RegisterInfraEnv,
                r#"{"name":"i","pull_secret":"{}","cluster_id":"nope"}"#
            ),
            r#"cluster_id in body must be of type uuid: "nope""#
        );
        assert_eq!(text::<StepReply>(OperationId::PostStepReply, ""), "absent");
        assert_eq!(
            text::<ClusterCreateParams>(OperationId::RegisterCluster, " "),
            "newClusterParams in body is required"
        );
        assert!(text::<ClusterCreateParams>(OperationId::RegisterCluster, "{").ends_with("unexpected EOF"));
    }

    #[test]
    fn a_million_levels_are_refused() {
        let deep = "[".repeat(1_000_000);
        let answer = text::<ClusterCreateParams>(OperationId::RegisterCluster, &deep);
        assert!(answer.ends_with("unexpected EOF"), "{answer}");
        let inside = format!(r#"{{"is_success":true,"data":{}"#, r#"{"a":"#.repeat(1_000_000));
        let answer = text::<serde_json::Value>(OperationId::CompleteInstallation, &inside);
        assert!(answer.contains("recursion limit"), "{answer}");
    }
}
