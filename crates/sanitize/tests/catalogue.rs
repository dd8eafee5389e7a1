//! The table on the crate page says where each row of the catalogue is tested; here it is held to that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const README: &str = include_str!("../README.md");

/// Where the rows that an encoder must see to are tested.
const ENCODERS: &str = "trunkline-providers";

/// A row of the catalogue, by its id, and the places where the table says that it is tested.
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let mut table: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in README.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [rows, _, _, tested] = cells[..] else { continue };
        for row in rows.split(", ").filter(|row| family(row).is_some()) {
            table.entry(row.to_owned()).or_default().extend(tested.split(", ").map(str::to_owned));
        }
    }
    table
}

/// All ids that the table has.
pub(crate) fn ids() -> BTreeSet<String> {
    table().into_keys().collect()
}

/// Returns the family of an id such as `A13`.
fn family(id: &str) -> Option<char> {
    let family = id.chars().next().filter(|family| ('A'..='D').contains(family))?;
    id[1..].parse::<usize>().ok().map(|_| family)
}

/// The tests of this crate by the rows that their names begin with.
fn tests() -> BTreeMap<String, BTreeSet<String>> {
    let mut tests: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for entry in std::fs::read_dir(folder).expect("the folder of the tests is there") {
        let path = entry.expect("the folder of the tests is readable").path();
        let Some(file) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let source = std::fs::read_to_string(&path).expect("the tests are readable");
        let names = source.lines().filter_map(|line| line.strip_prefix("fn ")?.split('(').next());
        for name in names {
            let ids = name.split('_').map(str::to_uppercase).take_while(|word| family(word).is_some());
            for id in ids {
                tests.entry(id).or_default().insert(file.to_owned());
            }
        }
    }
    tests
}

#[test]
fn the_table_has_every_row() {
    let rows = [('A', 25), ('B', 10), ('C', 18), ('D', 11)];
    let all = rows.iter().flat_map(|(family, last)| (1..=*last).map(move |row| format!("{family}{row}")));
    assert_eq!(ids(), all.collect());
    assert_eq!(ids().len(), 64);
}

#[test]
fn every_row_is_tested_where_the_table_says() {
    let tests = tests();
    for (row, places) in table() {
        for place in places.iter().filter(|place| *place != ENCODERS) {
            let found = tests.get(&row).is_some_and(|files| files.contains(place));
            assert!(found, "no test in tests/{place}.rs has a name that begins with {}", row.to_lowercase());
        }
    }
}
