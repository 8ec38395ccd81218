//! A subsystem in a process of its own, on this machine or on another one.
//!
//! The engine has a [`Proxy`](proxy) in its place: every call on it is one message there and one back, so that setting inputs, stepping
//! and reading outputs is one round trip. On this machine messages go through memory that both processes share ([`mailbox`]). On
//! another one the same program relays them ([`relay`]) between such a mailbox and its stdin and stdout, which `ssh` carries.
//! What is sent is the same for both, so that a subsystem does the same wherever it runs.

mod wire;
mod messages;
mod mailbox;
mod link;
mod proxy;
mod server;
mod frames;
mod copies;
mod remote;
mod relay;

use crate::runs;
pub use link::Program;
pub(crate) use link::spawn;
pub(crate) use mailbox::{End, Mailbox, Spin};
use powerbond::fmi::Log;
use powerbond::system::{Job, Made, NotMade, Processes, Remote};

/// The argument with which this program runs a subsystem.
const VERB: &str = "subsystem";

/// What `main` of a program that is started for subsystems and runs calls first, with its arguments after the name of the program: if it
/// was started for one, it does that and then has to end with the exit code that this returns.
pub fn serve(arguments: &[std::ffi::OsString]) -> Option<u8> {
    let mut arguments = arguments.iter().map(|argument| argument.to_str());
    match (arguments.next()??, arguments.next().flatten(), arguments.next()) {
        (VERB, None, None) => Some(server::serve()),
        (runs::VERB, None, None) => Some(runs::serve()),
        (remote::VERB, Some(heartbeat), None) => Some(relay::relay(heartbeat.parse().ok()?)),
        _ => None,
    }
}

/// Makes subsystems in processes of their own, to be [installed](powerbond::system::install).
#[derive(Clone, Debug, Default)]
pub struct Workers {
    /// What is started for each of them: its `main` calls [`serve`].
    pub program: Program,
}

impl Processes for Workers {
    fn make(
        &self,
        subsystem: &str,
        host: Option<(&str, &Remote)>,
        job: &Job,
        log: &Log,
    ) -> Result<Made, NotMade> {
        if std::env::var_os(link::VARIABLE).is_some() {
            let message = "this program was started to run a subsystem and does not: call `powerbond_worker::serve` \
                           at the beginning of its `main`";
            return Err(NotMade::Unable(message.to_owned()));
        }
        if let Some((host, how)) = host {
            let (reached, job) = remote::Host::reach(host, how, job, subsystem)?;
            return proxy::make(Box::new(reached), &job, log);
        }
        let child = link::Child::start(&self.program, subsystem)
            .map_err(|error| NotMade::Unable(format!("cannot start a process for it: {error}")))?;
        proxy::make(Box::new(child), job, log)
    }
}
