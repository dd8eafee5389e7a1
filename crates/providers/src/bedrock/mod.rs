//! AWS Bedrock Converse: `POST /model/{id}/converse` and `/converse-stream`.
//!
//! One protocol for the models of many makers, who differ in what they take of it. Facts from the service's own model
//! (botocore 1.44.5), recorded exchanges, and what public clients found out about single models, read 2026-11.

mod decode;
mod failure;
mod frames;
mod shapes;

/// The wire's name, as rules and raw blocks know it.
pub const NAME: &str = "bedrock";
