//! Each test that the document names is there.

use std::path::Path;

#[test]
fn named_tests_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("../../docs/capi.md")).unwrap();
    let mut found = 0;
    for name in text.split('`').skip(1).step_by(2) {
        let Some((module, test)) = name.split_once("::") else { continue };
        let file = std::fs::read_to_string(root.join(format!("tests/it/{module}.rs"))).unwrap();
        assert!(file.contains(&format!("fn {test}()")), "{name}");
        found += 1;
    }
    assert!(found >= 15, "{found} tests are named");
}
