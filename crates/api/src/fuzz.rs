//! Ways in for the fuzz targets (`fuzz/`) to what reads requests. Nothing else calls this.

use std::sync::LazyLock;

use assisted_wire::operation::{self, OperationId, Scheme};
use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;

use crate::auth::credential::Credential;
use crate::check::Bodies;
use crate::check::params::Params;
use crate::http::route::{Routes, normalize_path};
use crate::identity;

static BODIES: LazyLock<Option<Bodies>> = LazyLock::new(|| Bodies::compile(true).ok());
static ROUTES: LazyLock<Option<Routes>> = LazyLock::new(|| Routes::new().ok());

/// The operations that take a body.
pub static WITH_BODY: LazyLock<Vec<OperationId>> = LazyLock::new(|| {
    operation::all().filter(|operation| operation.body.is_some()).map(|operation| operation.id).collect()
});

/// Reads and judges a text as the body of an operation; what was read, `None` where it is refused or nothing.
pub fn body(id: OperationId, text: &[u8]) -> Option<Value> {
    BODIES.as_ref()?.decode_optional(id, &Bytes::copy_from_slice(text)).ok()?
}

/// Finds the operation of a request, and reads its parameters and credentials; whether there is such an operation.
pub fn request(method: &Method, path: &str, query: Option<&str>, headers: &HeaderMap) -> bool {
    for scheme in Scheme::ALL {
        if let Some(credential) = Credential::of(*scheme, query, headers) {
            let _ = credential.bearer();
        }
    }
    let path = normalize_path(path);
    let _ = identity::below(&path);
    let Some(Ok((operation, params))) = ROUTES.as_ref().map(|routes| routes.find(method, &path)) else {
        return false;
    };
    let _ = Params::read(operation, &params, query, headers);
    true
}
