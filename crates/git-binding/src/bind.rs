//! Binding: objects first, then one transaction over the run's ref and the branch.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::{Duration, Instant};

use trunkline_decision_objects::GitOid;

use crate::branch::Target;
use crate::objects::{MAX_BYTES, MAX_DECISION, MAX_FILES, Patch};
use crate::pack::{self, Pack};
use crate::{BindError, Binding, Bound, BranchMove, Link, ObjectFormat, Repository, State, layout};

/// How long a lock is waited for; it is held for milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// The next ref is meant, and not what it may be a link to.
const ITSELF: &str = "option no-deref\n";

/// What a transaction does to refs.
struct Transaction {
    /// A ref that must not be there, and what it will hold.
    create: (String, GitOid),
    /// A branch, where it goes, and where it must be.
    update: Option<(Target, BranchMove)>,
}

impl Repository {
    /// Binds a decision: writes it with all that it rests on, and, in one transaction, creates the run's ref and moves
    /// the branch.
    ///
    /// Either both happen or neither, unless git or the machine dies between the two in a repository that keeps refs as
    /// files: then [`recover`](Self::recover) brings it to its end. Index, worktree and stash stay as they are: who
    /// moves the branch that is checked out sees to the files. The branch's reflog names the decision. Starts three
    /// processes, five with a commit, up to two more for [`Branch::Head`](crate::Branch::Head).
    ///
    /// # Errors
    ///
    /// [`BindError::AlreadyBound`] if the run is bound to another decision, [`BindError::BranchMoved`] if the branch is
    /// not where it is expected; [`BindError::OtherRun`], [`BindError::Grounds`], [`BindError::OtherCommit`] and
    /// [`BindError::TwoOfOneName`] if the parts do not belong together; [`BindError::TooLarge`]; [`BindError::NoSuchObject`], [`BindError::BranchName`], [`BindError::Locked`],
    /// [`BindError::Git`].
    pub fn bind(&self, binding: &Binding) -> Result<Bound, BindError> {
        binding.check()?;
        let reference = layout::reference(binding.run.id());
        let target = self.target_of(binding)?;
        if let Some(already) = self.refused(binding, target.as_ref())? {
            return Ok(already);
        }
        let (tree, link) = self.write(binding, target.as_ref())?;
        let transaction = Transaction {
            create: (reference.clone(), tree),
            update: target.clone().zip(binding.move_branch.clone()).filter(|(_, wanted)| !wanted.stays()),
        };
        match self.commit(&transaction, &note(binding)) {
            Ok(()) => Ok(Bound::Now { reference, link }),
            // Somebody was faster, or something is wrong; the refs say which.
            Err(error) => match self.refused(binding, target.as_ref())? {
                Some(already) => Ok(already),
                None => Err(error),
            },
        }
    }

    /// Creates the run's ref alone, for a branch that was moved already.
    pub(crate) fn bind_only(&self, binding: &Binding, target: Option<&Target>) -> Result<(), BindError> {
        binding.check()?;
        let (tree, _) = self.write(binding, target)?;
        let create = (layout::reference(binding.run.id()), tree);
        self.commit(&Transaction { create, update: None }, &note(binding))
    }

    /// Whether the refs stand in the way: bound already, or the branch was moved.
    fn refused(&self, binding: &Binding, target: Option<&Target>) -> Result<Option<Bound>, BindError> {
        let reference = layout::reference(binding.run.id());
        let mut state = self.state_at(binding, target)?;
        if state == State::BranchOnly {
            // Somebody else may be between the two. Git waits for those who hold the ref, and what it says of it then is
            // asked for anew.
            let look = format!("start\n{ITSELF}verify {reference} {}\nprepare\nabort\n", self.nothing());
            let _ = self.git.run(&["update-ref", "--stdin"], look.as_bytes());
            state = self.state_at(binding, target)?;
        }
        match (state, &binding.move_branch) {
            (State::Neither, _) => Ok(None),
            // Not bound, and yet moved: only a recovery may take that for half of a binding.
            (State::BranchOnly, Some(wanted)) => {
                let branch = target.map_or_else(String::new, |target| target.name.clone());
                let found = target.map(|target| self.place_of(target)).transpose()?.flatten();
                Err(BindError::BranchMoved { branch, expected: wanted.from, found })
            }
            (State::Elsewhere { bound: false, branch, found }, Some(wanted)) => {
                Err(BindError::BranchMoved { branch, expected: wanted.from, found })
            }
            (state, _) => Ok(Some(Bound::Already { reference, state })),
        }
    }

    /// Writes the tree of a binding. Nothing refers to it yet.
    fn write(&self, binding: &Binding, target: Option<&Target>) -> Result<(GitOid, Link), BindError> {
        let link = self.link(binding, target)?;
        let (pack, tree) = pack_of(texts_of(binding, &link)?, self.facts.object_format);
        self.write_objects(&["unpack-objects", "-q"], &pack.print())?;
        Ok((tree, link))
    }

    fn link(&self, binding: &Binding, target: Option<&Target>) -> Result<Link, BindError> {
        let branch = target.and_then(Target::branch);
        let Some(commit) = binding.check()? else { return Ok(Link { branch, ..Link::default() }) };
        let Patch { tree, base, patch_id } = self.patch(commit)?;
        Ok(Link { commit: Some(commit), tree: Some(tree), base, patch_id, branch })
    }

    /// Runs a transaction over refs. A git whose input ends before `commit` changes nothing.
    fn commit(&self, transaction: &Transaction, note: &str) -> Result<(), BindError> {
        let mut commands = String::from("start\n");
        // Files are moved in this order. The branch comes first, so that who finds the decision knows that its branch was
        // moved: whoever finds it where it was before finds what a person did, not what a kill left.
        if let Some((target, BranchMove { from, to, .. })) = &transaction.update {
            // A `HEAD` that somebody has put on a branch meanwhile stays there, and the branch moves.
            let from = from.map_or_else(|| self.nothing(), |from| from.to_string());
            commands.push_str(&format!("update {} {to} {from}\n", target.name));
        }
        let (name, oid) = &transaction.create;
        commands.push_str(&format!("{ITSELF}create {name} {oid}\n"));
        self.transact(commands, note)
    }

    /// Points a ref at an object, if it is where it is expected; `None` is nowhere. A link is replaced, and not followed.
    pub(crate) fn put(
        &self,
        name: &str,
        oid: GitOid,
        expected: Option<GitOid>,
        note: &str,
    ) -> Result<(), BindError> {
        let expected = expected.map_or_else(|| self.nothing(), |expected| expected.to_string());
        self.transact(format!("start\n{ITSELF}update {name} {oid} {expected}\n"), note)
    }

    /// Runs what was begun to its end, and waits for locks.
    fn transact(&self, mut commands: String, note: &str) -> Result<(), BindError> {
        commands.push_str("prepare\ncommit\n");
        let patience = Instant::now() + PATIENCE;
        loop {
            let Err(fault) = self.git.run(&["update-ref", "-m", note, "--stdin"], commands.as_bytes()) else {
                return Ok(());
            };
            if fault.says(".lock'") && fault.says("File exists") {
                return Err(BindError::Locked { said: fault.to_string() }); // git has waited as long
            }
            if !fault.says("cannot lock references") {
                return Err(fault.into());
            }
            // Tables have one lock for all refs, and git 2.47 does not wait for it, nor does it name the file.
            if Instant::now() >= patience {
                let said = format!("{fault}: a tables.list.lock below {:?}", self.common_dir);
                return Err(BindError::Locked { said });
            }
            std::thread::sleep(PATIENCE / 100);
        }
    }

    /// How git spells that a ref must not be there.
    fn nothing(&self) -> String {
        match self.facts.object_format {
            ObjectFormat::Sha1 => GitOid::Sha1([0; 20]).to_string(),
            ObjectFormat::Sha256 => GitOid::Sha256([0; 32]).to_string(),
        }
    }
}

/// What the reflog of the branch says.
pub(crate) fn note(binding: &Binding) -> String {
    format!("trunkline: decision {}", binding.decision.id())
}

/// The files of a binding: those at the top under no folder.
type Texts = BTreeMap<&'static str, BTreeMap<String, String>>;

fn texts_of(binding: &Binding, link: &Link) -> Result<Texts, BindError> {
    let own = [
        (layout::DECISION, binding.decision.print()),
        (layout::LINK, link.print()),
        (layout::RUN, binding.run.print()),
    ];
    if own[0].1.len() as u64 > MAX_DECISION {
        let what = format!("a decision of {} bytes", own[0].1.len());
        return Err(BindError::TooLarge { what, limit: MAX_DECISION });
    }
    let own = own.map(|(name, text)| ("", name.to_owned(), text));
    let patch_sets =
        binding.patch_sets.iter().map(|set| (layout::PATCH_SETS, format!("{}.json", set.id()), set.print()));
    let evidence = binding
        .evidence
        .iter()
        .map(|found| (layout::EVIDENCE, format!("{}.json", found.id()), found.print()));
    let (mut texts, mut count, mut size) = (Texts::new(), 0, 0);
    for (folder, name, text) in own.into_iter().chain(patch_sets).chain(evidence) {
        (count, size) = (count + 1, size + text.len() as u64);
        if count > MAX_FILES {
            let what = format!("{} files", binding.patch_sets.len() + binding.evidence.len() + 3);
            return Err(BindError::TooLarge { what, limit: MAX_FILES as u64 });
        }
        if size > MAX_BYTES {
            return Err(BindError::TooLarge { what: format!("{size} bytes and more"), limit: MAX_BYTES });
        }
        match texts.entry(folder).or_default().entry(name) {
            Entry::Occupied(first) if *first.get() != text => {
                return Err(BindError::TwoOfOneName { name: format!("{folder}/{}", first.key()) });
            }
            entry => entry.or_insert(text),
        };
    }
    Ok(texts)
}

fn pack_of(mut texts: Texts, format: ObjectFormat) -> (Pack, GitOid) {
    let mut pack = Pack::new(format);
    let own = texts.remove("").unwrap_or_default();
    let mut root = BTreeMap::new();
    for (folder, files) in texts {
        let files = files.into_iter().map(|(name, text)| (name, pack.file(text.into_bytes()))).collect();
        root.insert(folder.to_owned(), pack::Entry::Folder(pack.folder(files)));
    }
    root.extend(own.into_iter().map(|(name, text)| (name, pack.file(text.into_bytes()))));
    let tree = pack.folder(root);
    (pack, tree)
}
