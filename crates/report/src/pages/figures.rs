//! A page of figures with a text: results that are no run of a scenario.

use maud::{PreEscaped, html};

use super::html::{STYLE, still};
use crate::plot::Panel;

/// A part of the page: its title and its figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The title.
    pub title: String,
    /// The figures.
    pub panels: Vec<Panel>,
}

/// The page as HTML that needs no network and no script.
#[must_use]
pub fn page(title: &str, parts: &[Part], text: &str) -> String {
    let main = html! {
        header { h1 { (title) } }
        @for part in parts {
            section {
                h2 { (part.title) }
                div.panels {
                    @for panel in &part.panels { figure { (PreEscaped(panel.element(&part.title))) } }
                }
            }
        }
        section { h2 { "In words" } pre { (text) } }
    };
    still(title, STYLE, &main, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Axis, Curve, Line, Mark, Point, Scale};

    #[test]
    fn figures_and_text_stand_on_the_page_escaped() {
        let points = [(0.0, 1.0), (1.0, 2.0)].map(|(x, y)| Point { x, y, half: None }).to_vec();
        let curve =
            Curve { label: "R".into(), ink: "s0", line: Line::Solid, mark: Mark::None, width: 1.5, points };
        let panel = Panel {
            title: "a < b".into(),
            x: Axis::new("s".into(), Scale::Linear),
            y: Axis::new("ms".into(), Scale::Linear),
            curves: vec![curve],
        };
        let page = page("a.pcap", &[Part { title: "data".into(), panels: vec![panel] }], "<p> & all");
        assert!(page.contains("a &lt; b") && page.contains("&lt;p&gt; &amp; all"), "{page}");
        assert!(page.contains("<svg") && page.contains("class=\"s0"), "{page}");
    }
}
