//! Time: where steps end, what is known of inputs before the run, and their past.

pub mod clock;
pub mod history;
pub mod signal;
