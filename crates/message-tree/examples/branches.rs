//! Grows a small tree, leaves a branch, and shows what a model would see and what is kept.

#![expect(clippy::print_stdout, reason = "an example shows itself")]

use trunkline_message_tree::notation;

fn main() -> Result<(), notation::NotationError> {
    let tree = notation::parse_tree(
        r#"
        n0 system: You mend programs.
        n1 user: the test fails
        n2 assistant: I rewrite the parser
        n3 user: that was too much, go back
        n4 < n1 assistant: I change one line
        "#,
    )?;
    println!("sent to the model:\n");
    for (id, node) in tree.trunk().nodes() {
        println!("  {id:>3}  {}", node.message().text());
    }
    println!("\neverything that happened:\n\n{}", notation::print_tree(&tree));
    Ok(())
}
