//! Fail-over for real: three PostgreSQL nodes under Patroni, etcd and HAProxy, writers with leases, and what breaks nodes.
//!
//! The tests have one fail-over in each mode; more is for who asks for it. The cluster lives in namespaces of its own where
//! we are root and may make them, so that a node can be cut off from the others; elsewhere it lives on the loopback, and
//! nothing is cut. A shell script owns it, as it owns the server of the tests: it ends when our end of a pipe closes.

mod cluster;
mod faults;
mod health;
mod inside;
mod network;
mod node;
mod options;
mod process;

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use self::network::Layout;
use self::options::{Mode, Options};
use crate::cargo::{cargo, passes};
use crate::live::counted;
use crate::report::{Report, Tally};
use crate::workspace::Workspace;

/// The example that writes, follows and judges.
const WRITERS: &str = "failover_writers";

/// What has to be installed, with Debian's package of each.
const PROGRAMS: [(&str, &str); 4] =
    [("patroni", "patroni"), ("etcd", "etcd-server"), ("haproxy", "haproxy"), ("setpriv", "util-linux")];

/// One fail-over in each mode, as a part of the tests; where it cannot be, that is said as it is of other servers.
pub(crate) fn briefly(workspace: &Workspace, report: &mut Report) {
    if let Some(missing) = missing() {
        eprintln!("SKIPPING fail-overs: {missing}");
        report.skipped(&format!("fail-overs: {missing}"));
        return;
    }
    report.step("failover", || run(workspace, &["--single"]));
}

/// Runs clusters and breaks them, one cluster for each mode.
pub(crate) fn run(workspace: &Workspace, words: &[&str]) -> Result<Tally, String> {
    let options = Options::read(words)?;
    if let Some(missing) = missing() {
        return Err(missing);
    }
    // As the tests build it, so that it is there after them.
    let call = ["build", "--quiet", "--workspace", "--all-features", "--example", WRITERS];
    if !passes(&mut cargo(workspace, call))? {
        return Err("the writers do not compile".to_owned());
    }
    let writers = workspace.target.join("debug/examples").join(WRITERS);
    let layout = Layout::here();
    if layout == Layout::Loopback {
        println!("no namespaces can be made here: nodes are killed and paused, and none is cut off");
    }
    let mut sum = Tally::default();
    for mode in &options.modes {
        sum += counted(&mut owned(workspace, layout, &options, *mode, &writers)?)?;
    }
    Ok(sum)
}

/// Runs one cluster, as the program that the script owns.
pub(crate) fn inside(words: &[&str]) -> Result<ExitCode, String> {
    let passed = inside::run(words).unwrap_or_else(|problem| {
        println!("FAIL  {problem}");
        false
    });
    Ok(ExitCode::from(u8::from(!passed)))
}

/// The command that owns one cluster.
fn owned(
    workspace: &Workspace,
    layout: Layout,
    options: &Options,
    mode: Mode,
    writers: &PathBuf,
) -> Result<Command, String> {
    let us = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let script = workspace.root.join("xtask/src/failover/owner.sh");
    let mut command = match layout {
        Layout::Loopback => Command::new("sh"),
        Layout::Namespaces => {
            let mut command = Command::new("unshare");
            command.args(network::UNSHARED).arg("sh");
            command
        }
    };
    command
        .arg(script)
        .arg(us)
        .args(["failover", "--inside"])
        .args(options.inside(layout, mode))
        .arg(writers);
    // The pipe that tells the script of our end; it is closed when the command is waited for or dropped.
    command.current_dir(&workspace.root).stdin(Stdio::piped());
    // What kills our group must not kill what cleans up.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    Ok(command)
}

/// What keeps us from starting a cluster.
fn missing() -> Option<String> {
    let mut missing: Vec<&str> = PROGRAMS
        .iter()
        .filter(|(program, _)| process::find(program).is_none())
        .map(|(program, _)| *program)
        .collect();
    if crate::postgres::binaries().ok().flatten().is_none() {
        missing.push("postgres");
    }
    (!missing.is_empty()).then(|| {
        let missing = missing.join(", ");
        format!("not installed: {missing}; Debian has them as patroni, etcd-server, haproxy and postgresql")
    })
}
