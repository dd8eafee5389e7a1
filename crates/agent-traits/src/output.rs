//! What a function gives its model.

use std::error::Error;

use serde::Serialize;
use trunkline_message_tree::Part;
use trunkline_session_machine::ToolOutput;

/// How many causes of an error a model is told.
const CAUSES_TOLD: usize = 8;

/// What a tool can give its model: words, [`Json`], parts, a [`ToolOutput`], or a [`Result`] of these.
///
/// The error of a result is told as a failure: its words, and those of up to eight causes as far as they do not say the same.
/// It is anything that becomes a boxed error: an error of `std` or `thiserror`, words, or one that is boxed already.
///
/// ```
/// use trunkline_agent_traits::{IntoToolOutput, Json, ToolOutput};
///
/// assert_eq!(Json(vec![1, 2]).into_output(), ToolOutput::text("[1,2]"));
/// assert_eq!(Err::<String, _>("no such file").into_output(), ToolOutput::error("no such file"));
/// ```
pub trait IntoToolOutput {
    /// Returns what the model is told.
    fn into_output(self) -> ToolOutput;
}

/// A value that the model is told as JSON, on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is a name for how its only field is told")]
pub struct Json<T>(pub T);

impl IntoToolOutput for ToolOutput {
    fn into_output(self) -> ToolOutput {
        self
    }
}

/// Nothing is told.
impl IntoToolOutput for () {
    fn into_output(self) -> ToolOutput {
        ToolOutput::default()
    }
}

impl IntoToolOutput for String {
    fn into_output(self) -> ToolOutput {
        ToolOutput::text(self)
    }
}

impl IntoToolOutput for &str {
    fn into_output(self) -> ToolOutput {
        ToolOutput::text(self)
    }
}

impl IntoToolOutput for Vec<Part> {
    fn into_output(self) -> ToolOutput {
        let mut output = ToolOutput::default();
        output.content = self;
        output
    }
}

impl<T: Serialize> IntoToolOutput for Json<T> {
    fn into_output(self) -> ToolOutput {
        match serde_json::to_string(&self.0) {
            Ok(text) => ToolOutput::text(text),
            Err(fault) => ToolOutput::error(format!("the tool gave what is no JSON: {fault}")),
        }
    }
}

impl<T: IntoToolOutput, E: Into<Box<dyn Error + Send + Sync>>> IntoToolOutput for Result<T, E> {
    fn into_output(self) -> ToolOutput {
        let fault = match self {
            Ok(output) => return output.into_output(),
            Err(fault) => fault.into(),
        };
        let mut words = fault.to_string();
        let mut cause = fault.source();
        for _ in 0..CAUSES_TOLD {
            let Some(this) = cause else { break };
            let told = this.to_string();
            // Some errors say their cause themselves.
            if !words.contains(&told) {
                words = format!("{words}: {told}");
            }
            cause = this.source();
        }
        ToolOutput::error(words)
    }
}
