//! The fields of a request body in the words of the other format.
//!
//! What both formats can say is kept. The rest is named and never dropped in silence: it is a part of what was asked.

use crate::format::Format;
use crate::json::{Fields, Value, object, quote};

/// The fields of a request body beside its messages and instructions, for another format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OtherFields {
    /// What the other format can say as well: names and JSON.
    pub kept: Vec<(String, String)>,
    /// The names of what it has no place for.
    pub lost: Vec<String>,
}

/// Returns the fields of a body of one list format in the words of the other.
pub(crate) fn convert(body: &Fields<'_>, names: &[&str], to: Format) -> OtherFields {
    let mut fields = OtherFields::default();
    for name in names {
        let Some(value) = body.get(name) else { continue };
        let said = match to {
            Format::Anthropic => to_anthropic(name, value, body),
            _ => to_openai(name, value),
        };
        match said {
            Some(said) => fields.kept.extend(said),
            None => fields.lost.push((*name).to_owned()),
        }
    }
    fields
}

type Said = Option<Vec<(String, String)>>;

fn one(name: &str, value: impl Into<String>) -> Said {
    Some(vec![(name.to_owned(), value.into())])
}

fn to_anthropic(name: &str, value: &Value<'_>, body: &Fields<'_>) -> Said {
    match name {
        "model" | "stream" | "temperature" | "top_p" => one(name, value.get()),
        "max_completion_tokens" => one("max_tokens", value.get()),
        // The newer of the two names counts.
        "max_tokens" if body.get("max_completion_tokens").is_some() => Some(Vec::new()),
        "max_tokens" => one(name, value.get()),
        // Asked for or not, it comes with a stream there.
        "stream_options" => Some(Vec::new()),
        "stop" if value.items().is_some() => one("stop_sequences", value.get()),
        "stop" => one("stop_sequences", format!("[{}]", value.get())),
        "tools" => one(
            name,
            list(value, |tool| {
                let function = tool
                    .object("function")
                    .filter(|_| tool.text("type").is_none_or(|kind| kind == "function"))?;
                renamed(&function, &[("parameters", "input_schema")])
            })?,
        ),
        "tool_choice" => {
            let kind = |kind: &str| one(name, object(&[("type", Some(quote(kind)))]));
            match value.text().as_deref() {
                Some("auto") => kind("auto"),
                Some("none") => kind("none"),
                Some("required" | "any") => kind("any"),
                Some(_) => None,
                None => {
                    let choice = value.fields()?.object("function")?.text("name")?.into_owned();
                    one(name, object(&[("type", Some(quote("tool"))), ("name", Some(quote(&choice)))]))
                }
            }
        }
        _ => None,
    }
}

fn to_openai(name: &str, value: &Value<'_>) -> Said {
    match name {
        "model" | "stream" | "temperature" | "top_p" | "max_tokens" => one(name, value.get()),
        "stop_sequences" => one("stop", value.get()),
        "tools" => one(
            name,
            list(value, |tool| {
                tool.object("input_schema")
                    .filter(|_| tool.text("type").is_none_or(|kind| kind == "custom"))?;
                let function =
                    renamed(tool, &[("input_schema", "parameters"), ("type", ""), ("cache_control", "")])?;
                Some(object(&[("type", Some(quote("function"))), ("function", Some(function))]))
            })?,
        ),
        "tool_choice" => {
            let choice = value.fields()?;
            let alone = choice.names().iter().all(|name| matches!(*name, "type" | "name"));
            match choice.text("type").filter(|_| alone).as_deref() {
                Some("auto") => one(name, quote("auto")),
                Some("none") => one(name, quote("none")),
                Some("any") => one(name, quote("required")),
                Some("tool") => {
                    let function = object(&[("name", Some(quote(&choice.text("name")?)))]);
                    one(name, object(&[("type", Some(quote("function"))), ("function", Some(function))]))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Writes a list anew, if each of its elements can be.
fn list(value: &Value<'_>, write: impl Fn(&Fields<'_>) -> Option<String>) -> Option<String> {
    let items: Option<Vec<String>> = value.items()?.iter().map(|item| write(&*item.fields()?)).collect();
    Some(format!("[{}]", items?.join(",")))
}

/// Writes a tool under other names, an empty one for what goes without saying; none if it says what the other format cannot.
fn renamed(tool: &Fields<'_>, names: &[(&str, &str)]) -> Option<String> {
    let mut fields = Vec::new();
    for name in tool.names() {
        let to = names.iter().find(|(from, _)| *from == name).map(|(_, to)| *to);
        let value = tool.get(name)?.get().to_owned();
        match to {
            Some("") => {}
            Some(to) => fields.push((to, Some(value))),
            None if matches!(name, "name" | "description" | "strict") => fields.push((name, Some(value))),
            None => return None,
        }
    }
    Some(object(&fields))
}
