//! `trunkline resolve p1 apply --edit`: a plan, or a model's request to end its run, is approved with another text.

use std::path::Path;

use serde_json::Value;
use trunkline_runtime::Said;
use trunkline_runtime::resolve_queue::{Entry, Verdict};

use crate::args::resolve::Resolve;
use crate::commands::resolve::found::Group;
use crate::desk::place::Place;
use crate::shown::edited::{Edited, Words};
use crate::term::confirm::{Answer, agreed};
use crate::term::editor;
use crate::term::fault::Fault;
use crate::term::shell::quoted;
use crate::term::tell::tell;

/// Returns what is said with the text that is approved in place of the proposed one, from a file or from an editor.
pub(super) fn with_text(
    args: &Resolve,
    file: &str,
    (group, entry): (&Group, &Entry<Value>),
    (verdict, place): (Verdict, &Place),
    said: Said,
) -> Result<Said, Fault> {
    let staged = group.reading.view().staged();
    let again = |file: &str| {
        place.command(&format!("resolve {} apply --edit {} -s {}", entry.id, quoted(file), group.name))
    };
    if let Some(plan) = staged.plan(entry.id) {
        return approved(args, file, &plan.text(), (verdict, &again), said);
    }
    if let Some(request) = staged.close_request(entry.id) {
        return approved(args, file, &Words(request.close.words().to_owned()), (verdict, &again), said);
    }
    Err(Fault::usage(format!(
        "{} is no plan: --edit approves a plan with another text, or a request to end the run in other words",
        entry.id
    )))
}

fn approved<T: Edited>(
    args: &Resolve,
    file: &str,
    proposed: &T,
    (verdict, again): (Verdict, &dyn Fn(&str) -> String),
    said: Said,
) -> Result<Said, Fault> {
    if verdict == Verdict::Discard {
        return Err(Fault::usage(T::REFUSED));
    }
    let text = text_of(args, file, proposed, again)?;
    Ok(if text == *proposed { said } else { text.approve(said) })
}

/// Returns the text of a file or from an editor.
///
/// What comes from an editor is shown, and asked about: who leaves one in whatever way has approved nothing by that.
fn text_of<T: Edited>(
    args: &Resolve,
    file: &str,
    proposed: &T,
    again: &dyn Fn(&str) -> String,
) -> Result<T, Fault> {
    match file {
        "" => {
            let without = |fault: Fault| fault.hint(format!("give the text in a file: {}", again("FILE")));
            let changed = editor::change(&proposed.form()).map_err(without)?;
            let kept = changed.file.display().to_string();
            let text = T::read(&changed.text).map_err(|fault| {
                Fault::new(format!("nothing was decided: {fault}"))
                    .hint(format!("your text is kept: {}", again(&kept)))
            })?;
            if text != *proposed {
                tell(&text.shown("  "));
                if !matches!(agreed(args.yes, "approve this text?"), Answer::Yes) {
                    return Err(Fault::new("nothing was decided")
                        .hint(format!("your text is kept: {}", again(&kept))));
                }
            } else if !matches!(agreed(args.yes, "it says what was proposed; approve that?"), Answer::Yes) {
                changed.forget();
                return Err(Fault::new("nothing was decided"));
            }
            changed.forget();
            Ok(text)
        }
        "-" => parsed(&editor::read(Path::new("/dev/stdin"))?, "the text on stdin"),
        file => parsed(&editor::read(Path::new(file))?, file),
    }
}

fn parsed<T: Edited>(text: &str, file: &str) -> Result<T, Fault> {
    T::read(text).map_err(|fault| Fault::usage(format!("{file} holds no {}: {fault}", T::WHAT)))
}
