//! One node: Patroni and the PostgreSQL that it started.
//!
//! Both are killed together and stopped together. A Patroni that sleeps while its PostgreSQL goes on is a broken node of
//! another kind, which no fail-over can be safe from without a watchdog.

use std::fs;
use std::path::PathBuf;
use std::process::Child;

use super::cluster::last_lines;
use super::process::{below, called, signal, start};

/// A node and what runs on it.
pub(super) struct Node {
    pub(super) number: usize,
    folder: PathBuf,
    words: Vec<String>,
    patroni: Option<Child>,
    /// Processes that were stopped, until they are woken.
    stopped: Vec<u32>,
}

impl Node {
    pub(super) fn start(number: usize, folder: PathBuf, words: Vec<String>) -> Result<Node, String> {
        let mut node = Node { number, folder, words, patroni: None, stopped: Vec::new() };
        node.begin()?;
        Ok(node)
    }

    /// Starts Patroni, which starts PostgreSQL.
    pub(super) fn begin(&mut self) -> Result<(), String> {
        self.patroni = Some(start(&self.words, &self.folder, &self.log())?);
        Ok(())
    }

    /// Starts Patroni again and leaves PostgreSQL alone.
    pub(super) fn restart_patroni(&mut self) -> Result<(), String> {
        if let Some(mut patroni) = self.patroni.take() {
            let _ended = patroni.kill();
            let _status = patroni.wait();
        }
        self.begin()
    }

    /// Whether nothing of it answers.
    pub(super) fn is_down(&self) -> bool {
        self.patroni.is_none() || !self.stopped.is_empty()
    }

    /// Starts a Patroni again that has given up by itself.
    pub(super) fn keep_alive(&mut self) {
        let ended = self.patroni.as_mut().is_some_and(|patroni| matches!(patroni.try_wait(), Ok(Some(_))));
        if ended {
            let _told_by_the_next_look = self.begin();
        }
    }

    /// Kills all of it in one moment.
    pub(super) fn kill(&mut self) {
        let processes = self.freeze();
        signal("KILL", &processes);
        self.stopped.clear();
        if let Some(mut patroni) = self.patroni.take() {
            let _status = patroni.wait();
        }
    }

    /// Kills PostgreSQL and leaves Patroni alone.
    pub(super) fn crash(&self) {
        let Some(postmaster) = self.postmaster() else { return };
        signal("STOP", &[postmaster]);
        let mut processes = below(&[postmaster]);
        processes.push(postmaster);
        signal("KILL", &processes);
    }

    /// Stops all of it in one moment.
    pub(super) fn pause(&mut self) {
        self.stopped = self.freeze();
    }

    /// Lets what was stopped go on.
    pub(super) fn wake(&mut self) {
        signal("CONT", &std::mem::take(&mut self.stopped));
    }

    /// Stops what sends to the standbys, so that they fall behind.
    pub(super) fn hold_back(&self) -> Vec<u32> {
        let Some(postmaster) = self.postmaster() else { return Vec::new() };
        let senders = called(&below(&[postmaster]), "walsender");
        signal("STOP", &senders);
        senders
    }

    fn freeze(&mut self) -> Vec<u32> {
        // Those first that start others.
        let mut processes: Vec<u32> = self.patroni.iter().map(Child::id).chain(self.postmaster()).collect();
        signal("STOP", &processes);
        let children = below(&processes);
        signal("STOP", &children);
        processes.extend(children);
        processes
    }

    fn postmaster(&self) -> Option<u32> {
        let file = fs::read_to_string(self.folder.join("data/postmaster.pid")).ok()?;
        let process = file.lines().next()?.trim().parse().ok()?;
        // A file that a kill left behind may name another process by now.
        let name = fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
        (name.trim() == "postgres").then_some(process)
    }

    fn log(&self) -> PathBuf {
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.folder.with_file_name(format!("{name}.log"))
    }

    pub(super) fn said(&self) -> String {
        last_lines(&self.log())
    }
}
