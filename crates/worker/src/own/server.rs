//! The side of a subsystem: does what it is asked for, message by message.

use super::link::VARIABLE;
use super::mailbox::{End, Mailbox, Spin};
use super::messages;
use super::wire::{Garbled, Reader, Write};
use powerbond::core::subsystem::{Inputs, Setup, Span, StateSnapshot, Subsystem, SubsystemError};
use powerbond::fmi::{Fmu, Log, LogLine};
use powerbond::system::{FmuJob, Job, Made};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

/// What a message asks for. The instance that it asks for follows: 0 is that of the run, others are scratch instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Ask {
    Make,
    Bind,
    Enter,
    Evaluate,
    Update,
    Start,
    Advance,
    FeedThrough,
    Set,
    OutputDerivatives,
    Probe,
    Save,
    Restore,
    SaveSecond,
    RestoreSecond,
    Release,
    Scratch,
    Unreadable,
    State,
    SetState,
    Snapshot,
    LoadSnapshot,
    DropSnapshot,
    CanSnapshot,
    ReadPacket,
    WritePacket,
    Finish,
    Quit,
}

const ALL: [Ask; 28] = [
    Ask::Make,
    Ask::Bind,
    Ask::Enter,
    Ask::Evaluate,
    Ask::Update,
    Ask::Start,
    Ask::Advance,
    Ask::FeedThrough,
    Ask::Set,
    Ask::OutputDerivatives,
    Ask::Probe,
    Ask::Save,
    Ask::Restore,
    Ask::SaveSecond,
    Ask::RestoreSecond,
    Ask::Release,
    Ask::Scratch,
    Ask::Unreadable,
    Ask::State,
    Ask::SetState,
    Ask::Snapshot,
    Ask::LoadSnapshot,
    Ask::DropSnapshot,
    Ask::CanSnapshot,
    Ask::ReadPacket,
    Ask::WritePacket,
    Ask::Finish,
    Ask::Quit,
];

/// Runs a subsystem for the process that started this one, until it is told to quit; the exit code. That process keeps its stdout for
/// itself, and when it dies, this one is killed.
pub(crate) fn serve() -> u8 {
    let Some(mailbox) = Mailbox::from_parent(VARIABLE) else {
        eprintln!("error: this is for powerbond itself: it runs a subsystem in a process of its own");
        return 2;
    };
    crate::worker::obey();
    powerbond::fmi::trace::install(mailbox.slots());
    let log = Mutex::new(mailbox.log());
    powerbond::fmi::copy_log_to(move |line| log.lock().unwrap_or_else(PoisonError::into_inner).add(line));
    // Where stdout cannot be listened to, what FMUs print is lost: nobody reads it.
    let _ = powerbond::fmi::printed::adopt();
    let (mut spin, mut server) = (Spin::new(), Server::default());
    let (mut request, mut answer) = (Vec::new(), Vec::new());
    let wait = &mut || Ok::<(), Infallible>(());
    loop {
        let Ok(()) = mailbox.receive(End::Child, &mut request, &mut spin, wait);
        let goes_on = server.answer(&request, &mut answer);
        mailbox.log().tell();
        let Ok(()) = mailbox.send(End::Child, &answer, &mut spin, wait);
        match goes_on {
            Ok(true) => {}
            Ok(false) => return 0,
            Err(Garbled) => return 1,
        }
    }
}

struct Member {
    simulator: Box<dyn Subsystem>,
    snapshots: BTreeMap<u64, StateSnapshot>,
}

impl Member {
    fn new(simulator: Box<dyn Subsystem>) -> Self {
        Member { simulator, snapshots: BTreeMap::new() }
    }
}

/// A subsystem with its scratch instances, and room for what is sent.
#[derive(Default)]
pub(crate) struct Server {
    /// That of the run first. All stay until the end.
    members: Vec<Member>,
    lines: Arc<Mutex<Vec<LogLine>>>,
    taken: u64,
    payload: Vec<u8>,
    u: [Vec<f64>; 3],
    y: Vec<f64>,
    bytes: Vec<u8>,
}

/// Why there is no ordinary answer.
enum Trouble {
    Garbled,
    Subsystem(SubsystemError),
}

impl From<Garbled> for Trouble {
    fn from(_: Garbled) -> Self {
        Trouble::Garbled
    }
}

impl From<SubsystemError> for Trouble {
    fn from(error: SubsystemError) -> Self {
        Trouble::Subsystem(error)
    }
}

impl Server {
    /// Does what `request` asks for and writes the answer: 0 or an error, the next event, lines of the log, and what was asked for.
    /// False if it was the last request.
    pub fn answer(&mut self, request: &[u8], answer: &mut Vec<u8>) -> Result<bool, Garbled> {
        let mut from = Reader::new(request);
        let ask = *ALL.get(usize::from(from.u8()?)).ok_or(Garbled)?;
        let instance = from.u32()? as usize;
        self.payload.clear();
        let done = self.work(ask, instance, from);
        answer.clear();
        match done {
            Ok(()) => answer.u8(0),
            Err(Trouble::Subsystem(error)) => {
                self.payload.clear();
                answer.u8(1);
                messages::write_error(answer, &error);
            }
            Err(Trouble::Garbled) => return Err(Garbled),
        }
        let member = self.members.get(instance);
        answer.option(member.and_then(|member| member.simulator.next_event()), Vec::f64);
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        answer.list(&lines, messages::write_line);
        lines.clear();
        answer.extend_from_slice(&self.payload);
        Ok(ask != Ask::Quit)
    }

    fn work(&mut self, ask: Ask, instance: usize, mut from: Reader<'_>) -> Result<(), Trouble> {
        match ask {
            Ask::Make => return self.make(&messages::read_job(&mut from)?),
            Ask::Quit => {
                self.members.clear();
                let (lines, more) = powerbond::fmi::printed::take();
                self.payload.list(&lines, |out, line| out.text(line));
                self.payload.u64(more);
                return Ok(());
            }
            _ => {}
        }
        let Server { members, taken, payload, u, y, bytes, .. } = self;
        let Some(Member { simulator, snapshots }) = members.get_mut(instance) else {
            return Err(Trouble::Garbled);
        };
        match ask {
            Ask::Make | Ask::Quit => {}
            Ask::Bind => simulator.bind(&messages::read_binding(&mut from)?)?,
            Ask::Enter => simulator.enter(&setup(&mut from)?)?,
            Ask::Evaluate | Ask::Update | Ask::Advance => {
                let span = Span { start: from.f64()?, end: from.f64()?, h: from.f64()? };
                for list in &mut *u {
                    from.numbers(list)?;
                }
                from.numbers(y)?;
                let u = Inputs { value: &u[0], slope: &u[1], curvature: &u[2] };
                match ask {
                    Ask::Evaluate => simulator.evaluate(u, y)?,
                    Ask::Update => simulator.update(u, y)?,
                    _ => {
                        let advance = simulator.advance(span, u, y)?;
                        payload.f64(advance.reached);
                        payload.u8(advance.event as u8);
                        payload.option(advance.next_event, Vec::f64);
                    }
                }
                payload.numbers(y);
            }
            Ask::Start => simulator.start()?,
            Ask::FeedThrough | Ask::OutputDerivatives | Ask::Probe => {
                from.numbers(y)?;
                match ask {
                    Ask::FeedThrough => simulator.feed_through(y)?,
                    Ask::OutputDerivatives => simulator.output_derivatives(y)?,
                    _ => simulator.probe(y)?,
                }
                payload.numbers(y);
            }
            Ask::Set => simulator.set(from.index()?, from.f64()?)?,
            Ask::Save => simulator.save()?,
            Ask::Restore => simulator.restore()?,
            Ask::SaveSecond => simulator.save_second()?,
            Ask::RestoreSecond => simulator.restore_second()?,
            Ask::Release => simulator.release(),
            Ask::Scratch => {
                let scratch = simulator.scratch();
                payload.flag(scratch.is_some());
                if let Some(simulator) = scratch {
                    payload.u32(members.len() as u32);
                    members.push(Member::new(simulator));
                }
            }
            Ask::Unreadable => {
                let variables = from.indices()?;
                payload.indices(&simulator.unreadable(&variables, &setup(&mut from)?));
            }
            Ask::State => {
                y.clear();
                simulator.state(&mut |x| y.push(*x))?;
                payload.numbers(y);
            }
            Ask::SetState => {
                from.numbers(y)?;
                let mut numbers = y.iter();
                simulator.state(&mut |x| *x = numbers.next().copied().unwrap_or(*x))?;
            }
            Ask::Snapshot => {
                let snapshot = simulator.snapshot()?;
                *taken += 1;
                snapshots.insert(*taken, snapshot);
                payload.u64(*taken);
            }
            Ask::LoadSnapshot => {
                let snapshot = snapshots.get(&from.u64()?);
                simulator.load_snapshot(snapshot.ok_or(Garbled)?)?;
            }
            Ask::DropSnapshot => {
                snapshots.remove(&from.u64()?);
            }
            Ask::CanSnapshot => payload.flag(simulator.can_snapshot()),
            Ask::ReadPacket => {
                bytes.clear();
                simulator.read_packet(from.index()?, bytes)?;
                payload.bytes(bytes);
            }
            Ask::WritePacket => simulator.write_packet(from.index()?, from.bytes()?)?,
            Ask::Finish => simulator.finish()?,
        }
        Ok(())
    }

    /// Makes the instance of the run: whether that worked, its description, and what was seen.
    fn make(&mut self, job: &Job) -> Result<(), Trouble> {
        let made = match job {
            Job::Model { name, parameters } => match powerbond::models::find(name) {
                Some(model) => model
                    .build(parameters)
                    .map(|simulator| Made { remarks: Vec::new(), failure: None, simulator })
                    .map_err(|error| error.to_string()),
                None => Err(format!("unknown model `{name}`.{}", powerbond::models::hint(name))),
            },
            Job::Fmu { path, job } => {
                let lines = self.lines.clone();
                let sink = move |line| lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                let job = FmuJob {
                    options: powerbond::fmi::Options { log: Log::to(sink), ..job.options.clone() },
                    ..job.clone()
                };
                let made = Fmu::open(path).and_then(|fmu| job.make(&fmu));
                made.map(|Made { remarks, failure, simulator }| Made {
                    remarks,
                    failure,
                    simulator: simulator as Box<dyn Subsystem>,
                })
                .map_err(|error| error.problem.to_string())
            }
        };
        let payload = &mut self.payload;
        payload.flag(made.is_ok());
        match made {
            Err(text) => payload.text(&text),
            Ok(Made { remarks, failure, simulator }) => {
                payload.list(&remarks, |out, remark| out.text(remark));
                payload.option(failure.as_deref(), |out, text| out.text(text));
                messages::write_info(payload, simulator.info());
                payload.list(simulator.packets(), messages::write_packet);
                self.members.push(Member::new(simulator));
            }
        }
        Ok(())
    }
}

fn setup(from: &mut Reader<'_>) -> Result<Setup, Garbled> {
    Ok(Setup { start: from.f64()?, stop: from.f64()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_has_its_number() {
        for (n, ask) in ALL.iter().enumerate() {
            assert_eq!(*ask as usize, n);
        }
    }
}
