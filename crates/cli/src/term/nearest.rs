//! Which name was meant by one that is not known.

/// Returns the name that differs least from what was typed, if it differs by little.
pub(crate) fn nearest<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // What is longer than any name is near to none, and need not be compared.
    let plain: Vec<char> = typed.chars().take(64).flat_map(char::to_lowercase).map(even).collect();
    let far = names.into_iter().map(|name| {
        let other: Vec<char> = name.chars().map(even).collect();
        (distance(&plain, &other), name)
    });
    let (distance, name) = far.min_by_key(|(distance, _)| *distance)?;
    (distance <= (plain.len() / 3).clamp(1, 4)).then_some(name)
}

/// `max-turns` and `max_turns` are the same name in other dress.
fn even(letter: char) -> char {
    if letter == '-' { '_' } else { letter }
}

/// How many letters have to be put in, left out or replaced to make one of the other.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (down, letter) in one.iter().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], down + 1);
        for (right, same) in other.iter().enumerate() {
            let replaced = corner + usize::from(letter != same);
            corner = row[right + 1];
            row[right + 1] = replaced.min(corner + 1).min(row[right] + 1);
        }
    }
    row[other.len()]
}
