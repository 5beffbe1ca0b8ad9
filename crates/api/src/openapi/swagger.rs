//! The same as Swagger 2.0, which existing generators read (service-api §17.1).

use assisted_wire::operation::{self, BASE_PATH, Kind, Location, Operation, Payload};
use serde_json::{Map, Value, json};

use super::document::{DESCRIPTION, TITLE, parameter_schema, requirement, security_schemes};

/// Makes the document out of the OpenAPI 3.1 one and the table.
pub(super) fn document() -> Value {
    let mut modern = super::openapi();
    let mut paths = Map::new();
    for operation in operation::all() {
        let method = operation.method.as_str().to_ascii_lowercase();
        let described = modern["paths"][operation.path][method.as_str()].take();
        let item = paths.entry(operation.path).or_insert_with(|| json!({}));
        item[method] = describe(operation, &described);
    }
    let mut document = json!({
        "swagger": "2.0",
        "info": {"title": TITLE, "description": DESCRIPTION, "version": "1.0.0"},
        "basePath": BASE_PATH,
        "schemes": ["http", "https"],
        "consumes": ["application/json"],
        "produces": ["application/json"],
        "securityDefinitions": security_schemes(),
        "paths": paths,
        "definitions": modern["components"]["schemas"].take(),
    });
    rewrite(&mut document);
    document
}

fn describe(operation: &Operation, modern: &Value) -> Value {
    let mut parameters: Vec<Value> = operation
        .params
        .iter()
        .map(|param| {
            let mut described = parameter_schema(param);
            described["name"] = json!(param.name);
            described["in"] = json!(match param.location {
                Location::Path => "path",
                Location::Query => "query",
                Location::Header => "header",
                Location::Form => "formData",
            });
            described["required"] = json!(param.required);
            if param.kind == Kind::Strings && param.multi {
                described["collectionFormat"] = json!("multi");
            }
            described
        })
        .collect();
    if let Some(body) = operation.body {
        parameters.push(json!({
            "name": body.name,
            "in": "body",
            "required": body.required,
            "schema": modern["requestBody"]["content"]["application/json"]["schema"],
        }));
    }
    let mut responses = Map::new();
    for success in operation.success {
        let status = success.status.to_string();
        let mut response = json!({"description": "Success."});
        match success.payload {
            Some(Payload::Json(_)) => {
                response["schema"] =
                    modern["responses"][&status]["content"]["application/json"]["schema"].clone();
            }
            Some(Payload::File) => response["schema"] = json!({"type": "file"}),
            Some(Payload::Changes) => response["schema"] = json!({"type": "string"}),
            Some(Payload::Binary) => response["schema"] = json!({"type": "string", "format": "binary"}),
            None => {}
        }
        for header in success.headers {
            response["headers"][*header] = json!({"type": "integer", "minimum": 0});
        }
        responses.insert(status, response);
    }
    for status in operation.errors {
        let status = status.to_string();
        let schema = &modern["responses"][&status]["content"]["application/json"]["schema"];
        responses.insert(status, json!({"description": "Refused.", "schema": schema}));
    }
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
    for (word, content_type) in [("consumes", operation.consumes), ("produces", operation.produces)] {
        if let Some(content_type) = content_type {
            described[word] = json!([content_type]);
        }
    }
    described
}

/// References lead to another place, and a schema that may be anything is an object without words.
fn rewrite(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                match member {
                    Value::String(reference) if name == "$ref" => {
                        *reference = reference.replace("#/components/schemas/", "#/definitions/");
                    }
                    Value::Bool(true) if name == "additionalProperties" => *member = json!({}),
                    member => rewrite(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(rewrite),
        _ => {}
    }
}
