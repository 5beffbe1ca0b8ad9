//! Objects of any kind as they came, which are typed once they are needed.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DynamicResourceScope;
use kube::{Api, Resource};
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_json::Value;

/// An object of some kind. A watch of a kind of its own is thousands of lines of machine code for each kind; all kinds share that
/// of this one. With `METADATA` the API server is asked for nothing but metadata.
#[derive(Clone, Debug)]
pub(crate) struct Raw<const METADATA: bool> {
    metadata: ObjectMeta,
    /// All of it, metadata included.
    pub(crate) object: Value,
}

impl<const METADATA: bool> Raw<METADATA> {
    /// The objects that `api` leads to.
    pub(crate) fn api<K: Resource>(api: Api<K>) -> Api<Self> {
        let url = api.resource_url().to_owned();
        Api::all_with(api.into_client(), &url)
    }
}

impl<'de, const METADATA: bool> Deserialize<'de> for Raw<METADATA> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        let metadata = match object.get("metadata") {
            Some(metadata) => ObjectMeta::deserialize(metadata).map_err(Error::custom)?,
            None => ObjectMeta::default(),
        };
        Ok(Self { metadata, object })
    }
}

/// Its dynamic type is the path of its URL: nothing else of a kind is asked for.
impl<const METADATA: bool> Resource for Raw<METADATA> {
    type DynamicType = String;
    type Scope = DynamicResourceScope;

    fn kind(_: &String) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn group(_: &String) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn version(_: &String) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn plural(_: &String) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn url_path(url: &String, _: Option<&str>) -> String {
        url.clone()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }

    fn metadata_api() -> bool {
        METADATA
    }
}
