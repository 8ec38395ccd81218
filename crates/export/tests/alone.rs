//! Every built-in model as an FMU of both versions does what the model does, through our own import.

mod common;

use common::{Folder, VERSIONS, given, imported, native, same};
use powerbond_core::subsystem::{Binding, Causality, FeedThrough, Info, Inputs, Setup, Span, Subsystem};
use powerbond_export::FmiVersion;
use powerbond_fmi::Reread;
use powerbond_models::{ALL, Domain, ModelSpec};

/// Inputs, outputs and locals by name: an FMU has its parameters among the locals.
fn binding(info: &Info, names: &Info) -> Binding {
    let of = |wanted: Causality| -> Vec<usize> {
        let wanted = names.variables.iter().filter(|v| v.causality == wanted);
        wanted.map(|v| info.find(&v.name).expect("the same names")).collect()
    };
    let (inputs, outputs) = (of(Causality::Input), of(Causality::Output));
    let FeedThrough::Declared(pairs) = &names.feed_through else { panic!("every model declares them") };
    let place = |list: &[usize], v: usize| {
        list.iter().position(|&i| info.variables[i].name == names.variables[v].name).expect("bound")
    };
    let feed_through = pairs.iter().map(|&(o, i)| (place(&outputs, o), place(&inputs, i))).collect();
    Binding { inputs, outputs, probes: of(Causality::Local), feed_through }
}

/// What is seen of a subsystem that goes through all that it can do.
fn life(subsystem: &mut dyn Subsystem, names: &Info) -> Vec<f64> {
    let binding = binding(subsystem.info(), names);
    let (n, m, pairs) = (binding.inputs.len(), binding.outputs.len(), binding.feed_through.len());
    let start: Vec<f64> = binding.inputs.iter().map(|&v| subsystem.info().variables[v].start).collect();
    let (mut y, mut z, mut d) = (vec![0.0; m], vec![0.0; binding.probes.len()], vec![0.0; pairs]);
    let slopes = subsystem.info().capabilities.input_derivatives > 0;
    let can_derive = subsystem.info().capabilities.feed_through_values && pairs > 0;
    subsystem.bind(&binding).expect("bind");
    subsystem.enter(&Setup { start: 0.0, stop: 1.0 }).expect("enter");
    subsystem.evaluate(Inputs::constant(&start), &mut y).expect("evaluate");
    let mut seen = y.clone();
    subsystem.start().expect("start");
    let (mut t, mut step) = (0.0, 0);
    let mut saved = 0.0;
    while step < 60 {
        if step == 20 {
            subsystem.save().expect("save");
            saved = t;
        }
        // A rollback, once, and the same stretch again with other inputs.
        if step == 40 {
            subsystem.restore().expect("restore");
            t = saved;
        }
        let wave = |i: usize| (0.7 * f64::from(step) + i as f64).sin();
        let value: Vec<f64> = (0..n).map(|i| start[i] + 0.01 * wave(i)).collect();
        let slope: Vec<f64> = (0..n).map(|i| 0.1 * wave(i + 1)).collect();
        let curvature: Vec<f64> = (0..n).map(wave).collect();
        let inputs = match slopes {
            true => Inputs { value: &value, slope: &slope, curvature: &curvature },
            false => Inputs::constant(&value),
        };
        let span = Span::new(t, if step % 3 == 0 { 1e-3 } else { 7e-4 });
        subsystem.advance(span, inputs, &mut y).expect("advance");
        subsystem.probe(&mut z).expect("probe");
        seen.extend(y.iter().chain(&z));
        if can_derive {
            subsystem.feed_through(&mut d).expect("feed_through");
            seen.extend(&d);
        }
        if step % 5 == 0 {
            subsystem.evaluate(Inputs::constant(&start), &mut y).expect("evaluate");
            subsystem.probe(&mut z).expect("probe");
            seen.extend(y.iter().chain(&z));
        }
        t = span.end;
        step += 1;
    }
    subsystem.finish().expect("finish");
    seen
}

fn integrators(spec: &ModelSpec) -> &'static [&'static str] {
    match spec.parameters.iter().find(|p| p.name == "integrator").map(|p| p.domain) {
        Some(Domain::Choice(words)) => words,
        _ => &[],
    }
}

/// Steps, derivatives of inputs, refresh, locals, directional derivatives, and rollback.
#[test]
fn every_model_is_the_same_as_an_fmu() {
    let folder = Folder::new("alone");
    for &spec in ALL {
        for version in VERSIONS {
            let fmu = folder.fmu(spec, version, &given(&[]));
            assert_eq!(fmu.load().expect("a sound library"), Vec::<String>::new(), "{}", spec.name);
            let mut runs = vec![given(&[])];
            runs.extend(integrators(spec).iter().map(|word| given(&[("integrator", word)])));
            for parameters in runs {
                let mut built_in = native(spec.name, &parameters);
                let mut subsystem = imported(&fmu, spec.name, &parameters);
                let info = built_in.info().clone();
                let abilities = subsystem.info().capabilities;
                assert!(abilities.can_restore, "{}", spec.name);
                assert_eq!(abilities.input_derivatives, 2, "{}", spec.name);
                let (ours, theirs) = (life(&mut *built_in, &info), life(&mut subsystem, &info));
                assert!(same(version, 1e-11, &ours, &theirs), "{} {version:?} {parameters:?}", spec.name);
                // Once more: a reset forgets everything.
                assert!(
                    life(&mut subsystem, &info) == theirs,
                    "{} {version:?}: not the same again",
                    spec.name
                );
            }
        }
    }
}

/// Names, units, start and nominal values, feed-through.
#[test]
fn the_description_says_what_the_model_says() {
    let folder = Folder::new("description");
    for &spec in ALL {
        let built_in = native(spec.name, &given(&[]));
        for version in VERSIONS {
            let subsystem = imported(&folder.fmu(spec, version, &given(&[])), "x", &given(&[]));
            let (ours, theirs) = (built_in.info(), subsystem.info());
            for v in &ours.variables {
                let w = &theirs.variables[theirs.find(&v.name).expect(&v.name)];
                let unit = v.unit.clone().filter(|u| !u.symbol.is_empty());
                assert_eq!((&w.unit, &w.description), (&unit, &v.description), "{} {}", spec.name, v.name);
                let (start, causality) = (w.start.to_bits(), w.causality);
                assert_eq!((start, causality), (v.start.to_bits(), v.causality), "{} {}", spec.name, v.name);
                assert_eq!(w.nominal, v.nominal, "{} {}", spec.name, v.name);
            }
            let pairs = |info: &Info| match &info.feed_through {
                FeedThrough::Declared(pairs) => {
                    let name = |v: usize| info.variables[v].name.clone();
                    let mut pairs: Vec<_> = pairs.iter().map(|&(o, i)| (name(o), name(i))).collect();
                    pairs.sort();
                    pairs
                }
                FeedThrough::Unknown => panic!("{}: unknown feed-through", spec.name),
            };
            assert_eq!(pairs(ours), pairs(theirs), "{}", spec.name);
            for p in spec.parameters {
                let found = subsystem.fmu().description().find(p.name);
                assert!(found.is_some(), "{} lacks `{}`", spec.name, p.name);
            }
        }
    }
}

/// What `powerbond export --set` fixes is declared and kept.
#[test]
fn abilities_are_those_that_were_exported() {
    let folder = Folder::new("abilities");
    let spec = powerbond_models::find("quarter-car/wheel-suspension").expect("a built-in model");
    let poor = given(&[("restore", "no"), ("input_derivatives", "0"), ("refresh", "no")]);
    for version in VERSIONS {
        let fmu = folder.fmu(spec, version, &poor);
        let mut subsystem = imported(&fmu, "poor", &given(&[]));
        let abilities = subsystem.info().capabilities;
        assert!(!abilities.can_restore && abilities.input_derivatives == 0, "{abilities:?}");
        for order in ["1", "2"] {
            let fmu = folder.fmu(spec, version, &given(&[("input_derivatives", order)]));
            let told = fmu.instantiate("told", &powerbond_fmi::Options::default()).expect("an instance");
            // FMI 3's intermediate update serves any order.
            let wanted = if version == FmiVersion::Fmi2 { order } else { "2" };
            assert_eq!(told.info().capabilities.input_derivatives.to_string(), wanted, "{version:?}");
        }
        let probed = powerbond_fmi::probe::probe(&fmu, &powerbond_fmi::Options::default(), true);
        assert_eq!((probed.reread, probed.failure), (Reread::No, None), "{version:?}");
        assert!(subsystem.save().is_err());
        let rich = folder.fmu(spec, version, &given(&[]));
        let probed = powerbond_fmi::probe::probe(&rich, &powerbond_fmi::Options::default(), true);
        assert_eq!((probed.reread, probed.failure), (Reread::Plain, None), "{version:?}");
    }
}
