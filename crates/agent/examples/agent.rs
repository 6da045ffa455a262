//! An agent and nothing else: what the tests start.

fn main() -> Result<(), backsight_agent::ServeError> {
    backsight_agent::serve_stdio(None)
}
