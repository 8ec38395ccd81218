//! How outputs are read again for other inputs at the current time, between two steps.

use powerbond_core::subsystem::FeedThrough;

/// How an FMU gives outputs for new inputs after a step.
///
/// FMI 3.0.2 promises it in Event Mode. In Step Mode and in FMI 2.0 the calls are allowed, but an FMU may compute its outputs in
/// steps only: [`crate::probe`] tries it on a scratch instance. FMI 1.0 has outputs of the last step only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reread {
    /// Set the inputs, get the outputs.
    Plain,
    /// Set and get in Event Mode (FMI 3 with `eventModeUsed`).
    EventMode,
    /// Outputs do not follow, or it has not been tried.
    #[default]
    No,
    /// No output followed an input in initialization either: what feeds through has gain zero at these parameters.
    NotSeen,
}

impl Reread {
    /// Whether `evaluate` recomputes outputs after a step. Where nothing was seen, what is declared is believed.
    pub fn can_refresh(self, feed_through: &FeedThrough) -> bool {
        match self {
            Reread::Plain | Reread::EventMode => true,
            Reread::No => false,
            Reread::NotSeen => matches!(feed_through, FeedThrough::Declared(pairs) if !pairs.is_empty()),
        }
    }

    /// Its name in messages and files.
    pub fn name(self) -> &'static str {
        match self {
            Reread::Plain => "plain",
            Reread::EventMode => "event mode",
            Reread::No => "no",
            Reread::NotSeen => "not seen",
        }
    }
}
