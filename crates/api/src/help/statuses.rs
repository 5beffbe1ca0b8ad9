//! What each status means by itself.

use super::Family;

const fn status(
    id: &'static str,
    statuses: &'static [u16],
    cause: &'static str,
    remedy: &'static str,
) -> Family {
    Family { id, statuses, says: &[], cause, remedy }
}

/// What no status is known for.
pub(super) const OTHER: Family = status(
    "other",
    &[],
    "The answer has a status that this page does not know: something between the client and the service may have given it.",
    "Look at the text of the answer, and at what stands before the service.",
);

/// One for each status that the API gives.
pub(super) const STATUSES: &[Family] = &[
    status(
        "http-400",
        &[400],
        "The request contradicts a rule. The text names the member and what is wrong with it; nothing was changed.",
        "Change the member that is named, and send the request again.",
    ),
    status(
        "http-401",
        &[401],
        "Nobody is logged in, or the token is missing, wrong, ended or revoked.",
        "Log in anew (`assisted login`), or give a token that is good. Who sees this on a host: boot it from a new discovery image.",
    ),
    status(
        "http-403",
        &[403],
        "The caller is known, and may not do this: by the role, the owner, or what the token is limited to.",
        "Ask somebody with the role that it takes, or use a token of the owner; docs/users.md has the roles.",
    ),
    status(
        "http-404",
        &[404],
        "There is nothing under this address: it was deleted, never was there, or belongs to somebody else.",
        "Check the id, and that the address is that of this service.",
    ),
    status(
        "http-405",
        &[405],
        "The path is there, for other methods; the header Allow names them.",
        "Use one of these methods. A client that is newer than the service asks for what is not there yet.",
    ),
    status(
        "http-408",
        &[408],
        "The body of the request did not arrive in time.",
        "Send it again; look at the network between, and at proxies that hold requests back.",
    ),
    status(
        "http-409",
        &[409],
        "The object is in a state that does not allow this now. The text names the state.",
        "Wait until the state allows it, or bring the object there: cancel, reset, unbind.",
    ),
    status(
        "http-413",
        &[413],
        "The body is larger than this operation takes.",
        "Send less. For logs, the limit is that of the service's settings.",
    ),
    status(
        "http-415",
        &[415],
        "The body is of a kind that this operation does not take.",
        "Send the header Content-Type that the text names, mostly application/json.",
    ),
    status(
        "http-421",
        &[421],
        "The browser asks for a name that the service does not know as its own.",
        "Set SERVICE_BASE_URL to the address by which browsers reach it, or add the name to ALLOWED_HOSTS.",
    ),
    status(
        "http-422",
        &[422],
        "The request can be read, and what it holds can't be used.",
        "Look at the text for what is wrong with the content.",
    ),
    status(
        "http-429",
        &[429],
        "The caller asks more often than its share.",
        "Wait for as long as the header Retry-After says.",
    ),
    status(
        "http-500",
        &[500],
        "The service can't do it, or clients know this refusal as a failure of the service. The text says which.",
        "Read the text. Where it holds an id, the service's log has the cause beside it.",
    ),
    status(
        "http-503",
        &[503],
        "The service can't do it now: it starts, is busy, or what it needs is away.",
        "Send the request again after the time that the header Retry-After says. Where it stays so, the log of the service tells why.",
    ),
    status(
        "http-507",
        &[507],
        "There is no room left on the disk of the database or of the files; nothing was changed.",
        "Make room. Work that waits goes on by itself.",
    ),
];
