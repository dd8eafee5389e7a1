//! The tests of trunkline-providers: one binary.

mod anthropic;
mod base_url;
mod corpora;
mod errors;
mod fold;
#[cfg(feature = "http")]
mod http;
mod openai_chat;
mod refusals;
mod replies;
mod retry;
mod scripted;
mod splits;
mod sse;
