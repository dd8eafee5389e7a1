//! The front page says what is true.

use std::path::Path;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|fault| panic!("{path}: {fault}"))
}

#[test]
fn the_first_agent_of_the_readme_is_the_example_that_runs() {
    let readme = read("README.md");
    let block =
        readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block of Rust");
    let example = read("crates/runtime/examples/first_agent.rs");
    assert!(example.ends_with(block), "README.md and first_agent.rs differ");
}
