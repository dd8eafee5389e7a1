//! What is read out of git: refs, objects, and what stands under a tree.
//!
//! Whatever is read may have been written by anybody, so sizes are asked before contents.

use trunkline_decision_objects::GitOid;

use crate::error::excerpt;
use crate::pack::Pack;
use crate::{BindError, GitFault, Repository};

/// How many bytes a binding may have, all its files together; a diff is the largest thing in one.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

/// How many bytes a decision may have, since all of them are listed at once.
pub(crate) const MAX_DECISION: u64 = 16 << 20;

/// How many files a binding may have.
pub(crate) const MAX_FILES: usize = 10_000;

/// An object, with its content.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) oid: GitOid,
    pub(crate) content: Vec<u8>,
}

/// An object, without its content.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) oid: GitOid,
    pub(crate) kind: String,
    pub(crate) size: u64,
}

impl Repository {
    /// What each name stands for; no name may hold a line end.
    pub(crate) fn known(&self, names: &[String]) -> Result<Vec<Option<Known>>, BindError> {
        let printed = self.git.run(&["cat-file", "--batch-check"], list(names).as_bytes())?;
        let text = String::from_utf8_lossy(&printed);
        let mut lines = text.lines();
        let read = |_| head(lines.next().unwrap_or_default());
        names.iter().map(read).collect()
    }

    /// What each name stands for, contents included. Whoever names something foreign asks [`known`](Self::known) first.
    pub(crate) fn contents(&self, names: &[String]) -> Result<Vec<Option<Object>>, BindError> {
        let printed = self.git.run(&["cat-file", "--batch"], list(names).as_bytes())?;
        let mut rest = printed.as_slice();
        names.iter().map(|_| object(&mut rest)).collect()
    }

    /// Where each of these refs points; exactly these, where git would also take a tag that is called like one.
    pub(crate) fn ref_values(&self, names: &[&str]) -> Result<Vec<Option<GitOid>>, BindError> {
        let pairs = self.refs_under(names)?;
        let value = |name: &&str| pairs.iter().find(|(known, _)| known == name).map(|(_, oid)| *oid);
        Ok(names.iter().map(value).collect())
    }

    /// All refs of these names and below them, with where they point.
    pub(crate) fn refs_under(&self, names: &[&str]) -> Result<Vec<(String, GitOid)>, BindError> {
        let question = [&["for-each-ref", "--format=%(objectname) %(refname)"], names].concat();
        let printed = self.git.run(&question, b"")?;
        let text = String::from_utf8_lossy(&printed);
        let pair = |line: &str| {
            let (oid, name) = line.split_once(' ')?;
            Some((name.to_owned(), oid.parse().ok()?))
        };
        let answer = || BindError::Answer { command: "for-each-ref", answer: excerpt(&printed) };
        text.lines().map(|line| pair(line).ok_or_else(answer)).collect()
    }

    /// The files under a tree, by path, with their names and sizes; at most [`MAX_FILES`].
    pub(crate) fn files(&self, tree: GitOid) -> Result<Vec<(String, GitOid, u64)>, BindError> {
        let printed = self.git.run(&["ls-tree", "-r", "-l", "-z", &tree.to_string()], b"")?;
        let lines = printed.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        let files: Option<Vec<_>> = lines.take(MAX_FILES + 1).map(file).collect();
        files
            .filter(|files| files.len() <= MAX_FILES)
            .ok_or_else(|| BindError::Answer { command: "ls-tree", answer: excerpt(&printed) })
    }
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("{name}\n")).collect()
}

/// `100644 blob <oid> <size padded>\t<path>`; a size is `-` for what is no file.
fn file(line: &[u8]) -> Option<(String, GitOid, u64)> {
    let line = std::str::from_utf8(line).ok()?;
    let (head, path) = line.split_once('\t')?;
    let mut words = head.split_ascii_whitespace();
    let (mode, kind) = (words.next()?, words.next()?);
    let (oid, size) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    (mode == "100644" && kind == "blob").then(|| (path.to_owned(), oid, size))
}

fn unknown(answer: &[u8]) -> BindError {
    BindError::Answer { command: "cat-file", answer: excerpt(answer) }
}

/// `<oid> <type> <size>`, or `<name> missing`, or another word for why there is none.
fn head(line: &str) -> Result<Option<Known>, BindError> {
    let mut words = line.split(' ');
    let parsed = (|| {
        let (oid, kind) = (words.next()?.parse().ok()?, words.next()?.to_owned());
        let size = words.next()?.parse().ok()?;
        words.next().is_none().then_some(Known { oid, kind, size })
    })();
    // `missing`, `ambiguous`, `submodule`: git has had more words for that over time.
    if line.is_empty() { Err(unknown(b"nothing")) } else { Ok(parsed) }
}

fn object(rest: &mut &[u8]) -> Result<Option<Object>, BindError> {
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(|| unknown(rest))?;
    let line = String::from_utf8_lossy(&rest[..end]).into_owned();
    *rest = &rest[end + 1..];
    let Some(known) = head(&line)? else { return Ok(None) };
    let size = usize::try_from(known.size).map_err(|_| unknown(line.as_bytes()))?;
    let content = rest.get(..size).ok_or_else(|| unknown(line.as_bytes()))?.to_vec();
    *rest = rest.get(size + 1..).ok_or_else(|| unknown(line.as_bytes()))?;
    Ok(Some(Object { oid: known.oid, content }))
}

/// What a commit is and does.
pub(crate) struct Patch {
    pub(crate) tree: GitOid,
    pub(crate) base: Option<GitOid>,
    /// None for a merge and where nothing changed.
    pub(crate) patch_id: Option<GitOid>,
}

impl Repository {
    /// A commit's tree, its first parent, and the stable id of its patch.
    ///
    /// Each option that a configuration could set is set here: the same change must have the same id for everybody.
    pub(crate) fn patch(&self, commit: GitOid) -> Result<Patch, BindError> {
        const DIFF: [&str; 16] = [
            "diff-tree",
            "--root",
            "--always",
            "--patch",
            "--full-index",
            "--unified=3",
            "--diff-algorithm=myers",
            "--no-indent-heuristic",
            "--no-renames",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=none",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            "--format=commit %H%ntree %T%nparents %P%n",
        ];
        let name = commit.to_string();
        // Attributes say what is text; with those of the day, an id would be another one tomorrow (since 2.41, 2023-06).
        let no_attributes = format!("--attr-source={}", Pack::empty_tree(self.facts.object_format));
        let attributes =
            if self.facts.git_version >= (2, 41) { vec![no_attributes.as_str()] } else { Vec::new() };
        let question = [attributes.as_slice(), &DIFF, &[&name]].concat();
        let printed = match self.git.run(&question, b"") {
            Ok(printed) => printed,
            Err(fault) => return self.without_patch(commit, fault),
        };
        if printed.is_empty() {
            return Err(BindError::NoSuchObject { oid: commit, expected: "commit" }); // a tree or a file has no patch
        }
        let unknown = || BindError::Answer { command: "diff-tree", answer: excerpt(&printed) };
        let head = String::from_utf8_lossy(printed.get(..1_000).unwrap_or(&printed));
        let word = |key: &str| head.lines().find_map(|line| line.strip_prefix(key));
        let tree = word("tree ").and_then(|tree| tree.parse().ok()).ok_or_else(unknown)?;
        let parents: Option<Vec<GitOid>> = word("parents ")
            .map(|parents| parents.split_ascii_whitespace().map_while(|oid| oid.parse().ok()).collect());
        let base = parents.ok_or_else(unknown)?.first().copied();
        let listed = self.git.run(&["patch-id", "--stable"], &printed)?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let patch_id = listed.split_ascii_whitespace().next().and_then(|id| id.parse().ok());
        Ok(Patch { tree, base, patch_id })
    }

    /// A commit whose patch cannot be had: it is too large, or its files are not here.
    fn without_patch(&self, commit: GitOid, fault: GitFault) -> Result<Patch, BindError> {
        let names = [format!("{commit}"), format!("{commit}^{{tree}}"), format!("{commit}^1")];
        let mut known = self.known(&names)?.into_iter();
        let mut next = || known.next().flatten();
        if next().is_none_or(|known| known.kind != "commit") {
            return Err(BindError::NoSuchObject { oid: commit, expected: "commit" });
        }
        let (tree, base) = (next(), next());
        match (tree, fault) {
            (Some(tree), GitFault::TooMuch { .. } | GitFault::Failed { .. }) => {
                Ok(Patch { tree: tree.oid, base: base.map(|base| base.oid), patch_id: None })
            }
            (_, fault) => Err(fault.into()),
        }
    }
}
