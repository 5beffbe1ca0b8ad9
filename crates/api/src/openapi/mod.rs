//! The documents of the API: OpenAPI 3.1, Swagger 2.0, and a page to browse. All made from the table of operations and
//! the schemas of the wire types, so that none can differ from what is served.

mod definitions;
mod document;
mod page;
pub(crate) mod schemas;
mod swagger;

pub(crate) use page::STYLE;

use std::sync::OnceLock;

use bytes::Bytes;
use serde_json::Value;

/// The OpenAPI 3.1 document.
pub fn openapi() -> Value {
    document::document()
}

/// The document as Swagger 2.0.
pub fn swagger() -> Value {
    swagger::document()
}

/// The texts, made when one is first asked for.
#[derive(Default)]
pub(crate) struct Documents {
    openapi: OnceLock<Bytes>,
    swagger: OnceLock<Bytes>,
    page: OnceLock<Bytes>,
}

impl Documents {
    pub(crate) fn openapi(&self) -> Bytes {
        self.openapi.get_or_init(|| openapi().to_string().into()).clone()
    }

    pub(crate) fn swagger(&self) -> Bytes {
        self.swagger.get_or_init(|| swagger().to_string().into()).clone()
    }

    pub(crate) fn page(&self) -> Bytes {
        self.page.get_or_init(|| page::page(&openapi()).into()).clone()
    }
}
