//! Logs that earlier versions have written, cut off at every write, are read and continued.
//!
//! `old_logs/VERSION/SCENE.jsonl` has one session as that version has written it: the scene, the export of its log, and one line
//! for each write, with how the folder and the inbox were right before it. `old_logs/VERSION/SCENE.txt` has what became of the
//! session where a version took it up at each of these writes, lost or kept, and did the rest of the scene: that of the version
//! that has added the log. `old_logs/now.txt` has what the scenes come to now, and the records of each batch.
//! `OLD_LOGS=FOLDER` writes the logs of the version that runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use expect_test::{expect, expect_file};
use serde::{Deserialize, Serialize};
use trunkline_runtime::message_tree::{Entry, NodeId, Timestamp, notation};
use trunkline_runtime::session_store::{
    Batch, InboxId, MemoryStore, NewSession, Position, Record, SessionId, SessionStore, export, import,
};

use crate::kills::{Mortal, Witness};
use crate::old_folder::{Disk, Folder};
use crate::old_scenes::{Scene, act, scenes};

/// A session as it was written.
#[derive(Clone, Debug, PartialEq)]
struct Life {
    scene: Scene,
    /// The export of its log.
    log: String,
    writes: Vec<Write>,
}

/// One batch, and how everything was right before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Write {
    /// In which act.
    act: usize,
    /// How many records there were, and how many with it.
    before: u64,
    after: u64,
    /// The letters that were not read, and those of them that it consumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    inbox: Vec<Posted>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    consumed: Vec<u64>,
    disk: Disk,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Posted {
    id: u64,
    kind: String,
    body: String,
}

/// Writes down what is written.
struct Clerk {
    folder: Folder,
    now: Mutex<(usize, Vec<Posted>)>,
    writes: Mutex<Vec<Write>>,
}

impl Witness for Clerk {
    fn batch(&self, batch: &Batch) {
        let mut now = self.now.lock().unwrap();
        let consumed: Vec<u64> = batch.consumed.iter().map(|letter| letter.0).collect();
        self.writes.lock().unwrap().push(Write {
            act: now.0,
            before: batch.expected_seq,
            after: batch.expected_seq + batch.records.len() as u64,
            inbox: now.1.clone(),
            consumed: consumed.clone(),
            disk: self.folder.0.lock().unwrap().clone(),
        });
        now.1.retain(|letter| !consumed.contains(&letter.id));
    }

    fn letter(&self, id: InboxId, kind: &str, body: &str) {
        let letter = Posted { id: id.0, kind: kind.to_owned(), body: body.to_owned() };
        self.now.lock().unwrap().1.push(letter);
    }
}

/// Lives a scene and writes it down.
async fn live(scene: &Scene) -> (Life, String) {
    let folder = Folder(Arc::new(Mutex::new(scene.disk())));
    let clerk = Arc::new(Clerk { folder: folder.clone(), now: Mutex::default(), writes: Mutex::default() });
    let kept = Arc::new(MemoryStore::new());
    let store: Arc<dyn SessionStore> = Arc::new(Mortal::witnessed(kept.clone(), clerk.clone()));
    let agent = scene.agent(&folder, 0);
    let mut session = agent.start(store.clone(), "kept", None).await.unwrap();
    let mut told = String::new();
    for (number, words) in scene.acts.iter().enumerate() {
        clerk.now.lock().unwrap().0 = number;
        let came = act(&mut session, (scene, &store, &folder), words).await;
        told += &format!("{words}: {came}\n");
    }
    let mut log = Vec::new();
    export(kept.as_ref(), session.id(), &mut log).await.unwrap();
    let writes = clerk.writes.lock().unwrap().clone();
    (Life { scene: scene.clone(), log: String::from_utf8(log).unwrap(), writes }, told)
}

impl Life {
    fn print(&self) -> String {
        let mut lines = format!("{}\n{}", serde_json::to_string(&self.scene).unwrap(), self.log);
        let mut disk = serde_json::Value::Null;
        for write in &self.writes {
            let mut line = serde_json::to_value(write).unwrap();
            let before = std::mem::replace(&mut disk, line["disk"].clone());
            if line["disk"] == before {
                line["disk"] = serde_json::Value::Null;
            }
            lines += &format!("{line}\n");
        }
        lines
    }

    fn parse(text: &str) -> Self {
        let (scene, rest) = text.split_once('\n').unwrap();
        let is_write = |line: &&str| line.starts_with("{\"act\":");
        let log = rest.lines().take_while(|line| !is_write(line)).map(|line| format!("{line}\n")).collect();
        let mut disk = serde_json::Value::Null;
        let mut writes = Vec::new();
        for line in rest.lines().filter(is_write) {
            let mut write: serde_json::Value = serde_json::from_str(line).unwrap();
            if !write["disk"].is_null() {
                disk = write["disk"].clone();
            }
            write["disk"] = disk.clone();
            writes.push(serde_json::from_value(write).unwrap());
        }
        Life { scene: serde_json::from_str(scene).unwrap(), log, writes }
    }

    /// Returns what becomes of the session if it is taken up at each of its writes, the same said once.
    async fn ends(&self) -> String {
        let whole = MemoryStore::new();
        let id = import(&whole, self.log.as_bytes()).await.unwrap().remove(0).id;
        let log = whole.load(&id).await.unwrap();
        let records: Vec<Record> = log.records.into_iter().map(|(_, record)| record).collect();
        let mut ends: Vec<(String, Vec<String>)> = Vec::new();
        for (number, write) in self.writes.iter().enumerate() {
            for (kept, mark) in [(false, "lost"), (true, "kept")] {
                let end = self.end(&id, &records, (write, kept)).await;
                let name = format!("{number} {mark}");
                match ends.iter_mut().find(|(known, _)| *known == end) {
                    Some((_, names)) => names.push(name),
                    None => ends.push((end, vec![name])),
                }
            }
        }
        let told = ends.into_iter().map(|(end, names)| format!("== {}\n{end}", names.join(", ")));
        told.collect::<Vec<_>>().join("\n")
    }

    /// Returns the records of each write, by what they are.
    fn batches(&self) -> String {
        let kind = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let words = ["entry", "kind"].map(|field| line[field].as_str().unwrap_or_default().to_owned());
            let [entry, kind] = words;
            if entry == "note" { kind } else { entry }
        };
        let kinds: Vec<String> =
            self.log.lines().filter(|line| line.starts_with("{\"seq\"")).map(kind).collect();
        let batch = |write: &Write| kinds[write.before as usize..write.after as usize].join(" ") + "\n";
        self.writes.iter().map(batch).collect()
    }

    /// Takes the session up as the death of its process at a write has left it, and does the rest of the scene.
    async fn end(&self, id: &SessionId, records: &[Record], (write, kept): (&Write, bool)) -> String {
        let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
        let mut records = records[..if kept { write.after } else { write.before } as usize].to_vec();
        let Record::Entry(root @ Entry::Node { at, .. }) = records.remove(0) else { panic!("no root") };
        let new = NewSession { id: id.clone(), title: "kept".to_owned(), workspace: None, at, root };
        store.create(new).await.unwrap();
        let lease = store.lease(id).await.unwrap();
        store.append(&lease, Batch::new(Position { seq: 1, head: NodeId::ROOT }, records)).await.unwrap();
        for letter in &write.inbox {
            if !(kept && write.consumed.contains(&letter.id)) {
                store.post(id, &letter.kind, &letter.body, Timestamp(1)).await.unwrap();
            }
        }
        // Nobody hangs in it any more.
        let mut disk = write.disk.clone();
        disk.hangs.clear();
        let folder = Folder(Arc::new(Mutex::new(disk)));
        let begins = if self.scene.has("soon") { 1_000 } else { 1_000_000 };
        let agent = self.scene.agent(&folder, begins);
        // Whoever had it may be alive, or is known to be gone.
        let mut session = if self.scene.has("taken") {
            agent.take_over(store.clone(), id).await.unwrap()
        } else {
            drop(lease);
            agent.open(store.clone(), id).await.unwrap()
        };
        let rest = self.scene.acts[write.act + 1..].iter().map(String::as_str);
        let mut told = String::new();
        for words in std::iter::once("resume").chain(rest) {
            let came = act(&mut session, (&self.scene, &store, &folder), words).await;
            told += &format!("{words}: {came}\n");
        }
        store.verify(id).await.unwrap();
        told += &folder.0.lock().unwrap().told();
        told += &notation::print_tree(session.tree());
        let proposals = session.proposals().iter().map(|entry| format!("{} {}\n", entry.id, entry.state));
        told.extend(proposals);
        let rules = session.rules().iter();
        let rules =
            rules.map(|rule| format!("{:?} {} used {}\n", rule.id, rule.counts(2_000_000), rule.used));
        told.extend(rules);
        let names = session.names().all(session.tree());
        told.extend(names.map(|(name, kind, node)| format!("{} is a {kind} at {node}\n", name.as_str())));
        let notes = session.notes().iter().map(|note| format!("note {} {:?}\n", note.anchor, note.summary));
        told.extend(notes);
        // Runs of one batch have names that are made up in no order.
        let mut verdicts: Vec<String> =
            session.decisions().iter().map(|decision| format!("verdict {}\n", decision.verdict())).collect();
        verdicts.sort();
        told.extend(verdicts);
        for letter in store.inbox(id).await.unwrap() {
            told += &format!("unread: {}\n", letter.kind);
        }
        let short = |line: &str| line.chars().take(160).collect::<String>() + "\n";
        without_names(&told).lines().map(short).collect()
    }
}

/// Puts `#` in place of what is made up each time: names of runs, commits and digests.
fn without_names(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_hexdigit() || c == '-';
    let mut cleaned = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_part) {
        let (before, from) = rest.split_at(at);
        let (name, after) = from.split_at(from.find(|c| !is_part(c)).unwrap_or(from.len()));
        cleaned += before;
        cleaned += if name.len() < 32 { name } else { "#" };
        rest = after;
    }
    cleaned + rest
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old_logs")
}

/// Checks all that a version has written, and returns the kinds of notes in it.
async fn check(version: &str) -> String {
    let mut kinds = BTreeMap::<String, BTreeSet<String>>::new();
    let entries = std::fs::read_dir(folder().join(version)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|name| name == "jsonl")) {
        let life = Life::parse(&std::fs::read_to_string(path).unwrap());
        expect_file![path.with_extension("txt")].assert_eq(&life.ends().await);
        for line in life.log.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            if let (Some(layer), Some(kind)) = (line["layer"].as_str(), line["kind"].as_str()) {
                kinds.entry(layer.to_owned()).or_default().insert(kind.to_owned());
            }
        }
    }
    let line = |(layer, kinds): (String, BTreeSet<String>)| {
        format!("{layer}: {}\n", kinds.into_iter().collect::<Vec<_>>().join(" "))
    };
    kinds.into_iter().map(line).collect()
}

#[tokio::test(start_paused = true)]
async fn logs_of_ede4db3_go_on() {
    expect![[r#"
        decision: based binding bound decided deciding evidence finding leased left look opened patch_set restoring run
        resolve: choices distrusted event gated kept preimage resolving rule standing told untold
        revert: break cache_miss compaction_failed drained merge note proposal summary_asked turn
        runtime: call_finished call_started letter_refused letter_taken
        tree: name
    "#]].assert_eq(&check("ede4db3").await);
}

#[tokio::test(start_paused = true)]
async fn logs_of_c312ed0_go_on() {
    expect![[r#"
        decision: based binding bound decided deciding evidence finding leased left look opened patch_set restoring run
        resolve: choices distrusted event gated kept preimage resolving rule standing told untold
        revert: break cache_miss compaction_failed drained merge note proposal summary_asked turn
        runtime: answer_unread asked attempt call_finished call_started letter_refused letter_taken service window written_under
        tree: name
    "#]].assert_eq(&check("c312ed0").await);
}

#[tokio::test(start_paused = true)]
async fn what_this_version_writes_is_written_down_and_read() {
    let mut all = String::new();
    for scene in scenes() {
        let (life, told) = live(&scene).await;
        assert_eq!(Life::parse(&life.print()), life);
        all += &format!("== {}\n{told}-- batches\n{}\n", scene.name, life.batches());
        if let Some(folder) = std::env::var_os("OLD_LOGS") {
            std::fs::write(Path::new(&folder).join(format!("{}.jsonl", scene.name)), life.print()).unwrap();
        }
    }
    expect_file![folder().join("now.txt")].assert_eq(&without_names(&all));
}
