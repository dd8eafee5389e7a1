//! A PostgreSQL server of one's own whose flushes take a millisecond more.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::Outcome;
use crate::slow_flush::Library;

/// A server that runs as long as this is held.
pub(crate) struct Cluster {
    script: Child,
    pub(crate) url: String,
}

impl Cluster {
    /// Starts one, if the task runner says how; see "A PostgreSQL for tests" in docs/CONTRIBUTING.md.
    pub(crate) fn start(slow: &Library) -> Outcome<Option<Self>> {
        let Some(script) = std::env::var_os("TRUNKLINE_TEST_POSTGRES_CLUSTER") else { return Ok(None) };
        let mut command = Command::new("sh");
        command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        slow.preload(&mut command);
        let mut cluster = Cluster { script: command.spawn()?, url: String::new() };
        let output = cluster.script.stdout.take().ok_or("the script has an output")?;
        BufReader::new(output).read_line(&mut cluster.url)?;
        cluster.url.truncate(cluster.url.trim_end().len());
        match cluster.url.is_empty() {
            true => Err("the server with slow flushes does not start, see above".into()),
            false => Ok(Some(cluster)),
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // `wait` closes the script's input before it waits; that is what ends the server.
        let _ = self.script.wait();
    }
}
