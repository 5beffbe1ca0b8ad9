//! Which rows stand for objects of the Kubernetes API.

use assisted_core::model::object_key::ObjectKey;

use crate::statement::Select;

/// Conditions on the columns that name an object of the Kubernetes API.
pub(crate) fn objects(select: &mut Select, has_object: bool, object: Option<&ObjectKey>) {
    if has_object || object.is_some() {
        select.when("object_name is not null");
    }
    select
        .equal("object_namespace", object.map(|key| key.namespace.clone()))
        .equal("object_name", object.map(|key| key.name.clone()));
}
