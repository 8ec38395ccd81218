//! The `powerbond` command from end to end: what a user types, and what comes back.

mod bad_options;
mod bad_systems;
mod compare;
mod crashes;
mod docs;
mod example;
mod failing_runs;
mod lab;
mod listings;
mod methods;
mod networks;
mod options;
mod results;
mod signals;
mod verdict;
