//! Where servers and clients are: one loopback, or a network for members and one for clients.
//!
//! In namespaces each node has a wire to both networks, and either can be pulled: then packets vanish, and no connection
//! hears of it. In the middle stand etcd, which is on the network of members, and HAProxy and the clients on the other.

use std::process::Command;

use crate::cargo::text_of;

/// What a namespace needs of `unshare`: all that was started in it ends with its first process, and that with `unshare`.
pub(super) const UNSHARED: [&str; 6] =
    ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// How many nodes there are.
pub(super) const NODES: usize = 3;

/// Where everything is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Everything on 127.0.0.1.
    Loopback,
    /// A network namespace for each node, and one in the middle.
    Namespaces,
}

/// Which wires of a node are pulled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The network of etcd and replication.
    Members,
    /// The network of HAProxy and clients.
    Clients,
}

impl Side {
    pub(super) const BOTH: [Side; 2] = [Side::Members, Side::Clients];

    fn letter(self) -> char {
        match self {
            Side::Members => 'm',
            Side::Clients => 'c',
        }
    }

    fn number(self) -> usize {
        match self {
            Side::Members => 1,
            Side::Clients => 2,
        }
    }
}

impl Layout {
    /// Returns what can be had on this machine.
    pub(super) fn here() -> Layout {
        let mut try_it = Command::new("unshare");
        try_it.args(UNSHARED).args([
            "sh",
            "-c",
            "ip link add name one type veth peer name two && mount -t tmpfs tmpfs /run",
        ]);
        if text_of(&mut try_it).is_ok() { Layout::Namespaces } else { Layout::Loopback }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Layout::Loopback => "loopback",
            Layout::Namespaces => "namespaces",
        }
    }

    pub(super) fn read(word: &str) -> Option<Layout> {
        [Layout::Loopback, Layout::Namespaces].into_iter().find(|layout| layout.name() == word)
    }

    /// The address of a node on one side; node 0 is the middle.
    pub(super) fn address(self, node: usize, side: Side) -> String {
        match self {
            Layout::Loopback => "127.0.0.1".to_owned(),
            Layout::Namespaces => format!("10.83.{}.{}", side.number(), 10 + node),
        }
    }

    /// The addresses that may connect to a node.
    pub(super) fn allowed(self) -> [String; 2] {
        match self {
            Layout::Loopback => ["127.0.0.1/32".to_owned(), "127.0.0.1/32".to_owned()],
            Layout::Namespaces => Side::BOTH.map(|side| format!("10.83.{}.0/24", side.number())),
        }
    }

    /// Where a server of a node listens.
    pub(super) fn listens(self) -> &'static str {
        match self {
            Layout::Loopback => "127.0.0.1",
            Layout::Namespaces => "0.0.0.0",
        }
    }

    /// Lays the wires.
    pub(super) fn build(self) -> Result<(), String> {
        if self == Layout::Loopback {
            return Ok(());
        }
        // Names of namespaces are files; these go with our mounts.
        text_of(Command::new("mount").args(["-t", "tmpfs", "tmpfs", "/run"]))?;
        ip("link set dev lo up")?;
        for side in Side::BOTH {
            let letter = side.letter();
            ip(&format!("link add name {letter}0 type bridge"))?;
            ip(&format!("addr add {}/24 dev {letter}0", self.address(0, side)))?;
            ip(&format!("link set dev {letter}0 up"))?;
        }
        for node in 1..=NODES {
            ip(&format!("netns add n{node}"))?;
            ip(&format!("-n n{node} link set dev lo up"))?;
            for side in Side::BOTH {
                let letter = side.letter();
                ip(&format!("link add name {letter}{node} type veth peer name {letter} netns n{node}"))?;
                ip(&format!("link set dev {letter}{node} master {letter}0 up"))?;
                ip(&format!("-n n{node} addr add {}/24 dev {letter}", self.address(node, side)))?;
                ip(&format!("-n n{node} link set dev {letter} up"))?;
            }
        }
        Ok(())
    }

    /// The words before those of a node's server.
    pub(super) fn prefix(self, node: usize) -> Vec<String> {
        match self {
            Layout::Loopback => Vec::new(),
            Layout::Namespaces => ["ip", "netns", "exec", &format!("n{node}")].map(str::to_owned).to_vec(),
        }
    }

    /// Pulls wires of a node, or puts them back.
    pub(super) fn plug(self, node: usize, sides: &[Side], on: bool) -> Result<(), String> {
        let state = if on { "up" } else { "down" };
        sides.iter().try_for_each(|side| ip(&format!("link set dev {}{node} {state}", side.letter())))
    }
}

fn ip(words: &str) -> Result<(), String> {
    text_of(Command::new("ip").args(words.split(' '))).map(drop)
}
