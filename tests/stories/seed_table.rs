//! The table of the seed's faults and tests names tests that exist, and leaves no fault out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::read;

/// How many faults the catalogue has.
const FAULTS: usize = 66;
/// Behind the name of a test that is still to be written.
const OPEN: &str = "(open)";

/// Returns the names of all functions in Rust files below a folder.
fn functions(folder: &Path, names: &mut BTreeSet<String>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|fault| panic!("{}: {fault}", folder.display()));
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() && !path.ends_with("target") {
            functions(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("Rust is UTF-8");
            let lines = text.lines().filter_map(|line| line.split_once("fn ").map(|(_, rest)| rest));
            let named = lines.filter_map(|rest| rest.split_once(['(', '<']).map(|(name, _)| name.trim()));
            names.extend(named.map(str::to_owned));
        }
    }
}

fn all_functions() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut names = BTreeSet::new();
    functions(&root.join("crates"), &mut names);
    functions(&root.join("tests/stories"), &mut names);
    names
}

/// Returns the rows of the table as their cells: that of the faults, or those of the seed's tests.
fn rows(page: &str, faults: bool) -> Vec<Vec<String>> {
    let (first, second) = page.split_once("\n## The seed's tests\n").expect("the page has two parts");
    let lines = if faults { first } else { second }.lines().filter(|line| line.starts_with('|'));
    let rows =
        lines.map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect());
    rows.filter(|cells: &Vec<String>| {
        !cells[0].starts_with("---") && cells.last().is_some_and(|last| last != "Tests")
    })
    .collect()
}

/// Returns what stands between backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Returns the numbers with which a test's name begins: 37 and 38 of `p37_p38_a_revert…`.
fn numbers(name: &str) -> Vec<usize> {
    let words = name.split('_').map_while(|word| word.strip_prefix('p')?.parse().ok());
    words.collect()
}

#[test]
fn every_fault_has_a_row_and_a_test_that_bears_its_number() {
    let (page, functions) = (read("docs/seed-table.md"), all_functions());
    let mut rows: BTreeMap<String, Vec<String>> =
        rows(&page, true).into_iter().map(|cells| (cells[0].clone(), cells)).collect();
    let mut wrong = Vec::new();
    for number in 1..=FAULTS {
        let Some(cells) = rows.remove(&format!("P{number}")) else {
            wrong.push(format!("P{number} has no row"));
            continue;
        };
        let tests = cells.last().expect("a row has cells");
        if cells.len() != 3 || cells[1].is_empty() {
            wrong.push(format!("P{number}: a row says what Trunkline does, and names tests"));
        }
        if tests.ends_with(OPEN) {
            continue;
        }
        let named = quoted(tests);
        wrong.extend(
            named
                .iter()
                .filter(|name| !functions.contains(**name))
                .map(|name| format!("P{number}: no test {name}")),
        );
        if !named.iter().any(|name| numbers(name).contains(&number)) {
            wrong.push(format!("P{number}: no test that bears the number"));
        }
    }
    wrong.extend(rows.keys().map(|number| format!("{number} is no fault")));
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_row_of_the_seeds_tests_names_tests_that_exist_or_says_why_not() {
    let (page, functions) = (read("docs/seed-table.md"), all_functions());
    let rows = rows(&page, false);
    assert!(rows.len() > 80, "{} rows", rows.len());
    for cells in rows {
        let tests = cells.last().expect("a row has cells");
        let named = quoted(tests);
        for name in named.iter().filter(|name| !name.contains(' ')) {
            assert!(functions.contains(*name), "{}: no test {name}", cells[0]);
        }
        assert!(!named.is_empty() || tests.starts_with("none"), "{}: neither a test nor a reason", cells[0]);
    }
}
