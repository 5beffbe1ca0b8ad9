//! The documents that Route 53 takes and answers.

use std::fmt::Write as _;
use std::net::IpAddr;

use roxmltree::{Document, Node};

use crate::record::TTL;
use crate::{Kind, Record};

/// A record set as Route 53 keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordSet {
    /// Without a dot at its end, and with a plain `*`.
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) ttl: Option<u32>,
    pub(super) values: Vec<String>,
}

impl RecordSet {
    /// Whether it is just this record, however long it is remembered.
    pub(super) fn is(&self, record: &Record) -> bool {
        let address = |value: &String| value.parse::<IpAddr>().ok();
        self.name == record.name
            && self.kind == record.kind().as_str()
            && self.values.len() == 1
            && self.values.first().and_then(address) == Some(record.address)
    }
}

/// What is done with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Create,
    Upsert,
    Delete,
}

/// The request that changes records, all or none.
pub(super) fn changes(changes: &[(Action, &Record, u32)]) -> String {
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\
         <ChangeResourceRecordSetsRequest xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\"><ChangeBatch><Changes>"
        .to_owned();
    for (action, record, ttl) in changes {
        let action = match action {
            Action::Create => "CREATE",
            Action::Upsert => "UPSERT",
            Action::Delete => "DELETE",
        };
        // Writing to a text can't fail.
        let _ = write!(
            text,
            "<Change><Action>{action}</Action><ResourceRecordSet><Name>{}.</Name><Type>{}</Type><TTL>{ttl}</TTL>\
             <ResourceRecords><ResourceRecord><Value>{}</Value></ResourceRecord></ResourceRecords>\
             </ResourceRecordSet></Change>",
            escape(&record.name),
            record.kind().as_str(),
            record.address
        );
    }
    text + "</Changes></ChangeBatch></ChangeResourceRecordSetsRequest>"
}

/// A change that makes a record.
pub(super) fn made(action: Action, record: &Record) -> (Action, &Record, u32) {
    (action, record, TTL)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The name of the zone in the answer that tells of one.
pub(super) fn zone_name(text: &str) -> Result<String, String> {
    let document = Document::parse(text).map_err(|error| error.to_string())?;
    let zone = find(document.root(), "HostedZone").ok_or("no HostedZone in it")?;
    let name = child(zone, "Name").ok_or("no name of the zone in it")?;
    Ok(plain(&name))
}

/// The record sets in the answer that lists them.
pub(super) fn record_sets(text: &str) -> Result<Vec<RecordSet>, String> {
    let document = Document::parse(text).map_err(|error| error.to_string())?;
    let sets = document.root().descendants().filter(|node| node.has_tag_name_of("ResourceRecordSet"));
    Ok(sets
        .map(|set| RecordSet {
            name: plain(&child(set, "Name").unwrap_or_default()),
            kind: child(set, "Type").unwrap_or_default(),
            ttl: child(set, "TTL").and_then(|ttl| ttl.parse().ok()),
            values: set
                .descendants()
                .filter(|node| node.has_tag_name_of("Value"))
                .filter_map(|node| node.text().map(|text| text.trim().to_owned()))
                .collect(),
        })
        .collect())
}

/// What a refusal says, for people.
pub(super) fn complaint(text: &str) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let messages: Vec<_> = document
        .root()
        .descendants()
        .filter(|node| node.has_tag_name_of("Message"))
        .filter_map(|node| node.text().map(|text| text.trim().to_owned()))
        .filter(|text| !text.is_empty())
        .collect();
    let code = find(document.root(), "Code").and_then(|node| node.text()).unwrap_or_default();
    let messages = messages.join("; ");
    let said = [code.trim(), &messages].into_iter().filter(|part| !part.is_empty());
    let said = said.collect::<Vec<_>>().join(": ");
    (!said.is_empty()).then_some(said)
}

/// Names as they are written elsewhere: Route 53 writes `*` as `\052`, and a dot at the end.
fn plain(name: &str) -> String {
    name.trim().trim_end_matches('.').replace("\\052", "*").to_ascii_lowercase()
}

/// Kinds of records, by their names in the DNS, that keep a name from being given an address.
pub(super) fn occupies(kind: &str) -> bool {
    [Kind::A.as_str(), Kind::Aaaa.as_str(), "CNAME"].contains(&kind)
}

fn find<'a, 'input>(node: Node<'a, 'input>, name: &str) -> Option<Node<'a, 'input>> {
    node.descendants().find(|node| node.has_tag_name_of(name))
}

fn child(node: Node<'_, '_>, name: &str) -> Option<String> {
    node.children()
        .find(|child| child.has_tag_name_of(name))
        .and_then(|child| child.text())
        .map(str::to_owned)
}

/// Servers that stand in for Route 53 are careless with namespaces.
trait LocalName {
    fn has_tag_name_of(&self, name: &str) -> bool;
}

impl LocalName for Node<'_, '_> {
    fn has_tag_name_of(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"<?xml version="1.0"?><ListResourceRecordSetsResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/">
        <ResourceRecordSets><ResourceRecordSet><Name>\052.apps.c.example.com.</Name><Type>A</Type><TTL>60</TTL>
        <ResourceRecords><ResourceRecord><Value>192.0.2.1</Value></ResourceRecord></ResourceRecords></ResourceRecordSet>
        </ResourceRecordSets><IsTruncated>false</IsTruncated></ListResourceRecordSetsResponse>"#;

    fn record(address: &str) -> Record {
        Record { name: "*.apps.c.example.com".to_owned(), address: address.parse().unwrap() }
    }

    #[test]
    fn sets_are_read() {
        let sets = record_sets(LIST).unwrap();
        assert_eq!(sets.len(), 1);
        assert!(sets[0].is(&record("192.0.2.1")) && !sets[0].is(&record("192.0.2.2")));
        assert!(!sets[0].is(&record("2001:db8::1")));
        assert!(record_sets("<broken").is_err());
    }

    #[test]
    fn a_zone_is_read() {
        let answer = "<GetHostedZoneResponse><HostedZone><Id>/hostedzone/Z</Id><Name>Example.com.</Name></HostedZone></GetHostedZoneResponse>";
        assert_eq!(zone_name(answer).unwrap(), "example.com");
        assert!(zone_name("<a/>").is_err());
    }

    #[test]
    fn refusals_of_both_forms() {
        let one = "<ErrorResponse><Error><Type>Sender</Type><Code>NoSuchHostedZone</Code><Message>No zone</Message></Error></ErrorResponse>";
        assert_eq!(complaint(one).unwrap(), "NoSuchHostedZone: No zone");
        let other = "<InvalidChangeBatch><Messages><Message>a</Message><Message>b</Message></Messages></InvalidChangeBatch>";
        assert_eq!(complaint(other).unwrap(), "a; b");
        assert_eq!(complaint("no document"), None);
    }

    #[test]
    fn a_request_names_each_record() {
        let v6 = record("2001:db8::1");
        let text = changes(&[made(Action::Create, &v6), (Action::Delete, &v6, 5)]);
        let document = Document::parse(&text).unwrap();
        let texts: Vec<_> = document.root().descendants().filter_map(|node| node.text()).collect();
        assert!(texts.contains(&"CREATE") && texts.contains(&"AAAA") && texts.contains(&"60"), "{texts:?}");
        assert!(texts.contains(&"DELETE") && texts.contains(&"5"), "{texts:?}");
        assert_eq!(escape("a<&>"), "a&lt;&amp;&gt;");
    }
}
