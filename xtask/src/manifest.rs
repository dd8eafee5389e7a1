//! Reads as much of a `Cargo.toml` as the house rules need.
//!
//! Not a TOML parser: it knows tables, keys and raw values, and joins a value that runs over several lines.
//! What it misreads, cargo reads right and the rule complains about a line that a person can look at.

use std::collections::BTreeMap;

/// A manifest as tables of keys and raw values, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manifest {
    entries: Vec<Entry>,
}

/// One `key = value` and the table that it stands in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// The table's name, `dependencies` or `target.'cfg(unix)'.dependencies`.
    pub(crate) table: String,
    /// The key as written, `serde.workspace`.
    pub(crate) key: String,
    /// The value as written, without comments.
    pub(crate) value: String,
}

impl Manifest {
    /// Reads the text of a manifest.
    pub(crate) fn parse(text: &str) -> Manifest {
        let mut entries: Vec<Entry> = Vec::new();
        let mut table = String::new();
        let mut open = false;
        for line in text.lines() {
            let line = without_comment(line).trim();
            if open {
                if let Some(last) = entries.last_mut() {
                    last.value.push(' ');
                    last.value.push_str(line);
                    open = is_open(&last.value);
                }
            } else if line.starts_with('[') {
                table = line.trim_matches(['[', ']']).trim().to_owned();
            } else if let Some((key, value)) = line.split_once('=') {
                let value = value.trim().to_owned();
                open = is_open(&value);
                entries.push(Entry {
                    table: table.clone(),
                    key: key.trim().trim_matches('"').to_owned(),
                    value,
                });
            }
        }
        Manifest { entries }
    }

    /// The raw value of a key.
    pub(crate) fn raw(&self, table: &str, key: &str) -> Option<&str> {
        self.entries
            .iter()
            .find(|entry| entry.table == table && entry.key == key)
            .map(|entry| entry.value.as_str())
    }

    /// The keys and raw values of a table.
    pub(crate) fn table(&self, name: &str) -> impl Iterator<Item = (&str, &str)> {
        let inside = self.entries.iter().filter(move |entry| entry.table == name);
        inside.map(|entry| (entry.key.as_str(), entry.value.as_str()))
    }

    /// The value of a key that holds a string, without its quotes.
    pub(crate) fn text(&self, table: &str, key: &str) -> Option<&str> {
        self.raw(table, key)?.strip_prefix('"')?.strip_suffix('"')
    }

    /// Whether `key` comes from the workspace, in either way of writing it.
    pub(crate) fn is_inherited(&self, table: &str, key: &str) -> bool {
        self.raw(table, &format!("{key}.workspace")) == Some("true")
            || self.raw(table, key).is_some_and(asks_workspace)
    }

    /// Features by name, with what each one switches on.
    pub(crate) fn features(&self) -> BTreeMap<String, Vec<String>> {
        self.entries
            .iter()
            .filter(|entry| entry.table == "features")
            .map(|entry| (entry.key.clone(), strings(&entry.value)))
            .collect()
    }

    /// Features that only the crate's own tests switch on: without them it is the same crate.
    pub(crate) fn test_features(&self) -> Vec<String> {
        self.raw("package.metadata.trunkline", "test-features").map(strings).unwrap_or_default()
    }

    /// The features without which cargo refuses to build an example; they stand below its name.
    pub(crate) fn required_features(&self, example: &str) -> Vec<String> {
        let tables = self.entries.iter().filter(|entry| entry.table == "example");
        let mut ours = tables
            .skip_while(|entry| entry.key != "name" || entry.value.trim_matches('"') != example)
            .skip(1)
            .take_while(|entry| entry.key != "name");
        ours.find(|entry| entry.key == "required-features")
            .map(|entry| strings(&entry.value))
            .unwrap_or_default()
    }

    /// Dependencies of every kind that do not say `workspace = true`.
    pub(crate) fn own_dependencies(&self) -> Vec<String> {
        let mut names = Vec::new();
        for entry in &self.entries {
            if is_dependency_table(&entry.table) {
                let inherited = entry.key.ends_with(".workspace") && entry.value == "true";
                if !inherited && !asks_workspace(&entry.value) {
                    names.push(entry.key.clone());
                }
            } else if let Some((parent, name)) = entry.table.rsplit_once('.')
                && is_dependency_table(parent)
                && self.raw(&entry.table, "workspace") != Some("true")
                && names.last().is_none_or(|last| last != name)
            {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// All dependencies of every kind, by key.
    pub(crate) fn dependencies(&self) -> Vec<&str> {
        self.entries
            .iter()
            .filter(|entry| is_dependency_table(&entry.table))
            .map(|entry| entry.key.split('.').next().unwrap_or_default())
            .collect()
    }
}

fn is_dependency_table(table: &str) -> bool {
    let last = table.rsplit('.').next().unwrap_or_default();
    matches!(last, "dependencies" | "dev-dependencies" | "build-dependencies")
        && table != "workspace.dependencies"
}

fn asks_workspace(value: &str) -> bool {
    value.starts_with('{')
        && value.split([',', '{', '}']).any(|part| part.replace(' ', "") == "workspace=true")
}

/// Cuts a `#` comment off, unless the `#` stands in a string.
fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    for (at, sign) in line.char_indices() {
        match sign {
            '"' => quoted = !quoted,
            '#' if !quoted => return &line[..at],
            _ => {}
        }
    }
    line
}

/// Whether brackets are still open, so that the value goes on in the next line.
fn is_open(value: &str) -> bool {
    let count = |sign: char| value.matches(sign).count();
    count('[') > count(']') || count('{') > count('}')
}

/// The strings of an array.
fn strings(array: &str) -> Vec<String> {
    array.split('"').skip(1).step_by(2).map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[package]
name = "trunkline-x" # not "y"
edition.workspace = true
license = { workspace = true }

[features]
default = ["a"]
## A comment with = and [.
a = [
    "dep:tokio", # one
    "b",
]
b = []

[dependencies]
serde.workspace = true
tokio = { workspace = true, optional = true }
rogue = "1"

[dev-dependencies.table]
version = "1"
features = ["x"]

[dev-dependencies.fine]
workspace = true

[target.'cfg(unix)'.dependencies]
rustix = { version = "1" }
"#;

    #[test]
    fn features_are_read_over_several_lines() {
        let features = Manifest::parse(TEXT).features();
        assert_eq!(features.keys().collect::<Vec<_>>(), ["a", "b", "default"]);
        assert_eq!(features["a"], ["dep:tokio", "b"]);
        assert_eq!(features["b"], Vec::<String>::new());
    }

    #[test]
    fn required_features_belong_to_the_name_above_them() {
        let text = "[[example]]\nname = \"a\"\n[[example]]\nname = \"b\"\nrequired-features = [\"x\", \"y\"]\n\
                    [[example]]\nname = \"c\"\nrequired-features = [\"z\"]";
        let manifest = Manifest::parse(text);
        assert_eq!(manifest.required_features("a"), Vec::<String>::new());
        assert_eq!(manifest.required_features("b"), ["x", "y"]);
        assert_eq!(manifest.required_features("d"), Vec::<String>::new());
    }

    #[test]
    fn strings_lose_quotes_and_comments() {
        assert_eq!(Manifest::parse(TEXT).text("package", "name"), Some("trunkline-x"));
    }

    #[test]
    fn inheritance_is_seen_in_both_forms() {
        let manifest = Manifest::parse(TEXT);
        assert!(manifest.is_inherited("package", "edition"));
        assert!(manifest.is_inherited("package", "license"));
        assert!(!manifest.is_inherited("package", "name"));
    }

    #[test]
    fn a_dependency_with_its_own_version_is_found_in_every_form() {
        assert_eq!(Manifest::parse(TEXT).own_dependencies(), ["rogue", "table", "rustix"]);
    }
}
