//! The book as a site: mdbook over the pages of the whole repository, with the gallery as its front
//! and the playground beside it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use crate::files::tracked;
use crate::tools::MDBOOK;
use crate::{Outcome, book, root};

/// Folder of the site and of what it is made from.
const PLACE: &str = "target/site";
/// Folders whose pages and pictures the site has.
const FOLDERS: [&str; 3] = ["docs/", "experiments/", "integrations/"];
/// Pages of the root.
const PAGES: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
/// Endings of files that are shown.
const SHOWN: [&str; 9] = ["css", "html", "js", "json", "md", "pdf", "png", "svg", "toml"];

/// Writes the site into `target/site/book`, and follows every link inside of it.
pub(crate) fn build() -> Outcome {
    let place = root().join(PLACE);
    let source = place.join("src");
    let _ = std::fs::remove_dir_all(&place);
    let summary = read(Path::new("docs/SUMMARY.md"))?;
    for name in chosen()? {
        let text = std::fs::read(root().join(&name)).map_err(|error| format!("{name}: {error}"))?;
        write(&source.join(&name), &text)?;
    }
    write(&source.join("SUMMARY.md"), contents(&summary, &experiments()?).as_bytes())?;
    write(&source.join("index.md"), front(&read(Path::new("docs/gallery.md"))?)?.as_bytes())?;
    let configuration = read(Path::new("docs/book.toml"))?
        .replace("src = \".\"", "src = \"src\"")
        .replace("../target/book", "book")
        .replace("[\"site.css\"]", "[\"src/docs/site.css\"]");
    write(&place.join("book.toml"), configuration.as_bytes())?;
    let status = MDBOOK.command()?.arg("build").arg(&place).status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("mdbook ended with {status}")),
        Err(error) => return Err(format!("mdbook did not start: {error}")),
    }
    let site = place.join("book");
    let mut pages = Vec::new();
    html(&site, &mut pages)?;
    // The playground's pages are no chapters: their links to chapters are rewritten here.
    for page in pages.iter().filter(|page| page.starts_with(site.join("docs/playground"))) {
        let text = text_of(page)?.replace(".md\"", ".html\"");
        write(page, text.as_bytes())?;
    }
    let broken: Vec<String> = pages
        .iter()
        .map(|page| Ok(broken(page, &text_of(page)?, &site)))
        .collect::<Result<Vec<_>, String>>()?
        .concat();
    if !broken.is_empty() {
        return Err(format!("{} links lead nowhere:\n  {}", broken.len(), broken.join("\n  ")));
    }
    println!("   {} pages in {}/book/index.html", pages.len(), PLACE);
    Ok(())
}

/// The tracked files that the site shows, and those of any kind that its pages link to.
fn chosen() -> Result<BTreeSet<String>, String> {
    let all = tracked()?;
    let shown = |name: &&String| {
        let ending = Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        PAGES.contains(&name.as_str())
            || (FOLDERS.iter().any(|folder| name.starts_with(folder)) && SHOWN.contains(&ending))
    };
    let mut chosen: BTreeSet<String> = all.iter().filter(shown).cloned().collect();
    let mut linked = BTreeSet::new();
    for page in chosen.iter().filter(|name| name.ends_with(".md")) {
        let folder = Path::new(page).parent().unwrap_or(Path::new("")).to_owned();
        for (_, link) in book::links(&read(Path::new(page))?) {
            linked.insert(normal(&folder.join(link.split('#').next().unwrap_or_default())));
        }
    }
    let linked: BTreeSet<String> = linked.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    chosen.extend(all.iter().filter(|name| linked.contains(*name)).cloned());
    // A link to a folder shows what is in it.
    let within =
        |name: &&String| linked.iter().any(|link| !link.is_empty() && name.starts_with(&format!("{link}/")));
    chosen.extend(all.iter().filter(within).cloned());
    Ok(chosen)
}

/// A path without `..` and `.`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

/// A paper's folder, and title and path of each of its pages.
type Paper = (String, Vec<(String, String)>);

/// The summary of the site: the book's with paths from the root, and the experiments' pages.
fn contents(summary: &str, experiments: &[Paper]) -> String {
    let mut text = "# Summary\n\n[tfrc](index.md)\n".to_owned();
    for line in summary.lines().skip(1) {
        match line.split_once("](") {
            Some((before, path)) => {
                let path = normal(&Path::new("docs").join(path.trim_end_matches(')')));
                let _ = writeln!(text, "{before}]({})", path.display());
            }
            None => text += &format!("{line}\n"),
        }
    }
    text += "\n# Experiments\n\n";
    for (paper, pages) in experiments {
        for (number, (title, path)) in pages.iter().enumerate() {
            let indent = if number == 0 { "" } else { "  " };
            let title = if number == 0 { title } else { path.rsplit('/').nth(1).unwrap_or(paper) };
            let _ = writeln!(text, "{indent}- [{title}]({path})");
        }
    }
    text + "\n---\n\n[Changes](CHANGELOG.md)\n"
}

/// The pages of the experiments, by paper: that of the paper first.
fn experiments() -> Result<Vec<Paper>, String> {
    let mut papers: Vec<Paper> = Vec::new();
    let mut pages: Vec<String> = tracked()?
        .into_iter()
        .filter(|name| name.starts_with("experiments/") && name.ends_with("/README.md"))
        .collect();
    pages.sort_by_key(|page| {
        (page.split('/').nth(1).map(str::to_owned), page.matches('/').count(), page.clone())
    });
    for page in pages {
        let paper = page.split('/').nth(1).unwrap_or_default().to_owned();
        let title = read(Path::new(&page))?
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches('#')
            .trim()
            .to_owned();
        match papers.last_mut().filter(|(last, _)| *last == paper) {
            Some((_, pages)) => pages.push((title, page)),
            None => papers.push((paper, vec![(title, page)])),
        }
    }
    Ok(papers)
}

/// A figure of the gallery.
struct Figure<'g> {
    title: &'g str,
    picture: String,
    page: &'g str,
    verdict: &'g str,
}

/// The front page: the figures with their verdicts.
fn front(gallery: &str) -> Result<String, String> {
    let mut text = FRONT.to_owned();
    for paper in gallery.split("\n## ").skip(1) {
        let (name, figures) = paper.split_once('\n').unwrap_or((paper, ""));
        let _ = write!(text, "\n## {name}\n\n<div class=\"figures\">\n");
        for figure in figures.split("\n### ").skip(1) {
            let Figure { title, picture, page, verdict } =
                parsed(figure).ok_or_else(|| format!("docs/gallery.md: no figure in {figure:?}"))?;
            let kind = if verdict.starts_with("Agrees") { "agrees" } else { "other" };
            let _ = writeln!(
                text,
                "<a class=\"figure\" href=\"{}\"><img src=\"{picture}\" alt=\"\" loading=\"lazy\"><b>{title}</b>\
                 <span class=\"{kind}\">{verdict}</span></a>",
                page.replace(".md", ".html"),
            );
        }
        text += "</div>\n";
    }
    Ok(text)
}

/// Reads a figure of the gallery: its title, its picture, its page, the verdict up to the colon.
fn parsed(figure: &str) -> Option<Figure<'_>> {
    let (title, rest) = figure.split_once('\n')?;
    let (_, rest) = rest.split_once("](../")?;
    let (picture, rest) = rest.split_once(')')?;
    let (_, rest) = rest.split_once("](../")?;
    let (page, rest) = rest.split_once("):")?;
    let verdict = rest.split(':').next()?.trim();
    Some(Figure { title, picture: picture.replace('\n', ""), page, verdict })
}

/// The front page above the figures.
const FRONT: &str = "# tfrc

TCP-Friendly Rate Control (RFC 5348) on real networks, in a simulator and in an emulator, as one
implementation.

<p class=\"doors\">
<a href=\"docs/playground/index.html\"><b>Playground</b> Move a slider, and see TFRC share a link with TCP</a>
<a href=\"docs/playground/how-tfrc-works.html\"><b>How TFRC works</b> Four pictures that move</a>
<a href=\"docs/start.html\"><b>First steps</b> Ten minutes with the program</a>
<a href=\"docs/README.html\"><b>The book</b> All pages by what you want to do</a>
</p>

These are the figures of the literature that the program repeats, each with its verdict: a dot is
our mean with its 95 % interval, a square the print, a cross ns-2.
";

/// The HTML files below a folder.
fn html(folder: &Path, pages: &mut Vec<PathBuf>) -> Outcome {
    let broken = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(broken)? {
        let path = entry.map_err(broken)?.path();
        if path.is_dir() {
            html(&path, pages)?;
        } else if path.extension().is_some_and(|ending| ending == "html") {
            pages.push(path);
        }
    }
    Ok(())
}

/// The links of a page that lead to no file of the site.
fn broken(page: &Path, text: &str, site: &Path) -> Vec<String> {
    let mut broken = BTreeSet::new();
    for rest in [" href=\"", " src=\""].iter().flat_map(|attribute| text.split(attribute).skip(1)) {
        let link = rest.split('"').next().unwrap_or_default();
        let path = link.split(['#', '?']).next().unwrap_or_default();
        if path.is_empty() || path.contains(':') || path.starts_with('/') || path.starts_with('$') {
            continue;
        }
        let target = page.parent().unwrap_or(site).join(path);
        if !target.exists() {
            broken.insert(format!("{}: {link}", page.strip_prefix(site).unwrap_or(page).display()));
        }
    }
    broken.into_iter().collect()
}

fn read(path: &Path) -> Result<String, String> {
    text_of(&root().join(path))
}

fn text_of(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Outcome {
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = written.and_then(|()| std::fs::write(path, bytes));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_a_verdict_and_a_page() {
        let gallery = "# Gallery\n\n## Paper\n\n### One\n\n![One\nmore](../experiments/a/one/picture.svg)\n\n\
            [a/one](../experiments/a/one/README.md): Agrees with the print: all 2 values.\n";
        let front = front(gallery).expect("right");
        for part in [
            "## Paper",
            "experiments/a/one/README.html",
            "one/picture.svg",
            "agrees\">Agrees with the print<",
        ] {
            assert!(front.contains(part), "{part}");
        }
        assert!(super::front("\n## Paper\n\n### One\n\nnothing\n").is_err());
    }

    #[test]
    fn paths_of_the_summary_are_from_the_root() {
        let summary = "# Summary\n\n- [A](a.md)\n- [B](../B.md)\n";
        let text = contents(
            summary,
            &[("p".to_owned(), vec![("P".to_owned(), "experiments/p/README.md".to_owned())])],
        );
        for line in ["- [A](docs/a.md)", "- [B](B.md)", "- [P](experiments/p/README.md)"] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let page = root().join("docs/README.md");
        let text = "<a href=\"start.md#x\"> <a href=\"https://example.org\"> <img src=\"no-such.svg\">";
        assert_eq!(broken(&page, text, root()), ["docs/README.md: no-such.svg"]);
    }
}
