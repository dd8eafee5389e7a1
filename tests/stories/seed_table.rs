//! The tables of the seeds' faults and tests name tests that exist, and leave no fault out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::read;

/// How many faults the catalogue has.
const FAULTS: usize = 66;
/// How many weak points the other catalogue has.
const WEAK_POINTS: usize = 26;
/// The heads of the parts behind the first.
const SEED_TESTS: &str = "\n## The seed's tests\n";
const RESOLVE: &str = "\n## Faults of the resolve tool\n";
/// The head of the last part.
const PROMISES: &str = "\n## Promises\n";
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

/// Returns the tests that a cell names, each with the file that is named before it.
fn placed(cell: &str) -> Vec<(&str, &str)> {
    let mut file = "";
    let mut placed = Vec::new();
    for word in quoted(cell) {
        if word.ends_with(".rs") {
            file = word;
        } else {
            placed.push((file, word));
        }
    }
    placed
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
    let (first, second) = page.split_once(SEED_TESTS).expect("the page has a second part");
    let (second, _) = second.split_once(RESOLVE).expect("the page has a third part");
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

#[test]
fn every_weak_point_has_a_row_and_a_test_that_bears_its_number_where_the_row_says() {
    let page = read("docs/seed-table.md");
    let (_, part) = page.split_once(RESOLVE).expect("the page has a third part");
    let (part, _) = part.split_once(PROMISES).expect("the page has a last part");
    let mut rows: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in part.lines().filter(|line| line.starts_with("| R")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        rows.insert(cells[0], cells);
    }
    let mut wrong = Vec::new();
    for number in 1..=WEAK_POINTS {
        let Some(cells) = rows.remove(format!("R{number}").as_str()) else {
            wrong.push(format!("R{number} has no row"));
            continue;
        };
        if cells.len() != 4 || cells.iter().any(|cell| cell.is_empty()) {
            wrong.push(format!("R{number}: what the seed did, what Trunkline does, and tests"));
            continue;
        }
        let tests = placed(cells[3]);
        for (file, name) in &tests {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
            let text = std::fs::read_to_string(path).unwrap_or_default();
            if !text.contains(&format!("fn {name}(")) {
                wrong.push(format!("R{number}: no test {name} in {file:?}"));
            }
        }
        let bears = |name: &str| name.split('_').any(|word| word == format!("r{number:02}"));
        if !tests.iter().any(|(_, name)| bears(name)) {
            wrong.push(format!("R{number}: no test that bears the number"));
        }
    }
    wrong.extend(rows.keys().map(|number| format!("{number} is no weak point")));
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_promise_names_tests_that_exist_and_stands_once() {
    let (page, functions) = (read("docs/seed-table.md"), all_functions());
    let (_, part) = page.split_once(PROMISES).expect("the page has a last part");
    let (mut wrong, mut seen) = (Vec::new(), BTreeSet::new());
    let rows = part
        .lines()
        .filter(|line| line.starts_with('|') && !line.starts_with("| |") && !line.starts_with("|---"));
    for line in rows {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let number = cells[0];
        if cells.len() != 3 || cells.iter().any(|cell| cell.is_empty()) {
            wrong.push(format!("{number}: a number, what holds, and tests"));
            continue;
        }
        if !seen.insert(number) {
            wrong.push(format!("{number} stands twice"));
        }
        let tests = placed(cells[2]);
        for (file, name) in &tests {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
            let is_there = match file.is_empty() {
                true => functions.contains(*name),
                false => std::fs::read_to_string(path).unwrap_or_default().contains(&format!("fn {name}(")),
            };
            if !is_there {
                wrong.push(format!("{number}: no test {name} in {file:?}"));
            }
        }
        if tests.is_empty() {
            wrong.push(format!("{number} names no test"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
