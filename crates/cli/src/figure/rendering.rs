//! PDF and PNG of a drawing, with its text in a font of this machine.

use resvg::tiny_skia::{Pixmap, Transform};
use svg2pdf::usvg::{Options, Tree, fontdb};

use crate::Failure;

/// Dots of a PNG for each unit of the drawing: 216 dots per inch.
const ZOOM: f32 = 3.0;
/// Families for the text of a figure, the first that is installed; Helvetica's widths first.
const FAMILIES: [&str; 6] =
    ["Helvetica", "Arial", "Liberation Sans", "Nimbus Sans", "DejaVu Sans", "Noto Sans"];

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

/// The drawing as PDF.
///
/// # Errors
/// [`Failure::Run`] without a font, or for a drawing that PDF cannot have.
pub fn pdf(svg: &str) -> Result<Vec<u8>, Failure> {
    to_pdf(&tree(svg)?)
}

/// The drawing as PNG.
///
/// # Errors
/// [`Failure::Run`] without a font, or for a drawing that is too large.
pub(super) fn png(svg: &str) -> Result<Vec<u8>, Failure> {
    to_png(&tree(svg)?)
}

fn to_pdf(tree: &Tree) -> Result<Vec<u8>, Failure> {
    let made = svg2pdf::to_pdf(tree, svg2pdf::ConversionOptions::default(), svg2pdf::PageOptions::default());
    made.map_err(|error| Failure::Run(format!("the figure cannot be PDF: {error}")))
}

fn to_png(tree: &Tree) -> Result<Vec<u8>, Failure> {
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
        let file = to_pdf(&tree).expect("drawn");
        assert!(file.starts_with(b"%PDF-1.") && file.ends_with(b"%%EOF"));
        let file = to_png(&tree).expect("drawn");
        assert!(file.starts_with(b"\x89PNG"));
        let image = Pixmap::decode_png(&file).expect("PNG");
        assert_eq!((image.width(), image.height()), (120, 60));
        let ink = |x, y| image.pixel(x, y).expect("inside").red();
        assert!(ink(60, 30) < 50 && ink(100, 10) == 255, "a line from corner to corner");
    }
}
