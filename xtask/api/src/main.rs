//! Prints the public API that a rustdoc JSON file describes, one item a line.
//!
//! A derive is one line, its header: that a type can be cloned is a promise, the signature of `clone` is not news.

#![forbid(unsafe_code)]

use std::collections::HashSet;
use std::process::ExitCode;

use public_api::Builder;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: xtask-api RUSTDOC.json");
        return ExitCode::from(2);
    };
    match lines(&path) {
        Ok(lines) => {
            println!("{}", lines.join("\n"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{path}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn lines(path: &str) -> Result<Vec<String>, public_api::Error> {
    // What every type has (blanket impls, `Send`) would drown what this crate says.
    let builder = Builder::from_rustdoc_json(path).omit_blanket_impls(true).omit_auto_trait_impls(true);
    let by_hand = builder.clone().omit_auto_derived_impls(true).build()?;
    let by_hand: HashSet<String> = by_hand.items().map(ToString::to_string).collect();
    let mut lines: Vec<String> = Vec::new();
    for line in builder.build()?.items().map(ToString::to_string) {
        let is_impl = line.starts_with("impl");
        // Methods carry the path of their type, so the head of an inherent impl adds nothing.
        let is_news = if is_impl { line.contains(" for ") } else { by_hand.contains(&line) };
        if is_news && !line.contains("StructuralPartialEq") && !lines.contains(&line) {
            lines.push(line);
        }
    }
    Ok(lines)
}
