//! The one place where names become types: every method with its knobs, defaults and source.
//!
//! `powerbond methods`, the file schema and the messages about unknown names all come from this list.

mod abilities;
mod auto;
mod build;
mod energy_correction;
mod richardson;
mod spec;

pub use abilities::{Ability, Without, without};
pub use auto::{Class, Feeding, feeds, feeds_through, too_wide};
pub use build::{
    Context, FIRST_STEP, clamps, controller, correction, estimator, extrapolation, schedule, settle_gains,
};
pub use spec::{KnobValue, PolicySpec, check_knob, knob_number};

/// What a method is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A whole method: a choice of all the others.
    Method,
    /// Who steps when.
    Schedule,
    /// How inputs are held.
    Hold,
    /// How held inputs are corrected.
    Correction,
    /// How wrong a step was.
    Estimator,
    /// The next step size.
    Controller,
}

impl Kind {
    /// All kinds, in the order in which they are shown.
    pub const ALL: [Kind; 6] =
        [Kind::Method, Kind::Schedule, Kind::Hold, Kind::Correction, Kind::Estimator, Kind::Controller];

    /// The key in `[method]`.
    pub fn key(self) -> &'static str {
        match self {
            Kind::Method => "kind",
            Kind::Schedule => "schedule",
            Kind::Hold => "hold",
            Kind::Correction => "correction",
            Kind::Estimator => "estimator",
            Kind::Controller => "controller",
        }
    }
}

/// What a knob may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Domain {
    /// A number in `[min, max]`, or `(min, max]` if `open`.
    Number {
        /// Least.
        min: f64,
        /// Greatest.
        max: f64,
        /// `min` itself is refused.
        open: bool,
    },
    /// As `Number`, or a table of such numbers by variable name.
    NumberByName {
        /// Least.
        min: f64,
        /// Greatest.
        max: f64,
        /// `min` itself is refused.
        open: bool,
    },
    /// As `Number`, or one of these words.
    NumberOrWord {
        /// Least.
        min: f64,
        /// Greatest.
        max: f64,
        /// The words.
        words: &'static [&'static str],
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A list of subsystems.
    Names,
    /// "none", "model", "identified" or a table `"sub.output/sub.input" = number`.
    FeedThrough,
}

/// A number above zero.
const POSITIVE: Domain = Domain::Number { min: 0.0, max: f64::MAX, open: true };
/// Zero or more, as long as its square is a number.
const NOT_NEGATIVE: Domain = Domain::Number { min: 0.0, max: LARGEST, open: false };
const LARGEST: f64 = 1e100;

/// The tolerance of `auto` where none is given.
pub const DEFAULT_TOLERANCE: f64 = 1e-3;

/// A setting of a method.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// Its key.
    pub name: &'static str,
    /// What it may be.
    pub domain: Domain,
    /// What holds if it is not given, as text for people.
    pub default: &'static str,
    /// Its unit; empty for none.
    pub unit: &'static str,
    /// One line.
    pub about: &'static str,
}

/// A method of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What it is for.
    pub kind: Kind,
    /// Its name in files.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// Its settings.
    pub knobs: &'static [Knob],
}

const TOLERANCE: Knob = Knob {
    name: "tolerance",
    domain: Domain::Number { min: 0.0, max: 0.999, open: true },
    default: "1e-3",
    unit: "",
    about: "wanted error of the coupled outputs, relative to how far they move",
};
const SAFETY: Knob = Knob {
    name: "safety",
    domain: Domain::Number { min: 0.0, max: 1.0, open: true },
    default: "0.8",
    unit: "",
    about: "factor on every new step size",
};
const MIN_STEP: Knob = Knob {
    name: "min_step",
    domain: POSITIVE,
    default: "1e-6 of the run",
    unit: "s",
    about: "smallest step",
};
const MAX_STEP: Knob = Knob {
    name: "max_step",
    domain: POSITIVE,
    default: "1/100 of the run",
    unit: "s",
    about: "largest step",
};
const MIN_RATE: Knob = Knob {
    name: "min_rate",
    domain: Domain::Number { min: 0.0, max: 1.0, open: true },
    default: "0.2",
    unit: "",
    about: "smallest ratio of neighbouring steps",
};
const MAX_RATE: Knob = Knob {
    name: "max_rate",
    domain: Domain::Number { min: 1.0, max: 1e6, open: false },
    default: "1.5",
    unit: "",
    about: "largest ratio of neighbouring steps",
};
const INTEGRAL_GAIN: Knob = Knob {
    name: "integral_gain",
    domain: Domain::Number { min: 0.0, max: 10.0, open: true },
    default: "0.3/k, k the order of the estimate",
    unit: "",
    about: "kI",
};
const PROPORTIONAL_GAIN: Knob = Knob {
    name: "proportional_gain",
    domain: Domain::Number { min: 0.0, max: 10.0, open: false },
    default: "0.4/k",
    unit: "",
    about: "kP",
};
const OPENING_RATE: Knob = Knob {
    name: "opening_rate",
    domain: Domain::Number { min: 1.0, max: 1e6, open: false },
    default: "max_rate; 2 with the jump estimator",
    unit: "",
    about: "largest ratio of neighbouring steps until an error first exceeds a tenth of the tolerance",
};
const AGE: Knob = Knob {
    name: "age",
    domain: Domain::Choice(&["newest", "previous"]),
    default: "newest",
    unit: "",
    about: "which error decides: the newest, or the one of the step before (sadjina2020 eq. 13 read literally)",
};
const ERROR_FLOOR: Knob = Knob {
    name: "error_floor",
    domain: Domain::Number { min: 0.0, max: 1.0, open: false },
    default: "1e-3",
    unit: "",
    about: "the last error counts as at least this (0 in the papers)",
};

/// Every method.
pub const ALL: &[Entry] = &[
    Entry {
        kind: Kind::Method,
        name: "auto",
        about: "steps, holds, refresh and feed-through from what each subsystem can do; the error follows the tolerance",
        paper: "",
        knobs: &[TOLERANCE],
    },
    Entry {
        kind: Kind::Schedule,
        name: "jacobi",
        about: "all subsystems step at once, from the past",
        paper: "",
        knobs: &[Knob {
            name: "fast",
            domain: Domain::Choice(&["held", "latest", "between"]),
            default: "held",
            unit: "",
            about: "how slow subsystems see faster ones: as in the past, their newest value, or a line between",
        }],
    },
    Entry {
        kind: Kind::Schedule,
        name: "gauss-seidel",
        about: "one subsystem after the other; later ones see what earlier ones returned",
        paper: "",
        knobs: &[
            Knob {
                name: "order",
                domain: Domain::Names,
                default: "feed-through order, then by name",
                unit: "",
                about: "the sequence of subsystems",
            },
            Knob {
                name: "seen",
                domain: Domain::Choice(&["latest", "between"]),
                default: "latest; between if the hold is variable",
                unit: "",
                about: "what later subsystems see: the newest value, or a line from the old to the new one",
            },
        ],
    },
    Entry { kind: Kind::Hold, name: "0", about: "inputs stay constant over a step", paper: "", knobs: &[] },
    Entry {
        kind: Kind::Hold,
        name: "1",
        about: "inputs follow the line through their last two values at their true times",
        paper: "arnold2013 eq. 9",
        knobs: &[],
    },
    Entry {
        kind: Kind::Hold,
        name: "2",
        about: "inputs follow the parabola through their last three values at their true times",
        paper: "arnold2013 eq. 9",
        knobs: &[],
    },
    Entry {
        kind: Kind::Hold,
        name: "variable",
        about: "each input is held with the order, 0 to 2, whose jumps were the smallest",
        paper: "",
        knobs: &[],
    },
    Entry {
        kind: Kind::Correction,
        name: "none",
        about: "inputs stay as they are held",
        paper: "",
        knobs: &[],
    },
    Entry {
        kind: Kind::Correction,
        name: "nepce",
        about: "the defect of the last step's inputs is added to the next ones",
        paper: "sadjina2020 eq. 11–12",
        knobs: &[
            Knob {
                name: "alpha",
                domain: Domain::NumberByName { min: 0.0, max: 1.0, open: false },
                default: "1/(hold + 1), at most 0.8",
                unit: "",
                about: "share of the defect that is given back; a number, or a table by input",
            },
            Knob {
                name: "feed_through",
                domain: Domain::FeedThrough,
                default: "none",
                unit: "",
                about: "∂y/∂u: ignored, asked from the models, identified as the run goes on, or a table `\"sub.output/sub.input\" = number`",
            },
            Knob {
                name: "gated",
                domain: Domain::Flag,
                default: "false",
                unit: "",
                about: "alpha is weighed with the correlation of neighbouring defects: what does not last is not given back",
            },
            Knob {
                name: "step_ratio",
                domain: Domain::Choice(&["growth", "none", "literal"]),
                default: "growth",
                unit: "",
                about: "how it scales when the step changes: (h/h_last)^(hold+1), 1, or h_last/h (eq. 11 read literally)",
            },
        ],
    },
    Entry {
        kind: Kind::Correction,
        name: "energy",
        about: "a small force takes out the energy that the coupling created in the last step",
        paper: "rodriguez2022 eq. 13–21",
        knobs: &[
            Knob {
                name: "mu",
                domain: Domain::NumberOrWord { min: f64::MIN, max: f64::MAX, words: &["rule"] },
                default: "rule",
                unit: "",
                about: "μ, share of the residual energy that counts; by rule from rates, hold and feed-through (eq. 20–21)",
            },
            Knob {
                name: "nu",
                domain: Domain::Number { min: f64::MIN, max: f64::MAX, open: false },
                default: "0",
                unit: "",
                about: "ν, share of what could not be corrected that is tried again",
            },
            Knob {
                name: "cap",
                domain: Domain::NumberOrWord { min: 0.0, max: f64::MAX, words: &["none"] },
                default: "1",
                unit: "",
                about: "largest correction as a share of the coupling force, or \"none\"",
            },
            Knob {
                name: "absolute_cap",
                domain: NOT_NEGATIVE,
                default: "none",
                unit: "the unit of the force",
                about: "largest correction; the smaller one of both caps holds",
            },
            Knob {
                name: "form",
                domain: Domain::Choice(&["power", "difference"]),
                default: "power",
                unit: "",
                about: "eq. 17, or 2μ(f_new - f_old), which has no spikes and needs neither cap nor ν",
            },
            Knob {
                name: "bonds",
                domain: Domain::Names,
                default: "all",
                unit: "",
                about: "which bonds are corrected",
            },
            Knob {
                name: "takes_force",
                domain: Domain::Names,
                default: "by units, then by feed-through",
                unit: "",
                about: "subsystems that take the force (torque, voltage, pressure) of their bonds",
            },
            Knob {
                name: "beyond_limits",
                domain: Domain::Flag,
                default: "false",
                unit: "",
                about: "allow μ and ν outside of 0 to 1",
            },
        ],
    },
    Entry { kind: Kind::Estimator, name: "none", about: "no estimate", paper: "", knobs: &[] },
    Entry {
        kind: Kind::Estimator,
        name: "energy",
        about: "residual energy of every bond against a scale",
        paper: "sadjina2017 eq. 14",
        knobs: &[
            Knob {
                name: "tolerance",
                // Below the round-off of a double there is nothing to see.
                domain: Domain::Number { min: 1e-16, max: 1e6, open: false },
                default: "1e-5",
                unit: "",
                about: "r; a bond may have its own",
            },
            Knob {
                name: "energy_scale",
                domain: NOT_NEGATIVE,
                default: "exchange so far, projected to the whole run",
                unit: "J",
                about: "E0; a bond may have its own",
            },
            Knob {
                name: "residual",
                domain: Domain::Choice(&["held", "corrected", "metered"]),
                default: "held",
                unit: "",
                about: "inputs before correction, with it (the papers' tables), or summed over all sub-steps",
            },
        ],
    },
    Entry {
        kind: Kind::Estimator,
        name: "predictor",
        about: "what a step returned against what the past foretold",
        paper: "sadjina2017 eq. 16–17",
        knobs: &[
            Knob {
                name: "tolerance",
                domain: Domain::NumberByName { min: 1.0 / LARGEST, max: LARGEST, open: false },
                default: "1e-3 of the output's nominal value",
                unit: "the unit of the output",
                about: "TOL; a number, or a table by output",
            },
            Knob {
                name: "rho",
                domain: Domain::NumberByName { min: 0.0, max: LARGEST, open: false },
                default: "1e-4",
                unit: "1/unit of the output",
                about: "ρ, weight of the output's size; a number, or a table by output",
            },
        ],
    },
    Entry {
        kind: Kind::Estimator,
        name: "jump",
        about: "what inputs jump by at communication points against the range they have moved in",
        paper: "",
        knobs: &[TOLERANCE],
    },
    Entry {
        kind: Kind::Estimator,
        name: "richardson",
        about: "two steps against one of twice the size, from a saved state; the error of every output",
        paper: "arnold2013 eq. 24, 26",
        knobs: &[
            Knob {
                name: "tolerance",
                domain: Domain::NumberByName { min: 1.0 / LARGEST, max: LARGEST, open: false },
                default: "1e-3",
                unit: "",
                about: "error of a pair of steps relative to the nominal value; a number, or a table by output",
            },
            Knob {
                name: "nominal",
                domain: Domain::NumberByName { min: 1.0 / LARGEST, max: LARGEST, open: false },
                default: "that of the model",
                unit: "the unit of the output",
                about: "typical magnitude; a number, or a table by output",
            },
            Knob {
                name: "absolute",
                domain: Domain::NumberByName { min: 1.0 / LARGEST, max: LARGEST, open: false },
                default: "tolerance times nominal",
                unit: "the unit of the output",
                about: "absolute tolerance; a number, or a table by output",
            },
            Knob {
                name: "relative",
                domain: Domain::NumberByName { min: 0.0, max: 1.0, open: false },
                default: "0",
                unit: "",
                about: "is added times the size of the output; a number, or a table by output",
            },
            Knob {
                name: "big_step",
                domain: Domain::Choice(&["modified", "classic"]),
                default: "modified",
                unit: "",
                about: "inputs of the big step: through the nodes of the first small one (eq. 26), or of big steps (eq. 24)",
            },
            Knob {
                name: "constants",
                domain: Domain::Choice(&["per-output", "published"]),
                default: "per-output",
                unit: "",
                about: "outputs with feed-through have a constant of their own, or that of the others as published",
            },
            Knob {
                name: "extrapolate",
                domain: Domain::Flag,
                default: "false",
                unit: "",
                about: "local extrapolation: the estimate is taken off outputs with feed-through",
            },
        ],
    },
    Entry { kind: Kind::Controller, name: "fixed", about: "constant step", paper: "", knobs: &[] },
    Entry {
        kind: Kind::Controller,
        name: "ecco",
        about: "proportional-integral control of the step size, without going back",
        paper: "sadjina2017 eq. 15",
        knobs: &[
            SAFETY,
            MIN_STEP,
            MAX_STEP,
            MIN_RATE,
            MAX_RATE,
            OPENING_RATE,
            INTEGRAL_GAIN,
            PROPORTIONAL_GAIN,
            AGE,
            ERROR_FLOOR,
        ],
    },
    Entry {
        kind: Kind::Controller,
        name: "i",
        about: "integral control of the step size, without going back",
        paper: "sadjina2020 eq. 13",
        knobs: &[SAFETY, MIN_STEP, MAX_STEP, MIN_RATE, MAX_RATE, INTEGRAL_GAIN, AGE],
    },
    Entry {
        kind: Kind::Controller,
        name: "rollback",
        about: "a step over tolerance is taken back and made again with a smaller size",
        paper: "arnold2013 §4",
        knobs: &[
            Knob { default: "0.9", ..SAFETY },
            MIN_STEP,
            MAX_STEP,
            MIN_RATE,
            Knob { default: "2", ..MAX_RATE },
            Knob {
                name: "at_floor",
                domain: Domain::Choice(&["stop", "keep"]),
                default: "stop; keep with the jump estimator",
                unit: "",
                about: "a step over tolerance at the smallest size ends the run, or is kept and counted",
            },
        ],
    },
];

/// The methods of one kind.
pub fn of_kind(kind: Kind) -> impl Iterator<Item = &'static Entry> {
    ALL.iter().filter(move |e| e.kind == kind)
}

/// The method of a kind with a name.
pub fn find(kind: Kind, name: &str) -> Option<&'static Entry> {
    of_kind(kind).find(|e| e.name == name)
}
