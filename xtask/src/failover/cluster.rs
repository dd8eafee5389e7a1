//! The servers of a cluster, what they are told, and who of them leads.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::health::{self, Member};
use super::network::{Layout, NODES, Side};
use super::node::Node;
use super::options::Mode;
use super::process::{self, Servers};

/// Patroni's lock lasts so long in seconds: a node that is silent for longer has lost its part as the leader.
pub(super) const TTL: u64 = 5;

/// A cluster that is not whole by then never will be, even on a machine with other things to do.
const STARTS: Duration = Duration::from_secs(60);

/// A cluster that runs. It ends with its processes.
pub(super) struct Cluster {
    pub(super) nodes: Vec<Node>,
    folder: PathBuf,
    layout: Layout,
    mode: Mode,
    ports: Ports,
    password: String,
    others: Vec<Child>,
}

/// The first of the ports; on the loopback all have their own.
#[derive(Clone, Copy)]
struct Ports(usize);

impl Ports {
    fn etcd(self) -> [usize; 2] {
        [self.0, self.0 + 1]
    }

    fn rest(self, node: usize) -> usize {
        self.0 + 10 + node
    }

    fn postgres(self, node: usize) -> usize {
        self.0 + 20 + node
    }

    fn proxy(self) -> usize {
        self.0 + 30
    }

    /// Takes ports below those that systems give to outgoing connections.
    fn free(layout: Layout) -> Result<Ports, String> {
        let taken = |port: usize| {
            let port = u16::try_from(port).unwrap_or_default();
            TcpListener::bind(("127.0.0.1", port)).is_err()
        };
        let begin = std::process::id() as usize * 31;
        let candidates = (0..200).map(|step| Ports(20_000 + (begin + step * 37) % 11_900));
        let fits =
            |ports: &Ports| layout == Layout::Namespaces || !(0..=30).any(|step| taken(ports.0 + step));
        candidates.into_iter().find(fits).ok_or_else(|| "no free ports on 127.0.0.1".to_owned())
    }
}

impl Cluster {
    /// Starts all servers and waits until every node follows the leader.
    pub(super) fn start(folder: &Path, layout: Layout, mode: Mode) -> Result<Cluster, String> {
        let servers = Servers::of_this_machine()?;
        let mut cluster = Cluster {
            nodes: Vec::new(),
            folder: folder.to_owned(),
            layout,
            mode,
            ports: Ports::free(layout)?,
            password: random()?,
            others: Vec::new(),
        };
        cluster.start_etcd(&servers)?;
        for number in 1..=NODES {
            let folder = folder.join(format!("n{number}"));
            servers.folder(&folder)?;
            let settings = folder.join("patroni.yml");
            write(&settings, &cluster.patroni(number, &folder)?)?;
            servers.own(&settings)?;
            let mut words = layout.prefix(number);
            words.extend(servers.prefix());
            words.extend(["patroni".to_owned(), settings.display().to_string()]);
            cluster.nodes.push(Node::start(number, folder, words)?);
        }
        cluster.start_proxy(&servers)?;
        cluster.wait(STARTS).ok_or_else(|| format!("the cluster did not start:\n{}", cluster.said()))?;
        Ok(cluster)
    }

    fn start_etcd(&mut self, servers: &Servers) -> Result<(), String> {
        let folder = self.folder.join("etcd");
        servers.folder(&folder)?;
        let address = self.layout.address(0, Side::Members);
        let [clients, peers] = self.ports.etcd().map(|port| format!("http://{address}:{port}"));
        let mut words = servers.prefix();
        words.push("etcd".to_owned());
        words.extend(["--data-dir".to_owned(), folder.join("data").display().to_string()]);
        words.extend([
            "--listen-client-urls".to_owned(),
            clients.clone(),
            "--advertise-client-urls".to_owned(),
            clients,
        ]);
        words.extend(["--listen-peer-urls".to_owned(), peers.clone()]);
        words.extend(["--initial-advertise-peer-urls".to_owned(), peers.clone()]);
        words.extend(["--initial-cluster".to_owned(), format!("default={peers}")]);
        self.others.push(process::start(&words, &folder, &self.folder.join("etcd.log"))?);
        Ok(())
    }

    fn start_proxy(&mut self, servers: &Servers) -> Result<(), String> {
        let folder = self.folder.join("haproxy");
        servers.folder(&folder)?;
        let settings = folder.join("haproxy.cfg");
        let bind = format!("{}:{}", self.layout.address(0, Side::Clients), self.ports.proxy());
        let mut text = format!("{PROXY}    bind {bind}\n");
        for node in 1..=NODES {
            let (address, port) = (self.layout.address(node, Side::Clients), self.ports.postgres(node));
            let rest = self.ports.rest(node);
            text.push_str(&format!("    server n{node} {address}:{port} check port {rest}\n"));
        }
        write(&settings, &text)?;
        servers.own(&settings)?;
        let program = process::find("haproxy").ok_or("no haproxy")?;
        let mut words = servers.prefix();
        words.extend([program.display().to_string(), "-f".to_owned(), settings.display().to_string()]);
        self.others.push(process::start(&words, &folder, &self.folder.join("haproxy.log"))?);
        Ok(())
    }

    /// The settings of one node's Patroni.
    fn patroni(&self, node: usize, folder: &Path) -> Result<String, String> {
        let binaries = crate::postgres::binaries()?.ok_or("no PostgreSQL server")?;
        let allowed: String = self
            .layout
            .allowed()
            .iter()
            .flat_map(|from| {
                [format!("host all all {from} password"), format!("host replication all {from} password")]
            })
            .map(|line| format!("  - {line}\n"))
            .collect();
        let words = [
            ("NODE", node.to_string()),
            ("LISTENS", self.layout.listens().to_owned()),
            ("ADDRESS", self.layout.address(node, Side::Members)),
            ("REST", self.ports.rest(node).to_string()),
            ("PORT", self.ports.postgres(node).to_string()),
            ("ETCD", format!("{}:{}", self.layout.address(0, Side::Members), self.ports.etcd()[0])),
            ("SYNCHRONOUS", (self.mode == Mode::Sync).to_string()),
            ("TTL", TTL.to_string()),
            ("FOLDER", folder.display().to_string()),
            ("BINARIES", binaries.display().to_string()),
            ("PASSWORD", self.password.clone()),
            ("ALLOWED\n", allowed),
        ];
        Ok(words
            .iter()
            .fold(PATRONI.to_owned(), |text, (word, value)| text.replace(&format!("%{word}"), value)))
    }

    /// The URL that leads to the primary through HAProxy.
    pub(super) fn proxy_url(&self) -> String {
        let address = self.layout.address(0, Side::Clients);
        self.url(&format!("{address}:{}", self.ports.proxy()), "sslmode=disable")
    }

    /// The URL that names all nodes.
    pub(super) fn hosts_url(&self) -> String {
        let hosts: Vec<String> = (1..=NODES).map(|node| self.host(node)).collect();
        self.url(&hosts.join(","), "sslmode=disable&target_session_attrs=read-write")
    }

    /// The URL of one node.
    pub(super) fn node_url(&self, node: usize) -> String {
        self.url(&self.host(node), "sslmode=disable")
    }

    fn host(&self, node: usize) -> String {
        format!("{}:{}", self.layout.address(node, Side::Clients), self.ports.postgres(node))
    }

    fn url(&self, hosts: &str, parameters: &str) -> String {
        format!("postgres://trunkline:{}@{hosts}/postgres?{parameters}", self.password)
    }

    /// Waits until the cluster is whole, and returns the leader's number; nothing if that takes too long.
    pub(super) fn wait(&mut self, patience: Duration) -> Option<usize> {
        let start = Instant::now();
        while start.elapsed() < patience {
            if let Some(leader) = self.whole() {
                return Some(leader);
            }
            self.nodes.iter_mut().for_each(Node::keep_alive);
            sleep(Duration::from_millis(200));
        }
        None
    }

    fn whole(&self) -> Option<usize> {
        let members = self.members()?;
        health::whole(&members, NODES, self.mode == Mode::Sync).and_then(number)
    }

    fn members(&self) -> Option<Vec<Member>> {
        self.nodes.iter().find_map(|node| {
            let answers = !node.is_down();
            answers.then(|| health::members(&self.rest(node.number)))?
        })
    }

    /// How all nodes are, in a line.
    pub(super) fn told(&self) -> String {
        let members = self.members().unwrap_or_default();
        let words = members.iter().map(|member| {
            format!("{} {} {} timeline {}", member.name, member.role, member.state, member.timeline)
        });
        words.collect::<Vec<String>>().join(", ")
    }

    fn rest(&self, node: usize) -> String {
        format!("{}:{}", self.layout.address(node, Side::Clients), self.ports.rest(node))
    }

    /// Asks the leader to hand over in order.
    pub(super) fn hand_over(&self, leader: usize) -> bool {
        let body = format!("{{\"leader\": \"n{leader}\"}}");
        health::ask(&self.rest(leader), "POST", "/switchover", &body).is_some()
    }

    /// Pulls wires of a node, or puts them back.
    pub(super) fn plug(&self, node: usize, sides: &[Side], on: bool) -> Result<(), String> {
        self.layout.plug(node, sides, on)
    }

    /// Whether wires can be pulled.
    pub(super) fn has_wires(&self) -> bool {
        self.layout == Layout::Namespaces
    }

    /// Ends all servers.
    pub(super) fn end(&mut self) {
        self.nodes.iter_mut().for_each(Node::kill);
        for other in &mut self.others {
            let _ended = other.kill();
            let _status = other.wait();
        }
    }

    /// The last words of all servers, for who must find out why.
    pub(super) fn said(&self) -> String {
        let nodes = self.nodes.iter().map(Node::said);
        let others = ["etcd", "haproxy"].map(|name| last_lines(&self.folder.join(format!("{name}.log"))));
        nodes.chain(others).collect::<Vec<String>>().join("\n")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.end();
    }
}

/// The last lines of a log, under its name.
pub(super) fn last_lines(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(8);
    format!("{}\n{}", log.display(), lines[from..].join("\n"))
}

/// Reads `n2`.
fn number(name: &str) -> Option<usize> {
    name.strip_prefix('n')?.parse().ok()
}

/// A password, since others on this machine can reach a loopback.
fn random() -> Result<String, String> {
    use std::io::Read;
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|error| format!("no random bytes: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// The proxy leads to the node that says that it is the primary, and cuts what leads to another.
const PROXY: &str = "\
global
    maxconn 1000

defaults
    mode tcp
    timeout connect 2s
    timeout client 30m
    timeout server 30m
    timeout check 1s

listen primary
    option httpchk GET /primary
    http-check expect status 200
    default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
";

/// No sockets in the folder of data: `pg_rewind` cannot copy one. A former primary that cannot be rewound is made again from
/// the leader: without that Patroni leaves it where it is for ever.
const PATRONI: &str = "\
scope: trunkline
name: n%NODE
restapi:
  listen: \"%LISTENS:%REST\"
  connect_address: \"%ADDRESS:%REST\"
etcd3:
  hosts: \"%ETCD\"
bootstrap:
  dcs:
    ttl: %TTL
    loop_wait: 1
    retry_timeout: 2
    maximum_lag_on_failover: 1073741824
    primary_start_timeout: 0
    synchronous_mode: %SYNCHRONOUS
    synchronous_mode_strict: %SYNCHRONOUS
    postgresql:
      use_pg_rewind: true
      remove_data_directory_on_rewind_failure: true
      remove_data_directory_on_diverged_timelines: true
      parameters:
        max_connections: 200
        shared_buffers: 32MB
        wal_keep_size: 256MB
        wal_log_hints: \"on\"
  initdb:
  - encoding: UTF8
  - locale: C
  - data-checksums
postgresql:
  listen: \"%LISTENS:%PORT\"
  connect_address: \"%ADDRESS:%PORT\"
  data_dir: %FOLDER/data
  bin_dir: %BINARIES
  pgpass: %FOLDER/pgpass
  authentication:
    superuser: {username: trunkline, password: \"%PASSWORD\"}
    replication: {username: replicator, password: \"%PASSWORD\"}
    rewind: {username: trunkline, password: \"%PASSWORD\"}
  parameters:
    unix_socket_directories: \"\"
  pg_hba:
  - host all all 127.0.0.1/32 password
  - host replication all 127.0.0.1/32 password
%ALLOWED
watchdog:
  mode: \"off\"
";
