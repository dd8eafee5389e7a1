//! Stories and laws across crates.

mod accepted;
mod corpora;
mod damaged;
mod encodes;
mod format;
mod kinds;
mod moving;
mod readme;
mod recordings;
mod refusals;
mod rolling_back;
mod seed_table;
mod services;
mod tree_laws;
mod tree_world;
mod validators;
mod walk;

/// Reads a file of the project.
fn read(path: &str) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|fault| panic!("{path}: {fault}"))
}
