//! The Model Context Protocol: programs that work with a language model ask a store, and queue measurements where that is
//! permitted.
//!
//! A tool is a row of a table ([`TOOLS`]): a command of this program, and the parameters that become its words. A call runs the command
//! and answers with what it printed, so that a model reads what people read. What a caller says is never an option: it comes behind `=`
//! or behind `--`. Requests come on standard input ([`serve_stdio`]) or by HTTP with a token ([`serve_http`]).

mod http;
mod server;
mod tools;
mod words;

pub use http::serve_http;
pub use server::{Commands, McpServer, serve_stdio};
pub use tools::{Parameter, ParameterKind, TOOLS, Tool};
pub use words::{WrongArgument, words_of};
