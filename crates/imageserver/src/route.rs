//! Paths (image-service §1.4).

use percent_encoding::percent_decode_str;
use uuid::Uuid;

/// What a path stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// An ISO, by everything in its path.
    ShortIsoPath(ShortIsoPath),
    /// An ISO, by its query.
    Long(Uuid),
    Initrd(Uuid),
    AddrSize(Uuid),
    /// A boot artifact, by its whole path.
    Artifact(String),
    Health,
    Live,
    Metrics,
    /// How far base images are: an addition.
    Bases,
    Unknown,
}

/// An ISO by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShortIsoPath {
    pub by: InfraEnvRef,
    pub version: String,
    pub architecture: String,
    pub file: String,
}

/// What names the infra-env.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InfraEnvRef {
    Id(Uuid),
    Token(String),
    ApiKey(String),
}

impl Route {
    /// The route of a path, without its query.
    pub fn of(path: &str) -> Self {
        Self::find(path).unwrap_or(Self::Unknown)
    }

    fn find(path: &str) -> Option<Self> {
        let segments: Vec<_> = path.strip_prefix('/')?.split('/').map(decoded).collect::<Option<_>>()?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        if segments.iter().any(|segment| segment.is_empty()) {
            return None;
        }
        Some(match segments.as_slice() {
            ["health"] => Self::Health,
            ["live"] => Self::Live,
            ["metrics"] => Self::Metrics,
            ["base-images"] => Self::Bases,
            ["boot-artifacts", _] => Self::Artifact(path.to_owned()),
            ["images", id] => Self::Long(uuid(id)?),
            ["images", id, "pxe-initrd"] => Self::Initrd(uuid(id)?),
            ["images", id, "s390x-initrd-addrsize"] => Self::AddrSize(uuid(id)?),
            [by, value, version, architecture, file] => {
                let by = match *by {
                    "byid" => InfraEnvRef::Id(uuid(value)?),
                    "bytoken" => InfraEnvRef::Token((*value).to_owned()),
                    "byapikey" => InfraEnvRef::ApiKey((*value).to_owned()),
                    _ => return None,
                };
                let [version, architecture, file] =
                    [version, architecture, file].map(|text| (*text).to_owned());
                Self::ShortIsoPath(ShortIsoPath { by, version, architecture, file })
            }
            _ => return None,
        })
    }

    /// The name under which requests are measured; none for those that are not.
    pub fn handler(&self) -> Option<&str> {
        Some(match self {
            Self::ShortIsoPath(ShortIsoPath { by: InfraEnvRef::Id(_), .. }) => "/byid/:token",
            Self::ShortIsoPath(ShortIsoPath { by: InfraEnvRef::Token(_), .. }) => "/bytoken/:token",
            Self::ShortIsoPath(ShortIsoPath { by: InfraEnvRef::ApiKey(_), .. }) => "/byapikey/:token",
            Self::Long(_) => "/images/:imageID",
            Self::Initrd(_) => "/images/:imageID/pxe-initrd",
            Self::AddrSize(_) => "/images/:imageID/s390x-initrd-addrsize",
            // Only known ones: anybody can think up others.
            Self::Artifact(path) => match path.as_str() {
                "/boot-artifacts/kernel" | "/boot-artifacts/rootfs" | "/boot-artifacts/ins-file" => path,
                _ => "/boot-artifacts/",
            },
            _ => return None,
        })
    }
}

/// Whether a path is served over TLS only, where there is TLS beside plain HTTP: all images, except what iPXE loads, which
/// can't do TLS everywhere (image-service §1.1).
pub(crate) fn needs_tls(path: &str) -> bool {
    let image =
        ["/images/", "/byid/", "/byapikey/", "/bytoken/"].iter().any(|prefix| path.starts_with(prefix));
    image && !path.ends_with("/pxe-initrd")
}

fn decoded(segment: &str) -> Option<String> {
    percent_decode_str(segment).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

/// Only the usual spelling, in lower case.
fn uuid(text: &str) -> Option<Uuid> {
    let id = Uuid::try_parse(text).ok()?;
    (id.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == text).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3f6c8e2a-1b7d-4a52-9c01-d4f0e8a7b612";

    #[test]
    fn paths() {
        let id = Uuid::parse_str(ID).unwrap();
        let short = |by| {
            Route::ShortIsoPath(ShortIsoPath {
                by,
                version: "4.18+a".to_owned(),
                architecture: "x86_64".to_owned(),
                file: "full.iso".to_owned(),
            })
        };
        for (path, route) in [
            (format!("/byid/{ID}/4.18%2Ba/x86_64/full.iso"), short(InfraEnvRef::Id(id))),
            (
                "/bytoken/a.b.c/4.18+a/x86_64/full.iso".to_owned(),
                short(InfraEnvRef::Token("a.b.c".to_owned())),
            ),
            (
                "/byapikey/a.b.c/4.18+a/x86_64/full.iso".to_owned(),
                short(InfraEnvRef::ApiKey("a.b.c".to_owned())),
            ),
            (format!("/images/{ID}"), Route::Long(id)),
            (format!("/images/{ID}/pxe-initrd"), Route::Initrd(id)),
            (format!("/images/{ID}/s390x-initrd-addrsize"), Route::AddrSize(id)),
            ("/boot-artifacts/rootfs".to_owned(), Route::Artifact("/boot-artifacts/rootfs".to_owned())),
            ("/health".to_owned(), Route::Health),
            ("/live".to_owned(), Route::Live),
            ("/metrics".to_owned(), Route::Metrics),
            ("/base-images".to_owned(), Route::Bases),
        ] {
            assert_eq!(Route::of(&path), route, "{path}");
        }
    }

    #[test]
    fn what_is_no_path() {
        for path in [
            "",
            "*",
            "/",
            "/images",
            "/images/",
            "/byid/",
            &format!("/byid/{ID}/4.8/x86_64/"),
            &format!("/byid/{ID}//x86_64/full.iso"),
            &format!("/byid/{ID}/4.8/x86_64/full.iso/more"),
            &format!("/byid/_{ID}/4.8/x86_64/full.iso"),
            &format!("/images/{}", ID.to_uppercase()),
            &format!("/images/{}", ID.replace('-', "")),
            &format!("/images/{{{ID}}}"),
            &format!("/images/{ID}/"),
            &format!("/images/{ID}/other"),
            "/s390x-initrd-addrsize",
            "/boot-artifacts/",
            "/other/a/b/c/d",
            "/images/%ff",
        ] {
            assert_eq!(Route::of(path), Route::Unknown, "{path}");
        }
    }

    #[test]
    fn only_what_ipxe_loads_goes_over_plain_http_beside_tls() {
        assert!(needs_tls("/images/x") && needs_tls("/byid/x") && needs_tls("/bytoken/x"));
        assert!(needs_tls("/images/x/s390x-initrd-addrsize"));
        assert!(!needs_tls("/images/x/pxe-initrd"));
        assert!(!needs_tls("/boot-artifacts/rootfs") && !needs_tls("/health") && !needs_tls("/metrics"));
    }
}
