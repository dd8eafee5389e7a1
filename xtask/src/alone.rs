//! Builds each crate by itself, in every shape that its features allow.
//!
//! In a workspace cargo unifies features, so a crate that forgot one compiles as long as a neighbour asks for it.
//! Dev-dependencies unify too; that is why the shapes are linted without tests.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use crate::cargo::{cargo, passes, passes_silently};
use crate::lanes::Lanes;
use crate::layers;
use crate::postgres::Postgres;
use crate::report::Tally;
use crate::test::{binaries, cargo_test};
use crate::workspace::{Crate, Workspace};

/// Checks every shape of every given crate, and runs its tests and its examples once.
///
/// The tests of one crate run while the next one is built. `tested` says that all tests just ran with all features.
pub(crate) fn run(
    workspace: &Workspace,
    postgres: &mut Postgres,
    crates: &[Crate],
    tested: bool,
) -> Result<Tally, String> {
    let mut alone = Alone { workspace, postgres, lanes: Lanes::open(), sum: Tally::default() };
    for one in crates {
        println!("-- {}", one.name);
        alone.shapes(one)?;
        if tested && same_as_tested(one) {
            alone.lint_with_tests(one, "by default all its features are on, and its tests just ran so")?;
            alone.built_examples(one)?;
            continue;
        }
        let has_less = !closure(&one.features(), &["default"]).is_empty();
        // Default features: what somebody gets who takes the crate and thinks no further. The tests of a crate that does IO run
        // with all of its features and with none; between the two they are compiled.
        if tested && has_less && !layers::is_pure(&one.name) {
            alone.lint_with_tests(one, "its tests just ran with all features, and run with none")?;
        } else {
            alone.tests(one, &[])?;
        }
        if one.is_library() {
            let call = ["test", "--quiet", "--no-fail-fast", "--doc", "--package", &one.package];
            alone.sum += cargo_test(&mut cargo(workspace, call))?;
        }
        // And whoever wants nothing of what is on by default gets a crate that does what it says then.
        if has_less {
            let least = LEAST.iter().find(|(name, _)| *name == one.name).map(|(_, feature)| *feature);
            let mut flags = vec!["--no-default-features", "--tests"];
            flags.extend(least.into_iter().flat_map(|feature| ["--features", feature]));
            alone.tests(one, &flags)?;
        }
        alone.examples(one)?;
    }
    let mut sum = alone.sum;
    sum += alone.lanes.close()?;
    Ok(sum)
}

/// The feature that the tests of a crate need at least, where without any it is only a vocabulary.
const LEAST: [(&str, &str); 2] = [("providers", "provider"), ("session-store", "store")];

/// Whether the tests that ran with all features ran with the same code of this crate as somebody gets who takes it alone.
///
/// Pure crates are tried again all the same. That takes seconds, and what they promise for any value depends on features
/// of dependencies that a neighbour switches on, such as `float_roundtrip` of serde_json.
fn same_as_tested(one: &Crate) -> bool {
    let features = one.features();
    let of_tests = one.manifest.test_features();
    let every: Vec<&str> =
        features.keys().filter(|name| !of_tests.contains(name)).map(String::as_str).collect();
    !layers::is_pure(&one.name) && closure(&features, &["default"]) == closure(&features, &every)
}

/// What is under way.
struct Alone<'a> {
    workspace: &'a Workspace,
    postgres: &'a mut Postgres,
    lanes: Lanes,
    sum: Tally,
}

impl Alone<'_> {
    /// Lints the crate in each of its shapes.
    fn shapes(&mut self, one: &Crate) -> Result<(), String> {
        for shape in shapes(&one.features()) {
            let flags = shape.flags.iter().map(String::as_str);
            if !self.lint(one, flags)? {
                println!("{} does not stand alone with {}", one.package, shape.name);
            }
        }
        Ok(())
    }

    /// Compiles tests and examples with the features that they ask for themselves, without making programs of them.
    fn lint_with_tests(&mut self, one: &Crate, why: &str) -> Result<(), String> {
        println!("{}: {why}", one.name);
        if !self.lint(one, ["--all-targets"])? {
            println!("tests or examples of {} do not stand alone", one.package);
        }
        Ok(())
    }

    fn lint<'b>(&mut self, one: &'b Crate, flags: impl IntoIterator<Item = &'b str>) -> Result<bool, String> {
        // Clippy does all that `cargo check` does and is the one that can turn warnings of this crate alone into errors.
        let mut call = vec!["clippy", "--quiet", "--no-deps", "--package", &one.package];
        call.extend(flags);
        call.extend(["--", "-D", "warnings"]);
        let passed = passes(&mut cargo(self.workspace, call))?;
        self.sum += Tally::of(passed);
        Ok(passed)
    }

    /// Builds the tests, and lets them run beside what comes next.
    fn tests(&mut self, one: &Crate, flags: &[&str]) -> Result<(), String> {
        let call = ["test", "--quiet", "--no-fail-fast", "--package", &one.package];
        let Some(built) = binaries::build(&mut cargo(self.workspace, call.iter().chain(flags)))? else {
            self.sum += Tally::of(false);
            return Ok(());
        };
        for binary in built {
            let mut command = binary.command(&["--quiet"]);
            self.postgres.offer(Some(&one.package), &mut command)?;
            let title = [&[binary.title(self.workspace).as_str()], flags].concat().join(" ");
            self.lanes.run(title, command);
        }
        Ok(())
    }

    /// Runs the examples with default features and those that they ask for, which share what the tests are built from.
    fn examples(&mut self, one: &Crate) -> Result<(), String> {
        for example in to_run(one) {
            let features = one.manifest.required_features(&example).join(",");
            let mut call = vec!["run", "--quiet", "--package", &one.package, "--example", &example];
            if !features.is_empty() {
                call.extend(["--features", &features]);
            }
            self.sum += Tally::of(passes_silently(&mut cargo(self.workspace, call))?);
        }
        Ok(())
    }

    /// Runs the examples that were built together with all tests.
    fn built_examples(&mut self, one: &Crate) -> Result<(), String> {
        for example in to_run(one) {
            let call = ["build", "--quiet", "--workspace", "--all-features", "--example", &example];
            let passed = passes(&mut cargo(self.workspace, call))? && {
                let mut program = Command::new(self.workspace.target.join("debug/examples").join(&example));
                program.current_dir(&self.workspace.root).stdin(Stdio::null());
                passes_silently(&mut program)?
            };
            self.sum += Tally::of(passed);
        }
        Ok(())
    }
}

/// The examples of a crate but those that measure: these run in release, on a quiet machine.
fn to_run(one: &Crate) -> impl Iterator<Item = String> {
    one.examples().into_iter().filter(|name| !name.starts_with("bench_"))
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

    fn one(name: &str, features: &str) -> Crate {
        let manifest = Manifest::parse(&format!("[features]\n{features}"));
        Crate { name: name.to_owned(), package: String::new(), folder: "/nowhere".into(), manifest }
    }

    #[test]
    fn tests_that_ran_with_the_same_code_are_not_run_again() {
        assert!(same_as_tested(&one("cli", "")));
        assert!(same_as_tested(&one("runtime", "default = [\"a\"]\na = [\"b\"]\nb = []")));
        // What is off by default is not in the crate that most people get.
        assert!(!same_as_tested(&one("tools", "steps = []")));
        // What only tests switch on changes nothing for anybody else.
        let marked = "steps = []\n[package.metadata.trunkline]\ntest-features = [\"steps\"]";
        assert!(same_as_tested(&one("tools", marked)));
        assert!(!same_as_tested(&one("session-store", "default = [\"a\"]\na = []\nb = []")));
        assert!(!same_as_tested(&one("sanitize", "")), "it is pure");
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
