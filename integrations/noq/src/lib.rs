//! The page of `tfrc-noq`, whose code its tests compile.

#![doc = include_str!("../README.md")]
