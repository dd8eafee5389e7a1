//! The file of settings: what would otherwise be typed for each run.
//!
//! It stands in the user's own folder and never in that of a project, which may come from anywhere. A setting that is not
//! understood could have forbidden something, so a file counts as a whole or not at all. It holds no keys.

use std::ffi::OsString;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use etcetera::{BaseStrategy, choose_base_strategy};
use serde::Deserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde_json::Value;
use trunkline_providers::BaseUrl;

use crate::args::model::Usual;
use crate::args::settings::{KEYS, Kind, Use, check};
use crate::term::fault::Fault;
use crate::term::nearest::nearest;
use crate::term::text::{decoded, one_line};

/// The variable that names another file, or `none`.
const VARIABLE: &str = "TRUNKLINE_SETTINGS";
/// The longest file that is read, in bytes.
const LONGEST: u64 = 1 << 16;

/// What a file of settings says.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Where it stands.
    pub(crate) path: PathBuf,
    /// The values of each key, as they would be typed.
    pub(crate) values: Vec<(&'static str, Vec<String>)>,
}

/// Returns the settings of the user; `None` if there are none.
pub(crate) fn find(env: impl Fn(&str) -> Option<OsString>) -> Result<Option<Settings>, Fault> {
    let named = env(VARIABLE).filter(|named| !named.is_empty());
    if named.as_ref().is_some_and(|named| named == "none") {
        return Ok(None);
    }
    let is_named = named.is_some();
    let path = match named {
        Some(named) => PathBuf::from(named),
        None => match choose_base_strategy() {
            Ok(strategy) => strategy.config_dir().join("trunkline").join("settings.json"),
            // A user without a home has no settings.
            Err(_) => return Ok(None),
        },
    };
    match std::fs::metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_named => Ok(None),
        _ => read(&path).map(Some),
    }
}

/// Reads a file of settings.
fn read(path: &Path) -> Result<Settings, Fault> {
    let shown = one_line(&path.display().to_string(), 200);
    let cannot = |what: String| {
        Fault::usage(format!("cannot use the settings {shown}: {}", one_line(&what, 400)))
            .hint(format!("they look like {{\"policy\":\"person\",\"max_turns\":80}}; docs/settings.md has all keys, {VARIABLE}=none does without"))
    };
    // Where it really stands, so that a link out of a project's folder is seen.
    let path = path.canonicalize().map_err(|error| cannot(error.to_string()))?;
    // A pipe that nobody writes to would hold up whoever opens it.
    if std::fs::metadata(&path).is_ok_and(|about| !about.is_file()) {
        return Err(cannot("it is no plain file".to_owned()));
    }
    let file = std::fs::File::open(&path).map_err(|error| cannot(error.to_string()))?;
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return Err(cannot("it is no plain file".to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|error| cannot(error.to_string()))?;
    if bytes.len() as u64 > LONGEST {
        return Err(cannot(format!("it has more than {LONGEST} bytes")));
    }
    let text = decoded(bytes).map_err(cannot)?;
    let values = parse(&text, path.parent().unwrap_or(Path::new("/"))).map_err(cannot)?;
    Ok(Settings { path, values })
}

/// Reads settings that stand in a folder.
fn parse(text: &str, folder: &Path) -> Result<Vec<(&'static str, Vec<String>)>, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let members = reader.deserialize_map(Members).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    let mut settings: Vec<(&'static str, Vec<String>)> = Vec::new();
    for (key, value) in members {
        let Some((known, kind, _)) = KEYS.iter().find(|(known, _, _)| *known == key) else {
            return Err(unknown(&key));
        };
        let values = typed(*kind, &value, folder).map_err(|what| format!("{known}: {what}"))?;
        if *known == "base_url" {
            has_no_secret(&values)?;
        }
        check(known, &values).map_err(|what| format!("{known}: {what}"))?;
        settings.push((known, values));
    }
    Ok(settings)
}

fn unknown(key: &str) -> String {
    let shown = one_line(key, 60);
    let lower = key.to_ascii_lowercase();
    if ["key", "token", "secret", "password"].iter().any(|word| lower.ends_with(word)) {
        return format!(
            "{shown:?} is not kept in a file: keys come from variables such as ANTHROPIC_API_KEY alone"
        );
    }
    match nearest(key, KEYS.iter().map(|(known, _, _)| *known)) {
        Some(near) => format!("there is no setting {shown:?}; did you mean {near:?}?"),
        None => {
            let all: Vec<&str> = KEYS.iter().map(|(known, _, _)| *known).collect();
            format!("there is no setting {shown:?}; there are {}", all.join(", "))
        }
    }
}

fn has_no_secret(values: &[String]) -> Result<(), String> {
    let has_user = |url: &String| {
        let base: Option<BaseUrl> = url.parse().ok();
        base.is_some_and(|base| url.contains('@') && !base.without_user().contains('@'))
    };
    match values.iter().any(has_user) {
        true => Err("base_url: it names a user or a password; settings hold no secrets".to_owned()),
        false => Ok(()),
    }
}

/// Returns a value as it would be typed.
fn typed(kind: Kind, value: &Value, folder: &Path) -> Result<Vec<String>, String> {
    let one = |text: String| Ok(vec![text]);
    match (kind, value) {
        (Kind::Text | Kind::Figures, Value::String(text)) => one(text.clone()),
        (Kind::Policy, Value::String(text)) => one(match text.as_str() {
            "person" | "model" | "always" => text.clone(),
            // Never looked for in the project's folder.
            file => folder.join(file).to_str().ok_or("its folder has no name in UTF-8")?.to_owned(),
        }),
        (Kind::Number, Value::Number(number)) if number.is_u64() => one(number.to_string()),
        (Kind::Figures, Value::Object(members)) => {
            let figure = |(name, value): (&String, &Value)| match value {
                Value::Bool(true) => Ok(name.replace('_', "-")),
                Value::Number(number) => Ok(format!("{}={number}", name.replace('_', "-"))),
                _ => Err(format!("{} is a number, or true for a word", one_line(name, 40))),
            };
            one(members.iter().map(figure).collect::<Result<Vec<_>, _>>()?.join(","))
        }
        (Kind::Fields, Value::Object(members)) => {
            Ok(members.iter().map(|(name, value)| format!("{name}={value}")).collect())
        }
        (Kind::Text | Kind::Policy, _) => Err("it is a text".to_owned()),
        (Kind::Number, _) => Err("it is a whole number".to_owned()),
        (Kind::Figures, _) => {
            Err("it is an object such as {\"turns\":5}, or a text such as \"turns=5\"".to_owned())
        }
        (Kind::Fields, _) => Err("it is an object such as {\"top_k\":40}".to_owned()),
    }
}

/// Reads the members of an object, none of them twice: the second would silently take the place of the first.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, Value)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of settings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members: Vec<(String, Value)> = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, Value>()? {
            if members.iter().any(|(other, _)| *other == key) {
                return Err(A::Error::custom(format!("{:?} stands there twice", one_line(&key, 60))));
            }
            members.push((key, value));
        }
        Ok(members)
    }
}

impl Settings {
    /// Returns whom they say to ask, where nothing else says it.
    pub(crate) fn usual(&self) -> Usual {
        let text = |key: &str| {
            let found = self.values.iter().find(|(known, _)| *known == key);
            found.and_then(|(_, values)| values.first().cloned())
        };
        debug_assert!(KEYS.iter().filter(|(_, _, of)| *of == Use::Whom).count() == 4);
        Usual {
            provider: text("provider").and_then(|name| clap::ValueEnum::from_str(&name, false).ok()),
            model: text("model"),
            base_url: text("base_url"),
            dialect: text("dialect"),
        }
    }
}

/// Refuses settings that stand in the folder that is worked in: a model may write there, and so has whoever made it.
pub(crate) fn check_outside(settings: Option<&Path>, folder: Option<&str>) -> Result<(), Fault> {
    let (Some(settings), Some(folder)) = (settings, folder) else { return Ok(()) };
    if !settings.starts_with(folder) {
        return Ok(());
    }
    let shown = one_line(&settings.display().to_string(), 200);
    Err(Fault::usage(format!("the settings {shown} stand in the folder that is worked in, where a model may write"))
        .hint(format!("work in a folder below it with -C, name settings that stand elsewhere with {VARIABLE}, or do without: {VARIABLE}=none")))
}
