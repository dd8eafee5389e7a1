//! The front page says what is true.

use crate::read;

#[test]
fn the_first_agent_of_the_readme_is_the_example_that_runs() {
    let readme = read("README.md");
    let block =
        readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block of Rust");
    let example = read("crates/runtime/examples/first_agent.rs");
    assert!(example.ends_with(block), "README.md and first_agent.rs differ");
}

/// The crate itself does not depend on the runtime that the block needs.
#[test]
fn the_run_on_the_page_of_the_tools_is_the_example_that_runs() {
    let page = read("crates/tools/README.md");
    let block = page
        .split("```rust,ignore\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("a block that is not run");
    let example = read("tests/examples/roll_back.rs");
    assert!(example.ends_with(block), "crates/tools/README.md and roll_back.rs differ");
}

#[test]
fn an_own_tool_that_stages_takes_sixty_lines() {
    let example = read("crates/runtime/examples/batch_rename.rs");
    assert!(example.lines().count() <= 60, "{} lines", example.lines().count());
    for page in ["README.md", "crates/runtime/README.md", "crates/agent-traits/README.md"] {
        assert!(read(page).contains("examples/batch_rename.rs"), "{page} does not name it");
    }
}
