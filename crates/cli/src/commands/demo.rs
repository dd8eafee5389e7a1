//! `trunkline demo`: a whole run with nothing but the model played.
//!
//! The repository, the tools, the sandbox, the log and the commit are real, so a demo can be killed and taken up like
//! any other session: `trunkline resume` finds the scripted model again by the mark in the demo's repository.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::args::Demo;
use crate::args::model::{MAX_OUTPUT_TOKENS, Model};
use crate::args::terms::Policy;
use crate::desk::model::Asked;
use crate::desk::place::Place;
use crate::desk::playback::{MARK, WORDS, project, script, scripted, terms};
use crate::desk::setup::Folder;
use crate::live::drive::Drive;
use crate::term::fault::{Exit, Fault};
use crate::term::style::{BOLD, DIM, paint};
use crate::term::tell::tell;

/// Runs the demo.
pub(crate) async fn run(args: &Demo, place: &Place) -> Result<Exit, Fault> {
    let path = folder(args.keep_dir.as_deref())?;
    project::create(&path)?;
    std::fs::write(path.join(MARK), "")
        .map_err(|error| Fault::new(format!("cannot mark the demo: {error}")))?;
    let folder = Folder::named(&path)?;
    tell(&format!(
        "{}\n{}\n\n",
        paint(BOLD, script::PROMPT),
        paint(
            DIM,
            &format!(
                "A scripted model, real everything else, in {}.\nPolicy `model`: it decides on its own edits, and \
                 commands run without asking. `trunkline run` asks you.",
                path.display()
            )
        )
    ));
    let model = Model { max_output_tokens: MAX_OUTPUT_TOKENS, ..Model::default() };
    let terms = terms();
    let drive = Drive::new(place, &model, &terms, Policy::Model).drawing();
    let provider = scripted(Duration::from_millis(args.delay));
    let asked = Asked::scripted(provider, WORDS);
    let agent = drive.agent(asked, &folder, Some(script::INSTRUCTIONS.to_owned()))?;
    let store = place.open().await?;
    let title = format!("demo: {}", script::PROMPT);
    let session = agent.start(Arc::clone(&store), &title, folder.as_str()).await?;
    drive.go(session, store.as_ref(), Some(script::PROMPT)).await
}

/// Makes the folder of the demo: the named one, if it is empty, or a new one.
fn folder(named: Option<&Path>) -> Result<PathBuf, Fault> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            // Two demos in one millisecond are two processes.
            let name = format!("trunkline-demo-{}-{}", now.as_millis(), std::process::id());
            std::env::temp_dir().join(name)
        }
    };
    let fault = |error| Fault::new(format!("cannot use {}: {error}", path.display()));
    std::fs::create_dir_all(&path).map_err(fault)?;
    let mut inside = std::fs::read_dir(&path).map_err(fault)?;
    if inside.next().is_some() {
        return Err(Fault::usage(format!("{} is not empty", path.display())));
    }
    Ok(path)
}
