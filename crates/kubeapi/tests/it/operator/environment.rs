//! The operator's variables.

use assisted_kubeapi::operator::environment::{Distribution, Environment, EnvironmentError};

fn read(set: &[(&str, &str)]) -> Result<Environment, EnvironmentError> {
    let get = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    Environment::read(&get)
}

#[test]
fn what_it_is_part_of_is_told_by_both_or_not_at_all() {
    let base = [("NAMESPACE", "a"), ("SERVICE_IMAGE", "c")];
    let (kind, version) = (("DEPLOYMENT_TYPE", "Lab"), ("DEPLOYMENT_VERSION", "7"));
    for part in [&[kind][..], &[version], &[kind, ("DEPLOYMENT_VERSION", "")]] {
        assert_eq!(read(&[&base[..], part].concat()).unwrap().distribution, None);
    }
    let told = read(&[&base[..], &[kind, version]].concat()).unwrap().distribution;
    assert_eq!(told, Some(Distribution { name: "Lab".to_owned(), version: "7".to_owned() }));
}

#[test]
fn what_is_needed_is_asked_for() {
    assert_eq!(read(&[]), Err(EnvironmentError::Namespace));
    assert_eq!(read(&[("NAMESPACE", "")]), Err(EnvironmentError::Namespace));
    assert_eq!(read(&[("NAMESPACE", "a")]), Err(EnvironmentError::Image));
    assert!(read(&[("NAMESPACE", "a"), ("POD_NAME", "b")]).is_ok());
    let image = [("NAMESPACE", "a"), ("SERVICE_IMAGE", "c")];
    for (name, value, error) in [
        ("OS_IMAGES", "{}", EnvironmentError::List("OS_IMAGES")),
        ("MUST_GATHER_IMAGES", "text", EnvironmentError::List("MUST_GATHER_IMAGES")),
        (
            "HOST_STAGE_WAITING_FOR_CONTROL_PLANE_TIMEOUT",
            "soon",
            EnvironmentError::Duration("HOST_STAGE_WAITING_FOR_CONTROL_PLANE_TIMEOUT"),
        ),
    ] {
        assert_eq!(read(&[image[0], image[1], (name, value)]), Err(error));
        assert!(read(&[image[0], image[1], (name, "")]).is_ok(), "{name}: set but empty counts as not set");
    }
    let read = read(&[image[0], image[1], ("http_proxy", "http://proxy:3128")]).unwrap();
    assert_eq!((read.http_proxy.as_str(), read.control_plane_timeout.as_str()), ("http://proxy:3128", "90m"));
    assert_eq!(read.service_account, "assisted-service");
}
