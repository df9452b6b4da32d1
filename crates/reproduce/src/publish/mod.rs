//! Results written into a directory: the page, `results.json`, a CSV file and a figure for each
//! experiment, `results.md`, and `peers.md` for the experiments compared only with ns-2.

mod beside_ns2;
mod content;
mod figure;
mod gallery;
mod markdown;
mod page;
mod prose;
mod table;

use std::io;
use std::path::Path;

use super::file::Experiment;
use super::results::{ExperimentResult, Results};
use figure::Figure;

/// Material of a publication: results with the experiments they are of, in the same order.
#[derive(Debug, Clone, Copy)]
pub struct Publication<'a> {
    /// The experiments.
    pub experiments: &'a [Experiment],
    /// Results of the experiments.
    pub results: &'a Results,
    /// The commit that the experiments are of, as text, if it is known.
    pub commit: Option<&'a str>,
}

impl Publication<'_> {
    /// Writes all files into a directory, which comes into being.
    ///
    /// # Errors
    /// The system's error, with the file.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        std::fs::create_dir_all(directory)?;
        let write = |name: &str, text: String| {
            let path = directory.join(name);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(&path, text)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
        };
        let drawn = self.drawn()?;
        write("index.html", page::page(self, &drawn))?;
        write("results.json", format!("{:#}\n", serde_json::json!(self.results)))?;
        write("results.md", self.markdown())?;
        if let Some(page) = beside_ns2::page(self) {
            write("peers.md", page)?;
        }
        for (result, drawn) in self.results.experiments.iter().zip(&drawn) {
            write(&format!("{}.csv", result.id), table::csv(result))?;
            if let Some(svg) = drawn.svg() {
                write(&format!("{}.svg", result.id), svg)?;
            }
        }
        Ok(())
    }

    /// The figures of all experiments, in their order.
    fn drawn(&self) -> io::Result<Vec<Figure>> {
        let all = self.experiments.iter().zip(&self.results.experiments);
        all.map(|(experiment, result)| Figure::new(experiment, result)).collect()
    }

    /// The figure of the only experiment as SVG; `None` if there are several, or nothing to draw.
    ///
    /// # Errors
    /// A mistake in its `figure.toml`, with the file.
    pub fn figure(&self) -> io::Result<Option<String>> {
        match self.drawn()?.as_slice() {
            [one] => Ok(one.svg()),
            _ => Ok(None),
        }
    }

    /// The numbers of the experiments that something published is compared in, by their papers.
    fn published(&self) -> Vec<(&str, Vec<usize>)> {
        let is_published = |number: &usize| !self.experiments[*number].is_beside_ns2();
        let papers = self.papers().into_iter().map(|(paper, numbers)| {
            (paper, numbers.into_iter().filter(is_published).collect::<Vec<usize>>())
        });
        papers.filter(|(_, numbers)| !numbers.is_empty()).collect()
    }

    /// Results of the experiments that something published is compared in.
    fn compared(&self) -> impl Iterator<Item = &ExperimentResult> {
        let numbers = self.published().into_iter().flat_map(|(_, numbers)| numbers);
        numbers.filter_map(|number| self.results.experiments.get(number))
    }

    /// The page of `docs/results.md`. The line of an experiment depends on that experiment alone.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::page(self)
    }

    /// The page for a browser.
    ///
    /// # Errors
    /// A mistake in a `figure.toml`, with the file.
    pub fn html(&self) -> io::Result<String> {
        Ok(page::page(self, &self.drawn()?))
    }

    /// The papers with the numbers of their experiments, in order.
    fn papers(&self) -> Vec<(&str, Vec<usize>)> {
        let mut papers: Vec<(&str, Vec<usize>)> = Vec::new();
        for (number, experiment) in self.results.experiments.iter().enumerate() {
            let paper = experiment.id.split('/').next().unwrap_or_default();
            match papers.last_mut() {
                Some((last, numbers)) if *last == paper => numbers.push(number),
                _ => papers.push((paper, vec![number])),
            }
        }
        papers
    }

    /// Reads a paper's README, next to the folders of its experiments: its title and the rest.
    fn paper(&self, paper: &str) -> (String, String) {
        let of_paper = |one: &&Experiment| one.id.split('/').next() == Some(paper);
        let folder = self.experiments.iter().find(of_paper).and_then(|one| one.folder.parent());
        let text = folder.and_then(|folder| tfrc_scenario::files::read_file(folder.join("README.md")).ok());
        let text = text.unwrap_or_default();
        let (title, rest) = prose::title(&text);
        (if title.is_empty() { paper.to_owned() } else { title.to_owned() }, rest.to_owned())
    }
}

#[cfg(test)]
mod tests;
