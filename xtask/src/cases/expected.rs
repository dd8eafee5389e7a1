//! What each case expects, by its number.
//!
//! Checks look at what a person or a service would notice, not at our wording, wherever both can be told apart.

use std::fs;

use super::seen::{Claims, Seen};

/// A case that can be played.
pub(super) struct Case {
    /// Its number in the folder.
    pub(super) number: u32,
    /// How it is played.
    pub(super) play: Play,
    /// What is not as it should be in what was printed.
    pub(super) expect: fn(&Seen) -> Vec<String>,
}

/// How a case is played.
pub(super) enum Play {
    /// By its `run.sh`.
    Script,
    /// By these lines of a shell, in a folder of their own; `CASE` names the case's folder, `TRUNKLINE` the command.
    Lines(&'static str),
    /// Not yet, for this reason.
    Later(&'static str),
}

/// All cases that are known.
pub(super) const CASES: &[Case] = &[
    script(1, names_are_legal),
    script(2, commands_stay_in_their_folder),
    script(3, an_empty_end_is_no_answer),
    script(4, the_older_form_of_a_call_runs),
    script(5, a_passing_error_is_tried_again),
    script(6, an_end_mark_is_believed),
    script(7, odd_bytes_cost_nothing),
    script(8, a_name_in_pieces_is_joined),
    script(9, reasoning_goes_back),
    script(10, the_limit_of_tokens_is_learned),
    script(11, a_damaged_line_is_read),
    script(12, one_id_for_two_records),
    script(13, line_ends_are_kept_or_told),
    script(14, what_was_stopped_is_told),
    script(15, invisible_characters_are_spelled_out),
    script(16, rules_see_through_options),
    script(17, a_hangup_is_a_signal),
    script(18, a_wish_to_commit_is_answered),
    script(19, a_proxy_is_a_proxy),
    script(20, byte_order_marks_are_passed_over),
    script(21, a_long_command_is_told),
    script(22, odd_bytes_of_output_are_told),
    script(23, an_unsigned_commit_is_told),
    lines(
        24,
        r#"cp "$CASE/session.jsonl" .; "$TRUNKLINE" audit session.jsonl; echo "audit: exit code $?"
           "$TRUNKLINE" repair session.jsonl --apply -o out.jsonl
           echo "--- list"; "$TRUNKLINE" sanitize --wire anthropic < session.jsonl; echo
           echo "--- new file"; cat out.jsonl 2> /dev/null || cat session.jsonl"#,
        results_and_words_are_read,
    ),
    lines(25, r#""$TRUNKLINE" sanitize --wire anthropic < "$CASE/session.jsonl""#, queued_words_are_read),
    lines(26, MEMORY, chained_agents_fit),
    lines(27, MEMORY, many_branches_fit),
    lines(
        28,
        r#"for w in mistral bedrock-claude bedrock anthropic-strict mistral-strict strict-template; do
             echo "--- $w"; "$TRUNKLINE" sanitize --wire $w < "$CASE/session.jsonl"; echo "exit code $?"
           done"#,
        every_rule_set_comes_to_an_end,
    ),
    lines(
        29,
        r#"cp "$CASE/session.jsonl" .; "$TRUNKLINE" audit session.jsonl; echo "exit code $?""#,
        the_end_is_what_nothing_continues,
    ),
    Case { number: 30, play: Play::Later("files of other agents are read by a later issue"), expect: later },
    script(31, one_answer_has_a_bound),
    script(32, a_chat_body_stays_what_it_is),
    script(33, fields_of_others_are_left_out),
    script(34, words_stand_before_calls),
    script(35, a_run_outlives_its_connection),
    script(36, damage_is_an_error),
    script(37, what_is_trusted_is_checked),
    script(38, a_store_that_moved_is_told),
];

/// Peak memory of an audit, in kB, as the system counts it.
const MEMORY: &str = r#"python3 "$CASE/make.py"; ulimit -v 6000000
"$TRUNKLINE" audit session.jsonl > out 2>&1 & P=$!
while kill -0 $P 2> /dev/null; do
  grep -s VmHWM /proc/$P/status | tr -dc 0-9 > now && [ -s now ] && cp now most; sleep 0.02
done
wait $P; echo "exit code $?"; echo "peak $(cat most) kB of $(wc -c < session.jsonl) bytes"; tail -5 out"#;

const fn script(number: u32, expect: fn(&Seen) -> Vec<String>) -> Case {
    Case { number, play: Play::Script, expect }
}

const fn lines(number: u32, lines: &'static str, expect: fn(&Seen) -> Vec<String>) -> Case {
    Case { number, play: Play::Lines(lines), expect }
}

fn claims() -> Claims {
    Claims::default()
}

fn later(_: &Seen) -> Vec<String> {
    Vec::new()
}

fn names_are_legal(seen: &Seen) -> Vec<String> {
    let lists = seen.section("sanitize");
    claims()
        .that("the run ends in the model's words", seen.before_sections().has("fine"))
        .that("so does the one that resumes it", seen.section("resume").has("fine"))
        .that("no request is refused", !seen.has("error:"))
        .that("the odd name is in no list", !lists.has(r#""name":"functions.list_files""#))
        .that("each of three wires gets a list", lists.text.matches("[rc 0]").count() == 3)
        // The script shows the first 300 bytes of each, so that not every list leaves room for it.
        .that("what was changed is told", lists.has("repair") || lists.has("replaced the name"))
        .wrong()
}

fn commands_stay_in_their_folder(seen: &Seen) -> Vec<String> {
    claims()
        .that("the commit stands in the folder of the run", seen.section("w").has("by the run"))
        .that(
            "the other repository is as it was",
            !seen.section("other").has("by the run") && seen.section("other").has("first of other"),
        )
        .wrong()
}

fn an_empty_end_is_no_answer(seen: &Seen) -> Vec<String> {
    ["empty", "thinking"]
        .into_iter()
        .fold(claims(), |claims, name| {
            let seen = seen.section(name);
            claims
                .that("exit code 1", seen.has_line("exit code 1,"))
                .that("no verdict `answered`", !seen.has("answered"))
        })
        .wrong()
}

fn the_older_form_of_a_call_runs(seen: &Seen) -> Vec<String> {
    claims()
        .that("exit code 0", seen.has_line("exit code 0"))
        .that("the call runs", seen.has("✓ list_files"))
        .that("its result is sent", seen.text.trim_end().ends_with("\n2"))
        .wrong()
}

fn a_passing_error_is_tried_again(seen: &Seen) -> Vec<String> {
    let mut asked = seen.text.lines().filter_map(|line| line.strip_prefix("asked ")?.split(' ').next());
    let counts: Vec<u32> = asked.by_ref().filter_map(|count| count.parse().ok()).collect();
    claims()
        .that("three services are asked", counts.len() == 3)
        .that("each is asked again", counts.iter().all(|count| *count > 1))
        .that("a person sees it", seen.text.matches('↻').count() >= 3)
        .wrong()
}

fn an_end_mark_is_believed(seen: &Seen) -> Vec<String> {
    claims().that("exit code 0", seen.has_line("exit code 0")).that("no error", !seen.has("error:")).wrong()
}

fn odd_bytes_cost_nothing(seen: &Seen) -> Vec<String> {
    let halves = seen.section("halves");
    claims()
        .that(
            "the halves are joined, or each is U+FFFD",
            halves.has("exit code 0: hi 😀") || halves.has("exit code 0: hi \u{fffd}\u{fffd}"),
        )
        .that("the byte is U+FFFD", seen.section("byte").has("exit code 0: gr\u{fffd}"))
        .that("what nobody reads is not judged", seen.section("nan").has("exit code 0: hi"))
        .that("no error", !seen.has("error:"))
        .wrong()
}

fn a_name_in_pieces_is_joined(seen: &Seen) -> Vec<String> {
    claims()
        .that("list_files runs", seen.has("✓ list_files"))
        .that("no tool is missing", !seen.has("there is no tool"))
        .wrong()
}

fn reasoning_goes_back(seen: &Seen) -> Vec<String> {
    claims()
        .that("no request is refused for good", !seen.has("error:"))
        .that("the run ends in the model's words", seen.has("done"))
        .wrong()
}

fn the_limit_of_tokens_is_learned(seen: &Seen) -> Vec<String> {
    claims().that("no error", !seen.has("error:")).that("an answer", seen.has("done")).wrong()
}

fn a_damaged_line_is_read(seen: &Seen) -> Vec<String> {
    let words = ["one", "two", "three", "four"];
    let kept =
        |word: &&str| ["content", "text"].iter().any(|key| seen.has(&format!("\"{key}\": \"{word}\"")));
    let kept_tight =
        |word: &&str| ["content", "text"].iter().any(|key| seen.has(&format!("\"{key}\":\"{word}\"")));
    claims()
        .that("four messages are read", seen.has(" 4 messages"))
        .that("the damage is told", seen.has("line 2"))
        .that(
            "the new file has all four",
            words.iter().all(|word| kept(word) || kept_tight(word)) || seen.has("nothing to repair"),
        )
        .wrong()
}

fn one_id_for_two_records(seen: &Seen) -> Vec<String> {
    claims()
        .that("five messages are read", seen.has(" 5 messages"))
        .that("the id is told", seen.has("repeated") || seen.has("twice") || seen.has("two records"))
        .wrong()
}

fn line_ends_are_kept_or_told(seen: &Seen) -> Vec<String> {
    let dumps: String =
        seen.text.lines().filter(|line| line.starts_with("00000")).collect::<Vec<_>>().join(" ");
    let bytes: Vec<&str> = dumps.split_whitespace().filter(|word| !word.starts_with("00000")).collect();
    let ends_alike = bytes.windows(2).all(|pair| pair[1] != "\\n" || pair[0] == "\\r");
    let marks = bytes.iter().filter(|byte| **byte == "357").count() == 2;
    claims()
        // Where line ends and mark follow the file, there is nothing to write into the second one.
        .that(
            "both files have the words",
            seen.has("✓ p1 done") && (seen.has("✓ p2 done") || (ends_alike && marks)),
        )
        .that(
            "line ends and marks are kept, or the preview tells it",
            (ends_alike && marks) || seen.has("line ends"),
        )
        .that("a file with both kinds is told as such", seen.has("some lines end with"))
        .wrong()
}

fn what_was_stopped_is_told(seen: &Seen) -> Vec<String> {
    let results: Vec<&str> = seen.text.lines().filter(|line| line.starts_with('\'')).collect();
    let told = |at: usize| {
        results.get(at).is_some_and(|text| text.contains("was stopped") || text.contains("were stopped"))
    };
    claims()
        .that("two results", results.len() == 2)
        .that("the first: `stopped` if it is gone", told(0) == seen.has("process 1 is gone"))
        .that("the second: `stopped` if it is gone", told(1) == seen.has("process 2 is gone"))
        .wrong()
}

fn invisible_characters_are_spelled_out(seen: &Seen) -> Vec<String> {
    claims()
        .that("nothing invisible reaches the terminal", seen.has_line("[]"))
        .that("it is spelled out", seen.has("\\\\u{200b}") && seen.has("\\\\u{3164}"))
        .wrong()
}

fn rules_see_through_options(seen: &Seen) -> Vec<String> {
    claims()
        .that("the plain form is denied", seen.has("run_command git push · not run"))
        .that("no other form runs", !seen.has("✓ run_command"))
        .wrong()
}

fn a_hangup_is_a_signal(seen: &Seen) -> Vec<String> {
    let code = |signal: &str| seen.number_after(&format!("SIG{signal}: exit code"));
    claims()
        .that("SIGHUP ends the run as SIGTERM does", code("HUP").is_some() && code("HUP") == code("TERM"))
        .that("the command is ended too", !seen.has("late"))
        .wrong()
}

fn a_wish_to_commit_is_answered(seen: &Seen) -> Vec<String> {
    // Once by `--commit` alone, once by `--bind` as before.
    let told = seen.text.lines().filter(|line| line.contains("ownership")).count();
    claims()
        .that("git's words are told at the start or the end", told >= 2)
        .that("a text file is not called `not text`", !seen.has("not text"))
        .wrong()
}

fn a_proxy_is_a_proxy(seen: &Seen) -> Vec<String> {
    let direct = !seen.has("error:") && !seen.has("cannot access");
    let named = seen.has("proxy") && seen.has("NO_PROXY");
    claims()
        .that("this machine is asked directly, or the proxy is named", direct || named)
        .that("something was printed", seen.has("asked.jsonl"))
        .wrong()
}

fn byte_order_marks_are_passed_over(seen: &Seen) -> Vec<String> {
    let policy = seen.section("policy");
    claims()
        .that("the policy is taken", !policy.has("as a policy") && !policy.text.is_empty())
        .that("the export is taken", !seen.section("import").has("not an exported session"))
        .that("the mark is not written out", seen.section("sanitize").has_line("0000000   [   {"))
        .wrong()
}

fn a_long_command_is_told(seen: &Seen) -> Vec<String> {
    let told = seen.has("write_file") || seen.has("bytes") || seen.has("kB") || seen.has("KiB");
    claims()
        .that("the system's words are not all there is", !seen.has("Argument list too long") || told)
        .that("it runs, or the model is told what to do", seen.text.trim().is_empty() || told)
        // The script shows failures only; that it ran at all is seen from its own errors.
        .that("the case can be played", !seen.folder.as_os_str().is_empty())
        .wrong()
}

fn odd_bytes_of_output_are_told(seen: &Seen) -> Vec<String> {
    claims()
        .that("bytes that are no UTF-8 are told", seen.has("UTF-8"))
        .that("NUL bytes are told", seen.has("NUL"))
        .wrong()
}

fn an_unsigned_commit_is_told(seen: &Seen) -> Vec<String> {
    let told = ["unsigned", "not signed", "sign"]
        .iter()
        .any(|word| seen.text.lines().any(|line| !line.contains("signed:") && line.contains(word)));
    claims().that("an exit code", seen.has("exit code")).that("it is told", told).wrong()
}

fn results_and_words_are_read(seen: &Seen) -> Vec<String> {
    let list = seen.section("list");
    let file = seen.section("new file");
    claims()
        .that("nothing would be refused", seen.has("audit: exit code 0"))
        .that("the words are in the list", list.has("and make sure this is tested"))
        .that("no result is made up", !seen.has("no result was recorded"))
        .that("both results are in the list", list.text.matches("\"tool_result\"").count() == 2)
        .that("the words are in the file", file.has("and make sure this is tested"))
        .wrong()
}

fn queued_words_are_read(seen: &Seen) -> Vec<String> {
    let words = "QUEUED: use tabs";
    claims().that("the words are in the list", seen.has(words)).wrong()
}

/// A file's own size twenty times, and what any program takes.
fn memory_follows_size(seen: &Seen) -> Vec<String> {
    let size = seen.number_after("kB of").unwrap_or_default();
    let peak = seen.number_after("peak").map(|kilobytes| kilobytes * 1024);
    claims()
        .that("the file is judged", seen.has("exit code 0"))
        .that("memory follows the file's size", peak.is_some_and(|peak| peak < 20 * size + 100_000_000))
        .wrong()
}

fn chained_agents_fit(seen: &Seen) -> Vec<String> {
    memory_follows_size(seen)
}

fn many_branches_fit(seen: &Seen) -> Vec<String> {
    memory_follows_size(seen)
}

fn every_rule_set_comes_to_an_end(seen: &Seen) -> Vec<String> {
    claims()
        .that("each of six ends well", seen.text.matches("exit code 0").count() == 6)
        .that("nobody is asked to report anything", !seen.has("please report"))
        .wrong()
}

fn the_end_is_what_nothing_continues(seen: &Seen) -> Vec<String> {
    claims()
        .that("four messages are read", seen.has(" 4 messages"))
        .that("exit code 0", seen.has("exit code 0"))
        .wrong()
}

fn one_answer_has_a_bound(seen: &Seen) -> Vec<String> {
    // A command line and what it links take some 30 MB; the bound is some megabytes, and kept a few times.
    let peak = seen.number_after("peak memory");
    let printed = seen.number_after("MB,");
    claims()
        .that("exit code 1", seen.has("exit code 1"))
        .that("memory is a small multiple of the bound", peak.is_some_and(|peak| peak < 120))
        .that("what is printed has a bound", printed.is_some_and(|bytes| bytes < 20_000_000))
        .that("it is asked once", seen.has(" 1 requests"))
        .wrong()
}

fn a_chat_body_stays_what_it_is(seen: &Seen) -> Vec<String> {
    let body = fs::read_to_string(seen.folder.join("request.json")).unwrap_or_else(|_| "no body".to_owned());
    claims()
        .that("the body comes out as it went in", seen.has(body.trim_end()))
        .that("nothing is left out", !seen.has("left out"))
        .that("exit code 0", seen.has("exit code 0"))
        .wrong()
}

fn fields_of_others_are_left_out(seen: &Seen) -> Vec<String> {
    let keys = ["reasoning_details", "refusal", "audio", "annotations", "function_call"];
    let left = keys.iter().filter(|key| seen.has(&format!("\"{key}\":"))).copied().collect::<Vec<_>>();
    let reasoning = seen.section("reasoning, mistral");
    let parts = seen.section("parts, groq");
    claims()
        .that("lists come out", reasoning.has("\"role\"") && parts.has("\"role\""))
        .that(&format!("{} not there", left.join(", ")), left.is_empty())
        .that("a document is no part of its own", !seen.has("\"type\":\"file\""))
        .that("it is told", reasoning.has("repair") && parts.has("repair"))
        .wrong()
}

fn words_stand_before_calls(seen: &Seen) -> Vec<String> {
    let place =
        |text: &str| seen.text.lines().filter(|line| line.starts_with('[')).find_map(|line| line.find(text));
    let (words, call) = (place("one moment"), place("tool_use"));
    claims()
        .that("the words are there", words.is_some())
        .that("they stand before the call", words.zip(call).is_some_and(|(words, call)| words < call))
        .wrong()
}

fn a_run_outlives_its_connection(seen: &Seen) -> Vec<String> {
    claims()
        .that("cut twice, answered the third time", seen.has("cut: exit code 0, 3 requests"))
        .that("overloaded six times, answered then", seen.has("overloaded: exit code 0, 7 requests"))
        .wrong()
}

fn damage_is_an_error(seen: &Seen) -> Vec<String> {
    let names = ["a letter in the name of a table", "a byte in the name of a column that is not UTF-8"];
    let mut all = claims();
    for name in names {
        let seen = seen.section(name);
        for command in ["sessions", "export --all", "doctor", "doctor --fix"] {
            let line = seen.line(&format!("{command}: exit code")).unwrap_or_default();
            let code = seen.number_after(&format!("{command}: exit code"));
            let empty = line.contains(", 0 lines");
            let good = match command {
                "sessions" | "export --all" => code == Some(3) || (code == Some(0) && !empty),
                // It calls nothing whole that the others refuse.
                "doctor" => code != Some(0) || seen.line("sessions: exit code 0").is_some(),
                _ => matches!(code, Some(0 | 1)),
            };
            all = all
                .that(&format!("{name}: {command} tells the damage"), good && code != Some(137))
                .that(&format!("{name}: {command} does not panic"), line.contains(" 0 panics"));
        }
    }
    all.wrong()
}

fn what_is_trusted_is_checked(seen: &Seen) -> Vec<String> {
    let doctor = seen.number_after("doctor: exit code");
    claims()
        .that("an export that was cut is told", seen.has("import: exit code 1"))
        .that("a folder that was altered is told", doctor.is_some_and(|code| code != 0))
        .wrong()
}

fn a_store_that_moved_is_told(seen: &Seen) -> Vec<String> {
    let demo = seen.number_after("demo: exit code");
    let resume = seen.number_after("resume: exit code");
    claims()
        .that("the run stops", demo.is_some_and(|code| code != 0))
        .that("it says that the database was moved", seen.has("moved"))
        .that("the next command says what is there", resume.is_some_and(|code| code != 0) && seen.has("log"))
        .that("nobody is told that the store is damaged", !seen.has("damaged"))
        .wrong()
}
