//! Reads recorded exchanges from YAML files.
//!
//! Two recorders wrote them: one keeps `when` and `then` in YAML documents of their own, the other a list of
//! `interactions`, where a JSON body may have been parsed before it was written. What cannot be read is named, never
//! left out in silence.

use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use serde_json::Value;
use serde_yaml_ng::Value as Yaml;

use super::packing;

/// One recorded exchange.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The file, relative to the folder that was read.
    pub file: String,
    /// Its number in the file, from 1.
    pub number: usize,
    /// The host that was asked; empty where the recorder did not keep it.
    pub host: String,
    /// The recorder's name for the service, where it says one; else the host.
    pub service: String,
    /// The method.
    pub method: String,
    /// The path of the request, without host and query.
    pub path: String,
    /// The query, without its question mark.
    pub query: String,
    /// The body of the request, if it was JSON.
    pub request: Option<Value>,
    /// The status of the answer.
    pub status: u16,
    /// The headers of the answer.
    pub headers: Vec<(String, String)>,
    /// The body of the answer as it came, or why it cannot be had.
    pub answer: Result<Vec<u8>, String>,
}

impl Exchange {
    /// Whether the service did what it was asked.
    pub fn is_accepted(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the file and, where it holds several exchanges, which one.
    pub fn place(&self) -> String {
        if self.number == 1 { self.file.clone() } else { format!("{}#{}", self.file, self.number) }
    }

    /// Returns the body of the request; null if it was no JSON.
    pub fn body(&self) -> &Value {
        self.request.as_ref().unwrap_or(&Value::Null)
    }

    /// Returns the model that was asked; on two wires it stands in the path.
    pub fn model(&self) -> &str {
        self.body()["model"].as_str().unwrap_or(&self.path)
    }
}

/// What a folder holds.
#[derive(Debug, Default)]
pub struct Recordings {
    /// All exchanges, in the order of the files.
    pub exchanges: Vec<Exchange>,
    /// How many files were read.
    pub files: usize,
    /// What could not be read, and why.
    pub unread: Vec<String>,
}

/// Reads all recordings below a folder.
///
/// # Errors
///
/// Words for a person if the folder itself cannot be read.
pub fn read_folder(folder: &Path) -> Result<Recordings, String> {
    let mut files = Vec::new();
    find(folder, &mut files)?;
    files.sort();
    let mut recordings = Recordings { files: files.len(), ..Recordings::default() };
    for file in &files {
        let name = file.strip_prefix(folder).unwrap_or(file).to_string_lossy().into_owned();
        match std::fs::read(file) {
            Ok(bytes) => read_text(&name, &String::from_utf8_lossy(&bytes), &mut recordings),
            Err(error) => recordings.unread.push(format!("{name}: {error}")),
        }
    }
    Ok(recordings)
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| format!("cannot read {}: {error}", folder.display()))?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            files.push(path);
        }
    }
    Ok(())
}

/// Reads the text of one file.
pub fn read_text(name: &str, text: &str, into: &mut Recordings) {
    // The reader forgets standard tags; one of our own it keeps.
    let text = text.replace(" !!binary |", " !binary |").replace(" !!binary \"", " !binary \"");
    let before = into.exchanges.len();
    let mut number = 0;
    for document in serde_yaml_ng::Deserializer::from_str(&text) {
        let document = match Yaml::deserialize(document) {
            Ok(document) => document,
            Err(error) => {
                into.unread.push(format!("{name}: not YAML: {error}"));
                break;
            }
        };
        let pairs: Vec<(&Yaml, &Yaml)> = match document["interactions"].as_sequence() {
            Some(pairs) => pairs.iter().map(|pair| (&pair["request"], &pair["response"])).collect(),
            None => vec![(&document["when"], &document["then"])],
        };
        for (request, response) in pairs {
            number += 1;
            match exchange(name, number, request, response) {
                Ok(exchange) => into.exchanges.push(exchange),
                // A document of neither layout, such as an empty one at the end of a file.
                Err(_) if document.is_null() => {}
                Err(problem) => into.unread.push(format!("{name}#{number}: {problem}")),
            }
        }
    }
    if into.exchanges.len() == before && !into.unread.iter().any(|unread| unread.starts_with(name)) {
        into.unread.push(format!("{name}: no exchange in it"));
    }
}

fn exchange(name: &str, number: usize, request: &Yaml, response: &Yaml) -> Result<Exchange, String> {
    let address = ["uri", "url", "path"].iter().find_map(|field| request[*field].as_str());
    let address = address.ok_or("neither `when` and `then` nor `interactions` with an address")?;
    let status = &response["status"];
    let status = status.as_u64().or_else(|| status["code"].as_u64()).ok_or("an answer without a status")?;
    let (host, path) = match address.split_once("://").map(|(_, rest)| rest) {
        Some(rest) => match rest.split_once('/') {
            Some((host, path)) => (host.to_owned(), format!("/{path}")),
            None => (rest.to_owned(), "/".to_owned()),
        },
        None => (String::new(), address.to_owned()),
    };
    let (path, query) = path.split_once('?').unwrap_or((&path, ""));
    let mut query = query.to_owned();
    for pair in request["query_param"].as_sequence().into_iter().flatten() {
        let text = |field: &str| pair[field].as_str().unwrap_or_default();
        let separator = if query.is_empty() { "" } else { "&" };
        query = format!("{query}{separator}{}={}", text("name"), text("value"));
    }
    let asked = body(request).and_then(|body| packing::unpack(body, &headers(request)));
    let headers = headers(response);
    let answer = body(response).and_then(|body| packing::unpack(body, &headers));
    Ok(Exchange {
        file: name.to_owned(),
        number,
        service: if host.is_empty() { service(name) } else { host.clone() },
        host,
        method: request["method"].as_str().unwrap_or("POST").to_owned(),
        path: path.to_owned(),
        query,
        request: asked.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()),
        status: u16::try_from(status).map_err(|_| format!("no status: {status}"))?,
        headers,
        answer,
    })
}

/// Paths without a host are those of a recorder that names its folders after services.
fn service(name: &str) -> String {
    let stem = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
    let mut parts = stem.split("__");
    match (parts.next(), parts.next(), parts.next()) {
        (Some(_), Some(service), Some(_)) => service.to_owned(),
        _ => {
            let folders: Vec<&str> = name.split('/').collect();
            let after = folders.iter().position(|folder| *folder == "cassettes").map_or(0, |at| at + 1);
            folders.get(after).filter(|_| folders.len() > after + 1).unwrap_or(&"").to_string()
        }
    }
}

/// Returns the bytes of a body, before any packing by the transport is undone.
fn body(message: &Yaml) -> Result<Vec<u8>, String> {
    let base64 = message["body_encoding"].as_str() == Some("base64");
    for field in ["body_base64", "body", "parsed_body"] {
        let body = match &message[field] {
            Yaml::Null => continue,
            Yaml::Mapping(fields) if field == "body" => {
                match ["string", "base64_string", "base64"]
                    .iter()
                    .find_map(|name| Some((*name, fields.get(*name)?)))
                {
                    Some((name, inner)) => return scalar(inner, name != "string"),
                    None => &message[field],
                }
            }
            body => body,
        };
        let packed = field == "body_base64" || base64;
        return match body {
            Yaml::Mapping(_) | Yaml::Sequence(_) => {
                serde_json::to_vec(body).map_err(|error| format!("a body in YAML that has no JSON: {error}"))
            }
            body if field == "parsed_body" => serde_json::to_vec(body).map_err(|error| error.to_string()),
            body => scalar(body, packed),
        };
    }
    Ok(Vec::new())
}

fn scalar(value: &Yaml, base64: bool) -> Result<Vec<u8>, String> {
    match value {
        Yaml::Null => Ok(Vec::new()),
        Yaml::String(text) if base64 => packing::base64(text),
        Yaml::String(text) => Ok(text.as_bytes().to_vec()),
        Yaml::Tagged(tagged) => scalar(&tagged.value, tagged.tag == "!binary" || base64),
        other => serde_json::to_vec(other).map_err(|error| error.to_string()),
    }
}

/// Returns the headers; both layouts, and values that were written as bytes.
fn headers(message: &Yaml) -> Vec<(String, String)> {
    let text = |value: &Yaml| {
        let value = value.as_sequence().and_then(|values| values.first()).unwrap_or(value);
        scalar(value, false).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    };
    let mut headers = Vec::new();
    for header in message["header"].as_sequence().into_iter().flatten() {
        headers.push((text(&header["name"]), text(&header["value"])));
    }
    for (name, value) in message["headers"].as_mapping().into_iter().flatten() {
        headers.push((text(name), text(value)));
    }
    headers
}
