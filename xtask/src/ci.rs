//! Everything that must hold before a change goes in, cheapest first.
//!
//! All steps run even if one fails, so one run tells all there is to mend.

use crate::cargo::{cargo, passes};
use crate::postgres::Postgres;
use crate::report::{Report, Tally};
use crate::workspace::{PREFIX, Workspace};
use crate::{alone, api, docs, failover, git_internal, layers, test, tidy, under_dbos};

/// Runs all steps. `tested` is the log of a `cargo xtask test` that ran before, whose closing line then stands for the step.
pub(crate) fn run(workspace: &Workspace, postgres: &mut Postgres, report: &mut Report, tested: Option<&str>) {
    report.step("fmt", || fmt(workspace));
    report.step("tidy", || tidy::run(workspace));
    report.step("layers", || layers::run(workspace));
    report.step("links", || docs::links(workspace));
    report.step("clippy", || clippy(workspace));
    // Doctests are part of `test`, so `docs::doctests` would only run them again.
    match tested {
        None => {
            report.step("test", || test::run(workspace, postgres, &test::Packages::All, &[]));
            failover::briefly(workspace, report);
        }
        Some(log) => {
            let text = std::fs::read(log).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            // A log without a closing line is one of a run that broke off.
            let tally = test::closing_line(&text).unwrap_or_else(|| Tally::of(false));
            report.ran_before("test", tally, test::failures(&text));
        }
    }
    report.step("rustdoc", || docs::rustdoc(workspace));
    report.step("api", || api::run(workspace, &workspace.crates, api::Mode::Compare));
    report.step("alone", || alone::run(workspace, postgres, &workspace.crates, true));
    report.step("package", || package(workspace, false));
}

fn fmt(workspace: &Workspace) -> Result<Tally, String> {
    let mut sum = Tally::of(passes(&mut cargo(workspace, ["fmt", "--all", "--check"]))?);
    for folder in ["xtask/api", git_internal::FOLDER, under_dbos::FOLDER] {
        let manifest = format!("{folder}/Cargo.toml");
        sum += Tally::of(passes(&mut cargo(workspace, ["fmt", "--manifest-path", &manifest, "--check"]))?);
    }
    Ok(sum)
}

/// The package beside git-internal is left out: clippy would check git-internal's 170 crates in a build of their own,
/// beside the one that its tests need. By hand: `cargo clippy --manifest-path tests/git-internal/Cargo.toml`.
fn clippy(workspace: &Workspace) -> Result<Tally, String> {
    let call =
        ["clippy", "--quiet", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
    Ok(Tally::of(passes(&mut cargo(workspace, call))?))
}

/// Packs each crate as for publication, and with `builds` also builds each from its packed files.
///
/// That build takes minutes and compiles every dependency once more, so `ci` goes without it; most of what it would find
/// (files outside the package, edges without a version) `tidy` and cargo's own checks find as well.
pub(crate) fn package(workspace: &Workspace, builds: bool) -> Result<Tally, String> {
    let [tests, disk] = ["tests", "disk"].map(|name| format!("{PREFIX}{name}"));
    let mut call = vec!["package", "--quiet", "--workspace"];
    call.extend(["--exclude", "xtask", "--exclude", &tests, "--exclude", &disk]);
    let flags: &[&str] = if builds { &["--allow-dirty"] } else { &["--allow-dirty", "--no-verify"] };
    passes(&mut cargo(workspace, call.iter().chain(flags))).map(Tally::of)
}
