//! A file as it was read, and the way back into a file.
//!
//! The text stays, and where each message stands in it, so that what nobody touched is written as it was read.

use std::borrow::Cow;

use trunkline_message_tree::{Message, NodeId, Usage};

use crate::beside::{self, MessageField};
use crate::conversation::{Conversation, Heading, Kind, LeftOut, Listed, Loss, Written};
use crate::convert::{self, OtherFields};
use crate::fault::Fault;
use crate::format::Format;
use crate::json::{Fields, Value};
use crate::log::Log;
use crate::mend::mend;
use crate::session_tree::{self, SessionTree};
use crate::sniff::Unseen;
use crate::source::{Read, Session, Source};
use crate::{claude_code, codex, format, gemini_cli, list, opencode, packed, pi, sniff};

/// A file as it was read.
///
/// What its conversations have in common is held once; the messages of one are made when it is asked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Transcript {
    /// The format of the file.
    pub format: Format,
    /// What was wrong with the file or new in it, by line.
    pub faults: Vec<Fault>,
    /// What was read, mended where it could not be parsed.
    text: String,
    /// Whether no other format has what stands in the file, where that was asked.
    is_only: Option<bool>,
    file: File,
}

/// What was found in a file.
#[derive(Clone, Debug)]
enum File {
    Session(claude_code::File),
    Log(Log),
    List { listed: Listed, list: list::List },
}

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The bytes are in none of the formats that are known.
    #[error("not a format that is known: {seen}; known are {}", format::names())]
    Unknown {
        /// What was seen instead, in words.
        seen: String,
    },
    /// The bytes are a session of an agent that is known by name and not read.
    #[error("a session of {agent}, which is not read; known are {}", format::names())]
    OtherAgent {
        /// The agent.
        agent: &'static str,
    },
    /// The bytes are packed, and unpacked they are more than is read.
    #[error("unpacked it has more than {limit} bytes")]
    TooLarge {
        /// The most that is read.
        limit: usize,
    },
    /// The bytes are not in the format that was asked for.
    #[error("not {format}: {seen}")]
    Not {
        /// What was asked for.
        format: Format,
        /// What was seen instead, in words.
        seen: String,
    },
}

/// Why nothing could be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The file holds no such conversation.
    #[error("conversation {asked} was asked for, the file holds {held}")]
    NoSuchConversation {
        /// The position that was given.
        asked: usize,
        /// How many there are.
        held: usize,
    },
}

/// Reads a file of any known format, also one that is packed with zstd.
///
/// # Errors
///
/// [`ReadError::Unknown`] if the format is not known, [`ReadError::OtherAgent`] if its agent is, [`ReadError::Not`] if the file
/// begins like one and is none, [`ReadError::TooLarge`] if it is packed and unpacks to more than 512 MiB.
pub fn read(bytes: &[u8]) -> Result<Transcript, ReadError> {
    let unread = |unseen| match unseen {
        Unseen::Agent(agent) => ReadError::OtherAgent { agent },
        Unseen::Words(seen) => ReadError::Unknown { seen },
    };
    let mut faults = Vec::new();
    let bytes = &packed::unpacked(bytes, &mut faults).map_err(too_large)?;
    if let Some(unseen) = sniff::other(bytes) {
        return Err(unread(unseen));
    }
    let text = mend(bytes, &mut faults);
    let whole = Value::read(&text);
    let seen = sniff::recognise(&text, whole.as_ref().ok()).map_err(unread)?;
    let file = file(&text, whole, seen.format, &mut faults)?;
    Ok(transcript(text, seen.format, Some(seen.is_only), file, faults))
}

/// Reads a file of a format that the caller knows.
///
/// Reading goes on past every bad line, unknown record and half character, and [`Transcript::faults`] lists them.
///
/// # Errors
///
/// [`ReadError::Not`] if nothing in it is of that format, [`ReadError::TooLarge`] if it is packed and unpacks to more
/// than 512 MiB.
pub fn read_as(bytes: &[u8], format: Format) -> Result<Transcript, ReadError> {
    let mut faults = Vec::new();
    let bytes = &packed::unpacked(bytes, &mut faults).map_err(too_large)?;
    let text = mend(bytes, &mut faults);
    let file = file(&text, Value::read(&text), format, &mut faults)?;
    Ok(transcript(text, format, None, file, faults))
}

const fn too_large(_: packed::TooLarge) -> ReadError {
    ReadError::TooLarge { limit: packed::LIMIT }
}

/// Reads a text; `whole` is the text as one value, if it is one.
fn file<'a>(
    text: &'a str,
    whole: Result<Value<'a>, serde_json::Error>,
    format: Format,
    faults: &mut Vec<Fault>,
) -> Result<File, ReadError> {
    let not = |seen| ReadError::Not { format, seen };
    match format {
        Format::ClaudeCode => Ok(File::Session(claude_code::read(text, faults).map_err(not)?)),
        Format::Codex => Ok(File::Log(codex::read(text, faults).map_err(not)?.finish())),
        Format::Pi => Ok(File::Log(pi::read(text, faults).map_err(not)?.finish())),
        Format::Opencode => Ok(File::Log(opencode::read(text, &whole, faults).map_err(not)?.finish())),
        Format::GeminiCli => Ok(File::Log(gemini_cli::read(text, &whole, faults).map_err(not)?.finish())),
        Format::Anthropic | Format::OpenAiChat => {
            let list = list::read(text, &whole, format, faults).map_err(not)?;
            Ok(File::List { listed: Listed { id: String::new(), kind: Kind::Main }, list })
        }
    }
}

fn transcript(
    text: Cow<'_, str>,
    format: Format,
    is_only: Option<bool>,
    file: File,
    mut faults: Vec<Fault>,
) -> Transcript {
    faults.sort_by_key(|fault| fault.line);
    Transcript { format, faults, text: text.into_owned(), is_only, file }
}

impl Transcript {
    /// Returns the names of the conversations; the first is the main one, and there is always one.
    pub fn listed(&self) -> &[Listed] {
        match &self.file {
            File::Session(file) => &file.listed,
            File::Log(log) => log.listed(),
            File::List { listed, .. } => std::slice::from_ref(listed),
        }
    }

    /// Returns one conversation by its place among [`Transcript::listed`].
    ///
    /// Its messages are copied for the caller, so that whoever needs several has them one after the other: together they
    /// can be far larger than the file.
    pub fn conversation(&self, index: usize) -> Option<Conversation> {
        self.read(index).map(|(conversation, _)| conversation)
    }

    /// Returns every conversation, each when its turn comes, the main one first.
    pub fn conversations(&self) -> impl Iterator<Item = Conversation> {
        (0..self.listed().len()).filter_map(|index| self.conversation(index))
    }

    fn read(&self, index: usize) -> Option<(Conversation, Vec<Source>)> {
        match &self.file {
            File::Session(file) => file.conversation(index),
            File::Log(log) => log.conversation(index),
            File::List { list, .. } => (index == 0).then(|| {
                let conversation = Conversation {
                    id: String::new(),
                    kind: Kind::Main,
                    title: None,
                    cwd: None,
                    model: list.model.clone(),
                    started: None,
                    ended: None,
                    messages: list.messages.clone(),
                };
                (conversation, list.sources.clone())
            }),
        }
    }

    /// Returns the whole file as trees: the session, with all that was left in it, and then one for each sub-agent that stands in
    /// the same file.
    pub fn trees(&self) -> Vec<SessionTree> {
        if let File::Log(log) = &self.file {
            return vec![session_tree::of_log(log)];
        }
        let (places, times) = match &self.file {
            File::Session(file) => (file.ranges(), file.times()),
            File::List { list, .. } => (list.layout.places().to_vec(), Vec::new()),
            File::Log(_) => (Vec::new(), Vec::new()),
        };
        let line = |index| {
            let (conversation, sources) = self.read(index)?;
            let at = |source: &Source| {
                let records =
                    source.records.iter().filter_map(|record| times.get(*record).copied().flatten());
                records.max()
            };
            let times = sources.iter().map(at).collect();
            Some(session_tree::Line { conversation, sources, times })
        };
        let mut trees = session_tree::of_lines(self.listed(), line, &places);
        if let (File::Session(claude_code::File { agent: Some(agent), .. }), Some(main)) =
            (&self.file, trees.first_mut())
        {
            main.kind = Kind::Sidechain { call_id: None };
            main.parent = Some(std::mem::replace(&mut main.id, agent.clone()));
        }
        trees
    }

    /// Returns the records that a node was read from, as they stand in the file, in the order in which they are read. A
    /// character that could not be read is replaced in them too.
    pub fn records<'t>(&'t self, tree: &'t SessionTree, node: NodeId) -> impl Iterator<Item = &'t str> {
        tree.places(node).iter().filter_map(|place| self.text.get(place.clone()))
    }

    /// Tells whether no other format has what stands in the file, as [`sniff_only`](crate::sniff_only) does.
    pub fn is_of_one_format(&self) -> bool {
        self.is_only.unwrap_or_else(|| {
            let whole = Value::read(&self.text).ok();
            sniff::recognise(&self.text, whole.as_ref()).is_ok_and(|seen| seen.is_only)
        })
    }

    /// Returns the fields of a request body beside its messages and instructions, which only its own format keeps.
    pub fn other_fields(&self) -> Vec<String> {
        let File::List { list, .. } = &self.file else { return Vec::new() };
        let body = list.layout.in_body.then(|| Fields::parse(self.text.trim()).ok());
        let body = body.flatten();
        let names = body.iter().flat_map(Fields::names);
        let own =
            |name: &&str| *name == "messages" || (*name == "system" && self.format == Format::Anthropic);
        names.filter(|name| !own(name)).map(str::to_owned).collect()
    }

    /// Returns the fields of a list's messages that the vocabulary has no word for, in order; sessions have none.
    ///
    /// They stay with their message. A service that does not know them may refuse them; [`Transcript::write_without`] leaves
    /// them out.
    pub fn message_fields(&self) -> Vec<MessageField> {
        let File::List { list, .. } = &self.file else { return Vec::new() };
        let elements = list.messages.iter().zip(&list.sources).filter_map(|(message, source)| {
            let fields = Fields::parse(list.layout.element(&self.text, source)?).ok()?;
            Some(beside::of_message(self.format, message.node?, &fields))
        });
        elements.flatten().collect()
    }

    /// Returns the fields of a request body beside its messages and instructions in the words of another list format, and the
    /// names of those that it has no place for.
    pub fn fields_for(&self, format: Format) -> OtherFields {
        let names = self.other_fields();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if names.is_empty() || format == self.format {
            return OtherFields::default();
        }
        match Fields::parse(self.text.trim()) {
            Ok(body) => convert::convert(&body, &names, format),
            Err(_) => OtherFields::default(),
        }
    }

    /// Returns what all answers of models in the file took together: each answer counts once, however many lines repeat it and
    /// however many conversations it stands in, and so does what was copied into the file's own past. Lists tell of none.
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        match &self.file {
            File::Session(file) => file.usages().for_each(|usage| add(&mut sum, usage)),
            File::Log(log) => log.usages().for_each(|usage| add(&mut sum, usage)),
            File::List { list, .. } => {
                list.messages
                    .iter()
                    .filter_map(|message| message.usage)
                    .for_each(|usage| add(&mut sum, usage));
            }
        }
        sum
    }

    /// Counts the records of a session file that [`Transcript::write`] leaves out for one conversation, lines that are no
    /// records apart; a list leaves out nothing but those.
    pub fn left_out(&self, conversation: usize) -> LeftOut {
        match &self.file {
            File::Session(file) => file.left_out(conversation),
            File::Log(log) => log.left_out(conversation),
            File::List { .. } => LeftOut::default(),
        }
    }

    /// Returns the file with `messages` in place of those of one conversation, in the same format.
    ///
    /// A message is what was read if it has the [`Message::node`] it was given and equals it. Such messages, and such
    /// blocks in messages that were changed, are written with the bytes that they had: fields that we do not know stay.
    ///
    /// - A list: the same text with the list changed. Unchanged messages give it back byte for byte.
    /// - A session: a new session file with this one conversation, of the session `new_id`, which should be a UUID; its agent
    ///   resumes it from the folder of the old one. Lists ignore the id.
    ///
    /// # Errors
    ///
    /// [`WriteError::NoSuchConversation`] if `conversation` is out of range.
    pub fn write(
        &self,
        conversation: usize,
        messages: &[Message],
        new_id: &str,
    ) -> Result<Written, WriteError> {
        self.write_without(conversation, messages, new_id, &[])
    }

    /// Does the same as [`Transcript::write`] and leaves out fields of messages, which [`Transcript::message_fields`] told of.
    ///
    /// # Errors
    ///
    /// [`WriteError::NoSuchConversation`] if `conversation` is out of range.
    pub fn write_without(
        &self,
        conversation: usize,
        messages: &[Message],
        new_id: &str,
        left_out: &[MessageField],
    ) -> Result<Written, WriteError> {
        let missing = || WriteError::NoSuchConversation { asked: conversation, held: self.listed().len() };
        let (read, sources) = self.read(conversation).ok_or_else(missing)?;
        let read = Read { text: &self.text, messages: &read.messages, sources: &sources };
        let mut losses = Vec::new();
        let text = match &self.file {
            File::List { list, .. } => {
                list::write(read, &list.layout, self.format, messages, left_out, &mut losses)
            }
            File::Session(file) => {
                let heading = Heading { id: new_id.to_owned(), ..Heading::default() };
                let records = file.ranges();
                let session = Session { read, records: &records, labels: &file.labels, heading: &heading };
                claude_code::write(&session, messages, &mut losses)
            }
            File::Log(log) => {
                let heading = Heading {
                    id: new_id.to_owned(),
                    title: log.title.clone().unwrap_or_default(),
                    cwd: log.cwd.clone().unwrap_or_default(),
                    started: log.started.unwrap_or_default(),
                };
                let labels: Vec<_> =
                    log.labels.iter().filter_map(|label| log.records.get(*label).cloned()).collect();
                let session = Session { read, records: &log.records, labels: &labels, heading: &heading };
                write_session(self.format, &session, messages, &mut losses)
            }
        };
        Ok(Written { bytes: text.into_bytes(), losses })
    }
}

fn add(sum: &mut Usage, usage: Usage) {
    let fields = [
        (&mut sum.input_tokens, usage.input_tokens),
        (&mut sum.output_tokens, usage.output_tokens),
        (&mut sum.cache_read_tokens, usage.cache_read_tokens),
        (&mut sum.cache_write_tokens, usage.cache_write_tokens),
        (&mut sum.reasoning_tokens, usage.reasoning_tokens),
    ];
    // A file can say any number.
    fields.into_iter().for_each(|(sum, more)| *sum = sum.saturating_add(more));
}

/// Writes messages into a format from scratch, for a change of format.
///
/// A list becomes an object with `messages`, and with `system` where the format has instructions there. Only session
/// formats read the heading.
pub fn export(messages: &[Message], format: Format, heading: &Heading) -> Written {
    let mut losses = Vec::new();
    let text = match format {
        Format::Anthropic | Format::OpenAiChat => list::export(messages, format, &mut losses),
        Format::ClaudeCode | Format::Codex | Format::Pi | Format::Opencode | Format::GeminiCli => {
            let read = Read { text: "", messages: &[], sources: &[] };
            let session = Session { read, records: &[], labels: &[], heading };
            write_session(format, &session, messages, &mut losses)
        }
    };
    Written { bytes: text.into_bytes(), losses }
}

fn write_session(
    format: Format,
    session: &Session<'_>,
    messages: &[Message],
    losses: &mut Vec<Loss>,
) -> String {
    match format {
        Format::Codex => codex::write(session, messages, losses),
        Format::Pi => pi::write(session, messages, losses),
        Format::Opencode => opencode::write(session, messages, losses),
        Format::GeminiCli => gemini_cli::write(session, messages, losses),
        _ => claude_code::write(session, messages, losses),
    }
}
