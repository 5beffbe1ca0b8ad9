//! What `docs/lab.md` tells people to type: labs that this machine can have in some minutes.

use std::path::Path;

use assisted_testkit::block::{Needs, blocks};
use assisted_testkit::kubernetes;

use crate::namespaces::Cluster;
use crate::support::{run, text};

const DOCUMENT: &str = "docs/lab.md";
/// The lab's folder, where nobody names another one.
const FOLDER: &str = "/tmp/assisted-lab";
/// Three masters, unless more is asked for.
const NAMES: [&str; 3] = ["master-0", "master-1", "master-2"];
const MINUTES: u64 = 20;

#[test]
fn everything_a_hub_is_asked_as_the_page_shows() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(DOCUMENT);
    let page = std::fs::read_to_string(page).unwrap();
    let mut blocks = blocks(DOCUMENT, &page).unwrap();
    blocks.retain(|block| block.needs().unwrap() == Some(Needs::Everything));
    let [block] = &blocks[..] else {
        panic!("{DOCUMENT} has other blocks than this test types: {blocks:#?}")
    };
    let commands: Vec<Vec<&str>> = block.commands().map(|command| command.split(' ').collect()).collect();
    let [up, ask] = &commands[..] else { panic!("{commands:?}") };
    let ["assisted-lab", "up", options @ ..] = &up[..] else { panic!("{up:?}") };
    let ["assisted-lab", "exec", "--", "kubectl", words @ ..] = &ask[..] else { panic!("{ask:?}") };

    let cluster = Cluster::of_machines(options, &NAMES, MINUTES);
    let kubectl = kubernetes::find("kubectl").unwrap();
    // The lab of a test has a folder of its own.
    let folder = text(cluster.dir());
    let words: Vec<_> = words.iter().map(|word| word.replace(FOLDER, folder)).collect();
    let words: Vec<_> = [text(&kubectl)].into_iter().chain(words.iter().map(String::as_str)).collect();
    let told = run(&mut cluster.exec(&words)).stdout;
    let told = String::from_utf8_lossy(&told);
    // The names of the columns, and an agent for each machine.
    assert_eq!(told.lines().count(), 1 + NAMES.len(), "{told}");
}
