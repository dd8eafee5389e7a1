//! The files of one crate, and which of them a path leads to.
//!
//! A path leads to the file that defines what it names: what a front passes on by `use` is looked for behind it.

use std::collections::BTreeSet;

use super::source::{From, Import, Reference, Source};

/// How often a name is looked for behind a `use` before the search is given up; a circle of them ends here.
const MOST_STEPS: usize = 8;

/// What is read of a crate.
pub(super) struct CrateText {
    /// Its root first.
    pub(super) files: Vec<Source>,
}

impl CrateText {
    /// Takes files by their paths inside `src/`, as in `live/answered.rs`. What no module declares is not built, or is built
    /// for tests alone, and stays out.
    pub(super) fn read(folder: &str, files: &[(String, String)]) -> CrateText {
        let mut sources = Vec::new();
        for (inside, text) in files {
            if let Some(module) = module_of(inside) {
                sources.push(Source::read(&format!("{folder}/{inside}"), module, text));
            }
        }
        sources.sort_by(|one, other| one.module.cmp(&other.module));
        let mut declared = BTreeSet::from([Vec::new()]);
        // Sorted, a parent stands before its children.
        sources.retain(|source| {
            let is_built = declared.contains(&source.module);
            if is_built {
                let names = source.children.iter().map(|name| child(&source.module, name));
                declared.extend(names.collect::<Vec<_>>());
            }
            is_built
        });
        CrateText { files: sources }
    }

    /// The modules that stand directly below the root, each in a file or a folder.
    pub(super) fn rooms(&self) -> BTreeSet<&str> {
        self.files.iter().filter_map(|file| file.module.first()).map(String::as_str).collect()
    }

    /// The file of a module.
    pub(super) fn file(&self, module: &[String]) -> Option<&Source> {
        self.files.iter().find(|file| file.module == module)
    }

    /// A path as it counts from the root, if it leads into this crate at all.
    pub(super) fn path_in_crate(&self, file: &Source, reference: &Reference) -> Option<Vec<String>> {
        match reference.from {
            From::Root => Some(reference.words.clone()),
            From::Scope => {
                let first = reference.words.first().filter(|first| file.children.contains(*first))?;
                Some([child(&file.module, first).as_slice(), &reference.words[1..]].concat())
            }
        }
    }

    /// Where the thing that a path names is defined: its file and the words behind that.
    pub(super) fn definition(&self, words: &[String]) -> Option<(&Source, Vec<String>)> {
        self.definition_within(words, MOST_STEPS)
    }

    fn definition_within(&self, words: &[String], steps: usize) -> Option<(&Source, Vec<String>)> {
        let file = (0..=words.len()).rev().find_map(|length| self.file(&words[..length]))?;
        let rest = &words[file.module.len()..];
        let Some(name) = rest.first() else { return Some((file, Vec::new())) };
        if file.items.contains(name) || steps == 0 {
            return Some((file, rest.to_vec()));
        }
        for import in file.imports.iter().filter(|import| import.outermost) {
            let behind = |rest: &[String]| {
                let target = self.path_in_crate(file, &import.target)?;
                self.definition_within(&[target.as_slice(), rest].concat(), steps - 1)
            };
            match &import.name {
                // An import of another crate leads out.
                Some(bound) if bound == name => return behind(&rest[1..]),
                Some(_) => {}
                None => {
                    let found = behind(rest)
                        .filter(|(file, rest)| rest.first().is_some_and(|name| file.items.contains(name)));
                    if found.is_some() {
                        return found;
                    }
                }
            }
        }
        Some((file, rest.to_vec()))
    }

    /// The files whose code a file needs, with the line that says so. Declaring a module and passing its names on is no
    /// need; using what was passed on is.
    pub(super) fn needs<'a>(&'a self, file: &'a Source) -> Vec<(&'a Source, usize)> {
        let lead = |reference: &Reference| {
            let words = self.path_in_crate(file, reference)?;
            self.definition(&words).map(|(source, _)| source)
        };
        let mut needs = Vec::new();
        for Import { target, name, passes_on, .. } in &file.imports {
            let line = if *passes_on {
                let Some(name) = name else { continue };
                let bare = file.bare.iter().find(|(used, _)| used == name).map(|(_, line)| *line);
                let first = file
                    .paths
                    .iter()
                    .find(|path| path.from == From::Scope && path.words.first() == Some(name));
                bare.or(first.map(|path| path.line))
            } else {
                Some(target.line)
            };
            needs.extend(line.and_then(|line| Some((lead(target)?, line))));
        }
        needs.extend(file.paths.iter().filter_map(|path| Some((lead(path)?, path.line))));
        needs.retain(|(other, _)| other.module != file.module);
        needs
    }
}

fn child(module: &[String], name: &str) -> Vec<String> {
    [module, &[name.to_owned()]].concat()
}

/// The module of a file; programs of their own in `bin/` are none.
fn module_of(inside: &str) -> Option<Vec<String>> {
    let path = inside.strip_suffix(".rs")?;
    if matches!(path, "lib" | "main") {
        return Some(Vec::new());
    }
    let path = path.strip_suffix("/mod").unwrap_or(path);
    (!path.starts_with("bin/")).then(|| path.split('/').map(String::from).collect())
}
