//! The `powerbond` command from end to end: what a user types, and what comes back.

mod auto;
mod bad_options;
mod bad_systems;
mod c_fmus;
mod compare;
mod crashes;
mod docs;
mod energy_correction;
mod example;
mod export;
mod failing_runs;
mod fmus;
mod golden;
mod lab;
mod listings;
mod logging;
mod methods;
mod networks;
mod options;
mod params;
mod real_time;
mod results;
mod scenario;
mod signals;
mod tune;
mod verdict;
