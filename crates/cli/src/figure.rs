//! A figure as a file for a paper: SVG as it is drawn, PDF and PNG made from it.

use std::path::{Path, PathBuf};

use resvg::tiny_skia::{Pixmap, Transform};
use svg2pdf::usvg::{Options, Tree, fontdb};
use tfrc_lab::experiment::{Experiment, Publication};

use crate::Failure;

/// Dots of a PNG for each unit of the drawing: 216 dots per inch.
const ZOOM: f32 = 3.0;
/// Families for the text of a figure, the first that is installed; Helvetica's widths first.
const FAMILIES: [&str; 6] =
    ["Helvetica", "Arial", "Liberation Sans", "Nimbus Sans", "DejaVu Sans", "Noto Sans"];

/// The file that `--figure` names.
#[derive(Debug)]
pub(crate) struct FigureFile {
    path: PathBuf,
    format: FigureFormat,
}

/// Format of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FigureFormat {
    Pdf,
    Png,
    Svg,
}

impl FigureFile {
    /// Takes the format from the ending.
    ///
    /// # Errors
    /// [`Failure::Usage`] for another ending, for several experiments, and for a folder that is not
    /// there: before anything is run.
    pub(crate) fn new(path: &Path, experiments: &[Experiment]) -> Result<Self, Failure> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let format = match ending.as_deref() {
            Some("pdf") => FigureFormat::Pdf,
            Some("png") => FigureFormat::Png,
            Some("svg") => FigureFormat::Svg,
            _ => {
                return Err(Failure::usage(
                    format!("--figure {}: the ending tells the format", path.display()),
                    "end it in .pdf, .png or .svg",
                ));
            }
        };
        if experiments.len() != 1 {
            let ids: Vec<&str> = experiments.iter().map(Experiment::id).collect();
            return Err(Failure::usage(
                format!("--figure draws one experiment, and these are {}: {}", ids.len(), ids.join(", ")),
                "name one of them, or take --out DIR, which draws all",
            ));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(Failure::usage(
                format!("--figure {}: there is no folder {}", path.display(), folder.display()),
                "make it first",
            ));
        }
        Ok(Self { path: path.to_owned(), format })
    }

    /// Draws the only experiment of a publication into the file.
    ///
    /// # Errors
    /// [`Failure::Run`] if nothing was measured, if the machine has no font for PDF or PNG, or if
    /// the file cannot be written.
    pub(crate) fn write(&self, publication: &Publication<'_>) -> Result<(), Failure> {
        let drawn = publication.figure().map_err(|error| Failure::Run(error.to_string()))?;
        let Some(svg) = drawn else {
            return Err(Failure::Run("nothing was measured that a figure could show".to_owned()));
        };
        let bytes = match self.format {
            FigureFormat::Svg => svg.into_bytes(),
            FigureFormat::Pdf => pdf(&tree(&svg)?)?,
            FigureFormat::Png => png(&tree(&svg)?)?,
        };
        std::fs::write(&self.path, bytes).map_err(|error| Failure::io(&self.path.display(), &error))?;
        eprintln!("figure written to {}", self.path.display());
        Ok(())
    }
}

/// The drawing with its text set in a font of this machine.
fn tree(svg: &str) -> Result<Tree, Failure> {
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_system_fonts();
    let is_there = |name: &&&str| {
        let families = [fontdb::Family::Name(name)];
        fonts.query(&fontdb::Query { families: &families, ..fontdb::Query::default() }).is_some()
    };
    let first = FAMILIES.iter().find(is_there).map(|name| (*name).to_owned());
    let other = fonts.faces().next().and_then(|face| Some(face.families.first()?.0.clone()));
    let Some(family) = first.or(other) else {
        return Err(Failure::Run(
            "PDF and PNG need a font for the text, and none is installed: install one, such as Liberation \
             Sans or DejaVu Sans, or write .svg"
                .to_owned(),
        ));
    };
    fonts.set_sans_serif_family(family.clone());
    options.font_family = family;
    Tree::from_str(svg, &options).map_err(|error| Failure::Run(format!("the figure is not SVG: {error}")))
}

fn pdf(tree: &Tree) -> Result<Vec<u8>, Failure> {
    let made = svg2pdf::to_pdf(tree, svg2pdf::ConversionOptions::default(), svg2pdf::PageOptions::default());
    made.map_err(|error| Failure::Run(format!("the figure cannot be PDF: {error}")))
}

fn png(tree: &Tree) -> Result<Vec<u8>, Failure> {
    let size = tree.size().to_int_size().scale_by(ZOOM);
    let pixmap = size.and_then(|size| Pixmap::new(size.width(), size.height()));
    let Some(mut pixmap) = pixmap else {
        return Err(Failure::Run("the figure is too large for PNG".to_owned()));
    };
    resvg::render(tree, Transform::from_scale(ZOOM, ZOOM), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|error| Failure::Run(format!("the figure cannot be PNG: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"20\">\
        <rect width=\"40\" height=\"20\" fill=\"#fff\"/><path d=\"M0 0L40 20\" stroke=\"#000\"/></svg>";

    #[test]
    fn drawings_become_files() {
        let tree = Tree::from_str(SVG, &Options::default()).expect("SVG");
        let file = pdf(&tree).expect("drawn");
        assert!(file.starts_with(b"%PDF-1.") && file.ends_with(b"%%EOF"));
        let file = png(&tree).expect("drawn");
        assert!(file.starts_with(b"\x89PNG"));
        let image = Pixmap::decode_png(&file).expect("PNG");
        assert_eq!((image.width(), image.height()), (120, 60));
        let ink = |x, y| image.pixel(x, y).expect("inside").red();
        assert!(ink(60, 30) < 50 && ink(100, 10) == 255, "a line from corner to corner");
    }

    #[test]
    fn another_ending_and_several_experiments_are_refused() {
        for (file, says) in [("a.jpg", "the ending tells"), ("a.pdf", "these are 0")] {
            let refused = FigureFile::new(Path::new(file), &[]).expect_err(says);
            assert!(refused.status() == 2 && refused.to_string().contains(says), "{refused}");
        }
    }
}
