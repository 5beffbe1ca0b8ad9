//! The OpenAPI 3.1 document.

use assisted_wire::live::EVENT_STREAM;
use assisted_wire::operation::{
    self, BASE_PATH, Kind, Location, Operation, Param, Payload, SchemaOf, Scheme, Security,
};
use serde_json::{Map, Value, json};

use super::definitions;
use super::schemas::Schemas;

pub(super) const TITLE: &str = "assisted";
pub(super) const DESCRIPTION: &str =
    "Installs OpenShift on bare metal: clusters, discovery environments, hosts.";

/// Makes the document.
pub(super) fn document() -> Value {
    let mut schemas = Schemas::new();
    let error = schemas.of(definitions::ERROR);
    let infra_error = schemas.of(definitions::INFRA_ERROR);
    let mut paths = Map::new();
    for operation in operation::all() {
        let item = paths.entry(operation.path).or_insert_with(|| json!({}));
        item[operation.method.as_str().to_ascii_lowercase()] =
            describe(operation, &mut schemas, &error, &infra_error);
    }
    for schema in definitions::UNREFERENCED {
        schemas.of(*schema);
    }
    json!({
        "openapi": "3.1.0",
        "info": {"title": TITLE, "description": DESCRIPTION, "version": "1.0.0"},
        "servers": [{"url": BASE_PATH}],
        "paths": paths,
        "components": {
            "schemas": schemas.definitions(),
            "securitySchemes": security_schemes(),
        },
    })
}

fn describe(operation: &Operation, schemas: &mut Schemas, error: &Value, infra_error: &Value) -> Value {
    let json_content = |schema: &Value| json!({"application/json": {"schema": schema}});
    let mut responses = Map::new();
    for success in operation.success {
        let mut response = json!({"description": "Success."});
        match success.payload {
            Some(Payload::Json(schema)) => response["content"] = json_content(&schemas.of(schema)),
            Some(Payload::File) => {
                response["content"] = json!({
                    "application/octet-stream": {
                        "schema": {"type": "string", "format": "binary", "x-file": true}
                    }
                });
            }
            Some(Payload::Binary) => {
                response["content"] =
                    json!({"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}});
            }
            Some(Payload::Changes) => {
                response["content"] = json!({EVENT_STREAM: {"schema": {"type": "string"}}});
            }
            None => {}
        }
        for header in success.headers {
            response["headers"][*header] = json!({"schema": {"type": "integer", "minimum": 0}});
        }
        responses.insert(success.status.to_string(), response);
    }
    for status in operation.errors {
        let body = if matches!(status, 401 | 403) { infra_error } else { error };
        let response = json!({"description": "Refused.", "content": json_content(body)});
        responses.insert(status.to_string(), response);
    }
    let parameters: Vec<Value> =
        operation.params.iter().filter(|param| param.location != Location::Form).map(parameter).collect();
    let mut described = json!({
        "operationId": operation.name,
        "tags": operation.tags,
        "security": operation.security.iter().map(requirement).collect::<Vec<_>>(),
        "parameters": parameters,
        "responses": responses,
    });
    if operation.deprecated {
        described["deprecated"] = json!(true);
    }
    if let Some(body) = operation.body {
        described["requestBody"] = json!({
            "x-name": body.name,
            "required": body.required,
            "content": json_content(&schemas.of(body.schema as SchemaOf)),
        });
    }
    let files: Vec<_> = operation.params.iter().filter(|param| param.location == Location::Form).collect();
    if let (Some(consumes), false) = (operation.consumes, files.is_empty()) {
        let mut properties = Map::new();
        for file in files {
            properties.insert(
                file.name.to_owned(),
                json!({"type": "string", "format": "binary", "maxLength": file.max_length}),
            );
        }
        described["requestBody"] =
            json!({"content": {consumes: {"schema": {"type": "object", "properties": properties}}}});
    }
    described
}

fn parameter(param: &Param) -> Value {
    let mut described = json!({
        "name": param.name,
        "in": match param.location {
            Location::Path => "path",
            Location::Query => "query",
            Location::Header | Location::Form => "header",
        },
        "required": param.required,
        "schema": parameter_schema(param),
    });
    if param.kind == Kind::Strings {
        described["style"] = json!("form");
        described["explode"] = json!(param.multi);
    }
    described
}

/// Type and bounds of a parameter: the same words in both documents.
pub(super) fn parameter_schema(param: &Param) -> Value {
    let mut scalar = json!({"type": match param.kind {
        Kind::Integer => "integer",
        Kind::Boolean => "boolean",
        Kind::File => "file",
        Kind::String | Kind::Strings => "string",
    }});
    if let Some(format) = param.format {
        scalar["format"] = json!(format);
    }
    if !param.one_of.is_empty() {
        scalar["enum"] = json!(param.one_of);
    }
    if let Some(length) = param.max_length {
        scalar["maxLength"] = json!(length);
    }
    if let Some(default) = param.default {
        scalar["default"] = match param.kind {
            Kind::Boolean => json!(default == "true"),
            _ => json!(default),
        };
    }
    match param.kind {
        Kind::Strings => json!({"type": "array", "items": scalar}),
        _ => scalar,
    }
}

/// A scheme with its roles.
pub(super) fn requirement(security: &Security) -> Value {
    let roles: Vec<_> = security.roles.iter().map(|role| role.name()).collect();
    json!({security.scheme.name(): roles})
}

/// Where each credential travels.
pub(super) fn security_schemes() -> Map<String, Value> {
    Scheme::ALL
        .iter()
        .map(|scheme| {
            let (location, name) = scheme.carrier();
            let place = if location == Location::Query { "query" } else { "header" };
            (scheme.name().to_owned(), json!({"type": "apiKey", "in": place, "name": name}))
        })
        .collect()
}
