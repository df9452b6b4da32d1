//! Markdown of the READMEs: its parts, and as HTML.

use maud::{Markup, PreEscaped};
use pulldown_cmark::html::push_html;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// The first heading and what follows it.
pub(super) fn title(text: &str) -> (&str, &str) {
    match text.trim_start().strip_prefix("# ") {
        Some(rest) => {
            let (title, rest) = rest.split_once('\n').unwrap_or((rest, ""));
            (title.trim(), rest.trim())
        }
        None => ("", text.trim()),
    }
}

/// The part under a heading `## name`, else the first paragraph, in one line.
pub(super) fn part(text: &str, name: &str) -> String {
    let wanted = format!("## {name}");
    let mut lines = text.lines();
    let found = lines.by_ref().any(|line| line.trim() == wanted);
    let chosen: Vec<&str> = if found {
        lines.skip_while(|line| line.trim().is_empty()).take_while(|line| !line.starts_with('#')).collect()
    } else {
        text.lines()
            .skip_while(|line| line.trim().is_empty() || line.starts_with('#'))
            .take_while(|line| !line.trim().is_empty())
            .collect()
    };
    let mut paragraphs = vec![String::new()];
    for line in chosen {
        if line.trim().is_empty() {
            paragraphs.push(String::new());
        } else if let Some(last) = paragraphs.last_mut() {
            let gap = if last.is_empty() { "" } else { " " };
            *last += &format!("{gap}{}", line.trim());
        }
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs.join("\n\n")
}

/// The part under a heading `## name`, in paragraphs of one line; nothing without the heading.
pub(super) fn section(text: &str, name: &str) -> String {
    let has_heading = text.lines().any(|line| line.trim() == format!("## {name}"));
    if has_heading { part(text, name) } else { String::new() }
}

/// The part under a heading `## name` with its heading, as it is written, and the text without it.
pub(super) fn without<'t>(text: &'t str, name: &str) -> (&'t str, String) {
    let heading = format!("## {name}\n");
    let starts = text.starts_with(&heading).then_some(0);
    let Some(from) = starts.or_else(|| text.find(&format!("\n{heading}")).map(|at| at + 1)) else {
        return ("", text.to_owned());
    };
    let (before, rest) = text.split_at(from);
    let end = rest.get(3..).and_then(|rest| rest.find("\n## ")).map_or(rest.len(), |at| at + 4);
    let (part, after) = rest.split_at(end);
    (part, format!("{before}{after}"))
}

/// HTML of a README: every heading is small, and HTML in it stays text.
pub(super) fn html(text: &str) -> Markup {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).map(|event| match event {
        Event::Start(Tag::Heading { id, classes, attrs, .. }) => {
            Event::Start(Tag::Heading { level: HeadingLevel::H4, id, classes, attrs })
        }
        Event::End(TagEnd::Heading(_)) => Event::End(TagEnd::Heading(HeadingLevel::H4)),
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        event => event,
    });
    let mut out = String::new();
    push_html(&mut out, events);
    PreEscaped(out)
}

/// HTML of one line, without a paragraph about it: emphasis and code.
pub(super) fn inline(text: &str) -> Markup {
    let PreEscaped(html) = html(text);
    let line = html.trim();
    let inner = line.strip_prefix("<p>").and_then(|rest| rest.strip_suffix("</p>"));
    // Anything else than one paragraph was not meant as markdown.
    match inner.filter(|inner| !inner.contains("<p>")) {
        Some(inner) => PreEscaped(inner.to_owned()),
        None => maud::html! { (text) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_html() {
        let text =
            "# A paper\n\nFirst\nparagraph.\n\n## What was learnt\n\nOne\nthing.\n\nAnother.\n\n## Else\nx\n";
        assert_eq!(title(text).0, "A paper");
        assert_eq!(part(text, "What was learnt"), "One thing.\n\nAnother.");
        assert_eq!(part(text, "Missing"), "First paragraph.");
        assert_eq!((part("", "Missing"), section(text, "Missing")), (String::new(), String::new()));
        assert_eq!(section(text, "Else"), "x");
        let (part, rest) = without(text, "What was learnt");
        assert_eq!(part, "## What was learnt\n\nOne\nthing.\n\nAnother.\n\n");
        assert_eq!(rest, "# A paper\n\nFirst\nparagraph.\n\n## Else\nx\n");
        assert_eq!(without(text, "Else"), ("## Else\nx\n", text.replace("## Else\nx\n", "")));
        assert_eq!(without("## Else\nx", "Missing"), ("", "## Else\nx".to_owned()));
        assert_eq!(inline("in *rfc* <b>").into_string(), "in <em>rfc</em> &lt;b&gt;");
        assert_eq!(inline("1. a list").into_string(), "1. a list");
        let shown =
            html("**Bold** `a<b` <i>\n\n* one\n  more\n* two\n\n```\ncode **x**\n```\n\n## Head\ntext");
        assert_eq!(
            shown.into_string(),
            "<p><strong>Bold</strong> <code>a&lt;b</code> &lt;i&gt;</p>\n<ul>\n<li>one\nmore</li>\n\
             <li>two</li>\n</ul>\n<pre><code>code **x**\n</code></pre>\n<h4>Head</h4>\n<p>text</p>\n"
        );
    }
}
