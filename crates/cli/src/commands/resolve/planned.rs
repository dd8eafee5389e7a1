//! `trunkline resolve p1 apply --edit`: a plan is approved with another text.

use std::path::Path;

use serde_json::Value;
use trunkline_runtime::PlanText;
use trunkline_runtime::resolve_queue::{Entry, Verdict};

use crate::args::resolve::Resolve;
use crate::commands::resolve::found::Group;
use crate::desk::place::Place;
use crate::shown::plan::{shown, to_edit};
use crate::term::confirm::{Answer, agreed};
use crate::term::editor;
use crate::term::fault::Fault;
use crate::term::shell::quoted;
use crate::term::tell::tell;

/// Returns the text that is approved in place of the proposed one, from a file or from an editor; `None` if they are the same.
///
/// What comes from an editor is shown, and asked about: who leaves one in whatever way has approved nothing by that.
pub(super) fn text_of(
    args: &Resolve,
    file: &str,
    (group, entry): (&Group, &Entry<Value>),
    (verdict, place): (Verdict, &Place),
) -> Result<Option<PlanText>, Fault> {
    let Some(proposed) = group.reading.view().staged().plan(entry.id).map(|plan| plan.text()) else {
        return Err(Fault::usage(format!(
            "{} is no plan: --edit approves a plan with another text",
            entry.id
        )));
    };
    if verdict == Verdict::Discard {
        return Err(Fault::usage("a plan that is refused needs no text; say why with --reason"));
    }
    let again = |file: &str| {
        place.command(&format!("resolve {} apply --edit {} -s {}", entry.id, quoted(file), group.name))
    };
    let plan = match file {
        "" => {
            let without = |fault: Fault| fault.hint(format!("give the text in a file: {}", again("FILE")));
            let changed = editor::change(&to_edit(&proposed)).map_err(without)?;
            let kept = changed.file.display().to_string();
            let plan = PlanText::parse(&changed.text).map_err(|fault| {
                Fault::new(format!("nothing was decided: {fault}"))
                    .hint(format!("your text is kept: {}", again(&kept)))
            })?;
            if plan != proposed {
                tell(&shown(&plan, "  "));
                if !matches!(agreed(args.yes, "approve this text?"), Answer::Yes) {
                    return Err(Fault::new("nothing was decided")
                        .hint(format!("your text is kept: {}", again(&kept))));
                }
            } else if !matches!(agreed(args.yes, "it says what was proposed; approve that?"), Answer::Yes) {
                changed.forget();
                return Err(Fault::new("nothing was decided"));
            }
            changed.forget();
            plan
        }
        "-" => parsed(&editor::read(Path::new("/dev/stdin"))?, "the text on stdin")?,
        file => parsed(&editor::read(Path::new(file))?, file)?,
    };
    Ok((plan != proposed).then_some(plan))
}

fn parsed(text: &str, file: &str) -> Result<PlanText, Fault> {
    PlanText::parse(text).map_err(|fault| Fault::usage(format!("{file} holds no plan: {fault}")))
}
