//! What the documentation says of tests.

/// The sources of this folder, by the modules that they are.
const TESTS: [(&str, &str); 4] = [
    ("agent", include_str!("agent.rs")),
    ("cluster", include_str!("cluster.rs")),
    ("infra_env", include_str!("infra_env.rs")),
    ("installation", include_str!("installation.rs")),
];

#[test]
fn each_test_that_is_named_exists() {
    let text = include_str!("../../../../../docs/kube-api.md");
    let named: Vec<_> = text.split('`').filter_map(|word| word.strip_prefix("controllers::")).collect();
    assert!(named.len() >= 8, "{named:?}");
    for name in named {
        let (module, test) = name.split_once("::").unwrap();
        let (_, source) = TESTS.iter().find(|(known, _)| *known == module).unwrap();
        assert!(source.contains(&format!("async fn {test}()")), "{name}");
    }
}
