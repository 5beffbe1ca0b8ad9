//! Each test that the documents name is there.

use std::path::Path;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn named_tests_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (document, folder, least) in
        [("admission", "admission", 20), ("hub-operator", "operator", 15), ("kube-api", "controllers", 8)]
    {
        let text = read(&root.join(format!("../../docs/{document}.md")));
        let mut found = 0;
        for name in text.split('`').skip(1).step_by(2) {
            let Some((module, test)) = name.split_once("::") else { continue };
            let file = root.join(format!("tests/it/{folder}/{module}.rs"));
            assert!(read(&file).contains(&format!("fn {test}()")), "{document} names {name}");
            found += 1;
        }
        assert!(found >= least, "{document} names {found} tests");
    }
}
