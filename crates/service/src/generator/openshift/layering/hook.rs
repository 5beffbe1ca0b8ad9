//! The line in `bootkube.sh` that waits for the image (ocl-day1 §B4.5): after the configs of nodes could be rendered, and before
//! anything serves them.

use assisted_ocl::paths::HOOK;

/// What the script starts in the stage: the machine config operator, which renders and serves.
const POD: &str = "machineconfigoperator-bootstrap-pod.yaml";
const STATIC_PODS: &str = "/etc/kubernetes/manifests";
/// Says that the stage was done.
const DONE: &str = "mco-bootstrap.done";
/// Where the pod waits, if it can't be kept from being put into its place.
const ASIDE: &str = "/opt/openshift/ocl/machineconfigoperator-bootstrap-pod.yaml";

/// The script with the hook; `None` for one of another shape.
pub(super) fn insert(script: &str) -> Option<String> {
    let lines: Vec<&str> = script.lines().collect();
    if lines.iter().any(|line| line.contains(HOOK)) {
        return None;
    }
    let (begin, done) = stage(&lines)?;
    let starts: Vec<usize> = places(&lines, is_start);
    let edited = match starts[..] {
        [start] if (begin..done).contains(&start) => with(&lines, start, &[HOOK.to_owned()], &[]),
        // The pod comes into its place in a way that is not known: it is taken away again while the image is built.
        [] if lines[begin..done].iter().any(|line| line.contains(POD)) => {
            let before = [format!("mv {STATIC_PODS}/{POD} {ASIDE}"), HOOK.to_owned()];
            with(&lines, done, &before, &[format!("mv {ASIDE} {STATIC_PODS}/{POD}")])
        }
        _ => return None,
    };
    is_hooked(&edited).then_some(edited)
}

/// Whether the hook is there once, within its stage.
fn is_hooked(script: &str) -> bool {
    let lines: Vec<&str> = script.lines().collect();
    let hooks = places(&lines, |line| line == HOOK);
    matches!((&hooks[..], stage(&lines)), ([hook], Some((begin, done))) if (begin..done).contains(hook))
}

/// Copies the pod into its place; a later line that removes it names it too.
fn is_start(line: &str) -> bool {
    line.starts_with("cp ") && line.contains(POD) && line.contains(STATIC_PODS)
}

fn places(lines: &[&str], is: impl Fn(&str) -> bool) -> Vec<usize> {
    lines.iter().enumerate().filter(|(_, line)| is(line.trim())).map(|(place, _)| place).collect()
}

/// The lines at which the stage begins and ends; each must be there once.
fn stage(lines: &[&str]) -> Option<(usize, usize)> {
    let begins = places(lines, |line| line.starts_with("if ") && line.contains(DONE));
    let ends = places(lines, |line| line.starts_with("touch ") && line.ends_with(DONE));
    match (&begins[..], &ends[..]) {
        ([begin], [end]) if begin < end => Some((*begin, *end)),
        _ => None,
    }
}

/// The script with lines before one of its lines and behind it, indented as that is.
fn with(lines: &[&str], place: usize, before: &[String], behind: &[String]) -> String {
    let indent: String = lines[place].chars().take_while(|c| c.is_whitespace()).collect();
    let mut text = String::new();
    let mut push = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    for (number, line) in lines.iter().enumerate() {
        if number == place {
            before.iter().for_each(|line| push(&format!("{indent}{line}")));
        }
        push(line);
        if number == place {
            behind.iter().for_each(|line| push(&format!("{indent}{line}")));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Stages in the shape of those of the installer's script.
    const SCRIPT: &str = r#"#!/usr/bin/env bash
set -euo pipefail
if [ ! -f cvo-bootstrap.done ]
then
    touch cvo-bootstrap.done
fi
if [ ! -f mco-bootstrap.done ]
then
    record_service_stage_start "mco-bootstrap"
    render_configs --dest-dir /assets
    cp openshift/* /etc/mcc/bootstrap/
    cp mco-bootstrap/bootstrap/machineconfigoperator-bootstrap-pod.yaml /etc/kubernetes/manifests/
    cp tls/machine-config-server.* /etc/ssl/mcs/
    touch mco-bootstrap.done
    record_service_stage_success
fi
rm --force /etc/kubernetes/manifests/machineconfigoperator-bootstrap-pod.yaml
"#;
    const START: &str = "    cp mco-bootstrap/bootstrap/machineconfigoperator-bootstrap-pod.yaml /etc/kubernetes/manifests/\n";

    #[test]
    fn before_the_pod_is_started() {
        let edited = insert(SCRIPT).unwrap();
        assert_eq!(edited, SCRIPT.replace(START, &format!("    {HOOK}\n{START}")));
        // It is there once, also when somebody does it again.
        assert_eq!(insert(&edited), None);
    }

    #[test]
    fn around_the_end_of_the_stage() {
        let other = SCRIPT.replace(
            START,
            "    install_pod mco-bootstrap/bootstrap/machineconfigoperator-bootstrap-pod.yaml\n",
        );
        let edited = insert(&other).unwrap();
        let expected = format!(
            "    mv {STATIC_PODS}/{POD} {ASIDE}\n    {HOOK}\n    touch mco-bootstrap.done\n    mv {ASIDE} {STATIC_PODS}/{POD}\n"
        );
        assert_eq!(edited, other.replace("    touch mco-bootstrap.done\n", &expected));
        assert!(is_hooked(&edited));
    }

    /// Folders that stand for a bootstrap host.
    fn host() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for folder in [
            "etc/kubernetes/manifests",
            "etc/mcc/bootstrap",
            "etc/ssl/mcs",
            "opt/openshift/ocl",
            "openshift",
            "mco-bootstrap/bootstrap",
            "tls",
        ] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        let pod = format!("mco-bootstrap/bootstrap/{POD}");
        for file in ["openshift/one.yaml", "tls/machine-config-server.crt", &pod] {
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        dir
    }

    /// Has bash run a script there, with a builder that ends so. Whether it ended well, and which pods there were when the builder began and
    /// when the stage was done.
    fn run(host: &tempfile::TempDir, script: &str, builder: &str) -> (bool, String) {
        let root = host.path().display();
        let pods = format!("{root}{STATIC_PODS}");
        let functions = format!(
            "set -euo pipefail\ncd {root}\nrecord_service_stage_start() {{ :; }}\nrender_configs() {{ :; }}\n\
             install_pod() {{ cp \"$1\" {pods}/; }}\nrecord_service_stage_success() {{ echo \"done: $(ls {pods})\"; }}\n\
             build() {{ echo \"builds: $(ls {pods})\"; {builder}; }}\n"
        );
        let script = script
            .replace("/usr/local/bin/ocl-bootstrap run", "build")
            .replace("/etc/", &format!("{root}/etc/"))
            .replace("/opt/", &format!("{root}/opt/"))
            .replace("set -euo pipefail\n", &functions);
        let ended = Command::new("bash").arg("-c").arg(script).output().unwrap();
        (ended.status.success(), String::from_utf8(ended.stdout).unwrap())
    }

    #[test]
    fn nothing_serves_configs_before_the_image_is_there() {
        let other = SCRIPT.replace(
            START,
            "    install_pod mco-bootstrap/bootstrap/machineconfigoperator-bootstrap-pod.yaml\n",
        );
        for script in [SCRIPT, &other] {
            let edited = insert(script).unwrap();
            let host = host();
            // A build that fails ends the script, which is started again.
            assert_eq!(run(&host, &edited, "false"), (false, "builds: \n".to_owned()), "{edited}");
            let built = format!("builds: \ndone: {POD}\n");
            assert_eq!(run(&host, &edited, "true"), (true, built), "{edited}");
            // The stage was done: nothing is built a second time.
            assert_eq!(run(&host, &edited, "false"), (true, String::new()), "{edited}");
        }
    }

    #[test]
    fn scripts_of_another_shape() {
        let guard = "if [ ! -f mco-bootstrap.done ]\n";
        let touch = "    touch mco-bootstrap.done\n";
        for (what, script) in [
            ("nothing", String::new()),
            ("no guard", SCRIPT.replace(guard, "if true\n")),
            ("two guards", SCRIPT.replace(guard, &format!("{guard}then\n:\nfi\n{guard}"))),
            ("no end", SCRIPT.replace(touch, "")),
            ("two ends", SCRIPT.replace(touch, &touch.repeat(2))),
            ("end before guard", format!("touch mco-bootstrap.done\n{}", SCRIPT.replace(touch, ""))),
            ("started twice", SCRIPT.replace(START, &START.repeat(2))),
            ("started before the stage", format!("{START}{}", SCRIPT.replace(START, ""))),
            ("started after the stage", format!("{}{START}", SCRIPT.replace(START, ""))),
            ("never started", SCRIPT.replace(START, "")),
            ("hooked already", format!("{SCRIPT}{HOOK}\n")),
        ] {
            assert_eq!(insert(&script), None, "{what}");
        }
    }
}
