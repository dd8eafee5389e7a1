//! A store that several own does all that the one in it does.

use std::collections::BTreeSet;

/// The names of the functions of a file, from a line on.
fn functions(text: &str, from: &str) -> BTreeSet<String> {
    let lines = text.lines().skip_while(|line| !line.starts_with(from)).take_while(|line| *line != "}");
    let name = |line: &str| {
        let declared = line.strip_prefix("    async fn ").or(line.strip_prefix("    fn "))?;
        Some(declared.split(['(', '<']).next()?.to_owned())
    };
    lines.filter_map(name).collect()
}

/// What a trait provides is taken from it silently where it is not forwarded, and a store's own would never be asked.
#[test]
fn each_method_is_forwarded() {
    let of_trait = functions(include_str!("../src/store.rs"), "pub trait SessionStore");
    assert!(of_trait.len() > 30, "{of_trait:?}");
    assert_eq!(functions(include_str!("../src/pointers.rs"), "impl<T: SessionStore"), of_trait);
}
