//! Prints the picture of `tfrc demo` in README.md: `cargo xtask picture` writes it.
#![expect(clippy::disallowed_macros, reason = "a program prints")]

mod contest;
mod svg;

fn main() {
    print!("{}", svg::picture(&contest::model(), 100, 30));
}
