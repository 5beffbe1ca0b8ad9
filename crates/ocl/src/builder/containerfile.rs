//! The Containerfile of a pool's image: our stages, whose contract is that of the cluster's own builder, and the user's part (ocl-day1
//! §B5.3).

use std::fmt::Write;

/// What the stages are made of.
#[derive(Debug)]
pub(crate) struct ContainerfileInput<'a> {
    /// The release's image for nodes, by digest.
    pub base: &'a str,
    pub pool: &'a str,
    /// Name of the MachineConfig that was rendered first.
    pub rendered: &'a str,
    pub release_version: &'a str,
    pub cluster_id: &'a str,
    /// Whether the context has the configuration ([`IGNITION`]).
    pub bakes: bool,
    /// Whether the context has authorities ([`AUTHORITIES`]).
    pub trusts: bool,
    pub user: &'a str,
}

/// The rendered configuration, in the build's context.
pub(crate) const IGNITION: &str = "ignition.json";
/// The cluster's additional authorities, in the build's context.
pub(crate) const AUTHORITIES: &str = "additional-trust-bundle.crt";
/// The program that applies configurations, in images of nodes.
const PROGRAM: &str = "/usr/lib/dracut/modules.d/30ignition/ignition";

/// The whole text. The configuration is applied by the image's own program, which is another one under this name; links and not
/// another `argv[0]`, because not each shell can set that. It is mounted and not copied, so it is in no layer.
pub(crate) fn render(input: &ContainerfileInput<'_>) -> String {
    let mut text = format!("FROM {} AS configs\n", input.base);
    if input.bakes {
        let _ = writeln!(
            text,
            "RUN --mount=type=bind,source={IGNITION},target=/run/ocl-ignition.json ln -s {PROGRAM} /usr/bin/ignition-apply && \
             container=oci /usr/bin/ignition-apply --ignore-unsupported /run/ocl-ignition.json && \
             rm /usr/bin/ignition-apply && ostree container commit"
        );
    }
    if input.trusts {
        let _ = writeln!(
            text,
            "COPY {AUTHORITIES} /etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt\n\
             RUN update-ca-trust && ostree container commit"
        );
    }
    let _ = writeln!(
        text,
        "LABEL machineconfig={} machineconfigpool={} baseOSContainerImage={} io.openshift.release={} ocl.assisted/cluster={}",
        input.rendered, input.pool, input.base, input.release_version, input.cluster_id
    );
    text.push_str(input.user);
    if !input.user.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// The images that a Containerfile is built from, other than stages of its own and those of ours. What stands in a variable is not
/// known here.
pub(crate) fn foreign_images(user: &str) -> Vec<String> {
    let mut stages = vec!["configs".to_owned(), "scratch".to_owned()];
    let mut images: Vec<String> = Vec::new();
    let mut end_of_text: Option<String> = None;
    for line in user.lines() {
        if let Some(end) = &end_of_text {
            if line.trim() == end {
                end_of_text = None;
            }
            continue;
        }
        let mut words = line.split_whitespace();
        let instruction = words.next().unwrap_or_default();
        if instruction.eq_ignore_ascii_case("FROM") {
            let words: Vec<_> = words.filter(|word| !word.starts_with("--")).collect();
            let Some(image) = words.first() else { continue };
            let known = stages.iter().any(|stage| stage.eq_ignore_ascii_case(image));
            if !known && !image.contains('$') && !images.iter().any(|other| other == image) {
                images.push((*image).to_owned());
            }
            if let [_, word, name, ..] = words[..]
                && word.eq_ignore_ascii_case("AS")
            {
                stages.push(name.to_owned());
            }
        } else if let Some((_, rest)) = line.split_once("<<")
            && ["RUN", "COPY", "ADD"].iter().any(|name| instruction.eq_ignore_ascii_case(name))
        {
            let word = rest.trim_start_matches('-').split_whitespace().next().unwrap_or_default();
            let word = word.trim_matches(|c| c == '"' || c == '\'');
            end_of_text = (!word.is_empty() && !word.starts_with('<')).then(|| word.to_owned());
        }
    }
    images
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(user: &str) -> ContainerfileInput<'_> {
        ContainerfileInput {
            base: "quay.io/os@sha256:00",
            pool: "master",
            rendered: "rendered-master-1",
            release_version: "4.21.3",
            cluster_id: "c",
            bakes: false,
            trusts: false,
            user,
        }
    }

    #[test]
    fn the_users_part_stands_last() {
        let text = render(&input("FROM configs AS final\nRUN true"));
        assert_eq!(
            text,
            "FROM quay.io/os@sha256:00 AS configs\n\
             LABEL machineconfig=rendered-master-1 machineconfigpool=master baseOSContainerImage=quay.io/os@sha256:00 \
             io.openshift.release=4.21.3 ocl.assisted/cluster=c\nFROM configs AS final\nRUN true\n"
        );
        let all = render(&ContainerfileInput { bakes: true, trusts: true, ..input("FROM configs\n") });
        let lines: Vec<_> = all.lines().collect();
        assert!(
            lines[1].contains("source=ignition.json") && lines[1].contains("--ignore-unsupported"),
            "{all}"
        );
        assert!(lines[2].starts_with("COPY additional-trust-bundle.crt"), "{all}");
        assert!(!all.contains("currentconfig"));
    }

    #[test]
    fn images_that_must_be_there() {
        let user = "FROM quay.io/a AS tools\nfrom --platform=linux/amd64 b:1\nFROM configs AS final\nCOPY --from=tools /x /x\n\
                    RUN <<END\nFROM not/one\nEND\nFROM ${X}\nFROM tools\nFROM quay.io/a\nFROM\n";
        assert_eq!(foreign_images(user), ["quay.io/a", "b:1"]);
        assert!(foreign_images("").is_empty());
    }
}
