//! The notes of a release: what is in it, how to try it, how to check that it is what was made.

use std::fmt::Write as _;

use crate::VERSION;
use crate::image::{Inputs, Kind};

/// A file of a release.
pub struct Listed {
    pub name: String,
    /// Bytes.
    pub size: u64,
    pub meaning: String,
}

/// The notes, in Markdown. `changes` says what is new, a line each.
pub fn notes(inputs: &Inputs, files: &[Listed], changes: &str, is_signed: bool) -> String {
    let mut text = format!(
        "# assisted {VERSION}\n\nMade of commit {} ({}).\n\n## Files\n\n",
        inputs.revision, inputs.created
    );
    text.push_str("| file | MB | what it is |\n|---|---|---|\n");
    for Listed { name, size, meaning } in files {
        let _ = writeln!(text, "| `{name}` | {:.1} | {meaning} |", *size as f64 / 1e6);
    }
    text.push_str("\n## Images\n\n| image | name |\n|---|---|\n");
    for kind in Kind::ALL {
        let _ = writeln!(text, "| {} | `{}` |", kind.name(), inputs.name(kind));
    }
    text.push_str("\n## To check\n\n```\nsha256sum -c SHA256SUMS\n");
    if is_signed {
        text.push_str("base64 -d SHA256SUMS.sig > sums.der\nopenssl dgst -sha256 -verify assisted.pub -signature sums.der SHA256SUMS\n");
        let _ = writeln!(
            text,
            "cosign verify --key assisted.pub --insecure-ignore-tlog {}",
            inputs.name(Kind::Service)
        );
    }
    text.push_str("```\n");
    if !is_signed {
        text.push_str("\nIt is not signed.\n");
    }
    text.push_str(
        "\n## Upgrade\n\nThe database of any earlier release is taken over at the first start; take a backup before (`assisted backup`), since an earlier \
         release does not read what a later one has written. Agents that wait are replaced by the service's own; hosts that install go on with what \
         they have, and so do controllers in new clusters.\n",
    );
    if !changes.trim().is_empty() {
        let _ = write!(text, "\n## Changes\n\n{}\n", changes.trim());
    }
    text
}
