//! The picture of README.md is the one that `cargo xtask picture` makes.

#[path = "../examples/picture/contest.rs"]
mod contest;
#[path = "../examples/picture/svg.rs"]
mod svg;

use std::path::Path;

#[test]
fn the_picture_is_that_of_the_program() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/demo.svg");
    let committed = std::fs::read_to_string(file).expect("docs/demo.svg");
    let made = svg::picture(&contest::model(), 100, 30);
    assert!(committed == made, "docs/demo.svg is not what the program draws: run `cargo xtask picture`");
}
