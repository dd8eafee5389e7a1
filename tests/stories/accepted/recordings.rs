//! Reads recorded exchanges.
//!
//! Two recorders wrote them: one keeps `when` and `then` in YAML documents of their own, the other a list of
//! `interactions`, where a JSON body may have been parsed before it was written.

use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use serde_json::Value;

/// One exchange whose request was a JSON object.
pub(super) struct Exchange {
    /// The name of the file.
    pub(super) file: String,
    /// The recorder's folder, or the host.
    pub(super) dialect: String,
    /// The path of the request, without host and query.
    pub(super) path: String,
    /// The status of the answer.
    pub(super) status: u64,
    /// The body of the request.
    pub(super) body: Value,
}

impl Exchange {
    /// Returns the model that was asked; on two wires it stands in the path.
    pub(super) fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or(&self.path)
    }
}

/// Returns the folder of the recordings, or says on stderr that there is none.
#[expect(clippy::print_stderr, reason = "a test that read nothing must not look like one that did")]
pub(super) fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("TRUNKLINE_CORPORA").map(|folder| PathBuf::from(folder).join("wires"));
    if folder.is_none() {
        eprintln!("SKIPPED: TRUNKLINE_CORPORA is not set, no recorded request was read");
    }
    folder
}

/// Reads every exchange of one wire, in the order of the files.
pub(super) fn exchanges(folder: &Path) -> Vec<Exchange> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of recordings")
        .map(|entry| entry.expect("an entry").path())
        .filter(|file| file.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    files.iter().flat_map(|file| exchanges_of(file)).collect()
}

fn exchanges_of(file: &Path) -> Vec<Exchange> {
    let text = std::fs::read_to_string(file).expect("a recording");
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut exchanges = Vec::new();
    for document in serde_yaml_ng::Deserializer::from_str(&text) {
        let document = serde_yaml_ng::Value::deserialize(document).expect("YAML");
        let request = &document["when"];
        exchanges.extend(exchange(&name, &request["path"], request, &document["then"]));
        for pair in document["interactions"].as_sequence().into_iter().flatten() {
            exchanges.extend(exchange(&name, &pair["request"]["uri"], &pair["request"], &pair["response"]));
        }
    }
    exchanges
}

fn exchange(
    name: &str,
    address: &serde_yaml_ng::Value,
    request: &serde_yaml_ng::Value,
    response: &serde_yaml_ng::Value,
) -> Option<Exchange> {
    let address = address.as_str()?;
    let status = response["status"].as_u64().or_else(|| response["status"]["code"].as_u64())?;
    let text = request["body"].as_str().or_else(|| request["body"]["string"].as_str());
    let body = match text {
        Some(text) => serde_json::from_str(text).ok()?,
        None => serde_json::to_value(&request["parsed_body"]).ok()?,
    };
    let (host, path) = match address.split_once("://").and_then(|(_, rest)| rest.split_once('/')) {
        Some((host, path)) => (host.to_owned(), format!("/{path}")),
        // Paths without a host are those of a recorder that names its folders after providers.
        None => (name.split("__").nth(1).unwrap_or_default().to_owned(), address.to_owned()),
    };
    let path = path.split('?').next().unwrap_or_default().to_owned();
    body.is_object().then(|| Exchange { file: name.to_owned(), dialect: host, path, status, body })
}
