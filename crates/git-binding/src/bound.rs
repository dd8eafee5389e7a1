//! Decisions read back.
//!
//! Anybody who may write to the repository may write there, so everything is parsed strictly and compared with the name
//! under which it stands. What is read was well formed when it was written; that it is true, nobody can see here.

use std::collections::BTreeMap;

use trunkline_decision_objects::{Decision, Evidence, GitOid, PatchSet, RunId, RunRecord, Verdict};

use crate::error::{excerpt, harmless};
use crate::objects::{MAX_BYTES, MAX_DECISION, Ref, is_link};
use crate::{BindError, Link, Repository, layout};

/// A bound decision, with what ties it to the history.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BoundDecision {
    /// Its ref.
    pub reference: String,
    /// The decision.
    pub decision: Decision,
    /// What ties it to the history.
    pub link: Link,
}

/// A bound decision, with its run and all that it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BoundRun {
    /// Its ref.
    pub reference: String,
    /// The run.
    pub run: RunRecord,
    /// The decision.
    pub decision: Decision,
    /// The patch sets, by their ids.
    pub patch_sets: Vec<PatchSet>,
    /// The evidence, by its ids.
    pub evidence: Vec<Evidence>,
    /// What ties it to the history.
    pub link: Link,
}

/// A ref below ours that holds no decision.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unreadable {
    /// The ref.
    pub reference: String,
    /// What is wrong with it.
    pub why: String,
}

/// All that is bound in a repository.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct AllBound {
    /// The decisions, in the order of their refs.
    pub decisions: Vec<BoundDecision>,
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
}

impl Repository {
    /// Reads the decision of a run, with all that it rests on; `None` if the run is not bound here.
    ///
    /// Starts three processes.
    ///
    /// # Errors
    ///
    /// [`BindError::NotADecision`] if its ref holds something else, [`BindError::Git`].
    pub fn bound(&self, run: RunId) -> Result<Option<BoundRun>, BindError> {
        let reference = layout::reference(run);
        let Some(tree) = self.ref_values(&[&reference])?.pop().flatten() else { return Ok(None) };
        let refuse =
            |why: String| BindError::NotADecision { reference: reference.clone(), why: harmless(&why) };
        let files = self.files(tree).map_err(|error| match error {
            BindError::Git(fault) if fault.says("not a tree object") => refuse("it is no tree".to_owned()),
            BindError::Git(fault) if fault.says("is corrupt") => refuse("it is damaged".to_owned()),
            BindError::Answer { .. } => refuse("its tree is none of ours, or files are missing".to_owned()),
            error => error,
        })?;
        let size: u64 = files.iter().map(|(_, _, size)| *size).sum();
        if size > MAX_BYTES {
            return Err(refuse(format!("it holds {size} bytes, more than {MAX_BYTES}")));
        }
        let names: Vec<String> = files.iter().map(|(_, oid, _)| oid.to_string()).collect();
        let mut texts = BTreeMap::new();
        for ((path, ..), object) in files.into_iter().zip(self.contents(&names)?) {
            let object = object.ok_or_else(|| refuse(format!("{path:?} is missing")))?;
            if let Some(first) = texts.insert(path, object.content) {
                return Err(refuse(format!(
                    "a file of {} bytes stands there under the name of another",
                    first.len()
                )));
            }
        }
        read_run(run, &reference, texts).map(Some).map_err(refuse)
    }

    /// Reads all decisions, without their runs and what they rest on. What cannot be read is listed, and the rest is
    /// still read.
    ///
    /// Linear; starts three processes, and one more for each 64 MiB of decisions.
    ///
    /// # Errors
    ///
    /// [`BindError::Git`].
    pub fn all(&self) -> Result<AllBound, BindError> {
        let mut all = AllBound::default();
        let mut refs = Vec::new();
        for Ref { name, oid, link } in self.refs_under(&[layout::PREFIX])? {
            match (layout::run_of(&name), link) {
                (Some(run), None) => refs.push((name, run, oid)),
                (_, Some(link)) => all.unreadable.push(unreadable(name, &is_link(&link))),
                (None, None) => all.unreadable.push(unreadable(name, "its name is none of ours")),
            }
        }
        if refs.is_empty() {
            return Ok(all);
        }
        let names = |tree: &GitOid| [layout::DECISION, layout::LINK].map(|file| format!("{tree}:{file}"));
        let names: Vec<String> = refs.iter().flat_map(|(.., tree)| names(tree)).collect();
        let known = self.known(&names)?;
        let mut waiting = Vec::new();
        let mut size = 0;
        for ((reference, run, _), pair) in refs.into_iter().zip(known.chunks(2)) {
            let [Some(decision), Some(link)] = pair else {
                let why = self.missing("its decision.json or its link.json is missing or damaged");
                all.unreadable.push(unreadable(reference, &why));
                continue;
            };
            if decision.kind != "blob" || link.kind != "blob" || decision.size.max(link.size) > MAX_DECISION {
                all.unreadable.push(unreadable(
                    reference,
                    "its decision.json or its link.json is no file of usual size",
                ));
                continue;
            }
            size += decision.size + link.size;
            waiting.push((reference, run, [decision.oid.to_string(), link.oid.to_string()]));
            if size > MAX_BYTES {
                self.read_into(&mut all, std::mem::take(&mut waiting))?;
                size = 0;
            }
        }
        self.read_into(&mut all, waiting)?;
        Ok(all)
    }

    fn read_into(
        &self,
        all: &mut AllBound,
        refs: Vec<(String, RunId, [String; 2])>,
    ) -> Result<(), BindError> {
        let names: Vec<String> = refs.iter().flat_map(|(.., names)| names.clone()).collect();
        let contents = self.contents(&names)?;
        for ((reference, run, _), pair) in refs.into_iter().zip(contents.chunks(2)) {
            let [Some(decision), Some(link)] = pair else {
                all.unreadable.push(unreadable(reference, "its files went away while they were read"));
                continue;
            };
            match read_decision(run, &decision.content).and_then(|decision| {
                let link = read_link(&decision, &link.content)?;
                Ok((decision, link))
            }) {
                Ok((decision, link)) => all.decisions.push(BoundDecision { reference, decision, link }),
                Err(why) => all.unreadable.push(unreadable(reference, &why)),
            }
        }
        Ok(())
    }

    /// The decision alone, from the tree under a run's ref.
    pub(crate) fn decision_in(
        &self,
        run: RunId,
        reference: &str,
        tree: GitOid,
    ) -> Result<Decision, BindError> {
        let refuse =
            |why: &str| BindError::NotADecision { reference: reference.to_owned(), why: harmless(why) };
        let known = self.known(&[format!("{tree}:{}", layout::DECISION)])?.pop().flatten();
        let known = known
            .filter(|known| known.kind == "blob")
            .ok_or_else(|| refuse(&self.missing("its decision.json is missing or damaged")))?;
        if known.size > MAX_DECISION {
            return Err(refuse("its decision.json is too large"));
        }
        let object = self.contents(&[known.oid.to_string()])?.pop().flatten();
        let object = object.ok_or_else(|| refuse("its decision.json is missing"))?;
        read_decision(run, &object.content).map_err(|why| refuse(&why))
    }
}

impl Repository {
    /// What is said of an object that is not there. In a partial clone it may be elsewhere, and nothing is fetched here.
    fn missing(&self, why: &str) -> String {
        match self.facts().partial {
            false => why.to_owned(),
            true => format!(
                "{why}, or was not fetched into this partial clone; \
                 `git fetch --refetch --no-filter origin 'refs/trunkline/*:refs/trunkline/*'` brings it"
            ),
        }
    }
}

fn unreadable(reference: String, why: &str) -> Unreadable {
    Unreadable { reference, why: harmless(why) }
}

fn read_run(run: RunId, reference: &str, mut texts: BTreeMap<String, Vec<u8>>) -> Result<BoundRun, String> {
    let mut take = |name: &str| texts.remove(name).ok_or_else(|| format!("it has no {name}"));
    let decision = read_decision(run, &take(layout::DECISION)?)?;
    let link = read_link(&decision, &take(layout::LINK)?)?;
    let json = take(layout::RUN)?;
    let record = RunRecord::parse(&json).map_err(|error| format!("{}: {error}", layout::RUN))?;
    canonical(layout::RUN, &json, &record.print())?;
    if record.id() != run {
        return Err(format!("its {} is of run {}", layout::RUN, record.id()));
    }
    let (mut patch_sets, mut evidence) = (Vec::new(), Vec::new());
    for (path, json) in texts {
        let name = excerpt(path.as_bytes());
        let at = |error: &dyn std::fmt::Display| format!("{name}: {error}");
        let (owner, own_path) = if path.starts_with(layout::PATCH_SETS) {
            let set = PatchSet::parse(&json).map_err(|error| at(&error))?;
            canonical(&name, &json, &set.print())?;
            let place = (set.run(), format!("{}/{}.json", layout::PATCH_SETS, set.id()));
            patch_sets.push(set);
            place
        } else {
            let found = Evidence::parse(&json).map_err(|error| at(&error))?;
            canonical(&name, &json, &found.print())?;
            let place = (found.run(), format!("{}/{}.json", layout::EVIDENCE, found.id()));
            evidence.push(found);
            place
        };
        if own_path != path || owner != run {
            return Err(at(&"it does not belong there"));
        }
    }
    decision.check_grounds(&patch_sets, &evidence).map_err(|error| error.to_string())?;
    Ok(BoundRun { reference: reference.to_owned(), run: record, decision, patch_sets, evidence, link })
}

fn read_decision(run: RunId, json: &[u8]) -> Result<Decision, String> {
    let decision = Decision::parse(json).map_err(|error| format!("{}: {error}", layout::DECISION))?;
    canonical(layout::DECISION, json, &decision.print())?;
    if decision.run() == run {
        Ok(decision)
    } else {
        Err(format!("its decision is of run {}", decision.run()))
    }
}

fn read_link(decision: &Decision, json: &[u8]) -> Result<Link, String> {
    let link = Link::parse(json).map_err(|why| format!("{}: {why}", layout::LINK))?;
    match decision.verdict() {
        Verdict::Commit { commit, .. } if link.commit != Some(*commit) => {
            Err(format!("its {} names another commit than its decision", layout::LINK))
        }
        _ => Ok(link),
    }
}

/// Only one text is right for a value, so that what stands there has the digest of the value.
fn canonical(name: &str, json: &[u8], printed: &str) -> Result<(), String> {
    if printed.as_bytes() == json { Ok(()) } else { Err(format!("{name} is not in its canonical form")) }
}
