//! What errors mean and what to do about them: each answer that is an error leads to a section of a page, which a program serves
//! itself (`/docs/errors`), and which stands in the book (`docs/errors.md`).

mod families;
mod html;
mod operations;
mod statuses;

pub use operations::operations;

use std::fmt::Write;
use std::sync::OnceLock;

use assisted_wire::validation;
use bytes::Bytes;

use self::families::FAMILIES;
use self::statuses::STATUSES;

/// Where the service serves the page about errors.
const ERRORS: &str = "/docs/errors";

/// What refusals of one kind have in common.
#[derive(Debug)]
pub(crate) struct Family {
    /// Name of the section, fit for an address.
    pub(crate) id: &'static str,
    /// Statuses that it comes with.
    statuses: &'static [u16],
    /// Parts of texts by which it is known; none: all of these statuses that no other family knows.
    says: &'static [&'static str],
    cause: &'static str,
    remedy: &'static str,
}

impl Family {
    /// Address of its section at the service that answers.
    pub(crate) fn address(&self) -> String {
        format!("{ERRORS}#{}", self.id)
    }
}

/// The family of an error. Refusals have texts and no numbers of their own (service-api §1.3), so that it is known by its text.
pub(crate) fn family(status: u16, text: &str) -> &'static Family {
    let known = |family: &&Family| {
        family.statuses.contains(&status) && family.says.iter().any(|part| text.contains(part))
    };
    let of_status = || STATUSES.iter().find(|family| family.statuses.contains(&status));
    FAMILIES.iter().find(known).or_else(of_status).unwrap_or(&statuses::OTHER)
}

const HEAD: &str = "# Errors of the API\n\n\
    Made from the code by `cargo xtask docs`. Each answer that is an error has a header that leads to a section of this page, which the\n\
    service has under `/docs/errors`, as in `Link: </docs/errors#cluster-state>; rel=\"help\"`; where the body has a member `href`, the same\n\
    address stands there. `assisted explain ID` shows a section in a terminal, and `assisted explain 409` that of a status.\n\n\
    Bodies are `{\"code\": \"409\", \"id\": 409, \"kind\": \"Error\", \"href\": …, \"reason\": …}` where a use case has refused, and `{\"code\": 400,\n\
    \"message\": …}` where the request did not get that far. What keeps hosts and clusters from being installed are no errors but\n\
    validations: [troubleshooting](troubleshooting.md).\n";

/// The page, as `docs/errors.md` has it.
pub fn page() -> String {
    let mut text = HEAD.to_owned();
    let others = std::slice::from_ref(&statuses::OTHER);
    for (title, families) in [("By what is said", FAMILIES), ("By status", STATUSES), ("Else", others)] {
        let _ = write!(text, "\n## {title}\n");
        families.iter().for_each(|family| section(&mut text, family));
    }
    text
}

fn section(text: &mut String, family: &Family) {
    let _ = write!(text, "\n### {}\n\n", family.id);
    let statuses: Vec<_> = family.statuses.iter().map(|status| format!("`{status}`")).collect();
    if !statuses.is_empty() {
        let _ = writeln!(text, "* Status {}", statuses.join(", "));
    }
    for part in family.says {
        let _ = writeln!(text, "* `… {} …`", part.trim());
    }
    let _ = write!(text, "\n**What it is**: {}\n\n**What to do**: {}\n", family.cause, family.remedy);
}

/// The pages that a program serves, made when one is first asked for.
#[derive(Default)]
pub(crate) struct Pages {
    errors: OnceLock<Bytes>,
    troubleshooting: OnceLock<Bytes>,
}

impl Pages {
    /// The page at a path, if there is one.
    pub(crate) fn at(&self, path: &str) -> Option<Bytes> {
        let made = |title, text: &str| html::page(title, text).into();
        match path {
            ERRORS => Some(self.errors.get_or_init(|| made("Errors of the API", &page())).clone()),
            validation::PAGE => {
                let text = include_str!("../../../../docs/troubleshooting.md");
                Some(self.troubleshooting.get_or_init(|| made("Troubleshooting", text)).clone())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use assisted_wire::cluster::ClusterValidationId;
    use assisted_wire::host::HostValidationId;

    use super::*;

    /// All families: the special ones, and those of a status alone.
    fn all() -> impl Iterator<Item = &'static Family> {
        FAMILIES.iter().chain(STATUSES).chain([&statuses::OTHER])
    }

    #[test]
    fn an_error_is_known_by_its_status_and_its_text() {
        assert_eq!(
            family(409, "Cluster x is in installed state, cluster can be updated only in one of [ready]").id,
            "cluster-state"
        );
        assert_eq!(family(400, "pull secret must be a well-formed JSON").id, "pull-secret");
        assert_eq!(family(500, "internal error 7c0f").id, "internal-error");
        assert_eq!(family(409, "nobody has said this yet").id, "http-409");
        assert_eq!(family(418, "teapot").id, "other");
        assert_eq!(family(404, "record not found").address(), "/docs/errors#no-such-object");
    }

    #[test]
    fn each_family_has_a_name_of_its_own_and_says_what_to_do() {
        let mut ids = BTreeSet::new();
        for Family { id, cause, remedy, statuses, .. } in all() {
            assert!(ids.insert(id), "{id} is there twice");
            assert!(
                id.chars()
                    .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-')
            );
            assert!(cause.ends_with('.') && remedy.ends_with('.'), "{id}");
            for status in *statuses {
                assert!(STATUSES.iter().any(|family| family.statuses.contains(status)), "{id}: {status}");
            }
        }
    }

    /// All sources of the crates that refuse requests.
    fn sources(folder: &Path, text: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("api/src/help") {
                sources(&path, text);
            } else if path.extension().is_some_and(|end| end == "rs") {
                text.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }

    #[test]
    fn what_families_are_known_by_is_said_somewhere() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut text = String::new();
        for name in
            ["api", "auth", "core", "service", "store", "blob", "ignition", "ignition-spec", "netconf"]
        {
            sources(&crates.join(name).join("src"), &mut text);
        }
        let text = text.replace("\\\n", "");
        let said: Vec<_> =
            FAMILIES.iter().flat_map(|family| family.says).filter(|part| !text.contains(**part)).collect();
        assert!(said.is_empty(), "nobody says {said:?}");
    }

    #[test]
    fn no_family_hides_another() {
        for (index, family) in FAMILIES.iter().enumerate() {
            for part in family.says {
                let before = FAMILIES[..index].iter().find(|earlier| {
                    earlier.statuses.iter().any(|status| family.statuses.contains(status))
                        && earlier.says.iter().any(|other| part.contains(other))
                });
                assert!(
                    before.is_none(),
                    "{part:?} of {} belongs to {:?}",
                    family.id,
                    before.map(|found| found.id)
                );
            }
        }
    }

    #[test]
    fn pages_have_a_place_for_each_section() {
        let pages = Pages::default();
        let errors = String::from_utf8(pages.at("/docs/errors").unwrap().to_vec()).unwrap();
        for family in all() {
            assert!(errors.contains(&format!("id=\"{}\"", family.id)), "{}", family.id);
        }
        let validations = String::from_utf8(pages.at(validation::PAGE).unwrap().to_vec()).unwrap();
        assert!(validations.contains("<table>"));
        let ids = HostValidationId::ALL.iter().map(|id| id.as_str());
        let ids = ids.chain(ClusterValidationId::ALL.iter().map(|id| id.as_str()));
        for id in ids {
            assert!(validations.contains(&format!("<h3 id=\"{id}\">")), "{id}");
        }
        assert!(pages.at("/docs/other").is_none());
    }
}
