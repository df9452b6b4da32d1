//! PDF and PNG of a program that was built without them (feature `figures`): a figure is SVG there.

use crate::Failure;

/// PDF is refused.
///
/// # Errors
/// [`Failure::Usage`], always.
pub fn pdf(_svg: &str) -> Result<Vec<u8>, Failure> {
    Err(refused("PDF"))
}

/// # Errors
/// [`Failure::Usage`], always.
pub(super) fn png(_svg: &str) -> Result<Vec<u8>, Failure> {
    Err(refused("PNG"))
}

fn refused(format: &str) -> Failure {
    Failure::usage(
        format!("this program was built without {format}"),
        "write .svg, or build it with --features figures, which is on by default",
    )
}
