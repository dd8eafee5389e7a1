//! A declared tool as a model calls it.

use std::ffi::OsString;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};
use trunkline_agent_traits::message_tree::ToolSpec;
use trunkline_agent_traits::{Access, Cancel, EffectClass, Effects, Gate, Tool, ToolContext, ToolOutput};

use super::definition::{Declared, Input};
use super::{DeclaredTool, Trust, TrustedTools, output, template};
use crate::command::{Ended, How, Order, What, Words, headline, kept, run};
use crate::{call, shown};

/// How many bytes of arguments a preview shows.
const PREVIEW_INPUT: usize = 20_000;

pub(super) struct Offered {
    pub(super) tool: DeclaredTool,
    pub(super) trusted: TrustedTools,
}

#[async_trait]
impl Tool for Offered {
    fn spec(&self) -> ToolSpec {
        self.tool.spec()
    }

    fn access(&self) -> Access {
        match (self.runs_unasked(), self.tool.definition.stages) {
            (true, false) => Access::ReadOnly,
            (true, true) => Access::Proposes,
            (false, _) => Access::Exclusive,
        }
    }

    fn gate(&self, arguments: &Map<String, Value>) -> Option<Gate> {
        // What is refused in any case is no question.
        let words = template::fill(&self.tool.definition, arguments).ok()?;
        let line = template::line(&self.tool.definition.program, &words);
        let mut preview = format!("{}\n", shown::safe(&line));
        if self.tool.definition.input == Input::Json {
            let given = serde_json::to_string_pretty(arguments).unwrap_or_default();
            preview.push_str(&format!(
                "\ngiven as JSON:\n{}\n",
                shown::cut_lines(&shown::safe(&given), PREVIEW_INPUT)
            ));
        }
        preview.push_str(&format!(
            "\na tool of this project: {}\nin {}\nat most {} s\n{}\n",
            self.tool.file(),
            shown::name(self.tool.folder()),
            self.tool.definition.timeout_seconds,
            self.tool.sandbox.describe()
        ));
        let label = format!("{}: {}", self.tool.name(), shown::line(&line, 100));
        let gate = Gate::new(label, preview).of_command(line);
        Some(if self.runs_unasked() { gate.unasked() } else { gate })
    }

    fn effects(&self, arguments: &Map<String, Value>) -> Effects {
        let class = match (self.tool.definition.access, self.tool.definition.stages) {
            (Declared::Reads, false) => EffectClass::Pure,
            (Declared::Reads, true) => EffectClass::Reversible,
            (Declared::Writes, _) => EffectClass::Unknown,
        };
        let words = template::fill(&self.tool.definition, arguments).unwrap_or_default();
        Effects::new(class).running(template::line(&self.tool.definition.program, &words))
    }

    async fn run(&self, arguments: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        if context.cancel.is_cancelled() {
            return ToolOutput::error("cancelled before it was started");
        }
        self.call(&arguments, context).await.unwrap_or_else(ToolOutput::error)
    }
}

impl Offered {
    fn runs_unasked(&self) -> bool {
        self.tool.definition.access == Declared::Reads && self.tool.is_held()
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<ToolOutput, String> {
        let definition = &self.tool.definition;
        let words = template::fill(definition, arguments)?;
        let cannot = |error| format!("no temporary folder can be made for it: {error}");
        let private = match definition.access {
            Declared::Reads => Some(tempfile::tempdir().map_err(cannot)?),
            Declared::Writes => None,
        };
        let held = private.as_ref().and_then(|folder| self.tool.sandbox.nothing_but(folder.path()));
        let input = match definition.input {
            Input::Nothing => None,
            Input::Json => Some(serde_json::to_vec(arguments).map_err(|error| error.to_string())?),
        };
        let output_limit = if definition.stages { output::LARGEST / 4 } else { definition.output_characters };
        let asked = (self.tool.clone(), self.trusted.clone());
        let order = Order {
            what: What::Words(Box::new(Words {
                program: self.tool.owned.start.clone(),
                words: words.into_iter().map(OsString::from).collect(),
                input,
                variables: definition.environment.clone(),
                temporary: private.as_ref().map(|folder| folder.path().to_owned()),
                apart: definition.stages.then_some(definition.output_characters),
                still: Box::new(move || {
                    still(&asked.0, &asked.1).map_err(|over| over.told_before(asked.0.name()))
                }),
            })),
            folder: self.tool.root.path().to_owned(),
            timeout: Duration::from_secs(definition.timeout_seconds),
            output_limit,
            sandbox: held.unwrap_or_else(|| self.tool.sandbox.clone()),
        };
        let before = kept::look(&self.tool.root);
        let ended = run(order, context).await?;
        let beside = kept::told(&self.tool.root, before);
        // What was started is what was digested a moment before, unless somebody was quicker: that shows now.
        let (tool, trusted) = (self.tool.clone(), self.trusted.clone());
        let after = tokio::task::spawn_blocking(move || still(&tool, &trusted)).await;
        let changed = match after {
            Ok(Ok(())) => String::new(),
            Ok(Err(over)) => over.told_after(self.tool.name()),
            Err(error) => format!("[it could not be looked at again: {error}]\n"),
        };
        let beside = beside + &changed;
        match definition.stages && ended.how == How::Exited(0) && changed.is_empty() {
            true => self.stage(ended, beside, &context.cancel).await,
            false => Ok(self.report(&ended, &beside)),
        }
    }

    async fn stage(&self, ended: Ended, beside: String, cancel: &Cancel) -> Result<ToolOutput, String> {
        let printed = ended.output.whole().filter(|bytes| bytes.len() <= output::LARGEST);
        let printed = printed
            .ok_or_else(|| format!("it printed more than {} bytes; nothing is staged", output::LARGEST))?;
        let root = std::sync::Arc::clone(&self.tool.root);
        let cancel = cancel.clone();
        let mut output = call::blocking(move || output::stage(&root, &printed, &cancel)).await;
        let (text, _) = ended
            .errors
            .map(|errors| errors.text(self.tool.definition.output_characters))
            .unwrap_or_default();
        for proposal in &mut output.proposals {
            // It is applied by `edit_files`, and that is what it names; who decides has to know where it comes from.
            let (name, file) = (self.tool.name(), self.tool.file());
            proposal
                .preview
                .text
                .push_str(&format!("\n[proposed by {name}, a tool of this project: {file}]"));
        }
        let more = if text.trim().is_empty() { beside } else { format!("{beside}on stderr:\n{text}\n") };
        if !more.is_empty() {
            output.content.push(trunkline_agent_traits::message_tree::Part::text(more));
        }
        Ok(output)
    }

    fn report(&self, ended: &Ended, beside: &str) -> ToolOutput {
        let limit = self.tool.definition.output_characters;
        let (mut told, exit_code) = headline(ended);
        told.push('\n');
        for printed in std::iter::once(&ended.output).chain(&ended.errors) {
            let (text, odd) = printed.text(limit);
            told.push_str(&text);
            if !told.ends_with('\n') {
                told.push('\n');
            }
            told.extend(odd.told());
        }
        told.push_str(&ended.left.told());
        told.push_str(beside);
        match exit_code {
            Some(0) if !self.tool.definition.stages => ToolOutput::text(told),
            _ => {
                if told.contains("ermission denied") {
                    told.push_str(&format!("[{}]\n", self.held()));
                }
                ToolOutput::error(told)
            }
        }
    }

    fn held(&self) -> String {
        match self.runs_unasked() {
            true => {
                "a tool that is declared to read can write nothing but temporary files of its own".to_owned()
            }
            false => self.tool.sandbox.describe(),
        }
    }
}

/// Why a tool is not trusted any more.
enum Over {
    /// These files are not what they were.
    Changed(String),
    /// Something else.
    Because(String),
}

impl Over {
    fn told_before(&self, name: &str) -> String {
        let why = match self {
            Over::Changed(files) => format!("of a change: {files}"),
            Over::Because(why) => why.clone(),
        };
        format!("not run: {name} is not trusted any more, because {why}; a person has to trust it again")
    }

    fn told_after(&self, name: &str) -> String {
        match self {
            Over::Changed(files) => format!(
                "[{files} changed while this call was starting or running; {name} is no longer trusted, and this run may have used what \
                 was changed]\n"
            ),
            Over::Because(why) => {
                format!(
                    "[{name} is no longer trusted, because {why}; this run may have used what was changed]\n"
                )
            }
        }
    }
}

/// Refuses to start what nobody has trusted as it is now.
fn still(tool: &DeclaredTool, trusted: &TrustedTools) -> Result<(), Over> {
    tool.still().map_err(Over::Because)?;
    match trusted.trust(tool) {
        Ok(Trust::Given) => Ok(()),
        Ok(Trust::Over(what)) => Err(Over::Changed(what)),
        Ok(Trust::None) => Err(Over::Because("a person has taken that back".to_owned())),
        Err(error) => Err(Over::Because(error.to_string())),
    }
}
