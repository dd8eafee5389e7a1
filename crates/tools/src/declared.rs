//! Tools that a project declares: a file each, read once, offered once a person has trusted them.
//!
//! A definition comes with a repository, so it is as hostile as whatever else is in it: it is read within bounds, and nothing that
//! it names is started before a person has looked at it. What was trusted is compared right before each call.

mod definition;
mod offered;
mod output;
mod owned;
mod template;
mod trust;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use rustix::fs::Dir;
use rustix::io::Errno;
use trunkline_agent_traits::Tool;
use trunkline_agent_traits::message_tree::ToolSpec;

use self::definition::{Declared, Definition, Input, Word};
use self::offered::Offered;
use self::owned::Owned;
use self::trust::{Seen, SeenFile};
pub use self::trust::{Trust, TrustError, TrustedTools};
use crate::command::Sandbox;
use crate::root::{Root, read_at};
use crate::{fingerprint, shown};

/// Where definitions are, seen from the project's folder.
const FOLDER: &str = ".trunkline/tools";
/// The most definitions of a project: each is in every request.
const MOST: usize = 64;
/// The most entries of the folder that are looked at.
const MOST_ENTRIES: usize = 10_000;

/// What a project declares, by [`CodingTools::declared`](crate::CodingTools::declared).
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Declarations {
    /// The tools, by name. Nobody has said yet whether they are trusted.
    pub tools: Vec<DeclaredTool>,
    /// What cannot be a tool, and why.
    pub refused: Vec<Refused>,
}

/// A definition that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// The file, seen from the project's folder.
    pub file: String,
    /// Why, in one line.
    pub why: String,
}

impl Refused {
    /// Refuses what another judge does not take.
    pub fn new(file: impl Into<String>, why: impl Into<String>) -> Self {
        Refused { file: file.into(), why: why.into() }
    }
}

/// A tool that a project declares.
#[derive(Clone, Debug)]
pub struct DeclaredTool {
    root: Arc<Root>,
    sandbox: Sandbox,
    definition: Definition,
    owned: Owned,
    /// The definition, as it was read.
    text: String,
    digest: String,
}

/// Reads what a project declares; `taken` are the names that no tool may have.
pub(crate) fn find(root: &Arc<Root>, sandbox: &Sandbox, taken: &BTreeSet<String>) -> Declarations {
    let mut found = Declarations::default();
    let names = match names(root) {
        Ok(names) => names,
        Err(why) => {
            found.refused.push(Refused { file: FOLDER.to_owned(), why });
            return found;
        }
    };
    for name in names {
        let read = read(root, &name).and_then(|(definition, text)| {
            if taken.contains(&definition.name) {
                return Err(format!(
                    "the name {:?} is that of a tool that comes with the program",
                    definition.name
                ));
            }
            let owned = owned::find(root, sandbox, &definition)?;
            let digest = sha256(text.as_bytes());
            let (root, sandbox) = (Arc::clone(root), sandbox.clone());
            Ok(DeclaredTool { root, sandbox, definition, owned, text, digest })
        });
        match read {
            Ok(tool) => found.tools.push(tool),
            Err(why) => {
                let file = format!("{FOLDER}/{}", shown::line(&name, 100));
                found.refused.push(Refused { file, why: shown::line(&why, 400) });
            }
        }
    }
    found
}

/// Returns the names of the files that should be definitions, in order.
fn names(root: &Root) -> Result<Vec<String>, String> {
    let folder = match root.open_folder(FOLDER) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => return Ok(Vec::new()),
        Err(Errno::LOOP | Errno::NOTDIR) => {
            return Err("it is a symbolic link or no folder, or the folder that it lies in is".to_owned());
        }
        Err(errno) => return Err(format!("it cannot be read: {errno}")),
    };
    let listed = Dir::read_from(&folder).map_err(|errno| format!("it cannot be read: {errno}"))?;
    let mut names = BTreeSet::new();
    for (number, entry) in listed.enumerate() {
        if number >= MOST_ENTRIES {
            return Err(format!("it has more than {MOST_ENTRIES} entries, so nothing of it is read"));
        }
        let entry = entry.map_err(|errno| format!("it cannot be read: {errno}"))?;
        let name = String::from_utf8_lossy(entry.file_name().to_bytes());
        // Scripts may lie beside; what editors leave begins with a dot.
        if name.ends_with(".json") && !name.starts_with('.') {
            names.insert(name.into_owned());
        }
    }
    match names.len() {
        count if count > MOST => {
            Err(format!("it has {count} definitions, and {MOST} are the most, so none is read"))
        }
        _ => Ok(names.into_iter().collect()),
    }
}

/// Reads one definition.
fn read(root: &Root, name: &str) -> Result<(Definition, String), String> {
    let bytes = bytes(root, name)?;
    let definition = definition::parse(&bytes, name.strip_suffix(".json").unwrap_or(name))?;
    let text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
    Ok((definition, text))
}

fn bytes(root: &Root, name: &str) -> Result<Vec<u8>, String> {
    let folder = root.open_folder(FOLDER).map_err(|errno| format!("it cannot be read: {errno}"))?;
    let path = format!("{FOLDER}/{name}");
    match read_at(&folder, name, &path)? {
        Some(read) => Ok(read.bytes),
        None => Err("it is not there any more".to_owned()),
    }
}

impl DeclaredTool {
    /// Returns its name, as models call it.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Returns what the model is told of it.
    pub fn description(&self) -> &str {
        &self.definition.description
    }

    /// Returns its file, seen from the project's folder.
    pub fn file(&self) -> String {
        format!("{FOLDER}/{}.json", self.definition.name)
    }

    /// Returns its definition, as it was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the folder of the project, canonical.
    pub fn folder(&self) -> &str {
        // The command opens no folder whose name is not UTF-8; of such a one no trust is ever found.
        self.root.path().to_str().unwrap_or_default()
    }

    /// Says in a word or two what it does to files: `reads`, `reads, stages` or `writes`.
    pub fn access(&self) -> &'static str {
        match (self.definition.access, self.definition.stages) {
            (Declared::Reads, false) => "reads",
            (Declared::Reads, true) => "reads, stages",
            (Declared::Writes, _) => "writes",
        }
    }

    /// Says in a few lines what trusting it means: what is started, on what it stands, and what holds it.
    ///
    /// # Errors
    ///
    /// Why what it stands on cannot be read.
    pub fn summary(&self) -> Result<String, String> {
        let seen = self.seen()?;
        let mut told = format!(
            "starts {}\n",
            shown::name(&template::line(&self.definition.program, &self.placeholders()))
        );
        if !seen.files.iter().any(|file| file.path == seen.program) {
            let _ = writeln!(told, "  which is {}", shown::name(&seen.program));
        }
        for file in &seen.files {
            let _ = writeln!(
                told,
                "  with {} as it is now ({})",
                shown::name(&file.path),
                file.sha256.get(..12).unwrap_or_default()
            );
        }
        for name in owned::missing(&self.root, &self.definition) {
            let _ = writeln!(
                told,
                "  with {}, which is not there yet: the trust ends when it is made",
                shown::name(name)
            );
        }
        if seen.files.is_empty() {
            told.push_str(
                "nothing of the project is bound: what the program reads here, such as a Makefile or a configuration, may change \
                 and the tool stays trusted; `files` in its definition binds it\n",
            );
        }
        if self.definition.input == Input::Json {
            told.push_str("gets its arguments as JSON\n");
        }
        if !self.definition.environment.is_empty() {
            let _ = writeln!(told, "gets the variables {}", self.definition.environment.join(", "));
        }
        told.push_str(match (self.definition.access, self.is_held()) {
            (Declared::Writes, _) => "may change files and more: each call is asked about, as a command is\n",
            (Declared::Reads, true) => "can write nothing but temporary files of its own (Landlock): its calls run unasked\n",
            (Declared::Reads, false) => {
                "should only read, and nothing here can hold it to that: each call is asked about, as a command is\n"
            }
        });
        if self.definition.stages {
            told.push_str("proposes edits, which are decided on as those of edit_files\n");
        }
        let open = match (self.definition.access, self.is_held()) {
            (Declared::Reads, true) => self.sandbox.open_to_readers(),
            _ => "can read what you can, and use the network".to_owned(),
        };
        let _ = writeln!(told, "{open}");
        Ok(told)
    }

    /// Returns what stands for all that is trusted: the definition, what is started, and what of the project it stands on. 64
    /// hexadecimal digits.
    ///
    /// # Errors
    ///
    /// Why what it stands on cannot be read.
    pub fn digest(&self) -> Result<String, String> {
        Ok(self.digest_of(&self.seen()?))
    }

    /// Returns what the model is told, as a tool.
    pub fn spec(&self) -> ToolSpec {
        ToolSpec::new(self.name(), self.description(), self.definition.schema.clone())
    }

    /// Makes a tool of it that runs as long as `trusted` says that a person has trusted it, which is asked before each call.
    pub fn into_tool(self, trusted: TrustedTools) -> Box<dyn Tool> {
        Box::new(Offered { tool: self, trusted })
    }

    pub(crate) fn definition_digest(&self) -> &str {
        &self.digest
    }

    /// Returns what stands for all that was seen.
    pub(crate) fn digest_of(&self, seen: &Seen) -> String {
        let mut told = [self.name(), &seen.definition, &seen.program].map(sha256_of).concat();
        for file in &seen.files {
            told.push_str(&sha256_of(&file.path));
            told.push_str(&file.sha256);
        }
        sha256_of(&told)
    }

    /// Returns what a person who trusts it has looked at: what is there now.
    pub(crate) fn seen(&self) -> Result<Seen, String> {
        let program = self.owned.program.strip_prefix(self.root.path()).unwrap_or(&self.owned.program);
        let program = program.to_str().ok_or("the name of its program is not UTF-8")?.to_owned();
        let digested =
            |path: &String| Ok(SeenFile { path: path.clone(), sha256: owned::digest(&self.root, path)? });
        let files: Result<Vec<SeenFile>, String> = self.owned.files.iter().map(digested).collect();
        Ok(Seen { definition: self.digest.clone(), program, files: files? })
    }

    /// Refuses to be what it was if its definition or what it stands on is another one by now.
    fn still(&self) -> Result<(), String> {
        let name = format!("{}.json", self.name());
        if sha256(&bytes(&self.root, &name)?) != self.digest {
            return Err("its definition has changed since it was read".to_owned());
        }
        match owned::find(&self.root, &self.sandbox, &self.definition)? == self.owned {
            true => Ok(()),
            false => Err("its program, or a file that it depends on, has been replaced".to_owned()),
        }
    }

    /// Whether it can be held to reading.
    fn is_held(&self) -> bool {
        self.sandbox.holds_readers()
    }

    fn placeholders(&self) -> Vec<String> {
        let shown = |word: &Word| match word {
            Word::Plain(word) => word.clone(),
            Word::Given { name, .. } => format!("{{{name}}}"),
        };
        self.definition.words.iter().map(shown).collect()
    }
}

fn sha256_of(text: &str) -> String {
    sha256(text.as_bytes())
}

fn sha256(bytes: &[u8]) -> String {
    fingerprint::digest(bytes).trim_start_matches("sha256:").to_owned()
}
