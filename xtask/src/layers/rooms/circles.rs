//! Circles between the files of one room, each spelled out once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::crate_text::CrateText;
use super::source::Source;

/// One way round: each file's path and the line by which it needs the next one, the last the first.
pub(super) type Circle = Vec<(String, usize)>;

/// The shortest circle through each file that is in one, without those that share a file with one that is told already.
pub(super) fn circles(text: &CrateText, room: &str) -> Vec<Circle> {
    let mut needs: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    let is_inside = |file: &Source| file.module.first().is_some_and(|first| first == room);
    for file in text.files.iter().filter(|file| is_inside(file)) {
        let others = text.needs(file).into_iter().filter(|(other, _)| is_inside(other));
        let others = others.map(|(other, line)| (other.path.as_str(), line)).collect();
        needs.insert(&file.path, others);
    }
    let mut told: BTreeSet<String> = BTreeSet::new();
    let mut found = Vec::new();
    for start in needs.keys() {
        if let Some(circle) = circle_through(&needs, start)
            && circle.iter().all(|(path, _)| !told.contains(path))
        {
            told.extend(circle.iter().map(|(path, _)| path.clone()));
            found.push(circle);
        }
    }
    found
}

fn circle_through(needs: &BTreeMap<&str, Vec<(&str, usize)>>, start: &str) -> Option<Circle> {
    // Each file that was reached, with the one before it and the line there.
    let mut reached: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(file) = waiting.pop_front() {
        for (other, line) in needs.get(file).into_iter().flatten() {
            if !reached.contains_key(other) {
                reached.insert(other, (file, *line));
                waiting.push_back(other);
            }
        }
    }
    let mut circle = Vec::new();
    let mut file = start;
    loop {
        let (before, line) = reached.get(file)?;
        circle.push((before.to_string(), *line));
        file = before;
        if file == start {
            circle.reverse();
            return Some(circle);
        }
    }
}
