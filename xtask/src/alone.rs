//! Builds each crate by itself, in every shape that its features allow.
//!
//! In a workspace cargo unifies features, so a crate that forgot one compiles as long as a neighbour asks for it.
//! Dev-dependencies unify too; that is why the shapes are linted without tests.

use std::collections::{BTreeMap, BTreeSet};

use crate::cargo::{cargo, passes, passes_silently};
use crate::postgres::Postgres;
use crate::report::Tally;
use crate::test::cargo_test;
use crate::workspace::{Crate, Workspace};

/// Checks every shape of every given crate, and runs its tests and its examples once.
pub(crate) fn run(workspace: &Workspace, postgres: &mut Postgres, crates: &[Crate]) -> Result<Tally, String> {
    let mut sum = Tally::default();
    for one in crates {
        println!("-- {}", one.name);
        for shape in shapes(&one.features()) {
            // Clippy does all that `cargo check` does and is the one that can turn warnings of this crate alone into errors.
            let mut call = vec!["clippy", "--quiet", "--no-deps", "--package", &one.package];
            call.extend(shape.flags.iter().map(String::as_str));
            call.extend(["--", "-D", "warnings"]);
            let passed = passes(&mut cargo(workspace, call))?;
            if !passed {
                println!("{} does not stand alone with {}", one.package, shape.name);
            }
            sum += Tally::of(passed);
        }
        // Default features: what somebody gets who takes the crate and thinks no further.
        let call = ["test", "--quiet", "--no-fail-fast", "--package", &one.package];
        let mut tests = cargo(workspace, call);
        postgres.offer(Some(&one.package), &mut tests)?;
        sum += cargo_test(&mut tests)?;
        // And whoever wants nothing of what is on by default gets a crate that does what it says then.
        if one.features().get("default").is_some_and(|on| !on.is_empty()) {
            let bare = ["--no-default-features", "--tests", "--package", &one.package];
            let call = ["test", "--quiet", "--no-fail-fast"].into_iter().chain(bare);
            sum += cargo_test(&mut cargo(workspace, call))?;
        }
        // What measures runs in release, on a quiet machine.
        for example in one.examples().iter().filter(|name| !name.starts_with("bench_")) {
            let call = ["run", "--quiet", "--all-features", "--package", &one.package, "--example", example];
            sum += Tally::of(passes_silently(&mut cargo(workspace, call))?);
        }
    }
    Ok(sum)
}

/// One set of features to build with.
#[derive(Debug, PartialEq)]
struct Shape {
    name: String,
    flags: Vec<String>,
}

/// Lists the shapes of a crate: no features, default, each feature, all features; a set that was there before is left out.
fn shapes(features: &BTreeMap<String, Vec<String>>) -> Vec<Shape> {
    let every: Vec<&str> = features.keys().map(String::as_str).filter(|name| *name != "default").collect();
    let mut candidates: Vec<(String, Vec<&str>, Vec<&str>)> = vec![
        ("no features".to_owned(), vec!["--no-default-features"], Vec::new()),
        ("default features".to_owned(), Vec::new(), vec!["default"]),
    ];
    for name in &every {
        let flags = vec!["--no-default-features", "--features", name];
        candidates.push((format!("the feature {name}"), flags, vec![name]));
    }
    candidates.push(("all features".to_owned(), vec!["--all-features"], every));

    let mut seen: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    candidates
        .into_iter()
        .filter(|(_, _, chosen)| seen.insert(closure(features, chosen)))
        .map(|(name, flags, _)| Shape { name, flags: flags.into_iter().map(String::from).collect() })
        .collect()
}

/// Everything that the chosen features switch on, `default` itself left out: it stands only for what it lists.
fn closure(features: &BTreeMap<String, Vec<String>>, chosen: &[&str]) -> BTreeSet<String> {
    let mut on = BTreeSet::new();
    let mut todo: Vec<&str> = chosen.to_vec();
    while let Some(name) = todo.pop() {
        if on.insert(name.to_owned()) {
            todo.extend(features.get(name).into_iter().flatten().map(String::as_str));
        }
    }
    on.remove("default");
    on
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;

    fn check(features: &str, expected: &[&str]) {
        let manifest = Manifest::parse(&format!("[features]\n{features}"));
        let names: Vec<String> = shapes(&manifest.features()).into_iter().map(|shape| shape.name).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn a_crate_without_features_has_one_shape() {
        check("", &["no features"]);
    }

    #[test]
    fn a_single_feature_that_is_off_by_default_makes_two() {
        check("default = []\nhttp = [\"dep:tokio\"]", &["no features", "the feature http"]);
    }

    #[test]
    fn each_feature_is_tried_by_itself() {
        check(
            "default = [\"a\", \"b\"]\na = []\nb = []\nc = [\"a\"]",
            &[
                "no features",
                "default features",
                "the feature a",
                "the feature b",
                "the feature c",
                "all features",
            ],
        );
    }
}
