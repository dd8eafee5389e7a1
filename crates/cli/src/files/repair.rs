//! `trunkline repair`: how a file would be mended, and a new file that is.
//!
//! The given file is only read. What was written is read again and judged before it is called good, so a mistake in a
//! writer is found here and not by the provider.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trunkline_sanitize::{Account, RequestFacts, WireRules};
use trunkline_transcripts::{Conversation, Format, Listed, Transcript, Written, file_name, read};
use uuid::Uuid;

use crate::args::foreign::{End, Repair};
use crate::files::findings::{
    account_json, disorder, fault_note, faults_json, halves, loss_note, repair_line, repairs_json,
};
use crate::files::history::{History, Mended, end_of, facts, is_own, own_wire, rules_for_files};
use crate::files::second_look::{self, problems_left};
use crate::files::{beside, new_file};
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::shell::{program, quoted};
use crate::term::style::{BOLD, DIM, GREEN, YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::{count, one_line, safe};

/// Shows what would be done to a file, or does it to a new one.
pub(crate) fn run(args: &Repair) -> Result<Exit, Fault> {
    let cannot = |error: String| Fault::new(format!("cannot read {}: {error}", args.file.display()));
    let bytes = fs::read(&args.file).map_err(|error| cannot(error.to_string()))?;
    let transcript = read(&bytes).map_err(|error| cannot(error.to_string()))?;
    drop(bytes);
    let case = Case::new(args, &transcript)?;
    let history =
        History::new(&case.conversation.messages, transcript.format, &case.rules, &case.facts, case.end);
    let mended = history.mended();
    let head = case.head(&mended);
    let disorder = disorder(&transcript.faults);
    if mended.repairs.is_empty() && halves(&transcript.faults).is_empty() && disorder.is_none() {
        return match args.json {
            true => out::print_json(&head).map(|()| Exit::Done),
            false => nothing_to_do(&case),
        };
    }
    let lines: String = mended.repairs.iter().map(|repair| repair_line(repair, &history.shaped)).collect();
    let halves = halves(&transcript.faults).into_iter();
    let halves: String = halves.map(|fault| format!("{}\n", paint(YELLOW, &fault_note(fault)))).collect();
    let disorder = disorder.map(|told| format!("{}\n", paint(YELLOW, &format!("in the file: {told}"))));
    let told = format!("{}{lines}{halves}{}", case.opening(&mended), disorder.unwrap_or_default());
    if args.apply {
        return apply(&case, &mended, head, &told);
    }
    if args.json {
        return out::print_json(&head).map(|()| Exit::Broken);
    }
    out::print(&told)?;
    tell(&case.shape());
    tell(&case.invitation());
    Ok(Exit::Broken)
}

/// What is to be repaired, and for whom.
struct Case<'a> {
    args: &'a Repair,
    transcript: &'a Transcript,
    index: usize,
    conversation: Conversation,
    /// The wire that it was written for.
    own: &'static str,
    rules: WireRules,
    facts: RequestFacts,
    end: End,
}

impl<'a> Case<'a> {
    fn new(args: &'a Repair, transcript: &'a Transcript) -> Result<Self, Fault> {
        let (index, conversation) = meant(args, transcript)?;
        let own = own_wire(transcript.format, &conversation.messages);
        let wire = args.wire.as_deref().unwrap_or(own);
        let rules = rules_for_files(wire).ok_or_else(|| {
            Fault::usage(format!("no wire is called {wire:?}")).hint(WireRules::NAMES.join(", "))
        })?;
        let mut facts = facts(own, &rules);
        if is_own(own, &rules) {
            facts.fields = beside::fields(transcript);
        }
        let end = args.end.unwrap_or_else(|| end_of(transcript.format));
        Ok(Case { args, transcript, index, conversation, own, rules, facts, end })
    }

    fn head(&self, mended: &Mended) -> Value {
        json!({
            "version": 1,
            "path": self.args.file.to_string_lossy(),
            "format": self.transcript.format.name(),
            "session": self.conversation.id,
            "wire": self.rules.name,
            "messages": self.conversation.messages.len(),
            "account": account_json(&mended.repairs),
            "repairs": repairs_json(&mended.repairs),
            "faults": faults_json(&self.transcript.faults),
            "written": null,
        })
    }

    fn opening(&self, mended: &Mended) -> String {
        let mut account = Account::of(&mended.repairs).to_string();
        let halves = halves(&self.transcript.faults).len();
        if halves > 0 {
            account.push_str(&format!(", and {} with half of a character", count(halves, "line")));
        }
        let account = paint(BOLD, &account);
        format!("{account} for {}, {}\n", self.rules.name, self.what())
    }

    /// Says which conversation it is.
    fn what(&self) -> String {
        let title = self.conversation.title.as_deref().map(|title| one_line(title, 60)).unwrap_or_default();
        let title = if title.is_empty() { title } else { format!(" “{title}”") };
        let length = count(self.conversation.messages.len(), "message");
        format!("in {length} of {}{title}", self.transcript.format)
    }

    /// Says that a list of another family stays what it is, and what writes the wire's; nothing of one that fits.
    fn shape(&self) -> String {
        let (format, rules) = (self.transcript.format, &self.rules);
        if format.is_session() || !self.transcript.is_of_one_format() || is_own(self.own, rules) {
            return String::new();
        }
        let mut told = format!("the file keeps its own shape, {format}");
        if matches!(rules.wire.as_ref(), "anthropic" | "openai-chat") {
            let given = quoted(&self.args.file.display().to_string());
            told.push_str(&format!(
                "; this writes the wire's: {} sanitize --wire {} < {given}",
                program(),
                rules.name
            ));
        }
        one_line(&told, usize::MAX) + "\n"
    }

    /// Says what of a session a new one does not have; nothing if it has all.
    fn left_out(&self) -> String {
        let left = self.transcript.left_out(self.index);
        let parts = [
            (left.of_other_kinds, "of other kinds"),
            (left.covered, "before the compaction"),
            (left.elsewhere, "of other conversations"),
        ];
        let told = parts.iter().filter(|(records, _)| *records > 0);
        let told: Vec<String> =
            told.map(|(records, what)| format!("{} {what}", count(*records, "record"))).collect();
        if told.is_empty() { String::new() } else { format!("left out: {}\n", told.join(", ")) }
    }

    fn invitation(&self) -> String {
        let mut again = format!("{} repair {}", program(), quoted(&self.args.file.display().to_string()));
        again.push_str(&format!(" --for {}", self.rules.name));
        if let Some(session) = &self.args.session {
            again.push_str(&format!(" --session {}", quoted(session)));
        }
        match self.args.end {
            Some(End::Request) => again.push_str(" --as request"),
            Some(End::History) => again.push_str(" --as history"),
            None => {}
        }
        let again = one_line(&format!("{again} --apply"), usize::MAX);
        format!("{}\n  {again}\n", paint(DIM, "nothing was written; this writes a new file:"))
    }
}

fn nothing_to_do(case: &Case<'_>) -> Result<Exit, Fault> {
    let name = &case.rules.name;
    out::print(&format!("{} for {name}, {}\n", paint(GREEN, "nothing to repair"), case.what()))?;
    tell(&case.shape());
    Ok(Exit::Done)
}

/// Writes the new file, reads it again, judges it, and only then tells of it: a reader that goes away stops nothing.
fn apply(case: &Case<'_>, mended: &Mended, mut head: Value, told: &str) -> Result<Exit, Fault> {
    if mended.messages.is_empty() {
        return Err(Fault::new("nothing that was said would be left, so nothing was written")
            .hint("a new session loses nothing"));
    }
    let id = Uuid::new_v4().to_string();
    let left_out = beside::left_out(case.transcript, &mended.repairs);
    let written = case.transcript.write_without(case.index, &mended.messages, &id, &left_out);
    let Written { bytes, losses, .. } = written.map_err(|error| Fault::new(error.to_string()))?;
    let path = match &case.args.out {
        Some(path) => new_file::write(path, &bytes).map(|()| path.clone())?,
        None => new_file::write_beside(names(case, &id), &bytes)?,
    };
    let left = judged_again(case, &path)?;
    if case.args.json {
        head["written"] = json!(path.to_string_lossy());
        head["problems"] = json!(left);
        out::print_json(&head)?;
    } else {
        let shown = one_line(&path.display().to_string(), usize::MAX);
        out::print(&format!("{told}{} {shown}\n", paint(GREEN, "written:")))?;
        for loss in &losses {
            tell(&format!("{}\n", paint(YELLOW, &loss_note(loss))));
        }
    }
    if !left.is_empty() {
        return Err(second_look::fault("the new file was read again and", &left));
    }
    if !case.args.json {
        tell(&case.shape());
        tell(&next(case, &path, &id));
        tell(&case.left_out());
    }
    Ok(Exit::Done)
}

/// Says what can be done with the new file.
fn next(case: &Case<'_>, path: &Path, id: &str) -> String {
    let good = "read again: nothing in it would be refused; the given file is as it was\n";
    let shown = quoted(&path.display().to_string());
    let resume = match case.transcript.format {
        Format::ClaudeCode => format!("claude --resume {id}"),
        Format::Codex => format!("codex resume {id}"),
        Format::Pi => format!("pi --session {shown}"),
        // It keeps no file of such a name, but takes one from anywhere.
        Format::Opencode => format!("opencode import {shown}"),
        // Files that lie in its folder may be removed before they are resumed, by their age.
        Format::GeminiCli => format!("gemini --session-file {shown}"),
        _ => return good.to_owned(),
    };
    let takes_any = matches!(case.transcript.format, Format::Pi | Format::Opencode | Format::GeminiCli);
    let is_beside = path.parent() == case.args.file.parent() && case.args.out.is_none();
    if !is_beside && !takes_any {
        let name = names(case, id).next();
        let name = name.and_then(|name| name.file_name().map(|name| name.to_string_lossy().into_owned()));
        return format!("{good}to resume it, put it beside its session as {}\n", name.unwrap_or_default());
    }
    let cwd = case.conversation.cwd.as_deref().filter(|cwd| safe(cwd) == *cwd && !cwd.contains(['\n', '\t']));
    let there = cwd.map(|cwd| format!("cd {} && ", quoted(cwd))).unwrap_or_default();
    let client = match is_own(case.own, &case.rules) {
        true => String::new(),
        false => format!(", for a client that sends it to {}", case.rules.name),
    };
    format!("{good}{} {there}{resume}\n", paint(DIM, &format!("next{client}:")))
}

/// Reads the file that was written and says what is still wrong with it.
fn judged_again(case: &Case<'_>, path: &Path) -> Result<Vec<String>, Fault> {
    let cannot =
        |error: String| Fault::new(format!("cannot read what was written to {}: {error}", path.display()));
    let bytes = fs::read(path).map_err(|error| cannot(error.to_string()))?;
    let (format, faults) = (case.transcript.format, &case.transcript.faults);
    problems_left(&bytes, format, faults, &case.rules, &case.facts, case.end)
        .map_err(|error| cannot(error.to_string()))
}

/// Returns the conversation that is meant, and its place in the file.
fn meant(args: &Repair, transcript: &Transcript) -> Result<(usize, Conversation), Fault> {
    let missing = || Fault::new(format!("{} holds no conversation", args.file.display()));
    let at = match args.session.as_deref() {
        Some(named) => place_of(named, transcript)?,
        None => 0,
    };
    transcript.conversation(at).map(|conversation| (at, conversation)).ok_or_else(missing)
}

/// Returns the place of the conversation that is named by its id or number.
fn place_of(named: &str, transcript: &Transcript) -> Result<usize, Fault> {
    let listed = transcript.listed();
    let begins = |with: &str| -> Vec<(usize, &Listed)> {
        let all = listed.iter().enumerate();
        all.filter(|(_, listed)| !with.is_empty() && listed.id.starts_with(with)).collect()
    };
    let found = begins(named);
    let exact: Vec<_> = found.iter().filter(|(_, listed)| listed.id == named).copied().collect();
    if let ([(at, _)], _) | (_, [(at, _)]) = (found.as_slice(), exact.as_slice()) {
        return Ok(*at);
    }
    // Ids are not always of one conversation: a branch has that of its session.
    let place = |number: &str| number.parse::<usize>().ok()?.checked_sub(1);
    let of_all = |number: &str| place(number).filter(|place| *place < listed.len());
    let numbered = match named.split_once('#') {
        Some(("", number)) => of_all(number),
        Some((id, number)) => place(number).and_then(|place| begins(id).get(place).map(|(at, _)| *at)),
        None if found.is_empty() => of_all(named),
        None => None,
    };
    if let Some(at) = numbered {
        return Ok(at);
    }
    let what = if found.is_empty() { "no conversation has" } else { "several conversations have" };
    let fault = Fault::usage(format!("{what} an id that begins with {:?}", one_line(named, 60)));
    let shown = transcript.conversations().enumerate().take(20);
    Err(shown.fold(fault, |fault, (place, conversation)| {
        let length = count(conversation.messages.len(), "message");
        fault.line(format!("#{}  {}  {length}", place + 1, one_line(&conversation.id, 60)))
    }))
}

/// Returns names for the new file beside the given one, best first.
fn names(case: &Case<'_>, id: &str) -> Box<dyn Iterator<Item = PathBuf>> {
    let given = case.args.file.clone();
    let started = case.conversation.started.unwrap_or_default();
    if let Some(name) = file_name(case.transcript.format, id, started) {
        // No other file has this id, so a second name is not needed.
        return Box::new(std::iter::once(given.with_file_name(name)));
    }
    let stem = given.file_stem().map_or_else(|| OsString::from("messages"), OsString::from);
    let ending = given.extension().map_or_else(|| OsString::from("json"), OsString::from);
    Box::new((1_usize..).map(move |number| {
        let mut name = stem.clone();
        name.push(if number == 1 { ".repaired.".to_owned() } else { format!(".repaired-{number}.") });
        name.push(&ending);
        given.with_file_name(name)
    }))
}
