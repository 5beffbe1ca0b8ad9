//! Ways in for the fuzz targets (`fuzz/`) to what reads requests. Nothing else calls this.

use std::convert::Infallible;
use std::sync::LazyLock;

use assisted_wire::operation::{self, OperationId, Scheme};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use http::{HeaderMap, Method};
use http_body_util::StreamBody;
use hyper::body::Frame;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::Timeouts;
use crate::auth::credential::Credential;
use crate::check::Bodies;
use crate::check::params::Params;
use crate::http::route::{Routes, normalize_path};
use crate::identity;
use crate::operation::upload::file_of_form;

static BODIES: LazyLock<Option<Bodies>> = LazyLock::new(|| Bodies::compile(true).ok());
static ROUTES: LazyLock<Option<Routes>> = LazyLock::new(|| Routes::new().ok());

/// Forms are read within time limits.
static RUNTIME: LazyLock<Option<Runtime>> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().ok());

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

/// Reads a form of which one piece comes after the other; the file in it, `None` where the form is refused, has none, or ends before it does.
pub fn form(content_type: &str, pieces: &[&[u8]]) -> Option<Vec<u8>> {
    let pieces: Vec<_> = pieces.iter().map(|piece| Bytes::copy_from_slice(piece)).collect();
    let frames = stream::iter(pieces).map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
    let mut body = StreamBody::new(frames);
    let file = async {
        let field = file_of_form(content_type, &mut body, Timeouts::default()).await.ok()?;
        let content: Vec<Bytes> = field.try_collect().await.ok()?;
        Some(content.concat())
    };
    RUNTIME.as_ref()?.block_on(file)
}
