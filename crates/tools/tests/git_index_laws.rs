//! Whatever a person does, and wherever a process is killed, the index ends as git's own commit would have left it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use trunkline_agent_traits::{Base, BindingState, Bound, Commits, Deciding, GitBinding, Prepared, Workspace};
use trunkline_tools::GitWorkspace;

use crate::git_binding::{Scene, binding, git};
use crate::scene::block_on;

const FILES: [&str; 4] = ["a.txt", "b.txt", "sub/c.txt", "new.txt"];

/// What a person does.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// Puts something into the index alone.
    Stage { file: usize, what: What },
    /// Writes a file, with something new or as it was before the run.
    Edit { file: usize, back: bool },
    /// Adds a file as it is.
    Add { file: usize },
    /// Announces the new file.
    Intend,
    /// Commits what is staged.
    Commit,
    /// Commits another file than the run's, and nothing else.
    CommitOther,
    /// Goes on on a branch of their own.
    Branch,
    /// Goes back to the first branch.
    Back,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Own,
    AsTheRun,
    Nothing,
}

/// When the process of the run is killed.
#[derive(Debug, Clone, Copy)]
struct Death {
    /// After this call of git, counted from 1.
    call: usize,
    /// Of a transaction over refs only the branch is moved.
    torn: bool,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let file = 0..FILES.len();
    let what = prop_oneof![3 => Just(What::Own), 1 => Just(What::AsTheRun), 1 => Just(What::Nothing)];
    let act = prop_oneof![
        3 => (file.clone(), what).prop_map(|(file, what)| Act::Stage { file, what }),
        2 => (file.clone(), any::<bool>()).prop_map(|(file, back)| Act::Edit { file, back }),
        1 => file.prop_map(|file| Act::Add { file }),
        1 => Just(Act::Intend),
        1 => Just(Act::Commit),
        2 => Just(Act::CommitOther),
        1 => Just(Act::Branch),
        1 => Just(Act::Back),
    ];
    prop::collection::vec(act, 0..4)
}

/// Who works in the repository, and what they have staged: mode and blob, none for a file that is taken out.
struct World {
    scene: Scene,
    staged: BTreeMap<&'static str, Option<String>>,
    texts: u32,
}

impl World {
    fn new() -> Self {
        World { scene: Scene::new(), staged: BTreeMap::new(), texts: 0 }
    }

    fn text(&mut self) -> String {
        self.texts += 1;
        format!("by a person, {}\n", self.texts)
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.scene.root.join(file), text).unwrap();
    }

    fn entry(&self, text: &str) -> String {
        let file = self.scene.home().join("content");
        fs::write(&file, text).unwrap();
        format!("100644 {}", self.scene.git(&format!("hash-object -w {}", file.display())).trim())
    }

    /// Mode and blob in a commit.
    fn entry_in(&self, commit: &str, file: &str) -> Option<String> {
        let line = self.scene.git(&format!("ls-tree {commit} -- {file}"));
        let mut words = line.split([' ', '\t']);
        Some(format!("{} {}", words.next()?, words.nth(1)?))
    }

    /// Mode and blob that a commit would take; a file that is only announced is in none.
    fn entry_in_index(&self, file: &str) -> Option<String> {
        self.entry_in(self.scene.git("write-tree").trim(), file)
    }

    fn stage(&mut self, file: &'static str, entry: Option<String>) {
        match &entry {
            Some(entry) => {
                let entry = entry.replace(' ', ",");
                self.scene.git(&format!("update-index --add --cacheinfo {entry},{file}"));
            }
            None => drop(self.scene.git(&format!("update-index --force-remove -- {file}"))),
        }
        self.has_staged(file, entry);
    }

    fn has_staged(&mut self, file: &'static str, entry: Option<String>) {
        match self.entry_in("HEAD", file) == entry {
            true => self.staged.remove(file),
            false => self.staged.insert(file, entry),
        };
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Stage { file, what } => {
                let entry = match what {
                    What::Own => {
                        let text = self.text();
                        Some(self.entry(&text))
                    }
                    What::AsTheRun => Some(self.entry(&by_the_run(FILES[file]))),
                    What::Nothing => None,
                };
                self.stage(FILES[file], entry);
            }
            Act::Edit { file, back: true } => match FILES[file] {
                "new.txt" => drop(fs::remove_file(self.scene.root.join("new.txt"))),
                file => self.write(file, &before(file)),
            },
            Act::Edit { file, back: false } => {
                let text = self.text();
                self.write(FILES[file], &text);
            }
            Act::Add { file } => {
                if let Ok(text) = fs::read_to_string(self.scene.root.join(FILES[file])) {
                    self.scene.git(&format!("add -- {}", FILES[file]));
                    let entry = self.entry(&text);
                    self.has_staged(FILES[file], Some(entry));
                }
            }
            Act::Intend => {
                let there = self.scene.root.join("new.txt").exists();
                if there && self.entry_in_index("new.txt").is_none() {
                    // Who has taken it out before has still staged that: the next commit is without it.
                    self.scene.git("add -N -- new.txt");
                }
            }
            Act::Commit => {
                self.scene.git("commit -q --allow-empty -m theirs");
                self.staged.clear();
            }
            Act::CommitOther => {
                let text = self.text();
                self.write("b.txt", &text);
                self.scene.git("add -- b.txt");
                self.scene.git("commit -q -m theirs -- b.txt");
                self.staged.remove("b.txt");
            }
            Act::Branch => {
                self.texts += 1;
                self.scene.git(&format!("switch -q -c side-{}", self.texts));
            }
            // Git refuses where files would be lost.
            Act::Back => {
                let mut switch = Command::new("git");
                switch.current_dir(&self.scene.root).args(["switch", "-q", "main"]).stderr(Stdio::null());
                // What the branch has by now is not staged any more, and git leaves it behind with the branch.
                let mut staged = self.staged.clone();
                staged.retain(|file, entry| self.entry_in("HEAD", file) != *entry);
                if switch.status().unwrap().success() {
                    self.staged = staged;
                }
            }
        }
    }

    /// What a run does: it changes one file, takes one away, and makes one.
    fn run(&mut self, between: Vec<Act>) -> Deciding {
        let base = block_on(self.scene.workspace.base()).unwrap();
        self.write("a.txt", &by_the_run("a.txt"));
        self.write("new.txt", &by_the_run("new.txt"));
        let _ = fs::remove_file(self.scene.root.join("sub/c.txt"));
        let tree = block_on(self.scene.workspace.changes(&base, &[])).unwrap().tree.unwrap();
        between.into_iter().for_each(|act| self.act(act));
        announced(base, tree)
    }

    /// Does again what a killed process may have done, as the runtime does; returns the commit.
    fn resume(&self, deciding: &Deciding, prepared: Option<&Prepared>) -> Option<String> {
        let Some(mut prepared) = prepared.cloned() else {
            return block_on(self.scene.workspace.commit(deciding)).unwrap();
        };
        loop {
            let binding = binding(&prepared);
            let begun =
                !matches!(self.scene.state(&binding), BindingState::Neither | BindingState::Elsewhere);
            if begun && matches!(self.scene.bind(&binding), Bound::Done { .. }) {
                return Some(prepared.commit);
            }
            prepared = block_on(self.scene.workspace.write_commit(deciding)).unwrap()?;
            let bound = self.scene.bind(&self::binding(&prepared));
            if matches!(bound, Bound::Done { .. }) {
                return Some(prepared.commit);
            }
        }
    }

    /// What the law says of each file.
    fn check(&self, commit: Option<&str>) {
        for (file, entry) in &self.staged {
            let undo = commit.is_some_and(|commit| self.entry_before(commit, file) == *entry);
            // Who stages a file alone as it was before the commit looks like an index that was not told of it.
            if !undo {
                assert_eq!(self.entry_in_index(file), *entry, "{file} is staged as it was");
            }
        }
        let Some(commit) = commit else { return };
        if !self.says("HEAD", commit) {
            return;
        }
        for file in FILES {
            let (before, after) = (self.entry_before(commit, file), self.entry_in(commit, file));
            let is_theirs = before == after || self.entry_in("HEAD", file) != after;
            if is_theirs || self.staged.contains_key(file) {
                continue;
            }
            let text = fs::read_to_string(self.scene.root.join(file)).ok();
            let undone = text.map(|text| self.entry(&text)) == before;
            if !undone {
                assert_eq!(self.entry_in_index(file), after, "{file} is not shown as changed back");
            }
        }
    }

    fn entry_before(&self, commit: &str, file: &str) -> Option<String> {
        self.entry_in(&format!("{commit}~1"), file)
    }

    /// Whether a commit is another one or comes after it.
    fn says(&self, later: &str, earlier: &str) -> bool {
        let mut git = Command::new("git");
        git.current_dir(&self.scene.root).args(["merge-base", "--is-ancestor", earlier, later]);
        git.status().unwrap().success()
    }
}

fn before(file: &str) -> String {
    format!("{}\n", if file == "sub/c.txt" { "c" } else { &file[..1] })
}

fn by_the_run(file: &str) -> String {
    match file {
        "a.txt" => "by the run\n".to_owned(),
        file => format!("by the run: {file}\n"),
    }
}

const FOLDER: &str = "TRUNKLINE_TEST_COMMITS_IN";

/// Not a test of its own: what is started and killed.
#[test]
fn child_that_commits() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let told = fs::read_to_string(Path::new(&folder).join("../told")).unwrap();
    let told: Vec<Option<String>> = told.lines().map(|line| (line != "-").then(|| line.to_owned())).collect();
    let [commit, tree, after, prepared, branch, from] = told.try_into().unwrap();
    let workspace = GitWorkspace::open(folder).unwrap().unwrap();
    match prepared {
        Some(commit) => {
            block_on(workspace.bind(&binding(&Prepared { commit, branch, from }))).unwrap();
        }
        None => {
            let deciding = announced(Base { commit, tree }, after.unwrap());
            block_on(workspace.commit(&deciding)).unwrap();
        }
    }
}

fn announced(base: Base, tree: String) -> Deciding {
    Deciding {
        run: "01900000-0000-7000-8000-000000000001".to_owned(),
        patch_set: "01900000-0000-7000-8000-000000000003".to_owned(),
        base,
        tree,
        message: "Do the work".to_owned(),
        at: 1_700_000_000_123,
        decision: None,
        made: None,
    }
}

/// Commits in a process that is killed at a call of git; says whether it was.
fn commit_and_die(scene: &Scene, deciding: &Deciding, prepared: Option<&Prepared>, death: Death) -> bool {
    let tools = scene.home().join("tools");
    fs::create_dir_all(&tools).unwrap();
    let real = std::env::var_os("PATH").unwrap();
    let real =
        std::env::split_paths(&real).map(|folder| folder.join("git")).find(|git| git.exists()).unwrap();
    let torn = match death.torn {
        // A transaction ends after the branch; everything else happens.
        true => {
            r#"case "$*" in *update-ref*--stdin*) grep -v -e ^create -e ^option | "$real" "$@"; kill -9 $PPID; exit;; esac"#
        }
        false => "",
    };
    let script = format!(
        "#!/bin/sh\nreal='{}'\n{torn}\necho >>'{calls}'\nif [ \"$(wc -l <'{calls}')\" -eq {} ]; then\n\
         \"$real\" \"$@\" >/dev/null 2>&1; kill -9 $PPID; exit 1\nfi\nexec \"$real\" \"$@\"\n",
        real.display(),
        if death.torn { usize::MAX >> 1 } else { death.call },
        calls = scene.home().join("calls").display(),
    );
    fs::write(tools.join("git"), script).unwrap();
    fs::set_permissions(tools.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(scene.home().join("calls"), "").unwrap();
    let or_none = |text: Option<&String>| text.map_or("-".to_owned(), Clone::clone);
    let told = [
        or_none(deciding.base.commit.as_ref()),
        or_none(deciding.base.tree.as_ref()),
        deciding.tree.clone(),
        or_none(prepared.map(|prepared| &prepared.commit)),
        or_none(prepared.and_then(|prepared| prepared.branch.as_ref())),
        or_none(prepared.and_then(|prepared| prepared.from.as_ref())),
    ];
    fs::write(scene.home().join("told"), told.join("\n")).unwrap();
    let path = std::env::join_paths(
        std::iter::once(tools).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "git_index_laws::child_that_commits"]).env("PATH", path.unwrap());
    let child = child.env(FOLDER, &scene.root).stdout(Stdio::null()).stderr(Stdio::piped());
    let ended = child.output().unwrap();
    let killed = ended.status.signal() == Some(9);
    assert!(killed || ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    killed
}

/// The whole way; says whether the process was killed.
fn story(binds: bool, death: Option<Death>, first: Vec<Act>, between: Vec<Act>, then: Vec<Act>) -> bool {
    let mut world = World::new();
    first.into_iter().for_each(|act| world.act(act));
    let deciding = world.run(between);
    let prepared = match binds {
        true => block_on(world.scene.workspace.write_commit(&deciding)).unwrap(),
        false => None,
    };
    let killed = death.is_some_and(|death| commit_and_die(&world.scene, &deciding, prepared.as_ref(), death));
    then.into_iter().for_each(|act| world.act(act));
    let commit = world.resume(&deciding, prepared.as_ref());
    world.check(commit.as_deref());
    let status = git(&world.scene.root, "status --porcelain=v2");
    world.resume(&deciding, prepared.as_ref());
    assert_eq!(git(&world.scene.root, "status --porcelain=v2"), status, "once more changes nothing");
    killed
}

/// Somebody has staged something, announced a file, and goes on elsewhere after the kill.
#[test]
fn after_a_kill_at_any_call_of_git_the_index_knows_of_the_commit() {
    let first = vec![Act::Edit { file: 3, back: false }, Act::Intend];
    let between = vec![Act::Stage { file: 2, what: What::Own }];
    let then = vec![Act::Branch, Act::CommitOther, Act::Stage { file: 1, what: What::Own }];
    for binds in [false, true] {
        let mut call = 1;
        while story(binds, Some(Death { call, torn: false }), first.clone(), between.clone(), then.clone()) {
            call += 1;
        }
        assert!(call > 15, "it was killed at each of its calls: {call}");
    }
    assert!(story(true, Some(Death { call: 0, torn: true }), first, between, then));
}

/// Somebody has added a run's file themselves, on a branch that they leave after the kill.
#[test]
fn after_a_kill_a_branch_is_left_with_what_was_staged_as_the_run_has_it() {
    let (first, between, then) = (vec![Act::Branch], vec![Act::Add { file: 3 }], vec![Act::Back]);
    let mut call = 1;
    while story(true, Some(Death { call, torn: false }), first.clone(), between.clone(), then.clone()) {
        call += 1;
    }
    assert!(call > 15, "it was killed at each of its calls: {call}");
}

/// What somebody has taken out and then announced is still what they have staged.
#[test]
fn a_file_that_is_taken_out_and_announced_stays_taken_out() {
    let first = vec![Act::Stage { file: 3, what: What::Own }, Act::Commit];
    let taken_out = vec![Act::Stage { file: 3, what: What::Nothing }];
    for binds in [false, true] {
        story(binds, None, first.clone(), taken_out.clone(), vec![Act::Intend]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_shown_as_changed_back_and_what_is_staged_stays(
        binds in any::<bool>(),
        death in prop::option::weighted(0.8, (1_usize..30, prop::bool::weighted(0.1))),
        first in acts(),
        between in acts(),
        then in acts(),
    ) {
        let death = death.map(|(call, torn)| Death { call, torn: torn && binds });
        story(binds, death, first, between, then);
    }
}
