//! A page of the book as one file of HTML, which fetches nothing.

use std::fmt::Write;

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use crate::openapi::STYLE;

/// Makes the page.
pub(super) fn page(title: &str, markdown: &str) -> String {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>assisted: {title}</title><style>{STYLE}</style>\
         <p><a href=\"/\">assisted</a> · <a href=\"/docs\">REST API</a> · <a href=\"/docs/errors\">errors</a> · \
         <a href=\"/docs/troubleshooting\">troubleshooting</a></p>"
    );
    let mut events: Vec<Event<'_>> = Parser::new_ext(markdown, Options::ENABLE_TABLES).collect();
    name_headings(&mut events);
    html::push_html(&mut page, events.into_iter().filter_map(kept));
    page
}

/// Gives each heading below the first the name by which it is linked.
fn name_headings(events: &mut [Event<'_>]) {
    let mut names = Vec::new();
    let mut open = None;
    for (index, event) in events.iter().enumerate() {
        match event {
            Event::Start(Tag::Heading { level, .. }) if *level > HeadingLevel::H1 => {
                open = Some((index, String::new()));
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some((_, name)) = &mut open {
                    let _ = write!(name, "{text}");
                }
            }
            Event::End(TagEnd::Heading(_)) => names.extend(open.take()),
            _ => {}
        }
    }
    for (index, name) in names {
        if let Some(Event::Start(Tag::Heading { id, .. })) = events.get_mut(index) {
            *id = Some(CowStr::from(name.to_lowercase().replace(' ', "-")));
        }
    }
}

/// Other pages of the book are not served here: what is linked stays as text. Nor is HTML passed on.
fn kept(event: Event<'_>) -> Option<Event<'_>> {
    match event {
        Event::Start(Tag::Link { .. }) => Some(Event::Start(Tag::Emphasis)),
        Event::End(TagEnd::Link) => Some(Event::End(TagEnd::Emphasis)),
        Event::Html(_) | Event::InlineHtml(_) => None,
        event => Some(event),
    }
}
