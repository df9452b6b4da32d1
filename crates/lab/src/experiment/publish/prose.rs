//! The little Markdown that READMEs use, as HTML.

use crate::report::escape;

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

/// Paragraphs, headings, lists, code blocks and tables, which stay as they are written.
pub(super) fn html(text: &str) -> String {
    let mut out = String::new();
    let blocks = text.split("\n\n").filter(|block| !block.trim().is_empty());
    for block in blocks {
        let block = block.trim_matches('\n');
        let first = block.lines().next().unwrap_or_default();
        if first.starts_with("    ") || first.starts_with("```") || first.starts_with('|') {
            let code = block.lines().filter(|line| !line.starts_with("```"));
            let code: Vec<&str> = code.map(|line| line.strip_prefix("    ").unwrap_or(line)).collect();
            out += &format!("<pre><code>{}</code></pre>\n", escape(&code.join("\n")));
        } else if first.starts_with('#') {
            let (heading, rest) = block.split_once('\n').unwrap_or((block, ""));
            out += &format!("<h4>{}</h4>\n", inline(heading.trim_start_matches('#').trim()));
            if !rest.trim().is_empty() {
                out += &format!("<p>{}</p>\n", inline(rest));
            }
        } else if is_item(first) {
            out += "<ul>\n";
            let mut items: Vec<String> = Vec::new();
            for line in block.lines() {
                match (is_item(line), items.last_mut()) {
                    (false, Some(last)) => *last += &format!(" {}", line.trim()),
                    _ => items.push(line.get(2..).unwrap_or_default().to_owned()),
                }
            }
            for item in items {
                out += &format!("<li>{}</li>\n", inline(&item));
            }
            out += "</ul>\n";
        } else {
            out += &format!("<p>{}</p>\n", inline(block));
        }
    }
    out
}

fn is_item(line: &str) -> bool {
    line.starts_with("* ") || line.starts_with("- ")
}

/// `code` and **bold**; all else is text.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.split('`').enumerate() {
        if i % 2 == 1 {
            out += &format!("<code>{}</code>", escape(part));
            continue;
        }
        for (j, part) in part.split("**").enumerate() {
            let part = escape(part);
            out += &if j % 2 == 1 { format!("<b>{part}</b>") } else { part };
        }
    }
    out
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
        assert_eq!(part("", "Missing"), "");
        let shown = html("**Bold** `a<b` <i>\n\n* one\n  more\n* two\n\n    code **x**\n\n## Head\ntext");
        assert_eq!(
            shown,
            "<p><b>Bold</b> <code>a&lt;b</code> &lt;i&gt;</p>\n<ul>\n<li>one more</li>\n<li>two</li>\n</ul>\n\
             <pre><code>code **x**</code></pre>\n<h4>Head</h4>\n<p>text</p>\n"
        );
    }
}
