//! The settings of methods: what they may be, how they are told, and how they become typed.

use crate::Error;
use crate::number::short;
use crate::source::{At, Node, Place};

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
    /// As `NumberByName`, or one of these words.
    NumberByNameOrWord {
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
    /// A list of names.
    Names,
    /// One of these words, or a table `"sub.output/sub.input" = number`.
    WordOrNumbersByName(&'static [&'static str]),
}

impl Domain {
    /// The words that it allows.
    pub fn words(&self) -> &'static [&'static str] {
        match self {
            Domain::Choice(words)
            | Domain::WordOrNumbersByName(words)
            | Domain::NumberOrWord { words, .. }
            | Domain::NumberByNameOrWord { words, .. } => words,
            Domain::Number { .. } | Domain::NumberByName { .. } | Domain::Flag | Domain::Names => &[],
        }
    }
}

/// A number above zero.
pub const POSITIVE: Domain = Domain::Number { min: 0.0, max: f64::MAX, open: true };
/// Zero or more, as long as its square is a number.
pub const NOT_NEGATIVE: Domain = Domain::Number { min: 0.0, max: LARGEST, open: false };
/// Squares of numbers up to it are numbers.
pub const LARGEST: f64 = 1e100;

/// A setting of a method.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// Its key.
    pub name: &'static str,
    /// What it may be.
    pub domain: Domain,
    /// What holds if it is not given, where that depends on the system; otherwise the method's `Default` tells.
    pub rule: Option<fn() -> String>,
    /// Its unit; empty for none.
    pub unit: &'static str,
    /// One line.
    pub about: &'static str,
}

/// The value of a knob, whatever its type.
#[derive(Clone, Debug, PartialEq)]
pub enum KnobValue {
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// A word.
    Word(String),
    /// Numbers by name.
    ByName(Vec<(String, f64)>),
    /// Names.
    Names(Vec<String>),
}

impl KnobValue {
    /// As JSON, for the record of what was run.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            KnobValue::Number(x) => serde_json::json!(x),
            KnobValue::Flag(x) => (*x).into(),
            KnobValue::Word(word) => word.as_str().into(),
            KnobValue::ByName(list) => list.iter().map(|(k, v)| (k.clone(), serde_json::json!(v))).collect(),
            KnobValue::Names(names) => names.clone().into(),
        }
    }
}

impl std::fmt::Display for KnobValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            KnobValue::Number(x) if *x != 0.0 && !(1e-3..1e7).contains(&x.abs()) => write!(f, "{x:e}"),
            KnobValue::Number(x) => write!(f, "{x}"),
            KnobValue::Flag(x) => write!(f, "{x}"),
            KnobValue::Word(word) => f.write_str(word),
            KnobValue::ByName(list) => {
                let entry = |(name, x): &(String, f64)| format!("\"{name}\" = {}", short(*x));
                write!(f, "{{ {} }}", list.iter().map(entry).collect::<Vec<_>>().join(", "))
            }
            KnobValue::Names(names) => write!(f, "{}", names.join(", ")),
        }
    }
}

/// The type of a knob in a method.
pub trait KnobField: Sized {
    /// Its value; `None` where the system decides.
    fn value(&self) -> Option<KnobValue>;
    /// From a value that is in the knob's domain; `None` if the domain allows what the type does not.
    fn of(value: KnobValue) -> Option<Self>;
}

impl KnobField for f64 {
    fn value(&self) -> Option<KnobValue> {
        Some(KnobValue::Number(*self))
    }

    fn of(value: KnobValue) -> Option<Self> {
        match value {
            KnobValue::Number(x) => Some(x),
            _ => None,
        }
    }
}

impl KnobField for bool {
    fn value(&self) -> Option<KnobValue> {
        Some(KnobValue::Flag(*self))
    }

    fn of(value: KnobValue) -> Option<Self> {
        match value {
            KnobValue::Flag(x) => Some(x),
            _ => None,
        }
    }
}

impl KnobField for Vec<String> {
    fn value(&self) -> Option<KnobValue> {
        Some(KnobValue::Names(self.clone()))
    }

    fn of(value: KnobValue) -> Option<Self> {
        match value {
            KnobValue::Names(names) => Some(names),
            _ => None,
        }
    }
}

/// `None`: the system decides.
impl<T: KnobField> KnobField for Option<T> {
    fn value(&self) -> Option<KnobValue> {
        self.as_ref().and_then(T::value)
    }

    fn of(value: KnobValue) -> Option<Self> {
        match value {
            KnobValue::Word(word) if word == BY_RULE => Some(None),
            value => T::of(value).map(Some),
        }
    }
}

/// The word that leaves a number to a rule.
pub const BY_RULE: &str = "rule";

/// A type whose values have names in files.
pub trait Word: Copy + PartialEq + 'static {
    /// All of them, with their names.
    const WORDS: &'static [(&'static str, Self)];

    /// Its name in files.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

impl<T: Word> KnobField for T {
    fn value(&self) -> Option<KnobValue> {
        Some(KnobValue::Word(self.word().to_owned()))
    }

    fn of(value: KnobValue) -> Option<Self> {
        let KnobValue::Word(word) = value else { return None };
        T::WORDS.iter().find(|(known, _)| *known == word).map(|(_, meant)| *meant)
    }
}

/// A number for all variables, or one for each by its name.
#[derive(Clone, Debug, PartialEq)]
pub enum PerVariable {
    /// The same for all.
    All(f64),
    /// By `subsystem.variable`; others as if none were given.
    ByName(Vec<(String, f64)>),
}

impl From<f64> for PerVariable {
    fn from(x: f64) -> Self {
        PerVariable::All(x)
    }
}

impl KnobField for PerVariable {
    fn value(&self) -> Option<KnobValue> {
        Some(match self {
            PerVariable::All(x) => KnobValue::Number(*x),
            PerVariable::ByName(list) => KnobValue::ByName(list.clone()),
        })
    }

    fn of(value: KnobValue) -> Option<Self> {
        match value {
            KnobValue::Number(x) => Some(PerVariable::All(x)),
            KnobValue::ByName(list) => Some(PerVariable::ByName(list)),
            _ => None,
        }
    }
}

impl Domain {
    /// Reads a value from a file.
    pub fn read(self, node: Node<'_>) -> Result<KnobValue, Error> {
        let value = match self {
            Domain::Flag => KnobValue::Flag(node.flag()?.value),
            Domain::Names => {
                let names = node.list()?.iter().map(|n| Ok(n.text()?.value)).collect::<Result<_, Error>>();
                KnobValue::Names(names?)
            }
            Domain::NumberByName { .. }
            | Domain::NumberByNameOrWord { .. }
            | Domain::WordOrNumbersByName(_)
                if node.is_table() =>
            {
                let mut list = Vec::new();
                for (name, value) in node.open_table()?.entries() {
                    let x = value.number()?.value;
                    if let Some(wanted) = self.misses(&KnobValue::Number(x)) {
                        return value.expected(&wanted);
                    }
                    list.push((name.value, x));
                }
                KnobValue::ByName(list)
            }
            Domain::Choice(_) | Domain::WordOrNumbersByName(_) if !node.is_text() => {
                return node.expected(&self.wanted());
            }
            Domain::Choice(_) | Domain::WordOrNumbersByName(_) => KnobValue::Word(node.text()?.value),
            Domain::NumberOrWord { .. } | Domain::NumberByNameOrWord { .. } if node.is_text() => {
                KnobValue::Word(node.text()?.value)
            }
            Domain::Number { .. }
            | Domain::NumberByName { .. }
            | Domain::NumberOrWord { .. }
            | Domain::NumberByNameOrWord { .. } => KnobValue::Number(node.number()?.value),
        };
        match self.misses(&value) {
            None => Ok(value),
            Some(wanted) => node.expected(&wanted),
        }
    }

    /// What would be right, if a value is not.
    pub fn misses(self, value: &KnobValue) -> Option<String> {
        let number = |x: f64| match self {
            Domain::Number { min, max, open } | Domain::NumberByName { min, max, open } => {
                x >= min && x <= max && !(open && x == min)
            }
            Domain::NumberOrWord { min, max, .. } | Domain::NumberByNameOrWord { min, max, .. } => {
                x >= min && x <= max
            }
            Domain::WordOrNumbersByName(_) => x.is_finite(),
            Domain::Choice(_) | Domain::Flag | Domain::Names => false,
        };
        let fits = match (self, value) {
            (Domain::WordOrNumbersByName(_), KnobValue::Number(x)) => number(*x),
            (_, KnobValue::Number(x)) => number(*x),
            (
                Domain::NumberByName { .. }
                | Domain::NumberByNameOrWord { .. }
                | Domain::WordOrNumbersByName(_),
                KnobValue::ByName(list),
            ) => list.iter().all(|(_, x)| number(*x)),
            (
                Domain::Choice(words)
                | Domain::NumberOrWord { words, .. }
                | Domain::NumberByNameOrWord { words, .. }
                | Domain::WordOrNumbersByName(words),
                KnobValue::Word(word),
            ) => words.contains(&word.as_str()),
            (Domain::Flag, KnobValue::Flag(_)) | (Domain::Names, KnobValue::Names(_)) => true,
            _ => false,
        };
        (!fits).then(|| self.wanted())
    }

    /// What it may be, in words.
    fn wanted(self) -> String {
        let listed = |words: &[&str]| {
            format!("one of {}", words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", "))
        };
        match self {
            Domain::Number { min, max, open } | Domain::NumberByName { min, max, open } => {
                range(min, max, open)
            }
            Domain::NumberByNameOrWord { words, .. } => {
                format!("a number, a table of numbers or {}", listed(words))
            }
            Domain::NumberOrWord { min: f64::MIN, words, .. } => format!("a number or {}", listed(words)),
            Domain::NumberOrWord { min, max, words } => {
                format!("{}, or {}", range(min, max, false), listed(words))
            }
            Domain::Choice(words) => listed(words),
            Domain::WordOrNumbersByName(words) => format!("{} or a table of finite numbers", listed(words)),
            Domain::Flag => "`true` or `false`".to_owned(),
            Domain::Names => "a list of names".to_owned(),
        }
    }
}

fn range(min: f64, max: f64, open: bool) -> String {
    match (min, max, open) {
        (0.0, f64::MAX, true) => "a number above 0".to_owned(),
        (0.0, f64::MAX, false) => "a number of 0 or more".to_owned(),
        (_, f64::MAX, _) => format!("a number of {} or more", short(min)),
        (_, _, true) => format!("a number above {}, at most {}", short(min), short(max)),
        (_, _, false) => format!("a number from {} to {}", short(min), short(max)),
    }
}

impl Knob {
    /// Checks a value that does not come from a file.
    pub fn check(&self, value: &KnobValue, place: Option<Place>) -> Result<(), Error> {
        match self.domain.misses(value) {
            None => Ok(()),
            Some(wanted) => {
                Err(Error::input(place, format!("`{}` is {value}; expected {wanted}", self.name)))
            }
        }
    }

    /// As [`Knob::check`], for a number.
    pub fn check_number(&self, given: &At<f64>) -> Result<(), Error> {
        self.check(&KnobValue::Number(given.value), given.place())
    }

    /// Reads a number that stands elsewhere in the file but obeys the rules of this knob: a bond's own tolerance.
    pub fn read_number(&self, node: Node<'_>) -> Result<f64, Error> {
        match self.domain.read(node)? {
            KnobValue::Number(x) => Ok(x),
            _ => node.expected("a number"),
        }
    }
}
