//! Rules on AgentClassifications (kube-api §5.2), and queries (§6.8).

use assisted_base::process::Cmd;
use assisted_kubeapi::admission::Verdict;
use assisted_kubeapi::classification::{Queries, QueryError, check, serve};
use assisted_testkit::built;
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

/// What the process of queries says, in this one.
fn asked(query: &str, inventory: &str) -> Value {
    let question = json!({"query": query, "inventory": inventory});
    let mut answers = Vec::new();
    serve(format!("{question}\n").as_bytes(), &mut answers).unwrap();
    serde_json::from_slice(&answers).unwrap()
}

#[test]
fn queries_have_one_answer() {
    let inventory = r#"{"cpu": {"count": 16, "flags": ["vmx"]}, "disks": [{"sizeBytes": 5}]}"#;
    let ask = |query: &str| asked(query, inventory);
    assert_eq!(ask(".cpu.count == 16"), json!({"Ok": true}));
    assert_eq!(
        ask("any(.disks[]; .sizeBytes > 4) and (.cpu.flags | index(\"vmx\") != null)"),
        json!({"Ok": true})
    );
    assert_eq!(ask(".cpu.count"), json!({"Ok": false}));
    assert_eq!(ask(".memory.none"), json!({"Ok": false}));
    assert_eq!(ask("empty"), json!({"Err": "Count"}));
    assert_eq!(ask("true, true"), json!({"Err": "Count"}));
    assert!(ask("error(1)")["Err"]["Run"].is_string());
    assert_eq!(asked("true", "{"), json!({"Err": "Input"}));
    for word in
        ["def f: [f]; f", "[repeat(1)]", "\"\\([range(1;2)])\"", "{a: (1 | until(false; .))}", "recurse([.])"]
    {
        assert!(matches!(check(word), Err(QueryError::Endless(_))), "{word}");
        assert!(ask(word)["Err"]["Endless"].is_string(), "{word}");
    }
    for word in ["halt", "halt_error(1)", "env", "debug", "stderr"] {
        assert_eq!(check(word), Err(QueryError::Undefined(format!("{:?}", word.trim_end_matches("(1)")))));
    }
    // What is nested deeply is read or refused.
    let deep = format!("{}1{}", "[".repeat(2000), "]".repeat(2000));
    assert_eq!((check(&deep), ask(&deep)), (Ok(()), json!({"Ok": false})));
    assert!(check(&"(".repeat(4000)).is_err());
    assert_eq!(check(&format!("true {}", " ".repeat(65536))), Err(QueryError::Long));
}

#[tokio::test]
async fn a_query_that_takes_too_much_ends_and_others_go_on() {
    let queries = Queries::new(&Cmd::new(built("examples/queries").unwrap()));
    for _ in 0..2 {
        assert_eq!(queries.ask(".cpu > 8", r#"{"cpu": 9}"#).await, Ok(true));
        assert_eq!(queries.ask("(", "{}").await, Err(QueryError::Syntax));
        assert_eq!(queries.ask(r#""x" * 1000000000 | length > 1"#, "{}").await, Err(QueryError::Memory));
        let doubled = format!(r#""x"{} | length > 1"#, " | . + .".repeat(40));
        assert_eq!(queries.ask(&doubled, "{}").await, Err(QueryError::Memory));
    }
    let gone = Queries::new(&Cmd::new("/no/such/program"));
    assert!(matches!(gone.ask("true", "{}").await, Err(QueryError::Process(_))));
}
