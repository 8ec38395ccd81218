//! What a subsystem is made of and says of itself, as bytes: descriptions, errors, lines of the log.

use super::wire::{Garbled, Reader, Write};
use powerbond::core::subsystem::{
    Binding, Capabilities, Causality, Digits, FeedThrough, Info, Loss, Lost, Packet, PacketKind,
    SubsystemError, ValueKind, Variable,
};
use powerbond::core::units::{Dimensions, Si, Unit};
use powerbond::fmi::{LogLine, Logging, Options, Status, Value};
use powerbond::models::ParameterValue;
use powerbond::system::{Declared, FmuJob, Job};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The variant of an enumeration without data, by its place in a list.
macro_rules! by_place {
    ($write:ident, $read:ident, $type:ty, [$($variant:path),*]) => {
        fn $write(out: &mut Vec<u8>, x: $type) {
            let all = [$($variant),*];
            out.u8(all.iter().position(|other| *other == x).unwrap_or(0) as u8);
        }
        fn $read(from: &mut Reader<'_>) -> Result<$type, Garbled> {
            let all = [$($variant),*];
            all.get(usize::from(from.u8()?)).copied().ok_or(Garbled)
        }
    };
}

by_place!(
    write_causality,
    read_causality,
    Causality,
    [Causality::Input, Causality::Output, Causality::Local]
);
by_place!(
    write_kind,
    read_kind,
    ValueKind,
    [ValueKind::Real, ValueKind::Integer, ValueKind::Boolean, ValueKind::Enumeration]
);
by_place!(write_loss, read_loss, Loss, [Loss::Crashed, Loss::Stopped, Loss::Unreachable]);
by_place!(write_logging, read_logging, Logging, [Logging::Off, Logging::On, Logging::Categories]);
by_place!(write_declared, read_declared, Declared, [Declared::No, Declared::Something, Declared::Pairs]);

pub(crate) fn write_info(out: &mut Vec<u8>, info: &Info) {
    let Info { kind, variables, feed_through, capabilities } = info;
    out.text(kind);
    out.list(variables, write_variable);
    match feed_through {
        FeedThrough::Declared(pairs) => {
            out.flag(true);
            out.list(pairs, write_pair);
        }
        FeedThrough::Unknown => out.flag(false),
    }
    write_capabilities(out, capabilities);
}

pub(crate) fn read_info(from: &mut Reader<'_>) -> Result<Info, Garbled> {
    let info = Info {
        kind: from.text()?,
        variables: from.list(read_variable)?.into(),
        feed_through: match from.flag()? {
            true => FeedThrough::Declared(from.list(read_pair)?),
            false => FeedThrough::Unknown,
        },
        capabilities: read_capabilities(from)?,
    };
    let n = info.variables.len();
    let is_inside = |&(output, input): &(usize, usize)| output < n && input < n;
    match &info.feed_through {
        FeedThrough::Declared(pairs) if !pairs.iter().all(is_inside) => Err(Garbled),
        _ => Ok(info),
    }
}

fn write_pair(out: &mut Vec<u8>, (a, b): &(usize, usize)) {
    out.u64(*a as u64);
    out.u64(*b as u64);
}

fn read_pair(from: &mut Reader<'_>) -> Result<(usize, usize), Garbled> {
    Ok((from.index()?, from.index()?))
}

fn write_variable(out: &mut Vec<u8>, variable: &Variable) {
    let Variable {
        name,
        causality,
        kind,
        unit,
        start,
        nominal,
        min,
        max,
        discrete,
        settable,
        digits,
        description,
    } = variable;
    out.text(name);
    write_causality(out, *causality);
    write_kind(out, *kind);
    out.option(unit.as_deref(), |out, Unit { symbol, si }| {
        out.text(symbol);
        out.option(si.as_ref(), |out, Si { dimensions, factor, offset }| {
            dimensions.iter().for_each(|power| out.extend_from_slice(&power.to_le_bytes()));
            out.f64(*factor);
            out.f64(*offset);
        });
    });
    [start, nominal, min, max].into_iter().for_each(|x| out.f64(*x));
    out.flag(*discrete);
    out.flag(*settable);
    out.u8(match digits {
        Digits::All => 0,
        Digits::First { signed: false } => 1,
        Digits::First { signed: true } => 2,
        Digits::Rest => 3,
    });
    out.text(description);
}

fn read_variable(from: &mut Reader<'_>) -> Result<Variable, Garbled> {
    Ok(Variable {
        name: from.text()?,
        causality: read_causality(from)?,
        kind: read_kind(from)?,
        unit: from.option(|from| {
            let symbol = from.text()?;
            let si = from.option(|from| {
                let mut dimensions = Dimensions::default();
                for power in &mut dimensions {
                    *power = i8::from_le_bytes([from.u8()?]);
                }
                Ok(Si { dimensions, factor: from.f64()?, offset: from.f64()? })
            })?;
            Ok(Arc::new(Unit { symbol, si }))
        })?,
        start: from.f64()?,
        nominal: from.f64()?,
        min: from.f64()?,
        max: from.f64()?,
        discrete: from.flag()?,
        settable: from.flag()?,
        digits: match from.u8()? {
            0 => Digits::All,
            1 => Digits::First { signed: false },
            2 => Digits::First { signed: true },
            3 => Digits::Rest,
            _ => return Err(Garbled),
        },
        description: from.text()?,
    })
}

fn write_capabilities(out: &mut Vec<u8>, capabilities: &Capabilities) {
    let Capabilities {
        can_restore,
        can_refresh,
        can_update,
        input_derivatives,
        output_derivatives,
        feed_through_values,
        sub_steps,
        may_return_early,
        constant_step,
        fixed_step,
        min_step,
        max_step,
        once,
    } = *capabilities;
    out.flag(can_restore);
    out.flag(can_refresh);
    out.flag(can_update);
    out.u8(input_derivatives);
    out.u8(output_derivatives);
    out.flag(feed_through_values);
    out.flag(sub_steps);
    out.flag(may_return_early);
    out.flag(constant_step);
    [fixed_step, min_step, max_step].into_iter().for_each(|step| out.option(step, Vec::f64));
    out.flag(once);
}

fn read_capabilities(from: &mut Reader<'_>) -> Result<Capabilities, Garbled> {
    Ok(Capabilities {
        can_restore: from.flag()?,
        can_refresh: from.flag()?,
        can_update: from.flag()?,
        input_derivatives: from.u8()?,
        output_derivatives: from.u8()?,
        feed_through_values: from.flag()?,
        sub_steps: from.flag()?,
        may_return_early: from.flag()?,
        constant_step: from.flag()?,
        fixed_step: from.option(Reader::f64)?,
        min_step: from.option(Reader::f64)?,
        max_step: from.option(Reader::f64)?,
        once: from.flag()?,
    })
}

pub(crate) fn write_packet(out: &mut Vec<u8>, packet: &Packet) {
    out.text(&packet.name);
    write_causality(out, packet.causality);
    match &packet.kind {
        PacketKind::Text => out.flag(false),
        PacketKind::Binary(mime) => {
            out.flag(true);
            out.option(mime.as_deref(), |out, mime| out.text(mime));
        }
    }
}

pub(crate) fn read_packet(from: &mut Reader<'_>) -> Result<Packet, Garbled> {
    Ok(Packet {
        name: from.text()?,
        causality: read_causality(from)?,
        kind: match from.flag()? {
            false => PacketKind::Text,
            true => PacketKind::Binary(from.option(Reader::text)?),
        },
    })
}

pub(crate) fn write_binding(out: &mut Vec<u8>, binding: &Binding) {
    let Binding { inputs, outputs, probes, feed_through } = binding;
    [inputs, outputs, probes].into_iter().for_each(|list| out.indices(list));
    out.list(feed_through, write_pair);
}

pub(crate) fn read_binding(from: &mut Reader<'_>) -> Result<Binding, Garbled> {
    Ok(Binding {
        inputs: from.indices()?,
        outputs: from.indices()?,
        probes: from.indices()?,
        feed_through: from.list(read_pair)?,
    })
}

pub(crate) fn write_error(out: &mut Vec<u8>, error: &SubsystemError) {
    match error {
        SubsystemError::Status { call, status, message } => {
            out.u8(0);
            [call, status.as_str(), message].into_iter().for_each(|text| out.text(text));
        }
        SubsystemError::Unsupported { call } => {
            out.u8(1);
            out.text(call);
        }
        SubsystemError::Infeasible { message } => {
            out.u8(2);
            out.text(message);
        }
        SubsystemError::Lost(lost) => {
            out.u8(3);
            write_lost(out, lost);
        }
    }
}

pub(crate) fn read_error(from: &mut Reader<'_>) -> Result<SubsystemError, Garbled> {
    Ok(match from.u8()? {
        0 => {
            SubsystemError::Status { call: known(&from.text()?), status: from.text()?, message: from.text()? }
        }
        1 => SubsystemError::Unsupported { call: known(&from.text()?) },
        2 => SubsystemError::Infeasible { message: from.text()? },
        3 => SubsystemError::Lost(Box::new(read_lost(from)?)),
        _ => return Err(Garbled),
    })
}

/// Names of calls live for ever; there are not many, and what is none of them does not fill the memory.
fn known(call: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    const MOST: usize = 1024;
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(name) = names.get(call) {
        return name;
    }
    if names.len() >= MOST {
        return "a call";
    }
    let name = Box::leak(call.to_owned().into_boxed_str());
    names.insert(name);
    name
}

pub(crate) fn write_lost(out: &mut Vec<u8>, lost: &Lost) {
    let Lost { loss, call, time, how, said, log } = lost;
    write_loss(out, *loss);
    out.option(call.as_deref(), |out, call| out.text(call));
    out.option(*time, Vec::f64);
    out.text(how);
    out.text(said);
    out.list(log, |out, line| out.text(line));
}

pub(crate) fn read_lost(from: &mut Reader<'_>) -> Result<Lost, Garbled> {
    Ok(Lost {
        loss: read_loss(from)?,
        call: from.option(Reader::text)?,
        time: from.option(Reader::f64)?,
        how: from.text()?,
        said: from.text()?,
        log: from.list(Reader::text)?,
    })
}

pub(crate) fn write_line(out: &mut Vec<u8>, line: &LogLine) {
    let LogLine { instance, status, category, message, is_remark } = line;
    let (number, code) = match status {
        Status::Ok => (0, 0),
        Status::Warning => (1, 0),
        Status::Discard => (2, 0),
        Status::Error => (3, 0),
        Status::Fatal => (4, 0),
        Status::Pending => (5, 0),
        Status::Missing => (6, 0),
        Status::NotAllowed => (7, 0),
        Status::Illegal(code) => (8, *code),
    };
    out.u8(number);
    out.u32(code.cast_unsigned());
    [instance, category, message].into_iter().for_each(|text| out.text(text));
    out.flag(*is_remark);
}

pub(crate) fn read_line(from: &mut Reader<'_>) -> Result<LogLine, Garbled> {
    let (number, code) = (from.u8()?, from.u32()?.cast_signed());
    let status = match number {
        0 => Status::Ok,
        1 => Status::Warning,
        2 => Status::Discard,
        3 => Status::Error,
        4 => Status::Fatal,
        5 => Status::Pending,
        6 => Status::Missing,
        7 => Status::NotAllowed,
        8 => Status::Illegal(code),
        _ => return Err(Garbled),
    };
    Ok(LogLine {
        status,
        instance: from.text()?,
        category: from.text()?,
        message: from.text()?,
        is_remark: from.flag()?,
    })
}

/// What is to be made; where its lines of the log go is not a part of it.
pub(crate) fn write_job(out: &mut Vec<u8>, job: &Job) {
    match job {
        Job::Model { name, parameters } => {
            out.u8(0);
            out.text(name);
            out.list(parameters, |out, (name, value)| {
                out.text(name);
                match value {
                    ParameterValue::Number(x) => {
                        out.flag(true);
                        out.f64(*x);
                    }
                    ParameterValue::Text(text) => {
                        out.flag(false);
                        out.text(text);
                    }
                }
            });
        }
        Job::Fmu { path, job } => {
            out.u8(1);
            out.bytes(path.as_os_str().as_encoded_bytes());
            let FmuJob { instance, options, steps, declared, curvature } = job;
            out.text(instance);
            write_options(out, options);
            out.flag(*steps);
            write_declared(out, *declared);
            out.flag(*curvature);
        }
    }
}

pub(crate) fn read_job(from: &mut Reader<'_>) -> Result<Job, Garbled> {
    Ok(match from.u8()? {
        0 => Job::Model {
            name: from.text()?,
            parameters: from.list(|from| {
                let name = from.text()?;
                let value = match from.flag()? {
                    true => ParameterValue::Number(from.f64()?),
                    false => ParameterValue::Text(from.text()?),
                };
                Ok((name, value))
            })?,
        },
        1 => Job::Fmu {
            path: path_of(from.bytes()?)?,
            job: FmuJob {
                instance: from.text()?,
                options: read_options(from)?,
                steps: from.flag()?,
                declared: read_declared(from)?,
                curvature: from.flag()?,
            },
        },
        _ => return Err(Garbled),
    })
}

/// A path of the system that sent it.
#[cfg(unix)]
pub(crate) fn path_of(bytes: &[u8]) -> Result<PathBuf, Garbled> {
    Ok(std::ffi::OsString::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes)).into())
}

/// A path of the system that sent it.
#[cfg(not(unix))]
pub(crate) fn path_of(bytes: &[u8]) -> Result<PathBuf, Garbled> {
    std::str::from_utf8(bytes).map(PathBuf::from).map_err(|_| Garbled)
}

fn write_options(out: &mut Vec<u8>, options: &Options) {
    let Options {
        parameters,
        start,
        outputs,
        visible,
        logging,
        log_categories,
        log: _,
        tolerance,
        events,
        input_derivatives,
        sub_steps,
        any_step_size,
        whole_steps,
    } = options;
    for list in [parameters, start] {
        out.list(list, |out, (name, value)| {
            out.text(name);
            write_value(out, value);
        });
    }
    out.list(outputs, |out, name| out.text(name));
    out.flag(*visible);
    write_logging(out, *logging);
    out.list(log_categories, |out, category| out.text(category));
    out.option(*tolerance, Vec::f64);
    out.flag(*events);
    out.option(*input_derivatives, Vec::u8);
    out.u32(*sub_steps);
    out.flag(*any_step_size);
    out.flag(*whole_steps);
}

fn read_options(from: &mut Reader<'_>) -> Result<Options, Garbled> {
    let values = |from: &mut Reader<'_>| from.list(|from| Ok((from.text()?, read_value(from, 0)?)));
    Ok(Options {
        parameters: values(from)?,
        start: values(from)?,
        outputs: from.list(Reader::text)?,
        visible: from.flag()?,
        logging: read_logging(from)?,
        log_categories: from.list(Reader::text)?,
        tolerance: from.option(Reader::f64)?,
        events: from.flag()?,
        input_derivatives: from.option(Reader::u8)?,
        sub_steps: from.u32()?,
        any_step_size: from.flag()?,
        whole_steps: from.flag()?,
        ..Options::default()
    })
}

fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Real(x) => {
            out.u8(0);
            out.f64(*x);
        }
        Value::Integer(x) => {
            out.u8(1);
            out.extend_from_slice(&x.to_le_bytes());
        }
        Value::Boolean(x) => {
            out.u8(2);
            out.flag(*x);
        }
        Value::Text(text) => {
            out.u8(3);
            out.text(text);
        }
        Value::Binary(bytes) => {
            out.u8(4);
            out.bytes(bytes);
        }
        Value::List(items) => {
            out.u8(5);
            out.list(items, write_value);
        }
    }
}

/// Lists in lists, as files may write them.
const DEEPEST: u32 = 64;

fn read_value(from: &mut Reader<'_>, depth: u32) -> Result<Value, Garbled> {
    Ok(match from.u8()? {
        0 => Value::Real(from.f64()?),
        1 => Value::Integer(from.i128()?),
        2 => Value::Boolean(from.flag()?),
        3 => Value::Text(from.text()?),
        4 => Value::Binary(from.bytes()?.to_vec()),
        5 if depth < DEEPEST => Value::List(from.list(|from| read_value(from, depth + 1))?),
        _ => return Err(Garbled),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes it, reads it, and compares what people would see; every cut of the bytes is refused.
    #[track_caller]
    fn check<T: std::fmt::Debug>(
        x: &T,
        write: impl Fn(&mut Vec<u8>, &T),
        read: impl Fn(&mut Reader<'_>) -> Result<T, Garbled>,
    ) {
        let mut bytes = Vec::new();
        write(&mut bytes, x);
        let mut reader = Reader::new(&bytes);
        assert_eq!(format!("{:?}", read(&mut reader).unwrap()), format!("{x:?}"));
        reader.end().unwrap();
        for n in 0..bytes.len() {
            assert!(read(&mut Reader::new(&bytes[..n])).is_err(), "cut at {n}");
        }
    }

    #[test]
    fn descriptions_come_back_whole() {
        for model in powerbond::models::ALL {
            let Ok(made) = model.build(&[]) else { continue };
            check(made.info(), write_info, read_info);
        }
        let mut info = powerbond::models::ALL.iter().find_map(|m| m.build(&[]).ok()).unwrap().info().clone();
        info.feed_through = FeedThrough::Unknown;
        info.variables[0].digits = Digits::First { signed: true };
        info.variables[0].unit = Some(Arc::new(Unit::parse("N.m")));
        info.variables[0].kind = ValueKind::Enumeration;
        info.capabilities.fixed_step = Some(0.1);
        check(&info, write_info, read_info);
        let mut bytes = Vec::new();
        write_info(&mut bytes, &Info { feed_through: FeedThrough::Declared(vec![(0, 999)]), ..info });
        assert!(read_info(&mut Reader::new(&bytes)).is_err(), "pairs of variables that are not there");
        let mime = Some("image/png".to_owned());
        for kind in [PacketKind::Text, PacketKind::Binary(None), PacketKind::Binary(mime)] {
            let packet = Packet { name: "ä".to_owned(), causality: Causality::Output, kind };
            check(&packet, write_packet, read_packet);
        }
    }

    #[test]
    fn errors_and_lines_come_back_whole() {
        let status = "fmi2Discard".to_owned();
        for error in [
            SubsystemError::Status { call: "fmi2DoStep", status, message: "no".to_owned() },
            SubsystemError::Unsupported { call: "save" },
            SubsystemError::Infeasible { message: "no geometry".to_owned() },
            SubsystemError::Lost(Box::new(Lost {
                loss: Loss::Stopped,
                call: Some("fmi2DoStep".to_owned()),
                time: Some(0.5),
                how: "was stopped".to_owned(),
                said: "one | two".to_owned(),
                log: vec!["printed: two".to_owned()],
            })),
        ] {
            check(&error, write_error, read_error);
        }
        for status in [Status::Ok, Status::Fatal, Status::Illegal(-77)] {
            let [instance, category, message] = ["a", "b", "c"].map(str::to_owned);
            check(&LogLine { instance, status, category, message, is_remark: true }, write_line, read_line);
        }
    }

    #[test]
    fn jobs_come_back_whole() {
        let name = "quarter-car/chassis".to_owned();
        let number = ("mass".to_owned(), ParameterValue::Number(0.1 + 0.2));
        let word = ("law".to_owned(), ParameterValue::Text("linear".to_owned()));
        check(&Job::Model { name, parameters: vec![number, word] }, write_job, read_job);
        let list = Value::List(vec![Value::Integer(i128::from(u64::MAX)), Value::Binary(vec![0, 255])]);
        let options = Options {
            parameters: vec![("p".to_owned(), list), ("b".to_owned(), Value::Boolean(true))],
            start: vec![("x".to_owned(), Value::Real(f64::MIN_POSITIVE))],
            outputs: vec!["inner.x".to_owned()],
            tolerance: Some(1e-5),
            input_derivatives: Some(2),
            logging: Logging::Categories,
            log_categories: vec!["all".to_owned()],
            sub_steps: 3,
            ..Options::default()
        };
        let job = FmuJob {
            instance: "plant".to_owned(),
            options,
            steps: true,
            declared: Declared::Pairs,
            curvature: true,
        };
        check(&Job::Fmu { path: "a b/plant.fmu".into(), job }, write_job, read_job);
    }
}
