//! A server of one's own, for tests that stop it or change how it is set up.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use trunkline_session_store::PostgresOptions;

use super::skipped;

const CLUSTER: &str = "TRUNKLINE_TEST_POSTGRES_CLUSTER";

/// A server that ends with us.
pub(super) struct Cluster {
    script: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    pub(super) url: String,
}

impl Cluster {
    /// Starts one, or says loudly that it cannot.
    pub(super) fn start() -> Option<Self> {
        let Some(script) = std::env::var_os(CLUSTER).filter(|script| !script.is_empty()) else {
            skipped(CLUSTER);
            return None;
        };
        let mut command = Command::new("sh");
        command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut script = command.spawn().expect("the script can be started");
        let commands = script.stdin.take();
        let mut answers = BufReader::new(script.stdout.take().expect("it is piped"));
        let mut url = String::new();
        answers.read_line(&mut url).expect("it answers");
        assert!(url.starts_with("postgres://"), "the cluster did not start");
        Some(Cluster { script, commands, answers, url: url.trim().to_owned() })
    }

    pub(super) fn tell(&mut self, command: &str) {
        let commands = self.commands.as_mut().expect("it takes commands");
        writeln!(commands, "{command}").and_then(|()| commands.flush()).expect("it listens");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("it answers");
        assert_eq!(answer.trim(), "ok", "{command}");
    }

    pub(super) fn options(&self) -> PostgresOptions {
        PostgresOptions::new(&self.url)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.commands = None;
        let _ = self.script.wait();
    }
}
