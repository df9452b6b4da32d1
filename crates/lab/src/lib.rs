//! The laboratory around the core.
