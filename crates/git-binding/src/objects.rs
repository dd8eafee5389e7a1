//! What is read out of git: refs, objects, and what stands under a tree.
//!
//! Whatever is read may have been written by anybody, so sizes are asked before contents.

use trunkline_decision_objects::GitOid;

use crate::error::{excerpt, harmless};
use crate::pack::Pack;
use crate::{BindError, GitFault, Repository, layout};

/// How many bytes a binding may have, all its files together; a diff is the largest thing in one.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

/// How many bytes a decision may have, since all of them are listed at once.
pub(crate) const MAX_DECISION: u64 = 16 << 20;

/// How many files a binding may have.
pub(crate) const MAX_FILES: usize = 10_000;

/// How often objects are written if the folder for them goes away meanwhile.
const ATTEMPTS: u32 = 5;

/// A ref.
pub(crate) struct Ref {
    pub(crate) name: String,
    pub(crate) oid: GitOid,
    /// The ref that it is another name of, if it is one.
    pub(crate) link: Option<String>,
}

/// What is wrong with a decision that is a link.
pub(crate) fn is_link(to: &str) -> String {
    format!("it is a symbolic ref, to {to}")
}

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
    /// Writes objects, and through to the disk unless the user wants it otherwise. By default git does that with refs, but
    /// not with objects in files of their own. A loss of power could leave a ref to an empty file, and git does not write
    /// over a file that is there: binding again would not help.
    pub(crate) fn write_objects(&self, command: &[&str], input: &[u8]) -> Result<Vec<u8>, BindError> {
        let setting = self.syncs.map(|setting| ["-c", setting]);
        let command = [setting.as_ref().map_or(&[][..], |setting| setting), command].concat();
        let mut attempt = 1;
        loop {
            match self.git.run(&command, input) {
                // `git gc` removes folders that are empty, also those that another git is about to write into.
                Err(fault) if attempt < ATTEMPTS && fault.says("No such file or directory") => attempt += 1,
                outcome => return Ok(outcome?),
            }
        }
    }

    /// What each name stands for; no name may hold a line end.
    pub(crate) fn known(&self, names: &[String]) -> Result<Vec<Option<Known>>, BindError> {
        self.batch("--batch-check", names, |rest| {
            let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(|| unknown(rest))?;
            let line = String::from_utf8_lossy(&rest[..end]).into_owned();
            *rest = &rest[end + 1..];
            head(&line)
        })
    }

    /// What each name stands for, contents included. Whoever names something foreign asks [`known`](Self::known) first.
    pub(crate) fn contents(&self, names: &[String]) -> Result<Vec<Option<Object>>, BindError> {
        self.batch("--batch", names, object)
    }

    /// Asks for many objects at once. At one that is damaged git gives up, so it is looked for by halves, and is none.
    fn batch<T>(
        &self,
        form: &str,
        names: &[String],
        read: impl Fn(&mut &[u8]) -> Result<Option<T>, BindError> + Copy,
    ) -> Result<Vec<Option<T>>, BindError> {
        match self.git.run(&["cat-file", form], list(names).as_bytes()) {
            Ok(printed) => {
                let mut rest = printed.as_slice();
                names.iter().map(|_| read(&mut rest)).collect()
            }
            Err(fault) if !fault.says("is corrupt") => Err(fault.into()),
            Err(_) if names.len() == 1 => Ok(vec![None]),
            Err(_) => {
                let (left, right) = names.split_at(names.len() / 2);
                let mut found = self.batch(form, left, read)?;
                found.extend(self.batch(form, right, read)?);
                Ok(found)
            }
        }
    }

    /// Where each of these refs points; exactly these, where git would also take a tag that is called like one.
    ///
    /// A branch may be another name of a branch. A decision is no name of anything.
    pub(crate) fn ref_values(&self, names: &[&str]) -> Result<Vec<Option<GitOid>>, BindError> {
        let known = self.refs_under(names)?;
        let value = |name: &&str| match known.iter().find(|known| known.name == *name) {
            Some(Ref { name, link: Some(link), .. }) if name.starts_with(layout::PREFIX) => {
                let why = harmless(&is_link(link));
                Err(BindError::NotADecision { reference: name.clone(), why })
            }
            found => Ok(found.map(|found| found.oid)),
        };
        names.iter().map(value).collect()
    }

    /// All refs of these names and below them. A link to nowhere is not among them: git does not list it.
    pub(crate) fn refs_under(&self, names: &[&str]) -> Result<Vec<Ref>, BindError> {
        let question = [&["for-each-ref", "--format=%(objectname) %(refname) %(symref)"], names].concat();
        let printed = self.git.run(&question, b"")?;
        let text = String::from_utf8_lossy(&printed);
        let read = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let (oid, name) = (words.next()?.parse().ok()?, words.next()?.to_owned());
            let link = words.next().filter(|link| !link.is_empty()).map(str::to_owned);
            Some(Ref { name, oid, link })
        };
        let answer = || BindError::Answer { command: "for-each-ref", answer: excerpt(&printed) };
        text.lines().map(|line| read(line).ok_or_else(answer)).collect()
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
    /// Each option that a configuration could set is set here: the same change must have the same id for everybody. Only what
    /// `info/attributes` of a repository says cannot be left out.
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
