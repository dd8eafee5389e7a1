//! Where `unsafe` may stand: in one file of one package that nobody publishes.
//!
//! Every other package forbids it through the lints of the workspace. That package cannot inherit them, since one of them
//! must be another, so its copy is held against the original here.

use crate::manifest::Manifest;
use crate::report::Complaint;
use crate::rust_text::{code_only, has_word};

/// What SQLite calls; see docs/decisions/0008-a-disk-that-loses-power.md.
const ALLOWED: &str = "tests/disk/src/shim.rs";
/// The manifest of its package.
pub(super) const MANIFEST: &str = "tests/disk/Cargo.toml";
const LINT: &str = "unsafe_code";

/// Checks one Rust file.
pub(super) fn check(path: &str, text: &str) -> Vec<Complaint> {
    if path == ALLOWED {
        return Vec::new();
    }
    let code = code_only(text);
    let lines = code.lines().enumerate().filter(|(_, line)| has_word(line, "unsafe"));
    let advice = format!("`unsafe` may stand in {ALLOWED} alone: find the safe way, or write a decision");
    lines.map(|(index, _)| Complaint::line(path, index, advice.clone())).collect()
}

/// Checks the manifest of the package that has the file.
pub(super) fn lints(root: &Manifest, one: &Manifest) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for group in ["rust", "clippy"] {
        for (lint, level) in root.table(&format!("workspace.lints.{group}")) {
            let level = if lint == LINT { "\"deny\"" } else { level };
            if one.raw(&format!("lints.{group}"), lint) != Some(level) {
                let text = format!("write `{lint} = {level}` under [lints.{group}], as the workspace has it");
                complaints.push(Complaint::file(MANIFEST, text));
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_may_be_unsafe() {
        let text = "//! unsafe\n#![forbid(unsafe_code)]\nfn f() { unsafe { g() } }\n";
        assert_eq!(check(ALLOWED, text), []);
        let said: Vec<String> = check("crates/cli/src/a.rs", text).iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("a.rs:3: `unsafe` may stand"), "{said:?}");
    }

    #[test]
    fn its_lints_are_those_of_the_workspace_but_one() {
        let root =
            Manifest::parse("[workspace.lints.rust]\nunsafe_code = \"forbid\"\nmissing_docs = \"warn\"\n");
        let lints_of = |text| lints(&root, &Manifest::parse(text)).len();
        assert_eq!(lints_of("[lints.rust]\nmissing_docs = \"warn\"\nunsafe_code = \"deny\"\n"), 0);
        assert_eq!(lints_of("[lints.rust]\nmissing_docs = \"allow\"\nunsafe_code = \"allow\"\n"), 2);
    }
}
