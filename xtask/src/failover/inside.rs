//! The program that stands beside the servers: it starts them, breaks them by turns, and hears the writers' verdict.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use super::cluster::Cluster;
use super::faults::{Act, Chance, Fault, Whom};
use super::network::{Layout, NODES};
use super::node::Node;
use super::options::{Mode, Options, Through};
use super::process::{below, signal};
use crate::cargo::cannot_start;

/// After so long without a whole cluster its Patroni is started again, and after that the run fails.
const MENDS: Duration = Duration::from_secs(60);

/// The writers end their last calls and read everything. Each of these may meet one more fail-over: of two minutes for the
/// calls, one for the followers, and half a minute for each of the rest.
const READS: Duration = Duration::from_secs(300);

/// What ended a run before its verdict.
enum Trouble {
    /// The servers: nothing is known of what is tested.
    Cluster(String),
    /// Those who write.
    Writers(String),
}

impl From<String> for Trouble {
    fn from(problem: String) -> Self {
        Trouble::Cluster(problem)
    }
}

/// Runs one mode from the words of [`Options::inside`], the writers' program and a folder.
///
/// Patroni itself loses its cluster now and then. Where one fail-over is all that is wanted, a second cluster gets the chance to
/// show it; what the writers say counts at once.
pub(super) fn run(words: &[&str]) -> Result<bool, String> {
    let [words @ .., writers, folder] = words else { return Err("not for people".to_owned()) };
    let (options, layout, mode) = Options::of_inside(words).ok_or("not for people")?;
    end_with_input();
    layout.build()?;
    let attempts = if options.single { 2 } else { 1 };
    let mut problems = Vec::new();
    for _ in 0..attempts {
        match run_once(&options, layout, mode, writers, Path::new(folder)) {
            Ok(passed) => return Ok(passed),
            Err(Trouble::Writers(problem)) => return Err(problem),
            Err(Trouble::Cluster(problem)) => problems.push(problem),
        }
        println!("the cluster broke down: {}", problems.join("\n"));
        empty(Path::new(folder))?;
    }
    Err(problems.join("\n"))
}

/// Removes what a cluster has left.
fn empty(folder: &Path) -> Result<(), String> {
    let cannot = |error| format!("cannot empty {}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(cannot)?;
    }
    Ok(())
}

fn run_once(
    options: &Options,
    layout: Layout,
    mode: Mode,
    writers: &str,
    folder: &Path,
) -> Result<bool, Trouble> {
    let begin = Instant::now();
    let mut cluster = Cluster::start(folder, layout, mode)?;
    say(begin, &format!("{} mode, seed {}: {}", mode.name(), options.seed, cluster.told()));
    let mut writers = Writers::start(writers, &cluster, mode, options)?;
    let naps = (!options.single).then(|| Naps::begin(&writers, options.seed, begin));
    let outcome = breaking(&mut cluster, &mut writers, options, begin);
    if let Some(naps) = naps {
        naps.end();
    }
    let passed = writers.end();
    if outcome.is_err() || !passed {
        println!("{}\n{}", cluster.told(), cluster.said());
    }
    cluster.end();
    outcome.map(|()| passed)
}

/// Breaks nodes until the time is over.
fn breaking(
    cluster: &mut Cluster,
    writers: &mut Writers,
    options: &Options,
    begin: Instant,
) -> Result<(), Trouble> {
    let mut chance = Chance::new(options.seed);
    let end = Instant::now() + Duration::from_secs(60 * options.minutes);
    loop {
        let calm = if options.single { Duration::from_secs(2) } else { chance.between(1500, 5000) };
        sleep(calm);
        writers.check()?;
        let fault =
            if options.single { Fault::single() } else { Fault::draw(&mut chance, cluster.has_wires()) };
        let leader = whole_again(cluster, begin)?;
        let node = match fault.whom {
            Whom::Leader => leader,
            Whom::Standby(which) => {
                let others = (1..=NODES).filter(|node| *node != leader);
                others.into_iter().nth(which as usize).unwrap_or(leader)
            }
        };
        say(begin, &format!("n{node}: {fault}"));
        done_to(cluster, writers, node, leader, &fault)?;
        // What Patroni tells of a node is a moment old.
        sleep(Duration::from_secs(2));
        let leader = whole_again(cluster, begin)?;
        say(begin, &format!("n{leader} leads: {}", cluster.told()));
        if options.single || Instant::now() >= end {
            sleep(Duration::from_secs(2));
            return Ok(());
        }
    }
}

/// Waits for the cluster. Patroni 3.0 may not find its way back after a pause: it holds on to an old number of the key that names the
/// synchronous standby, and says for ever that another one has changed it.
fn whole_again(cluster: &mut Cluster, begin: Instant) -> Result<usize, String> {
    if let Some(leader) = cluster.wait(MENDS) {
        return Ok(leader);
    }
    say(begin, &format!("Patroni is started again: {}", cluster.told()));
    cluster.nodes.iter_mut().try_for_each(Node::restart_patroni)?;
    cluster.wait(MENDS).ok_or_else(|| format!("the cluster does not come back: {}", cluster.told()))
}

fn done_to(
    cluster: &mut Cluster,
    writers: &mut Writers,
    node: usize,
    leader: usize,
    fault: &Fault,
) -> Result<(), Trouble> {
    let place = node - 1;
    let senders = match fault.behind {
        None => Vec::new(),
        Some(behind) => {
            let senders = cluster.nodes[place].hold_back();
            // Those who write once and wait do it now, when it can be lost.
            writers.tell("idle")?;
            sleep(behind);
            senders
        }
    };
    match &fault.act {
        Act::Kill => {
            cluster.nodes[place].kill();
            sleep(fault.lasts);
            Ok(cluster.nodes[place].begin()?)
        }
        Act::Crash => {
            cluster.nodes[place].crash();
            Ok(())
        }
        Act::Pause => {
            cluster.nodes[place].pause();
            sleep(fault.lasts);
            cluster.nodes[place].wake();
            Ok(())
        }
        Act::Cut(sides) => {
            cluster.plug(node, sides, false)?;
            signal("CONT", &senders);
            sleep(fault.lasts);
            Ok(cluster.plug(node, sides, true)?)
        }
        Act::HandOver => {
            writers.tell("idle")?;
            let _asked = cluster.hand_over(leader);
            sleep(Duration::from_secs(3));
            Ok(())
        }
    }
}

/// Stops those writers again and again that have a process of their own, each time for a minute.
struct Naps {
    ends: Sender<()>,
    thread: JoinHandle<()>,
}

/// So long is a client stopped.
const NAP: Duration = Duration::from_secs(60);

impl Naps {
    fn begin(writers: &Writers, seed: u64, begin: Instant) -> Naps {
        let (ends, end) = channel();
        let writers = writers.child.id();
        let thread = spawn(move || {
            let mut chance = Chance::new(seed ^ u64::MAX);
            loop {
                let RecvTimeoutError::Timeout = wait(&end, chance.between(10_000, 40_000)) else { return };
                let client = below(&[writers]);
                signal("STOP", &client);
                say(begin, "the client is stopped for a minute");
                let waited = wait(&end, NAP);
                signal("CONT", &client);
                say(begin, "the client goes on");
                let RecvTimeoutError::Timeout = waited else { return };
            }
        });
        Naps { ends, thread }
    }

    fn end(self) {
        let Naps { ends, thread } = self;
        drop(ends);
        let _ended = thread.join();
    }
}

fn wait(end: &Receiver<()>, time: Duration) -> RecvTimeoutError {
    end.recv_timeout(time).err().unwrap_or(RecvTimeoutError::Disconnected)
}

/// The writers, as a process of their own.
struct Writers {
    child: Child,
    input: Option<ChildStdin>,
}

impl Writers {
    fn start(program: &str, cluster: &Cluster, mode: Mode, options: &Options) -> Result<Writers, String> {
        let (proxy, hosts) = (cluster.proxy_url(), cluster.hosts_url());
        let [one, other] = match options.through {
            Through::Proxy => [&proxy, &proxy],
            Through::Hosts => [&hosts, &hosts],
            Through::Both => [&proxy, &hosts],
        };
        let mut command = Command::new(program);
        command.args([mode.name(), &options.seed.to_string(), &proxy, one, other]);
        command.args((1..=NODES).map(|node| cluster.node_url(node))).stdin(Stdio::piped());
        let mut child = command.spawn().map_err(|error| cannot_start(&command, &error))?;
        let input = child.stdin.take();
        Ok(Writers { child, input })
    }

    fn tell(&mut self, word: &str) -> Result<(), Trouble> {
        let told = self.input.as_mut().map(|input| writeln!(input, "{word}"));
        match told {
            Some(Ok(())) => Ok(()),
            _ => Err(Trouble::Writers("the writers have ended".to_owned())),
        }
    }

    fn check(&mut self) -> Result<(), Trouble> {
        match self.child.try_wait() {
            Ok(Some(status)) => Err(Trouble::Writers(format!("the writers ended with {status}"))),
            _ => Ok(()),
        }
    }

    /// Lets them read everything and judge.
    fn end(&mut self) -> bool {
        self.input = None;
        let start = Instant::now();
        while start.elapsed() < READS {
            if let Ok(Some(status)) = self.child.try_wait() {
                return status.success();
            }
            sleep(Duration::from_millis(50));
        }
        let _ended = self.child.kill();
        println!("FAIL  the writers did not end within {} s", READS.as_secs());
        false
    }
}

impl Drop for Writers {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Ends this program when the one who started it is gone: the script that owns it cleans up.
fn end_with_input() {
    spawn(|| {
        let mut nothing = [0; 64];
        while std::io::stdin().read(&mut nothing).is_ok_and(|count| count > 0) {}
        std::process::exit(1);
    });
}

fn say(begin: Instant, what: &str) {
    println!("{:7.1} s  {what}", begin.elapsed().as_secs_f64());
}
