//! The whole state of a run, put away and taken up again.

use super::Engine;
use super::known::Known;
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::energy::BondWatch;
use crate::error::RunError;
use crate::network::Wiring;
use crate::observe::SavedStatistics;
use crate::step::{Pair, SavedLoop, Schedule, StepRecord};
use crate::subsystem::{Span, StateSnapshot, SubsystemError};
use crate::time::Clock;
use std::sync::Arc;

/// Everything that decides how a run goes on: see [`Engine::snapshot`]. It belongs to its engine; dropping it frees what members keep
/// for it, at the latest with the engine.
pub struct Snapshot {
    engine: Arc<()>,
    members: Vec<StateSnapshot>,
    /// Exchange, meter and policies.
    numbers: Checkpoint,
    clock: Clock,
    wish: f64,
    record: StepRecord,
    pair: Option<Box<Pair>>,
    watch: BondWatch,
    statistics: SavedStatistics,
    /// At the ends of steps, and at events.
    loops: [Vec<SavedLoop>; 2],
    known: Arc<Known>,
    /// How many jumps, bends and changes have come.
    passed: [usize; 3],
    /// Connections as they are, if they change at known times.
    coupling: Option<(Wiring, Schedule)>,
    /// External inputs that were set, and to what.
    replaced: Vec<(usize, f64)>,
    /// Texts and binaries that receivers have.
    packets: Vec<Option<Vec<u8>>>,
}

impl Snapshot {
    /// When it was taken, in seconds.
    pub fn time(&self) -> f64 {
        self.clock.time()
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Snapshot(t = {} s)", self.time())
    }
}

impl Engine {
    /// Whether every member can put its state away; else one that cannot. Nothing changes.
    pub fn can_snapshot(&mut self) -> Result<(), usize> {
        let members = &mut self.network.members;
        members.iter_mut().position(|m| !m.simulator.can_snapshot()).map_or(Ok(()), Err)
    }

    /// Copies the whole state after [`Engine::initialize`] or an accepted step: members, histories, what policies have learned, sums,
    /// statistics, what is known of times to come, and what was set from outside. Observers are not part of it.
    ///
    /// Any number of copies may exist. The run goes on as if none had been taken.
    pub fn snapshot(&mut self) -> Result<Snapshot, RunError> {
        self.can_snapshot().map_err(|member| RunError::NoRestore { member })?;
        let mut members = Vec::with_capacity(self.network.members.len());
        let t = self.clock.time();
        let span = Span { start: t, end: t, h: 0.0 };
        for (s, member) in self.network.members.iter_mut().enumerate() {
            members.push(member.simulator.snapshot().map_err(|error| match error {
                SubsystemError::Unsupported { .. } => RunError::NoRestore { member: s },
                error => RunError::Subsystem { member: s, phase: "saving a state", span, error },
            })?);
        }
        let mut numbers = Checkpoint::default();
        self.exchange.save(&mut numbers);
        self.meter.save(&mut numbers);
        self.policies.save(&mut numbers);
        let rows_change = self.settings.changes.iter().any(|change| !change.rows.is_empty());
        Ok(Snapshot {
            engine: self.identity.clone(),
            members,
            numbers,
            clock: self.clock.clone(),
            wish: self.wish,
            record: self.record.clone(),
            pair: self.pair.clone(),
            watch: self.watch.clone(),
            statistics: self.statistics.save(),
            loops: [self.refresh.save(), self.events.plan.save()],
            known: self.events.known.clone(),
            passed: self.events.passed(),
            coupling: rows_change.then(|| (self.network.wiring.clone(), self.policies.schedule.clone())),
            replaced: self.replaced.values(&self.network),
            packets: self.network.packets.snapshot(),
        })
    }

    /// Goes back, or forth, to a state of this engine. What follows has the same bits as the first time, whatever happened in
    /// between: also after a step that failed, if the members allow that. The snapshot stays valid.
    ///
    /// Observers see nothing of it. After an error the state is undefined, as after one of [`Engine::step`]; a snapshot of another
    /// engine is refused before anything changes.
    pub fn restore_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), RunError> {
        if !Arc::ptr_eq(&self.identity, &snapshot.engine) {
            return Err(RunError::ForeignSnapshot);
        }
        let t = snapshot.time();
        let span = Span { start: t, end: t, h: 0.0 };
        self.failed = true;
        for (s, (member, state)) in self.network.members.iter_mut().zip(&snapshot.members).enumerate() {
            let fail = |error| RunError::Subsystem { member: s, phase: "restoring a state", span, error };
            member.simulator.load_snapshot(state).map_err(fail)?;
        }
        self.failed = false;
        self.terminated = None;
        let mut numbers = snapshot.numbers.clone();
        numbers.rewind();
        self.exchange.load(&mut numbers);
        self.meter.load(&mut numbers);
        if let Some((wiring, schedule)) = &snapshot.coupling {
            self.network.wiring.clone_from(wiring);
            self.policies.schedule.clone_from(schedule);
        }
        self.policies.load(&mut numbers);
        self.clock.copy_from(&snapshot.clock);
        self.wish = snapshot.wish;
        self.record = snapshot.record.clone();
        self.record.eventful.reserve(self.network.members.len());
        self.pair.clone_from(&snapshot.pair);
        if let Some(pair) = &mut self.pair {
            pair.first.eventful.reserve(self.network.members.len());
        }
        self.watch.clone_from(&snapshot.watch);
        self.statistics.load(&snapshot.statistics);
        let [refresh, events] = &snapshot.loops;
        self.refresh.load(refresh);
        self.events.plan.load(events);
        self.events.known = snapshot.known.clone();
        self.events.set_passed(snapshot.passed);
        self.replaced.load(&mut self.network, &snapshot.replaced);
        self.network.packets.load_snapshot(&snapshot.packets);
        Ok(())
    }
}
