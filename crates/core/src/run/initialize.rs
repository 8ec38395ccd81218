//! The start of a run: start values, consistent inputs and outputs, the first row.

use super::settings::PastInputs;
use super::{Engine, Settings, initial_values};
use crate::error::RunError;
use crate::observe::{Flow, Observer, StartView};
use crate::step::{Moment, Response, Still};
use crate::subsystem::{Setup, Span};

impl Engine {
    /// Start values, consistent inputs and outputs; the observer sees the first row. Once, before the first [`Engine::step`].
    pub fn initialize(&mut self, observer: &mut dyn Observer) -> Result<Flow, RunError> {
        self.note_failure(|engine| engine.make_start(observer))
    }

    fn make_start(&mut self, observer: &mut dyn Observer) -> Result<Flow, RunError> {
        let Settings { start, stop, .. } = self.settings;
        let at_start = Span { start, end: start, h: 0.0 };
        let fail =
            |member, error| RunError::Subsystem { member, phase: "initialization", span: at_start, error };
        if let Some(member) = self.cannot_restore() {
            return Err(RunError::NoRestore { member });
        }
        for (s, member) in self.network.members.iter_mut().enumerate() {
            member.simulator.enter(&Setup { start, stop }).map_err(|error| fail(s, error))?;
        }
        self.change_coupling(at_start, |_, _| {})?;
        let mut u = self.solve_start(at_start)?;
        // Texts may pass through several members, and change numbers on their way.
        self.network.packets.forget();
        for _ in 0..=self.network.members.len() {
            if !self.network.pass_packets(at_start)? {
                break;
            }
            u = self.solve_start(at_start)?;
        }
        for estimator in &mut self.policies.estimators {
            estimator.prepare(&self.network, &self.structure, &self.settings.refresh);
        }
        for (s, member) in self.network.members.iter_mut().enumerate() {
            member.simulator.start().map_err(|error| fail(s, error))?;
        }
        self.read_after_start(&mut u, at_start)?;
        self.begin(at_start)?;
        self.read_probes(at_start)?;
        self.look_for_second_slot();
        Ok(observer.started(&StartView {
            t: start,
            stop: self.clock.end(),
            inputs: &self.record.fresh,
            outputs: &self.record.y_prev,
            probes: &self.record.probes,
        }))
    }

    fn solve_start(&mut self, at: Span) -> Result<Vec<f64>, RunError> {
        let Settings { initial, allow_nonfinite, .. } = self.settings;
        initial_values::solve(&mut self.network, initial, at, allow_nonfinite, &mut self.record.y_prev)
    }

    /// A member that cannot be restored although the estimators need big steps.
    fn cannot_restore(&self) -> Option<usize> {
        let unable = || self.network.members.iter().position(|m| !m.capabilities.can_restore);
        self.pair.as_ref().and_then(|_| unable())
    }

    /// Outputs once more after initialization, along the feed-through order: leaving it may have changed them.
    fn read_after_start(&mut self, u: &mut [f64], span: Span) -> Result<(), RunError> {
        let order = self.network.evaluation_order.clone();
        let mut still = Still {
            network: &mut self.network,
            u,
            y: &mut self.record.y_prev,
            moment: Moment::Start,
            span,
            // What is not finite was found before, or is found in the first step.
            allow_nonfinite: true,
            improved: None,
        };
        for s in order {
            still.gather(s);
            still.answer(s, Response::Reread)?;
        }
        Ok(())
    }

    /// The first communication point, after those that are known from before.
    fn begin(&mut self, at: Span) -> Result<(), RunError> {
        let past = &self.settings.past;
        for (k, PastInputs { time, inputs }) in past.iter().enumerate() {
            self.exchange.history.push(*time, |values| values.copy_from_slice(inputs));
            if let Some(pair) = self.pair.as_mut().filter(|_| (past.len() - k).is_multiple_of(2)) {
                pair.end_of_pair(*time, inputs);
            }
        }
        self.record.after_restart = past.is_empty();
        if past.is_empty() {
            self.start_up();
        }
        let record = &mut self.record;
        self.network.wiring.gather(&record.y_prev, &mut record.fresh);
        self.network.externals_at(at.start, &mut record.fresh);
        record.held_end.copy_from_slice(&record.fresh);
        let corrected = &mut record.corrected_end;
        corrected.iter_mut().zip(&record.fresh).for_each(|(c, u)| *c = *u);
        self.exchange.begin(&self.policies.schedule, at.start, &record.fresh, &record.y_prev);
        if let Some(pair) = &mut self.pair {
            pair.end_of_pair(at.start, &record.fresh);
        }
        self.arrive(at)?;
        self.announce_events();
        Ok(())
    }
}
