//! Rules on AgentClassifications (kube-api §5.2), and queries (§6.8).

use assisted_kubeapi::admission::Verdict;
use assisted_kubeapi::classification::{Query, QueryError};
use serde_json::{Value, json};

use super::{created, denial, updated};

const WEBHOOK: &str = "agentclassificationvalidators";

fn classification(key: &str, value: &str, query: &str) -> Value {
    json!({"metadata": {"name": "example", "namespace": "site"},
           "spec": {"labelKey": key, "labelValue": value, "query": query}})
}

#[test]
fn label_and_query_are_good() {
    const KEY: &str = "a key consists of letters, digits, '-', '_' or '.', starts and ends with a letter or digit, has at most \
                       63 characters, and may have a DNS subdomain and '/' before it";
    const VALUE: &str = "a value consists of letters, digits, '-', '_' or '.', starts and ends with a letter or digit, and has \
                         at most 63 characters";
    const RESERVED: &str = "label must not start with QUERYERROR as this is reserved";
    const SYNTAX: &str = "the query can't be read as jq";
    let prefix = "agentclassification.agent-install.openshift.io/";
    let invalid = |value: &str, reason: &str| format!("spec: Invalid value: {value:?}: {reason}");
    for (key, value, query, expected) in [
        ("size", "large", ".cpu.count > 8", None),
        ("size", "", "true", None),
        ("-size", "large", "true", Some(invalid(&format!("{prefix}-size"), KEY))),
        ("", "large", "true", Some(invalid(prefix, KEY))),
        ("a/b", "large", "true", Some(invalid(&format!("{prefix}a/b"), KEY))),
        ("size", "very large", "true", Some(invalid("very large", VALUE))),
        ("size", "QUERYERROR-x", "true", Some(invalid("QUERYERROR-x", RESERVED))),
        ("size", "large", ".cpu | ", Some(invalid(".cpu | ", SYNTAX))),
        ("size", "large", "", Some(invalid("", SYNTAX))),
        (
            "size",
            "large",
            "nothing_of_that_name(1)",
            Some(invalid(
                "nothing_of_that_name(1)",
                "the query uses \"nothing_of_that_name\", which jq does not know",
            )),
        ),
        (
            "size",
            "QUERYERROR!",
            "(",
            Some(format!(
                "[{}, {}, {}]",
                invalid("QUERYERROR!", VALUE),
                invalid("QUERYERROR!", RESERVED),
                invalid("(", SYNTAX)
            )),
        ),
    ] {
        let verdict = created(WEBHOOK, &classification(key, value, query));
        assert_eq!(denial(&verdict), expected.as_deref().map(|text| (400, text)), "{key} {value} {query}");
    }
}

#[test]
fn the_label_stays() {
    let old = classification("size", "large", "true");
    for (new, is_denied) in [
        (classification("size", "large", "not even jq ("), false),
        (classification("weight", "large", "true"), true),
        (classification("size", "small", "true"), true),
    ] {
        let expected = (400, "Label modified: the specified label may not be modified after creation");
        assert_eq!(denial(&updated(WEBHOOK, &old, &new)), is_denied.then_some(expected), "{new}");
    }
    let deleted = super::request(&super::resource(WEBHOOK), "DELETE", Some(&old), None);
    assert_eq!(super::verdict(WEBHOOK, &deleted), Verdict::Allowed);
}

#[test]
fn queries_have_one_answer() {
    let inventory = r#"{"cpu": {"count": 16, "flags": ["vmx"]}, "disks": [{"sizeBytes": 5}]}"#;
    let ask = |query: &str| Query::parse(query).unwrap().matches(inventory);
    assert_eq!(ask(".cpu.count == 16"), Ok(true));
    assert_eq!(ask("any(.disks[]; .sizeBytes > 4) and (.cpu.flags | index(\"vmx\") != null)"), Ok(true));
    assert_eq!(ask(".cpu.count"), Ok(false));
    assert_eq!(ask(".memory.none"), Ok(false));
    assert_eq!(ask("empty"), Err(QueryError::Count));
    assert_eq!(ask("true, true"), Err(QueryError::Count));
    assert!(matches!(ask("error(1)"), Err(QueryError::Run(_))));
    assert_eq!(Query::parse("true").unwrap().matches("{"), Err(QueryError::Input));
    for word in
        ["def f: [f]; f", "[repeat(1)]", "\"\\([range(1;2)])\"", "{a: (1 | until(false; .))}", "recurse([.])"]
    {
        assert!(matches!(Query::parse(word), Err(QueryError::Endless(_))), "{word}");
    }
    for word in ["halt", "halt_error(1)", "env", "debug", "stderr"] {
        assert_eq!(
            Query::parse(word),
            Err(QueryError::Undefined(format!("{:?}", word.trim_end_matches("(1)"))))
        );
    }
    // What is nested deeply is read or refused.
    let deep = format!("{}1{}", "[".repeat(2000), "]".repeat(2000));
    assert_eq!(Query::parse(&deep).unwrap().matches(inventory), Ok(false));
    assert!(Query::parse(&"(".repeat(4000)).is_err());
    assert_eq!(Query::parse(&format!("true {}", " ".repeat(65536))), Err(QueryError::Long));
}
