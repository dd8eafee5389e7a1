//! The tests of trunkline-transcripts: one binary, a module per behaviour.

mod beside;
mod changes;
mod claude_code;
mod codex;
mod corpora;
mod damage;
mod ends;
mod exports;
mod faults;
mod fields;
mod forks;
mod front_page;
mod gemini_cli;
mod hostile;
mod laws;
mod lists;
mod opencode;
mod pi;
mod resume;
mod show;
mod sniffing;
mod times;
mod trees;
