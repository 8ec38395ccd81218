//! Stands in the engine for a subsystem that runs elsewhere: what is asked of it is asked there, one message for each call.

use super::link::Link;
use super::messages;
use super::server::Ask;
use super::wire::{Garbled, Reader, Write};
use powerbond::core::subsystem::{
    Advance, Binding, Capabilities, FeedThrough, Info, Inputs, Lost, Packet, Setup, Span, StateSnapshot,
    StepEvent, Subsystem, SubsystemError, Variables,
};
use powerbond::fmi::printed::PRINTED;
use powerbond::fmi::{Log, LogLine};
use powerbond::system::{Job, Made, NotMade};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Lets the other side make what `job` says.
pub(crate) fn make(link: Box<dyn Link>, job: &Job, log: &Log) -> Result<Made, NotMade> {
    let line = Line {
        link,
        request: Vec::new(),
        answer: Vec::new(),
        log: log.clone(),
        state: State::Open,
        bin: Arc::default(),
    };
    let line = Arc::new(Mutex::new(line));
    let mut proxy = Proxy {
        line,
        instance: 0,
        about: Arc::new(About { info: nothing(), packets: Vec::new() }),
        next_event: None,
    };
    let made = proxy.ask(
        Ask::Make,
        |out| messages::write_job(out, job),
        |from| {
            if !from.flag()? {
                return Ok(Err(from.text()?));
            }
            let remarks = from.list(Reader::text)?;
            let failure = from.option(Reader::text)?;
            let info = messages::read_info(from)?;
            Ok(Ok((remarks, failure, About { info, packets: from.list(messages::read_packet)? })))
        },
    );
    match made {
        Ok(Ok((remarks, failure, about))) => {
            proxy.about = Arc::new(about);
            Ok(Made { remarks, failure, simulator: Box::new(proxy) })
        }
        Ok(Err(text)) => Err(NotMade::Refused(text)),
        Err(SubsystemError::Lost(lost)) => Err(NotMade::Lost(*lost)),
        Err(error) => Err(NotMade::Refused(error.to_string())),
    }
}

/// The description of what is not made yet.
fn nothing() -> Info {
    Info {
        kind: String::new(),
        variables: Variables::default(),
        feed_through: FeedThrough::Unknown,
        capabilities: Capabilities::default(),
    }
}

/// An instance elsewhere.
struct Proxy {
    line: Arc<Mutex<Line>>,
    /// 0: that of the run, which takes the process along when it is finished; else a scratch instance.
    instance: u32,
    about: Arc<About>,
    next_event: Option<f64>,
}

/// What was asked for, and the next event of the instance.
type Understood<T> = Result<(T, Option<f64>), SubsystemError>;

/// What a subsystem says of itself once and for all.
struct About {
    info: Info,
    packets: Vec<Packet>,
}

/// The way to a process, which the instances in it share, and room for what is sent.
struct Line {
    link: Box<dyn Link>,
    request: Vec<u8>,
    answer: Vec<u8>,
    log: Log,
    state: State,
    bin: Arc<Bin>,
}

enum State {
    Open,
    /// It was finished; its process has ended.
    Closed,
    Lost(Box<Lost>),
}

/// Snapshots that were dropped on this side only: their instances and numbers.
#[derive(Default)]
struct Bin {
    has_some: AtomicBool,
    dropped: Mutex<Vec<(u32, u64)>>,
}

/// A snapshot that is kept elsewhere.
struct Kept {
    instance: u32,
    number: u64,
    bin: Arc<Bin>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        let mut dropped = self.bin.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        dropped.push((self.instance, self.number));
        self.bin.has_some.store(true, Ordering::Release);
    }
}

impl Line {
    /// Begins a request; what it asks with is added to it.
    fn begin(&mut self, ask: Ask, instance: u32) -> &mut Vec<u8> {
        self.request.clear();
        self.request.u8(ask as u8);
        self.request.u32(instance);
        &mut self.request
    }

    /// Sends the request and reads the answer: what was asked for, and the next event of the instance.
    fn end<T>(&mut self, read: impl FnOnce(&mut Reader<'_>) -> Result<T, Garbled>) -> Understood<T> {
        match &self.state {
            State::Open => {}
            State::Lost(lost) => return Err(SubsystemError::Lost(lost.clone())),
            State::Closed => {
                let message = "the simulation was ended".to_owned();
                return Err(SubsystemError::Infeasible { message });
            }
        }
        let exchanged = self.link.exchange(&self.request, &mut self.answer);
        let lost = match exchanged.map(|()| understand(&self.answer, &self.log, read)) {
            Ok(Ok(done)) => return done,
            Ok(Err(garbled)) => self.link.garbled(garbled),
            Err(lost) => lost,
        };
        self.link.kill();
        self.note(&lost.log);
        self.state = State::Lost(Box::new(lost.clone()));
        Err(SubsystemError::Lost(Box::new(lost)))
    }

    /// Puts what an FMU said in the call that it did not survive with the rest.
    fn note(&self, lines: &[String]) {
        for line in lines {
            match line.strip_prefix(PRINTED) {
                Some(line) => powerbond::fmi::printed::add(vec![line.to_owned()], 0),
                None => LogLine::read(line).into_iter().for_each(|line| self.log.say(line)),
            }
        }
    }

    fn empty_bin(&mut self) -> Result<(), SubsystemError> {
        self.bin.has_some.store(false, Ordering::Release);
        let dropped = std::mem::take(&mut *self.bin.dropped.lock().unwrap_or_else(PoisonError::into_inner));
        for (instance, number) in dropped {
            self.begin(Ask::DropSnapshot, instance).u64(number);
            self.end(|_| Ok(()))?;
        }
        Ok(())
    }

    /// Ends the process: what FMUs printed there counts as printed here.
    fn quit(&mut self) -> Result<(), SubsystemError> {
        self.begin(Ask::Quit, 0);
        let ((lines, more), _) = self.end(|from| Ok((from.list(Reader::text)?, from.u64()?)))?;
        powerbond::fmi::printed::add(lines, more);
        self.state = State::Closed;
        self.link.close().map_err(|lost| SubsystemError::Lost(Box::new(lost)))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if matches!(self.state, State::Open) {
            let mut quit = vec![Ask::Quit as u8];
            quit.u32(0);
            self.link.end(&quit);
        }
    }
}

fn understand<T>(
    answer: &[u8],
    log: &Log,
    read: impl FnOnce(&mut Reader<'_>) -> Result<T, Garbled>,
) -> Result<Understood<T>, Garbled> {
    let mut from = Reader::new(answer);
    let error = match from.u8()? {
        0 => None,
        1 => Some(messages::read_error(&mut from)?),
        _ => return Err(Garbled),
    };
    let next_event = from.option(Reader::f64)?;
    for line in from.list(messages::read_line)? {
        log.say(line);
    }
    if let Some(error) = error {
        return Ok(Err(error));
    }
    let found = read(&mut from)?;
    from.end()?;
    Ok(Ok((found, next_event)))
}

impl Proxy {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way to the process, with nothing left to be dropped there.
    fn tidy_line(&self) -> Result<MutexGuard<'_, Line>, SubsystemError> {
        let mut line = self.line();
        if line.bin.has_some.load(Ordering::Acquire) {
            line.empty_bin()?;
        }
        Ok(line)
    }

    fn ask<T>(
        &mut self,
        ask: Ask,
        write: impl FnOnce(&mut Vec<u8>),
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, Garbled>,
    ) -> Result<T, SubsystemError> {
        let mut line = self.tidy_line()?;
        write(line.begin(ask, self.instance));
        let (found, next_event) = line.end(read)?;
        drop(line);
        self.next_event = next_event;
        Ok(found)
    }

    fn plain(&mut self, ask: Ask) -> Result<(), SubsystemError> {
        self.ask(ask, |_| {}, |_| Ok(()))
    }

    /// Sends numbers and gets others in their place: those that the subsystem does not write stay as they are.
    fn fill(&mut self, ask: Ask, y: &mut [f64]) -> Result<(), SubsystemError> {
        let mut line = self.tidy_line()?;
        line.begin(ask, self.instance).numbers(y);
        let ((), next_event) = line.end(|from| from.fill(y))?;
        drop(line);
        self.next_event = next_event;
        Ok(())
    }

    /// Sets inputs and gets outputs, and what `read` reads before them.
    #[inline]
    fn respond<T>(
        &mut self,
        ask: Ask,
        span: Span,
        u: Inputs<'_>,
        y: &mut [f64],
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, Garbled>,
    ) -> Result<T, SubsystemError> {
        let mut line = self.tidy_line()?;
        let out = line.begin(ask, self.instance);
        [span.start, span.end, span.h].into_iter().for_each(|x| out.f64(x));
        [u.value, u.slope, u.curvature].into_iter().for_each(|list| out.numbers(list));
        out.numbers(y);
        let (found, next_event) = line.end(|from| {
            let found = read(from)?;
            from.fill(y)?;
            Ok(found)
        })?;
        drop(line);
        self.next_event = next_event;
        Ok(found)
    }
}

/// For calls at the current time.
const NO_SPAN: Span = Span { start: 0.0, end: 0.0, h: 0.0 };

fn write_setup(out: &mut Vec<u8>, setup: &Setup) {
    out.f64(setup.start);
    out.f64(setup.stop);
}

impl Subsystem for Proxy {
    fn info(&self) -> &Info {
        &self.about.info
    }

    fn bind(&mut self, binding: &Binding) -> Result<(), SubsystemError> {
        self.ask(Ask::Bind, |out| messages::write_binding(out, binding), |_| Ok(()))
    }

    fn enter(&mut self, setup: &Setup) -> Result<(), SubsystemError> {
        self.ask(Ask::Enter, |out| write_setup(out, setup), |_| Ok(()))
    }

    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.respond(Ask::Evaluate, NO_SPAN, u, y, |_| Ok(()))
    }

    fn update(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.respond(Ask::Update, NO_SPAN, u, y, |_| Ok(()))
    }

    fn start(&mut self) -> Result<(), SubsystemError> {
        self.plain(Ask::Start)
    }

    fn next_event(&self) -> Option<f64> {
        self.next_event
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        self.respond(Ask::Advance, span, u, y, |from| {
            let reached = from.f64()?;
            let event = match from.u8()? {
                0 => StepEvent::None,
                1 => StepEvent::Handled,
                2 => StepEvent::Pending,
                3 => StepEvent::Terminated,
                _ => return Err(Garbled),
            };
            Ok(Advance { reached, event, next_event: from.option(Reader::f64)? })
        })
    }

    fn feed_through(&mut self, d: &mut [f64]) -> Result<(), SubsystemError> {
        self.fill(Ask::FeedThrough, d)
    }

    fn set(&mut self, variable: usize, value: f64) -> Result<(), SubsystemError> {
        let write = |out: &mut Vec<u8>| {
            out.u64(variable as u64);
            out.f64(value);
        };
        self.ask(Ask::Set, write, |_| Ok(()))
    }

    fn output_derivatives(&mut self, dy: &mut [f64]) -> Result<(), SubsystemError> {
        self.fill(Ask::OutputDerivatives, dy)
    }

    fn probe(&mut self, z: &mut [f64]) -> Result<(), SubsystemError> {
        self.fill(Ask::Probe, z)
    }

    fn save(&mut self) -> Result<(), SubsystemError> {
        self.plain(Ask::Save)
    }

    fn restore(&mut self) -> Result<(), SubsystemError> {
        self.plain(Ask::Restore)
    }

    fn save_second(&mut self) -> Result<(), SubsystemError> {
        self.plain(Ask::SaveSecond)
    }

    fn restore_second(&mut self) -> Result<(), SubsystemError> {
        self.plain(Ask::RestoreSecond)
    }

    fn release(&mut self) {
        // One that is lost is told of at the next step.
        let _ = self.plain(Ask::Release);
    }

    /// In the same process.
    fn scratch(&self) -> Option<Box<dyn Subsystem>> {
        let mut line = self.tidy_line().ok()?;
        line.begin(Ask::Scratch, self.instance);
        let (instance, _) = line.end(|from| from.option(Reader::u32)).ok()?;
        let instance = instance?;
        drop(line);
        let (line, about) = (self.line.clone(), self.about.clone());
        Some(Box::new(Proxy { line, instance, about, next_event: None }))
    }

    fn unreadable(&self, variables: &[usize], setup: &Setup) -> Vec<usize> {
        // One that is lost is told of when it is entered.
        let Ok(mut line) = self.tidy_line() else { return Vec::new() };
        let out = line.begin(Ask::Unreadable, self.instance);
        out.indices(variables);
        write_setup(out, setup);
        let (mut found, _) = line.end(|from| from.indices()).unwrap_or_default();
        found.retain(|v| *v < self.about.info.variables.len());
        found
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> Result<(), SubsystemError> {
        let mut numbers = Vec::new();
        self.ask(Ask::State, |_| {}, |from| from.numbers(&mut numbers))?;
        let before = numbers.clone();
        numbers.iter_mut().for_each(visit);
        let is_same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
        if numbers.iter().zip(&before).all(is_same) {
            return Ok(());
        }
        self.ask(Ask::SetState, |out| out.numbers(&numbers), |_| Ok(()))
    }

    fn snapshot(&mut self) -> Result<StateSnapshot, SubsystemError> {
        let number = self.ask(Ask::Snapshot, |_| {}, |from| from.u64())?;
        let bin = self.line().bin.clone();
        Ok(StateSnapshot::new(Kept { instance: self.instance, number, bin }))
    }

    fn load_snapshot(&mut self, snapshot: &StateSnapshot) -> Result<(), SubsystemError> {
        let is_ours =
            |kept: &&Kept| kept.instance == self.instance && Arc::ptr_eq(&kept.bin, &self.line().bin);
        let Some(kept) = snapshot.get::<Kept>().filter(is_ours) else {
            return Err(SubsystemError::Unsupported { call: "load_snapshot" });
        };
        self.ask(Ask::LoadSnapshot, |out| out.u64(kept.number), |_| Ok(()))
    }

    fn can_snapshot(&mut self) -> bool {
        self.ask(Ask::CanSnapshot, |_| {}, |from| from.flag()).unwrap_or(false)
    }

    fn packets(&self) -> &[Packet] {
        &self.about.packets
    }

    fn read_packet(&mut self, packet: usize, bytes: &mut Vec<u8>) -> Result<(), SubsystemError> {
        let read = |from: &mut Reader<'_>| {
            bytes.extend_from_slice(from.bytes()?);
            Ok(())
        };
        self.ask(Ask::ReadPacket, |out| out.u64(packet as u64), read)
    }

    fn write_packet(&mut self, packet: usize, bytes: &[u8]) -> Result<(), SubsystemError> {
        let write = |out: &mut Vec<u8>| {
            out.u64(packet as u64);
            out.bytes(bytes);
        };
        self.ask(Ask::WritePacket, write, |_| Ok(()))
    }

    /// Nothing comes after it: the process of the instance of the run ends, too, and what goes wrong there is told.
    fn finish(&mut self) -> Result<(), SubsystemError> {
        // Scratch instances stay as they are until the process ends: if one cannot be ended, that is found after the run.
        if self.instance != 0 || matches!(self.line().state, State::Lost(_)) {
            return Ok(());
        }
        let finished = self.plain(Ask::Finish);
        let quit = match &finished {
            Err(SubsystemError::Lost(_)) => Ok(()),
            _ => self.line().quit(),
        };
        finished.and(quit)
    }
}
