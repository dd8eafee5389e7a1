//! Rules for the shape of a crate: its files, its manifest, its tests.

use std::collections::BTreeSet;

use super::sources::NAMES_THAT_REFUSE_NOTHING;
use crate::report::Complaint;
use crate::rust_text::{code_only, declared_module};
use crate::workspace::{Crate, Workspace};

/// Facts that stand once, in the root manifest.
const INHERITED: &[&str] =
    &["edition", "rust-version", "license", "repository", "authors", "categories", "keywords"];

/// What the licence asks to go along, and cargo packs only from the crate's own folder.
pub(crate) const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Checks the files and the manifest of one crate.
pub(super) fn check(workspace: &Workspace, one: &Crate, files: &[String]) -> Result<Vec<Complaint>, String> {
    let folder = format!("crates/{}", one.name);
    let mut complaints = manifest(one, &format!("{folder}/Cargo.toml"));
    let readme = workspace.text_or_nothing(&format!("{folder}/README.md"));
    let first = readme.lines().next().unwrap_or_default();
    if first != format!("# {}", one.package) {
        complaints
            .push(Complaint::file(&format!("{folder}/README.md"), format!("begin with `# {}`", one.package)));
    }
    if one.is_library()
        && !workspace
            .text_or_nothing(&format!("{folder}/src/lib.rs"))
            .contains("#![doc = include_str!(\"../README.md\")]")
    {
        complaints.push(Complaint::file(
            &format!("{folder}/src/lib.rs"),
            "let the README be the head: `#![doc = include_str!(\"../README.md\")]`",
        ));
    }
    for name in LICENCES.iter().filter(|name| !files.contains(&format!("{folder}/{name}"))) {
        complaints.push(Complaint::file(
            &format!("{folder}/{name}"),
            format!("is missing, and the package would go without it: `ln -s ../../{name} {folder}/{name}`"),
        ));
    }
    let version = one.manifest.text("package", "version").unwrap_or_default();
    if !workspace.text_or_nothing(&format!("{folder}/CHANGELOG.md")).contains(&format!("## {version}")) {
        complaints.push(Complaint::file(
            &format!("{folder}/CHANGELOG.md"),
            format!("needs a heading `## {version}` with lines for the crate's users"),
        ));
    }
    if one.examples().iter().all(|name| *name == crate::bench::example(one)) {
        complaints.push(Complaint::file(
            &format!("{folder}/examples"),
            "needs an example that prints something worth looking at",
        ));
    }
    if !files.contains(&format!("{folder}/tests/main.rs")) {
        complaints.push(Complaint::file(
            &format!("{folder}/tests/main.rs"),
            "is missing: one test binary, with a `mod` per behaviour",
        ));
    }
    for path in files.iter().filter(|path| path.starts_with(&format!("{folder}/src/"))) {
        // The folder or the file names the module, wherever it is declared.
        let steps = path.trim_end_matches(".rs").split('/').skip(3);
        for name in steps.filter(|name| NAMES_THAT_REFUSE_NOTHING.contains(name)) {
            complaints.push(Complaint::file(
                path,
                format!("`{name}` refuses nothing: name the file after a thing or an act"),
            ));
        }
    }
    Ok(complaints)
}

fn manifest(one: &Crate, path: &str) -> Vec<Complaint> {
    let manifest = &one.manifest;
    let mut complaints = Vec::new();
    let mut say = |text: String| complaints.push(Complaint::file(path, text));
    for key in INHERITED.iter().filter(|key| !manifest.is_inherited("package", key)) {
        say(format!("write `{key}.workspace = true` under [package]: the fact stands once"));
    }
    if manifest.is_inherited("package", "version") {
        say("give the crate a version of its own: each layer is released alone".to_owned());
    }
    if manifest.text("package", "description").is_none_or(str::is_empty) {
        say("write a `description`: crates.io shows it first".to_owned());
    }
    if manifest.raw("package", "autotests") != Some("false") {
        say("write `autotests = false` under [package] and one [[test]] with path \"tests/main.rs\""
            .to_owned());
    }
    if one.is_library() && manifest.raw("lib", "test") != Some("false") {
        say("write `test = false` under [lib]: tests use the public API, in tests/".to_owned());
    }
    if manifest.raw("lints", "workspace") != Some("true") {
        say("write `workspace = true` under [lints]".to_owned());
    }
    for name in manifest.own_dependencies() {
        say(format!(
            "`{name}` must come from the workspace: version and reason stand once, in the root Cargo.toml"
        ));
    }
    complaints
}

/// Finds test files that no `mod` line reaches: they look like tests and never run.
pub(super) fn undeclared_tests(workspace: &Workspace, files: &[String]) -> Result<Vec<Complaint>, String> {
    let mut complaints = Vec::new();
    for root in files.iter().filter(|path| is_test_root(path)) {
        let folder = root.trim_end_matches("main.rs");
        let inside: BTreeSet<&str> = files.iter().filter_map(|path| path.strip_prefix(folder)).collect();
        let read = |path: &str| workspace.text(&format!("{folder}{path}")).map(Option::unwrap_or_default);
        let mut reached = BTreeSet::from(["main.rs".to_owned()]);
        let mut open = vec![("main.rs".to_owned(), String::new())];
        while let Some((file, base)) = open.pop() {
            for module in modules(&read(&file)?) {
                for candidate in [format!("{base}{module}.rs"), format!("{base}{module}/mod.rs")] {
                    if inside.contains(candidate.as_str()) && reached.insert(candidate.clone()) {
                        open.push((candidate, format!("{base}{module}/")));
                    }
                }
            }
        }
        for path in inside
            .into_iter()
            .filter(|path| path.ends_with(".rs") && !reached.contains(*path) && !is_data(path))
        {
            let declared_in = format!("{folder}main.rs");
            complaints.push(Complaint::file(
                &format!("{folder}{path}"),
                format!("is declared nowhere, so its tests never run: write its `mod` line into {declared_in} or its parent module"),
            ));
        }
    }
    Ok(complaints)
}

fn is_test_root(path: &str) -> bool {
    match super::place(path) {
        Some((_, inside)) => inside == "tests/main.rs",
        None => path.starts_with("tests/") && path.ends_with("/main.rs") && path.matches('/').count() == 2,
    }
}

/// Rust files that tests read rather than run.
fn is_data(path: &str) -> bool {
    path.split('/').any(|step| matches!(step, "data" | "fixtures"))
}

fn modules(text: &str) -> Vec<String> {
    code_only(text).lines().filter_map(declared_module).map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_of_test_binaries_are_known() {
        assert!(is_test_root("crates/cli/tests/main.rs"));
        assert!(is_test_root("tests/stories/main.rs"));
        assert!(!is_test_root("crates/cli/tests/deep/main.rs"));
        assert!(!is_test_root("tests/lib.rs"));
    }

    #[test]
    fn modules_in_comments_are_not_declared() {
        assert_eq!(modules("mod a;\n// mod b;\nmod c;\n"), ["a", "c"]);
    }
}
