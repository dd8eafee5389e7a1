//! What a run changed, file by file, from the trees before and after it.
//!
//! A tree has the bytes that git keeps. Where those are not the bytes in the folder, because git converts line ends or a
//! filter is set, nothing is said of the file: it could not be put back as it was.

use std::collections::{BTreeMap, BTreeSet};

use trunkline_agent_traits::{FileStates, KeptFile, Left, Touched, WorkspaceFault};

use super::own::{Found, Paths};
use super::run_git::{Git, text};
use super::{GitWorkspace, diff};
use crate::fingerprint;
use crate::folder::fault;
use crate::payload::approved_place;
use crate::restoring::{Old, Olds, olds};
use crate::root::Root;

/// More than this is not read to say how files were: a verdict does not need it, and memory is finite.
const READ_BYTES: usize = 256_000_000;
/// Nor are more files than this.
const READ_FILES: usize = 20_000;

/// One file in two trees.
struct Raw {
    path: String,
    before: Option<Blob>,
    after: Option<Blob>,
}

struct Blob {
    id: String,
    executable: bool,
}

impl GitWorkspace {
    /// Returns how files were in one tree and are in another, as far as the folder has the bytes of the latter.
    pub(super) fn states_between(
        &self,
        before: &str,
        after: &str,
        paths: &[String],
    ) -> Result<Vec<FileStates>, WorkspaceFault> {
        let raw = self.between(before, after)?;
        let wanted: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
        let raw: Vec<Raw> = raw.into_iter().filter(|raw| wanted.contains(raw.path.as_str())).collect();
        let ids = raw.iter().flat_map(|raw| [&raw.before, &raw.after]).flatten().map(|blob| blob.id.as_str());
        let digests: BTreeMap<String, String> = blobs(&self.git(), ids)?
            .into_iter()
            .map(|(id, bytes)| (id, fingerprint::digest(&bytes)))
            .collect();
        let root = Root::open(&self.root).map_err(|error| fault(error.to_string()))?;
        let digest = |blob: &Option<Blob>| match blob {
            None => Some(None),
            Some(blob) => digests.get(&blob.id).cloned().map(Some),
        };
        let states = raw.iter().filter_map(|raw| {
            let (before, after) = (digest(&raw.before)?, digest(&raw.after)?);
            let inside = approved_place(&root, &raw.path).ok()?;
            let now = root.read(&inside).ok()?.map(|now| fingerprint::digest(&now.bytes));
            (now == after).then(|| FileStates {
                path: raw.path.clone(),
                before,
                after,
                before_executable: raw.before.as_ref().map(|blob| blob.executable),
                after_executable: raw.after.as_ref().map(|blob| blob.executable),
            })
        });
        Ok(states.collect())
    }

    /// Drops the files that were not what git kept of them when the run first wrote them: with other line ends, before a filter,
    /// or changed by somebody else by then. Returns those of which nobody knows how they were.
    ///
    /// Where nothing converts a file, and a command of the run has written it before the first proposal was applied, git is
    /// right. Without `found` that is taken to be so.
    pub(super) fn drop_others(
        &self,
        states: &mut Vec<FileStates>,
        touched: &[Touched],
        found: Option<&Found>,
    ) -> Result<Paths, WorkspaceFault> {
        let known: BTreeMap<&str, &Option<String>> =
            touched.iter().rev().map(|touch| (touch.path.as_str(), &touch.before)).collect();
        let other: BTreeSet<String> = states
            .iter()
            .filter(|file| known.get(file.path.as_str()).is_some_and(|before| **before != file.before))
            .map(|file| file.path.clone())
            .collect();
        let converted = self.converted(&other)?;
        let mut unknown = Paths::new();
        states.retain(|file| {
            let path = file.path.as_bytes();
            let otherwise = found.is_some_and(|found| found.otherwise.contains(path));
            let (is_right, is_known) =
                match (known.contains_key(file.path.as_str()), other.contains(&file.path)) {
                    (true, false) => (true, true),
                    (true, true) if converted.contains(&file.path) => (false, true),
                    // A command found it changed, by a proposal or by somebody else before both.
                    (true, true) => (found.is_none_or(|found| found.as_before.contains(path)), !otherwise),
                    (false, _) => (!otherwise, !otherwise),
                };
            if !is_known {
                unknown.insert(path.to_vec());
            }
            is_right
        });
        Ok(unknown)
    }

    /// Returns those of some paths whose bytes git may convert.
    fn converted(&self, paths: &BTreeSet<String>) -> Result<BTreeSet<String>, WorkspaceFault> {
        if paths.is_empty() {
            return Ok(BTreeSet::new());
        }
        // For all files, whatever their attributes say.
        let autocrlf = self.git().run(&["config", "--default", "false", "--get", "core.autocrlf"])?;
        if text(&autocrlf).trim() != "false" {
            return Ok(paths.clone());
        }
        let mut asked = vec!["check-attr", "-z", "--stdin"];
        asked.extend(["text", "eol", "crlf", "filter", "ident", "working-tree-encoding"]);
        let input = paths.iter().flat_map(|path| [path.as_bytes(), b"\0"].concat()).collect();
        let listed = self.git().run_with(&asked, input)?;
        // The path, the attribute and its value, each with a zero byte.
        let fields: Vec<&[u8]> = listed.split(|byte| *byte == 0).collect();
        let set =
            fields.chunks_exact(3).filter(|of| !matches!(of.get(2), Some(&(b"unspecified" | b"unset"))));
        Ok(set.filter_map(|of| of.first().map(|path| text(path))).collect())
    }

    /// Returns what files were before a run: from the tree that was taken then, else from what the session kept.
    pub(super) fn olds(&self, left: &Left, kept: &[KeptFile]) -> Result<Olds, WorkspaceFault> {
        let known = olds(kept);
        let (Some(before), Some(after)) = (&left.base.tree, &left.tree) else { return Ok(known) };
        let has_all = left.files.iter().all(|file| {
            let old = known.get(&file.path).map(|old| old.bytes.as_deref().map(fingerprint::digest));
            old.is_some_and(|digest| digest == file.before)
        });
        match self.olds_in(before, after, left, olds(kept)) {
            Err(_) if has_all => Ok(known),
            Err(error) => Err(fault(format!(
                "git has not kept how the files were before that run; it removes what nothing refers to ({})",
                error.message
            ))),
            found => found,
        }
    }

    /// Returns what files were in a tree; what the session has kept of them, and what only that knows, stays.
    fn olds_in(
        &self,
        before: &str,
        after: &str,
        left: &Left,
        mut known: Olds,
    ) -> Result<Olds, WorkspaceFault> {
        // What the run has left may be gone and is not needed: the log has its digests.
        let raw = self.between(before, after).or_else(|_| self.listed(before, left))?;
        let ids = raw.iter().filter_map(|raw| raw.before.as_ref()).map(|blob| blob.id.as_str());
        let bytes = blobs(&self.git(), ids)?;
        let folders = self.folders(before)?;
        let before: BTreeMap<&str, &Option<String>> =
            left.files.iter().map(|file| (file.path.as_str(), &file.before)).collect();
        // Git may have converted what the session kept as it was.
        let is_right = |path: &str, old: &Old| {
            let digest = old.bytes.as_deref().map(fingerprint::digest);
            digest.is_some() && before.get(path).is_some_and(|before| **before == digest)
        };
        for raw in raw {
            if known.get(&raw.path).is_some_and(|old| is_right(&raw.path, old)) {
                continue;
            }
            let old = match &raw.before {
                Some(blob) => match bytes.get(&blob.id) {
                    Some(bytes) => Old { bytes: Some(bytes.clone()), folders: 0 },
                    None => continue,
                },
                None => Old { bytes: None, folders: new_folders(&raw.path, &folders) },
            };
            known.insert(raw.path, old);
        }
        Ok(known)
    }

    /// Returns what differs between two trees, of plain files with plain names: what else there is, is nobody's to put back.
    fn between(&self, before: &str, after: &str) -> Result<Vec<Raw>, WorkspaceFault> {
        let listed = self.git().run(&diff(&["--raw", "-z", "--no-abbrev", "--relative"], before, after))?;
        let mut fields = listed.split(|byte| *byte == 0);
        let mut files = Vec::new();
        while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
            // `:100644 100755 8ab6… 6d1c… M`; mode 0 is no file.
            let status = text(status);
            let words: Vec<&str> = status.trim_start_matches(':').split(' ').collect();
            let [old_mode, new_mode, old, new, _] = words.as_slice() else {
                return Err(fault(format!("git diff-tree said something unknown: {status}")));
            };
            let (Ok(path), Ok(before), Ok(after)) =
                (std::str::from_utf8(path), blob(old_mode, old), blob(new_mode, new))
            else {
                continue;
            };
            files.push(Raw { path: path.to_owned(), before, after });
        }
        Ok(files)
    }

    /// Returns how the files that a run has changed are in the tree from before it; what that has not, was not there.
    fn listed(&self, before: &str, left: &Left) -> Result<Vec<Raw>, WorkspaceFault> {
        let listed = self.git().run(&["ls-tree", "-r", "-z", before])?;
        let mut blobs = BTreeMap::new();
        // `100644 blob 8ab6…`, a tab, the path, a zero byte.
        for entry in listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let entry = text(entry);
            let (kind, path) = entry.split_once('\t').unwrap_or((&entry, ""));
            let words: Vec<&str> = kind.split(' ').collect();
            let [mode, _, id] = words.as_slice() else {
                return Err(fault(format!("git ls-tree said something unknown: {kind}")));
            };
            if let Ok(Some(blob)) = blob(mode, id) {
                blobs.insert(path.to_owned(), blob);
            }
        }
        let known = |file: &FileStates| blobs.contains_key(&file.path) || file.before.is_none();
        let files: Vec<&str> =
            left.files.iter().filter(|file| known(file)).map(|file| file.path.as_str()).collect();
        let raw = |path: &str| Raw { path: path.to_owned(), before: blobs.remove(path), after: None };
        Ok(files.into_iter().map(raw).collect())
    }

    /// Returns the folders of a tree.
    fn folders(&self, tree: &str) -> Result<BTreeSet<String>, WorkspaceFault> {
        let listed = self.git().run(&["ls-tree", "-r", "-d", "--name-only", "-z", tree])?;
        Ok(listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(text).collect())
    }
}

/// Reads one side of a difference; an error for what is no plain file.
fn blob(mode: &str, id: &str) -> Result<Option<Blob>, ()> {
    match mode {
        "000000" => Ok(None),
        "100644" | "100755" => Ok(Some(Blob { id: id.to_owned(), executable: mode == "100755" })),
        _ => Err(()),
    }
}

/// Counts the folders of a path, from the innermost, that were not there.
fn new_folders(path: &str, folders: &BTreeSet<String>) -> usize {
    let parents = std::iter::successors(path.rsplit_once('/'), |(parent, _)| parent.rsplit_once('/'));
    parents.take_while(|(parent, _)| !folders.contains(*parent)).count()
}

/// Reads blobs, each once; of those past the limits nothing is returned.
fn blobs<'a>(
    git: &Git,
    ids: impl Iterator<Item = &'a str>,
) -> Result<BTreeMap<String, Vec<u8>>, WorkspaceFault> {
    let ids: BTreeSet<&str> = ids.collect();
    let input =
        |ids: &[&str]| -> Vec<u8> { ids.iter().flat_map(|id| [id.as_bytes(), b"\n"].concat()).collect() };
    let ids: Vec<&str> = ids.into_iter().take(READ_FILES).collect();
    // The sizes first: what is too large is never read.
    let listed = text(&git.run_with(&["cat-file", "--batch-check"], input(&ids))?);
    let (mut small, mut bytes) = (Vec::new(), 0_usize);
    for line in listed.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [id, "blob", size] = words.as_slice() else {
            return Err(fault(format!("an object is missing: {line}")));
        };
        bytes = bytes.saturating_add(size.parse().unwrap_or(usize::MAX));
        if bytes > READ_BYTES {
            break;
        }
        small.push(*id);
    }
    let read = git.run_with(&["cat-file", "--batch"], input(&small))?;
    let mut found = BTreeMap::new();
    let mut rest = read.as_slice();
    // A line `id blob size`, the bytes, and a line end.
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let (head, body) = rest.split_at(end);
        let head = text(head);
        let words: Vec<&str> = head.split(' ').collect();
        let [id, "blob", size] = words.as_slice() else {
            return Err(fault(format!("an object is missing: {head}")));
        };
        let size: usize =
            size.parse().map_err(|_| fault(format!("git cat-file said something unknown: {head}")))?;
        let Some(bytes) = body.get(1..=size) else {
            return Err(fault(format!("git cat-file broke off at {id}")));
        };
        found.insert((*id).to_owned(), bytes.to_vec());
        rest = body.get(size + 2..).unwrap_or_default();
    }
    Ok(found)
}
