//! What makes a custom resource of a spec and a status.
//!
//! kube's own derive refuses an object without a spec, and one such object in a list makes the whole list unreadable.
//! API servers take them, since no published definition requires a spec; so a spec that is missing is an empty one here.
//!
//! A kind is read as a JSON value first, whatever it is read from: what reads its fields is then compiled once, in this crate, and not
//! once for each source in each crate.

use serde::{Deserialize, Serialize};

pub(crate) use kube::core::{ClusterResourceScope as Cluster, NamespaceResourceScope as Namespaced};

/// An object without fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Empty {}

/// Defines a custom resource: its group, version and plural name, its scope, its spec and, if it has one, its status.
macro_rules! resource {
    ($(#[$meta:meta])* $kind:ident, $group:literal, $version:literal, $plural:literal, $scope:ident {
        spec: $spec:ty $(, status: $status:ty)? $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
        #[serde(default, remote = "Self")]
        pub struct $kind {
            pub metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            pub spec: $spec,
            $(pub status: Option<$status>,)?
        }

        impl $kind {
            /// An object with this name; its namespace is not set.
            pub fn new(name: &str, spec: $spec) -> Self {
                let mut object = Self { spec, ..Self::default() };
                object.metadata.name = Some(name.to_owned());
                object
            }

            fn from_value(value: serde_json::Value) -> Result<Self, serde_json::Error> {
                Self::deserialize(value)
            }
        }

        impl<'de> serde::Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = serde_json::Value::deserialize(deserializer)?;
                Self::from_value(value).map_err(serde::de::Error::custom)
            }
        }

        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut object = serializer.serialize_map(None)?;
                object.serialize_entry("apiVersion", concat!($group, "/", $version))?;
                object.serialize_entry("kind", stringify!($kind))?;
                object.serialize_entry("metadata", &self.metadata)?;
                object.serialize_entry("spec", &self.spec)?;
                $(
                    let status: &Option<$status> = &self.status;
                    if let Some(status) = status {
                        object.serialize_entry("status", status)?;
                    }
                )?
                object.end()
            }
        }

        impl kube::Resource for $kind {
            type DynamicType = ();
            type Scope = crate::resource::$scope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                stringify!($kind).into()
            }

            fn group((): &()) -> std::borrow::Cow<'_, str> {
                $group.into()
            }

            fn version((): &()) -> std::borrow::Cow<'_, str> {
                $version.into()
            }

            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }

        impl kube::core::object::HasSpec for $kind {
            type Spec = $spec;

            fn spec(&self) -> &Self::Spec {
                &self.spec
            }

            fn spec_mut(&mut self) -> &mut Self::Spec {
                &mut self.spec
            }
        }

        $(
            impl kube::core::object::HasStatus for $kind {
                type Status = $status;

                fn status(&self) -> Option<&Self::Status> {
                    self.status.as_ref()
                }

                fn status_mut(&mut self) -> &mut Option<Self::Status> {
                    &mut self.status
                }
            }
        )?
    };
}

pub(crate) use resource;
