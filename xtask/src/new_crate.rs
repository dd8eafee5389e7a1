//! Lays out a new crate in the shape of the others.
//!
//! What comes out passes `tidy` except for its wall: which crates it may import is a decision, not a template.

use std::fs;
use std::process::ExitCode;

use crate::tidy::{LICENCES, NAMES_THAT_REFUSE_NOTHING};
use crate::workspace::{PREFIX, Workspace};

/// Writes the files of `crates/NAME` and says what to do next.
pub(crate) fn run(workspace: &Workspace, name: &str) -> Result<ExitCode, String> {
    check_name(name)?;
    let folder = workspace.root.join("crates").join(name);
    if folder.exists() {
        return Err(format!("crates/{name} is there already"));
    }
    for (path, text) in files(name) {
        let file = folder.join(path);
        let parent = file.parent().unwrap_or(&folder);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&file, text))
            .map_err(|error| format!("cannot write crates/{name}/{path}: {error}"))?;
        println!("crates/{name}/{path}");
    }
    for licence in LICENCES {
        std::os::unix::fs::symlink(format!("../../{licence}"), folder.join(licence))
            .map_err(|error| format!("cannot link crates/{name}/{licence}: {error}"))?;
        println!("crates/{name}/{licence}");
    }
    println!("{}", next_steps(name));
    Ok(ExitCode::SUCCESS)
}

fn check_name(name: &str) -> Result<(), String> {
    let fine = |word: &str| {
        !word.is_empty() && word.chars().all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit())
    };
    if !name.split('-').all(fine) || name.starts_with(|sign: char| sign.is_ascii_digit()) {
        return Err(format!(
            "`{name}`: a crate's name is lower-case words with `-` between them, without `{PREFIX}`"
        ));
    }
    if format!("{name}-").starts_with(PREFIX) {
        return Err(format!("`{name}`: the folder's name goes without `{PREFIX}`, the package gets it"));
    }
    if name.split('-').any(|word| NAMES_THAT_REFUSE_NOTHING.contains(&word)) {
        return Err(format!("`{name}` refuses nothing, so everything will end up there: name what it does"));
    }
    Ok(())
}

/// The files, by their path in the crate's folder.
fn files(name: &str) -> [(&'static str, String); 7] {
    let package = format!("{PREFIX}{name}");
    let library = package.replace('-', "_");
    [
        ("Cargo.toml", manifest(name, &package)),
        ("README.md", readme(&package, &library)),
        (
            "CHANGELOG.md",
            format!("# Changelog of {package}\n\n## 0.1.0 (unreleased)\n\n- added: first form.\n"),
        ),
        ("src/lib.rs", "#![doc = include_str!(\"../README.md\")]\n\n/// The name of this crate, until it has something to say.\npub const NAME: &str = env!(\"CARGO_PKG_NAME\");\n".to_owned()),
        ("examples/tour.rs", example(&library)),
        (
            "tests/main.rs",
            format!("//! The tests of {package}: one binary, a module per behaviour.\n\nmod front_page;\n"),
        ),
        (
            "tests/front_page.rs",
            format!("#[test]\nfn the_crate_knows_its_name() {{\n    assert_eq!({library}::NAME, \"{package}\");\n}}\n"),
        ),
    ]
}

fn manifest(name: &str, package: &str) -> String {
    format!(
        r#"[package]
name = "{package}"
version = "0.1.0"
description = "DESCRIBE IN ONE LINE WHAT IT IS WORTH ALONE"
readme = "README.md"
edition.workspace = true
rust-version.workspace = true
license.workspace = true
repository.workspace = true
authors.workspace = true
categories.workspace = true
keywords.workspace = true
autotests = false

[lib]
test = false # one test binary per crate: tests/main.rs

[[test]]
name = "{name}"
path = "tests/main.rs"

[dependencies]

[dev-dependencies]

[package.metadata.docs.rs]
all-features = true

[lints]
workspace = true
"#
    )
}

fn example(library: &str) -> String {
    format!(
        "//! Shows the crate at work.\n\n#![expect(clippy::print_stdout, reason = \"an example shows something\")]\n\n\
         fn main() {{\n    println!(\"{{}}\", {library}::NAME);\n}}\n"
    )
}

fn readme(package: &str, library: &str) -> String {
    format!(
        "# {package}\n\nWhat it is, in a few lines.\n\n```rust\nassert_eq!({library}::NAME, \"{package}\");\n```\n\n\
         ## Limits\n\nWhat it does not do.\n"
    )
}

fn next_steps(name: &str) -> String {
    format!(
        "
Next:
  1. docs/decisions/: why this crate, what it refuses to do, what it may import.
  2. A row in the table of docs/ARCHITECTURE.md and a wall in xtask/src/layers.rs.
  3. Cargo.toml, under [workspace.dependencies], if another crate will import it:
     {PREFIX}{name} = {{ path = \"crates/{name}\", version = \"0.1.0\" }}
  4. The description in crates/{name}/Cargo.toml, the README, the example in examples/.
  5. cargo xtask api --bless {name}
  6. cargo xtask tidy, cargo xtask layers, cargo xtask alone {name}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_must_refuse_something() {
        assert!(check_name("session-view").is_ok());
        for name in
            ["", "Session", "a--b", "-a", "wire_rules", "2d", "common", "wire-utils", "trunkline-x", "../x"]
        {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
