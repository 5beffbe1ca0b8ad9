//! Finds the part of a text for which nmstate refuses it: the messages of nmstate often name neither the interface nor the member.

use serde_yaml_ng::Value;

/// Attempts at most: each is a fraction of a millisecond.
const MOST: u32 = 400;

/// Characters of a value that are shown.
const SHOWN: usize = 60;

/// The smallest part without which the rest is accepted, as `interface eth0, ipv4.address[0].ip: 300.1.1.1`; `None` when no
/// single part is to blame.
pub(crate) fn find(root: &Value, accepts: impl Fn(&Value) -> bool) -> Option<String> {
    let mut path: Vec<Value> = Vec::new();
    let mut attempts = 0;
    'deeper: loop {
        for step in steps(at(root, &path)?) {
            let mut longer = path.clone();
            longer.push(step);
            attempts += 1;
            if attempts > MOST {
                break 'deeper;
            }
            if without(root, &longer).is_some_and(|rest| accepts(&rest)) {
                path = longer;
                continue 'deeper;
            }
        }
        break;
    }
    (!path.is_empty()).then(|| describe(root, &path))
}

/// What can be left out of a value: members by their names, items by their places.
fn steps(value: &Value) -> Vec<Value> {
    match value {
        Value::Mapping(members) => members.keys().filter(|name| name.is_string()).cloned().collect(),
        Value::Sequence(items) => (0..items.len()).map(Value::from).collect(),
        _ => Vec::new(),
    }
}

fn at<'a>(root: &'a Value, path: &[Value]) -> Option<&'a Value> {
    path.iter().try_fold(root, |value, step| match step.as_u64() {
        Some(place) => value.get(usize::try_from(place).ok()?),
        None => value.get(step),
    })
}

fn without(root: &Value, path: &[Value]) -> Option<Value> {
    let mut rest = root.clone();
    let (last, parents) = path.split_last()?;
    let mut parent = &mut rest;
    for step in parents {
        parent = match step.as_u64() {
            Some(place) => parent.get_mut(usize::try_from(place).ok()?)?,
            None => parent.get_mut(step)?,
        };
    }
    match parent {
        Value::Sequence(items) => drop(items.remove(usize::try_from(last.as_u64()?).ok()?)),
        Value::Mapping(members) => drop(members.remove(last)?),
        _ => return None,
    }
    Some(rest)
}

fn describe(root: &Value, path: &[Value]) -> String {
    let mut text = String::new();
    let mut path_left = path;
    if let [list, place, rest @ ..] = path
        && list == "interfaces"
    {
        let interface = at(root, &path[..2]);
        let name = interface.and_then(|interface| interface.get("name")).and_then(Value::as_str);
        text = match name {
            Some(name) => format!("interface {name}"),
            None => format!("interface number {}", place.as_u64().unwrap_or_default() + 1),
        };
        path_left = rest;
    }
    let mut members = String::new();
    for step in path_left {
        match (step.as_u64(), step.as_str()) {
            (Some(place), _) => members.push_str(&format!("[{place}]")),
            (_, Some(name)) if members.is_empty() => members.push_str(name),
            (_, name) => members.push_str(&format!(".{}", name.unwrap_or_default())),
        }
    }
    if !text.is_empty() && !members.is_empty() {
        text.push_str(", ");
    }
    text.push_str(&members);
    let value = at(root, path).and_then(|value| serde_yaml_ng::to_string(value).ok()).unwrap_or_default();
    let value: Vec<&str> = value.lines().map(str::trim).collect();
    let value = value.join(", ");
    let shown: String = value.chars().filter(|letter| !letter.is_control()).take(SHOWN).collect();
    format!("{text}: {shown}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_part() {
        let root: Value = serde_yaml_ng::from_str(
            "interfaces: [{name: a}, {name: b, ipv4: {address: [{ip: bad}]}}]\ndns: 1",
        )
        .unwrap();
        let accepts = |value: &Value| !serde_yaml_ng::to_string(value).unwrap().contains("bad");
        assert_eq!(find(&root, accepts).unwrap(), "interface b, ipv4.address[0].ip: bad");
        assert_eq!(find(&root, |value| value.get("dns").is_none()).unwrap(), "dns: 1");
        assert_eq!(find(&root, |_| false), None);
        let many: Value = serde_yaml_ng::from_str(&"- 1\n".repeat(10_000)).unwrap();
        assert_eq!(find(&many, |_| false), None);
    }
}
