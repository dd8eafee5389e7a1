//! The one task runner of the workspace: what people type and what CI runs.
//!
//! Std-only on purpose: this is the first thing that everyone compiles. What needs a library is a helper
//! package of its own workspace (`xtask/api`), built only when its command is called.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task runner speaks to people and does nothing else"
)]

mod agents;
mod alone;
mod api;
mod bench;
mod cargo;
mod cases;
mod ci;
mod corpora;
mod docs;
mod failover;
mod fuzz;
mod git_internal;
mod lanes;
mod layers;
mod links;
mod live;
mod manifest;
mod new_crate;
mod postgres;
mod power_loss;
mod report;
mod rust_text;
mod test;
mod tidy;
mod under_dbos;
mod workspace;

use std::process::ExitCode;

use postgres::Postgres;
use report::Report;
use workspace::Workspace;

const MENU: &str = "\
cargo xtask COMMAND        the one task runner of the workspace

  ci                       all that CI asks for: fmt, tidy, layers, clippy, test, docs, api, alone, package
  test [CRATE] [-- ARGS]   tests and doctests with all features; ARGS go to the test binaries; without CRATE also
                           `failover --single`
  alone [CRATE]            each crate by itself: linted with no features, default, each feature, all features;
                           its tests and its examples run once
  layers                   edges between our crates and between the rooms of each, and dependencies that must be absent
  tidy                     house rules that no compiler knows
  docs                     rustdoc with warnings denied, doctests, links between files
  api [--bless] [CRATE]    public API of each crate against docs/api/; --bless writes it
  package                  what `cargo publish` would upload, built from it
  bench [CRATE]            release runs of examples/bench_*.rs; a line that says SHORT fails
  corpora [PATH]           every wire over recorded exchanges: answers under random splits, requests written again and
                           compared; without PATH the folder of TRUNKLINE_CORPORA; --splits N for more of them
  cases PATH               each case of a folder against the built command (or TRUNKLINE): holds, or fails and why
  fuzz CRATE --minutes N   the laws of a crate against new cases until the time is over or one breaks
  power-loss               the power cut under SQLite at every moment, and the store's answer to it; --seed N for other
                           lives, --minutes N for more of them
  failover                 PostgreSQL under Patroni, etcd and HAProxy: nodes are killed, paused and cut off under writers;
                           --seed N, --minutes M, --mode sync|async, --through proxy|hosts|both; --single: one each mode
  agents [AGENT...]        the real programs of other agents, from the npm registry, judge what is read and written of their
                           sessions; a scripted server plays the model
  live                     the agent loop against a small local model that is fetched from package registries
  postgres -- COMMAND      any command with the PostgreSQL that tests get
  new-crate NAME           a folder with the shape of the others, and what to do next

CRATE is a folder of crates/ (`sanitize`), `tests` for the cross-crate stories, `disk` for those without power,
`git-internal` for decision objects beside the real crate, or `dbos` for sessions under that engine.
Every command but postgres and new-crate ends with minutes per step and a line `N passed, M failed`.
UPDATE_EXPECT=1 before `test` rewrites the expected texts in the tests.
";

fn main() -> ExitCode {
    if let Some(code) = api::stand_in() {
        return code;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(code) => code,
        Err(problem) => {
            eprintln!("xtask: {problem}");
            ExitCode::from(2)
        }
    }
}

/// Runs one command line. An `Err` is a wrong call or a workspace that cannot be read.
fn run(words: &[&str]) -> Result<ExitCode, String> {
    if let [] | ["help" | "--help" | "-h", ..] = words {
        print!("{MENU}");
        return Ok(ExitCode::SUCCESS);
    }
    let workspace = Workspace::read()?;
    let mut report = Report::default();
    let mut postgres = Postgres::of(&workspace);
    match words {
        ["ci"] => ci::run(&workspace, &mut postgres, &mut report, None),
        ["ci", "--tested", log] => ci::run(&workspace, &mut postgres, &mut report, Some(log)),
        ["test", rest @ ..] => {
            let (name, arguments) = test::words(rest)?;
            let packages = test::Packages::named(&workspace, name)?;
            report.step("test", || test::run(&workspace, &mut postgres, &packages, arguments));
            if matches!(packages, test::Packages::All) {
                failover::briefly(&workspace, &mut report);
            }
        }
        ["alone", name @ ..] => {
            let crates = workspace.chosen(name)?;
            report.step("alone", || alone::run(&workspace, &mut postgres, &crates, false));
        }
        ["layers"] => report.step("layers", || layers::run(&workspace)),
        ["tidy"] => report.step("tidy", || tidy::run(&workspace)),
        ["docs"] => {
            report.step("rustdoc", || docs::rustdoc(&workspace));
            report.step("doctests", || docs::doctests(&workspace));
            report.step("links", || docs::links(&workspace));
        }
        ["api", "--bless", name @ ..] | ["api", name @ .., "--bless"] => {
            let crates = workspace.chosen(name)?;
            report.step("api", || api::run(&workspace, &crates, api::Mode::Bless));
        }
        ["api", name @ ..] => {
            let crates = workspace.chosen(name)?;
            report.step("api", || api::run(&workspace, &crates, api::Mode::Compare));
        }
        ["package"] => report.step("package", || ci::package(&workspace, true)),
        ["bench", name @ ..] => {
            let crates = workspace.chosen(name)?;
            report.step("bench", || bench::run(&workspace, &mut postgres, &crates, !name.is_empty()));
        }
        ["corpora", rest @ ..] => {
            let (folder, rest) = match rest {
                [folder, rest @ ..] if !folder.starts_with('-') => (Some(*folder), rest),
                rest => (None, rest),
            };
            report.step("corpora", || corpora::run(&workspace, folder, rest));
        }
        ["cases", folder] => report.step("cases", || cases::run(&workspace, folder)),
        ["fuzz", name, "--minutes", time] | ["fuzz", "--minutes", time, name] => {
            let time = fuzz::minutes(time)?;
            let one = workspace.named(name)?;
            report.step("fuzz", || fuzz::run(&workspace, &mut postgres, one, time));
        }
        ["fuzz", ..] => {
            return Err("fuzz wants a crate and a time, as in `cargo xtask fuzz sanitize --minutes 5`".into());
        }
        ["power-loss", rest @ ..] => report.step("power-loss", || power_loss::run(&workspace, rest)),
        ["failover", "--inside", rest @ ..] => return failover::inside(rest),
        ["failover", rest @ ..] => report.step("failover", || failover::run(&workspace, rest)),
        ["agents", names @ ..] => report.step("agents", || agents::run(&workspace, names)),
        ["live"] => report.step("live", || live::run(&workspace)),
        ["postgres", "--", program, arguments @ ..] => return postgres.run(program, arguments),
        ["postgres", ..] => {
            return Err(
                "postgres wants a command, as in `cargo xtask postgres -- cargo test -p trunkline-cli`"
                    .into(),
            );
        }
        ["new-crate", name] => return new_crate::run(&workspace, name),
        ["new-crate"] => {
            return Err("new-crate wants a name, as in `cargo xtask new-crate session-view`".into());
        }
        [first, ..] => {
            eprint!("{MENU}");
            return Err(format!("`{first}` with these arguments is not on the menu above"));
        }
        [] => {}
    }
    if let Some(what) = postgres.skipped() {
        report.skipped(what);
    }
    Ok(report.finish())
}
