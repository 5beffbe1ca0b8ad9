//! Our documents are the contract's.

use assisted_api::contract::check;
use assisted_wire::operation;

const CONTRACT: &str = include_str!("../data/rest-v2.json");

#[test]
fn nothing_differs_that_is_not_reviewed() {
    assert_eq!(check(CONTRACT).unwrap(), Vec::<String>::new());
}

#[test]
fn a_difference_is_seen_both_ways() {
    let text = CONTRACT.replacen("\"maxLength\": 54", "\"maxLength\": 55", 1);
    let text = text.replacen("\"maxLength\":54", "\"maxLength\":55", 1);
    let lines = check(&text).unwrap();
    assert!(lines.iter().any(|line| line.contains("maxLength")), "{lines:?}");
    let lines = check(&CONTRACT.replace("base_dns_domain", "base_dns_doman")).unwrap();
    assert!(
        lines.iter().any(|line| line.contains("base_dns_doman: the contract has true, ours has nothing"))
    );
    assert!(
        lines.iter().any(|line| line.contains("base_dns_domain: the contract has nothing, ours has true"))
    );
}

#[test]
fn the_contract_has_all_its_operations() {
    assert_eq!(operation::all().filter(|operation| !operation.id.is_addition()).count(), 81);
}
