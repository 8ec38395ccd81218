//! Results of a run by expressions over its recorded variables: `max(chassis.acceleration)`, `rms(a.x - b.x)`.
//!
//! Between two rows a variable is a straight line; means and integrals are exact for these lines. Two rows of the same time are a
//! discontinuity, and take no part of them.

use crate::table::Table;
use powerbond_core::suggest::closest;
use std::collections::BTreeSet;

/// A result that is one number.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    node: Node,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Time,
    Variable(String),
    Negative(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    Map(Map, Box<Node>),
    /// Of a series, in a part of the run if there are two times.
    Reduce(Reduction, Box<Node>, Option<Box<(Node, Node)>>),
    /// A series at a time.
    At(Box<Node>, Box<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Map {
    Abs,
    Sqrt,
    Exp,
    Log,
    Sin,
    Cos,
    Tan,
}

const MAPS: [(&str, Map); 7] = [
    ("abs", Map::Abs),
    ("sqrt", Map::Sqrt),
    ("exp", Map::Exp),
    ("log", Map::Log),
    ("sin", Map::Sin),
    ("cos", Map::Cos),
    ("tan", Map::Tan),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Reduction {
    Max,
    Min,
    Mean,
    Rms,
    Std,
    Range,
    Integral,
    Initial,
    Final,
    TimeOfMax,
    TimeOfMin,
    Duration,
}

const REDUCTIONS: [(&str, Reduction); 12] = [
    ("max", Reduction::Max),
    ("min", Reduction::Min),
    ("mean", Reduction::Mean),
    ("rms", Reduction::Rms),
    ("std", Reduction::Std),
    ("range", Reduction::Range),
    ("integral", Reduction::Integral),
    ("initial", Reduction::Initial),
    ("final", Reduction::Final),
    ("time_of_max", Reduction::TimeOfMax),
    ("time_of_min", Reduction::TimeOfMin),
    ("duration", Reduction::Duration),
];

const AT: &str = "at";
const TIME: &str = "time";

/// Deeper than any honest expression.
const MAX_DEPTH: usize = 64;
/// Longer than any honest expression: a sum is as deep as it has terms.
const MAX_TOKENS: usize = 2000;

impl Expression {
    /// Reads one; the error says what is wrong and what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { tokens: tokens(text)?, next: 0, depth: 0 };
        let node = parser.comparison()?;
        if let Some(token) = parser.peek() {
            return Err(format!("unexpected {token}; expected an operator or the end"));
        }
        if node.is_series() {
            return Err(format!(
                "this has a value for each time; a result is one number: write `max({text})`, `final({text})`, …"
            ));
        }
        Ok(Expression { node })
    }

    /// The variables that it uses.
    pub fn variables(&self) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        self.node.visit(&mut |node| {
            if let Node::Variable(name) = node {
                found.insert(name.as_str());
            }
        });
        found
    }

    /// Times in it that are the same in every run and lie outside of it.
    pub fn times_outside(&self, start: f64, stop: f64) -> Vec<f64> {
        let mut found = Vec::new();
        self.node.visit(&mut |node| {
            let times = match node {
                Node::At(_, t) => vec![&**t],
                Node::Reduce(.., Some(window)) => vec![&window.0, &window.1],
                _ => Vec::new(),
            };
            let times = times.into_iter().filter_map(Node::constant);
            found.extend(times.filter(|t| !(start..=stop).contains(t)));
        });
        found
    }

    /// Its value for a run; not a number where a time in it lies outside of the run.
    pub fn evaluate(&self, table: &Table) -> f64 {
        match self.node.value(table) {
            Value::Scalar(x) => x,
            Value::Series(_) => f64::NAN,
        }
    }
}

enum Value {
    Scalar(f64),
    Series(Vec<f64>),
}

impl Value {
    fn map(self, f: impl Fn(f64) -> f64) -> Value {
        match self {
            Value::Scalar(x) => Value::Scalar(f(x)),
            Value::Series(list) => Value::Series(list.into_iter().map(f).collect()),
        }
    }

    fn with(self, other: Value, f: impl Fn(f64, f64) -> f64) -> Value {
        match (self, other) {
            (Value::Scalar(a), b) => b.map(|b| f(a, b)),
            (a, Value::Scalar(b)) => a.map(|a| f(a, b)),
            (Value::Series(a), Value::Series(b)) => {
                Value::Series(a.into_iter().zip(b).map(|(a, b)| f(a, b)).collect())
            }
        }
    }

    fn scalar(self) -> f64 {
        match self {
            Value::Scalar(x) => x,
            Value::Series(_) => f64::NAN,
        }
    }

    /// As many values as there are rows.
    fn series(self, rows: usize) -> Vec<f64> {
        match self {
            Value::Scalar(x) => vec![x; rows],
            Value::Series(list) => list,
        }
    }
}

impl Node {
    fn is_series(&self) -> bool {
        match self {
            Node::Number(_) | Node::Reduce(..) | Node::At(..) => false,
            Node::Time | Node::Variable(_) => true,
            Node::Negative(a) | Node::Map(_, a) => a.is_series(),
            Node::Binary(_, a, b) => a.is_series() || b.is_series(),
        }
    }

    /// Its value if no run has a say in it.
    fn constant(&self) -> Option<f64> {
        match self {
            Node::Number(x) => Some(*x),
            Node::Negative(a) => a.constant().map(|x| -x),
            Node::Map(map, a) => a.constant().map(|x| map.of(x)),
            Node::Binary(operator, a, b) => Some(operator.of(a.constant()?, b.constant()?)),
            Node::Time | Node::Variable(_) | Node::Reduce(..) | Node::At(..) => None,
        }
    }

    fn visit<'a>(&'a self, see: &mut dyn FnMut(&'a Node)) {
        see(self);
        match self {
            Node::Number(_) | Node::Time | Node::Variable(_) => {}
            Node::Negative(a) | Node::Map(_, a) => a.visit(see),
            Node::Binary(_, a, b) | Node::At(a, b) => {
                a.visit(see);
                b.visit(see);
            }
            Node::Reduce(_, a, window) => {
                a.visit(see);
                if let Some(window) = window {
                    window.0.visit(see);
                    window.1.visit(see);
                }
            }
        }
    }

    fn value(&self, table: &Table) -> Value {
        match self {
            Node::Number(x) => Value::Scalar(*x),
            Node::Time => Value::Series(table.columns.first().cloned().unwrap_or_default()),
            Node::Variable(name) => {
                Value::Series(table.column(name).unwrap_or_else(|| vec![f64::NAN; table.rows()]))
            }
            Node::Negative(a) => a.value(table).map(|x| -x),
            Node::Map(map, a) => a.value(table).map(|x| map.of(x)),
            Node::Binary(operator, a, b) => a.value(table).with(b.value(table), |a, b| operator.of(a, b)),
            Node::Reduce(reduction, a, window) => {
                let (mut t, mut x) = (times(table), a.value(table).series(table.rows()));
                if let Some(window) = window {
                    let (from, to) = (window.0.value(table).scalar(), window.1.value(table).scalar());
                    let between = if *reduction == Reduction::Duration { before } else { at_time };
                    (t, x) = clip(&t, &x, from, to, between);
                }
                Value::Scalar(reduction.of(&t, &x))
            }
            Node::At(a, at) => {
                let (t, x) = (times(table), a.value(table).series(table.rows()));
                Value::Scalar(at_time(&t, &x, at.value(table).scalar()))
            }
        }
    }
}

fn times(table: &Table) -> Vec<f64> {
    table.columns.first().cloned().unwrap_or_default()
}

impl Operator {
    fn of(self, a: f64, b: f64) -> f64 {
        // Whether a number is larger than none, nobody knows.
        let flag = |is: bool| if a.is_nan() || b.is_nan() { f64::NAN } else { f64::from(u8::from(is)) };
        match self {
            Operator::Add => a + b,
            Operator::Subtract => a - b,
            Operator::Multiply => a * b,
            Operator::Divide => a / b,
            Operator::Power => a.powf(b),
            Operator::Less => flag(a < b),
            Operator::AtMost => flag(a <= b),
            Operator::Greater => flag(a > b),
            Operator::AtLeast => flag(a >= b),
        }
    }
}

impl Map {
    fn of(self, x: f64) -> f64 {
        match self {
            Map::Abs => x.abs(),
            Map::Sqrt => x.sqrt(),
            Map::Exp => x.exp(),
            Map::Log => x.ln(),
            Map::Sin => x.sin(),
            Map::Cos => x.cos(),
            Map::Tan => x.tan(),
        }
    }
}

impl Reduction {
    /// Of a series over times that do not decrease. A value that is not a number makes the result one that is not, either.
    fn of(self, t: &[f64], x: &[f64]) -> f64 {
        let (Some(&first), Some(&last)) = (x.first(), x.last()) else { return f64::NAN };
        match self {
            Reduction::Initial => return first,
            Reduction::Final => return last,
            _ => {}
        }
        if x.iter().any(|x| x.is_nan()) {
            return f64::NAN;
        }
        let lines = || t.windows(2).zip(x.windows(2)).map(|(t, x)| (t[1] - t[0], x[0], x[1]));
        let total = t[t.len() - 1] - t[0];
        // The sum of nothing is +0 here, and −0 for `sum`.
        let integral = || lines().map(|(h, a, b)| 0.5 * h * (a + b)).fold(0.0, |sum, part| sum + part);
        // Of a line from a to b: ∫ x² = h (a² + a b + b²) / 3.
        let of_square = |c: f64| {
            let moved = lines().map(move |(h, a, b)| (h, a - c, b - c));
            moved.map(|(h, a, b)| h * (a * a + a * b + b * b) / 3.0)
        };
        let extreme = |better: fn(f64, f64) -> bool| {
            let mut best = 0;
            (1..x.len()).for_each(|i| best = if better(x[i], x[best]) { i } else { best });
            best
        };
        let largest = || extreme(|a, b| a > b);
        let smallest = || extreme(|a, b| a < b);
        match self {
            Reduction::Max => x[largest()],
            Reduction::Min => x[smallest()],
            Reduction::Range => x[largest()] - x[smallest()],
            Reduction::TimeOfMax => t[largest()],
            Reduction::TimeOfMin => t[smallest()],
            Reduction::Integral => integral(),
            Reduction::Mean if total > 0.0 => integral() / total,
            Reduction::Mean => last,
            Reduction::Rms if total > 0.0 => (of_square(0.0).sum::<f64>() / total).sqrt(),
            Reduction::Rms => last.abs(),
            Reduction::Std if total > 0.0 => (of_square(integral() / total).sum::<f64>() / total).sqrt(),
            Reduction::Std => 0.0,
            // Rows say where it is true, each up to the next one.
            Reduction::Duration => lines().filter(|(_, a, _)| *a != 0.0).fold(0.0, |sum, (h, ..)| sum + h),
            Reduction::Initial | Reduction::Final => last,
        }
    }
}

/// The value at a time: the limit from the right, on the line to the next row. Not a number outside.
fn at_time(t: &[f64], x: &[f64], at: f64) -> f64 {
    let after = t.partition_point(|&t| t <= at);
    match (after.checked_sub(1), t.get(after)) {
        (Some(i), Some(next)) => x[i] + (x[after] - x[i]) * (at - t[i]) / (next - t[i]),
        (Some(i), None) if t[i] == at => x[i],
        _ => f64::NAN,
    }
}

/// What the last row up to a time says. Not a number outside.
fn before(t: &[f64], x: &[f64], at: f64) -> f64 {
    match t.partition_point(|&t| t <= at).checked_sub(1) {
        Some(i) if t.last().is_some_and(|&last| at <= last) => x[i],
        _ => f64::NAN,
    }
}

/// The part from one time to another, from the right of the first one to the left of the second one, so that neighbouring parts make
/// the whole; nothing if that lies outside. `between` gives the value at a time.
fn clip(
    t: &[f64],
    x: &[f64],
    from: f64,
    to: f64,
    between: impl Fn(&[f64], &[f64], f64) -> f64,
) -> (Vec<f64>, Vec<f64>) {
    let (first, last) = (between(t, x, from), between(t, x, to));
    if first.is_nan() || last.is_nan() || from > to {
        return (Vec::new(), Vec::new());
    }
    let (mut ts, mut xs) = (vec![from], vec![first]);
    let inside = t.iter().zip(x).filter(|(t, _)| **t > from && **t < to);
    // Of rows at the end the first one; at the end of the run all of them.
    let is_end = t.last() == Some(&to);
    let at_end =
        t.iter().zip(x).filter(|(t, _)| **t == to && to > from).take(if is_end { t.len() } else { 1 });
    inside.chain(at_end).for_each(|(t, x)| {
        ts.push(*t);
        xs.push(*x);
    });
    if ts.last() != Some(&to) {
        ts.push(to);
        xs.push(last);
    }
    (ts, xs)
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    /// Whether it was written in quotes: then it is no function.
    Name(String, bool),
    Sign(&'static str),
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Number(x) => write!(f, "`{x}`"),
            Token::Name(name, _) => write!(f, "`{name}`"),
            Token::Sign(sign) => write!(f, "`{sign}`"),
        }
    }
}

const SIGNS: [&str; 13] = ["<=", ">=", "**", "<", ">", "+", "-", "*", "/", "^", "(", ")", ","];

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut list = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = if first.is_ascii_digit() || first == '.' {
            number(rest)?
        } else if matches!(first, '`' | '\'' | '"') {
            let inner = &rest[first.len_utf8()..];
            let Some(end) = inner.find(first) else { return Err(format!("missing {first} after `{inner}`")) };
            (Token::Name(inner[..end].to_owned(), true), end + 2)
        } else if first.is_alphabetic() || first == '_' {
            let length = name_length(rest);
            (Token::Name(rest[..length].to_owned(), false), length)
        } else {
            match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(&"**") => (Token::Sign("^"), 2),
                Some(sign) => (Token::Sign(sign), sign.len()),
                None => {
                    return Err(format!(
                        "unexpected `{first}`; names with such characters stand in backticks: `` `a.b{first}` ``"
                    ));
                }
            }
        };
        list.push(token);
        if list.len() > MAX_TOKENS {
            return Err(format!("more than {MAX_TOKENS} names, numbers and signs; divide it"));
        }
        rest = rest[length..].trim_start();
    }
    Ok(list)
}

fn number(text: &str) -> Result<(Token, usize), String> {
    let bytes = text.as_bytes();
    let mut length = bytes.iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let digits = bytes[length + 1 + sign..].iter().take_while(|b| b.is_ascii_digit()).count();
        if digits > 0 {
            length += 1 + sign + digits;
        }
    }
    let written = &text[..length];
    let value: f64 = written.parse().map_err(|_| format!("`{written}` is not a number"))?;
    Ok((Token::Number(value), length))
}

/// Letters, digits, `_`, dots and indices such as `[3]`, as in `arm.joint[1].phi`.
fn name_length(text: &str) -> usize {
    let mut length = 0;
    let mut inside = false;
    for c in text.chars() {
        match c {
            '[' if !inside => inside = true,
            ']' if inside => inside = false,
            ',' | ' ' if inside => {}
            '.' | '_' => {}
            c if c.is_alphanumeric() => {}
            _ => break,
        }
        length += c.len_utf8();
    }
    length
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
}

type Read = Result<Node, String>;

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn take(&mut self, sign: &str) -> bool {
        let is = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.next += usize::from(is);
        is
    }

    fn one_of(&mut self, signs: &[(&str, Operator)]) -> Option<Operator> {
        signs.iter().find(|(sign, _)| self.take(sign)).map(|(_, operator)| *operator)
    }

    fn found(&self) -> String {
        self.peek().map_or("the end".to_owned(), Token::to_string)
    }

    fn comparison(&mut self) -> Read {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("nested more than {MAX_DEPTH} deep"));
        }
        let left = self.sum()?;
        let signs = [
            ("<=", Operator::AtMost),
            (">=", Operator::AtLeast),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        let node = match self.one_of(&signs) {
            Some(operator) => Node::Binary(operator, Box::new(left), Box::new(self.sum()?)),
            None => left,
        };
        self.depth -= 1;
        Ok(node)
    }

    fn sum(&mut self) -> Read {
        let mut left = self.product()?;
        while let Some(operator) = self.one_of(&[("+", Operator::Add), ("-", Operator::Subtract)]) {
            left = Node::Binary(operator, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Read {
        let mut left = self.unary()?;
        while let Some(operator) = self.one_of(&[("*", Operator::Multiply), ("/", Operator::Divide)]) {
            left = Node::Binary(operator, Box::new(left), Box::new(self.unary()?));
        }
        Ok(left)
    }

    /// `-a^b` is `-(a^b)`.
    fn unary(&mut self) -> Read {
        let mut negative = false;
        loop {
            if self.take("-") {
                negative = !negative;
            } else if !self.take("+") {
                break;
            }
        }
        let node = self.power()?;
        Ok(if negative { Node::Negative(Box::new(node)) } else { node })
    }

    fn power(&mut self) -> Read {
        let base = self.atom()?;
        if !self.take("^") {
            return Ok(base);
        }
        let negative = self.take("-");
        let exponent = self.atom()?;
        let exponent = if negative { Node::Negative(Box::new(exponent)) } else { exponent };
        if matches!(self.peek(), Some(Token::Sign("^"))) {
            return Err("`a^b^c` is ambiguous; put `a^b` or `b^c` in parentheses".to_owned());
        }
        Ok(Node::Binary(Operator::Power, Box::new(base), Box::new(exponent)))
    }

    fn atom(&mut self) -> Read {
        if self.take("(") {
            let node = self.comparison()?;
            return self.close(node);
        }
        match self.peek().cloned() {
            Some(Token::Number(x)) => {
                self.next += 1;
                Ok(Node::Number(x))
            }
            Some(Token::Name(name, quoted)) => {
                self.next += 1;
                if !quoted && self.take("(") {
                    return self.call(&name);
                }
                match name.as_str() {
                    TIME if !quoted => Ok(Node::Time),
                    "" => Err("a name is empty".to_owned()),
                    _ => Ok(Node::Variable(name)),
                }
            }
            _ => Err(format!("found {}; expected a number, a variable or a function", self.found())),
        }
    }

    fn close(&mut self, node: Node) -> Read {
        if self.take(")") { Ok(node) } else { Err(format!("found {}; expected `)`", self.found())) }
    }

    /// What follows `name(`.
    fn call(&mut self, name: &str) -> Read {
        let argument = Box::new(self.comparison()?);
        let mut more = Vec::new();
        while self.take(",") {
            let node = self.comparison()?;
            if node.is_series() {
                return Err(format!("`{name}`: a time has to be one number"));
            }
            more.push(node);
        }
        self.close(Node::Time)?;
        if let Some((_, map)) = MAPS.iter().find(|(known, _)| *known == name) {
            return match more.is_empty() {
                true => Ok(Node::Map(*map, argument)),
                false => Err(format!("`{name}` has one argument")),
            };
        }
        let needs_series = |node: Node| match argument_of(&node).is_series() {
            true => Ok(node),
            false => Err(format!("`{name}` needs a variable; this is one number already")),
        };
        if name == AT {
            let [at] =
                <[Node; 1]>::try_from(more).map_err(|_| "write it as `at(variable, time)`".to_owned())?;
            return needs_series(Node::At(argument, Box::new(at)));
        }
        if let Some((_, reduction)) = REDUCTIONS.iter().find(|(known, _)| *known == name) {
            let mut more = more.into_iter();
            let window = match (more.next(), more.next(), more.next()) {
                (None, ..) => None,
                (Some(from), Some(to), None) => Some(Box::new((from, to))),
                _ => return Err(format!("write it as `{name}(variable)` or `{name}(variable, from, to)`")),
            };
            if let Some((from, to)) = window.as_deref()
                && let (Some(from), Some(to)) = (from.constant(), to.constant())
                && from > to
            {
                return Err(format!("`{name}`: from {from} s to {to} s there is nothing"));
            }
            return needs_series(Node::Reduce(*reduction, argument, window));
        }
        let known = REDUCTIONS.iter().map(|(n, _)| *n).chain(MAPS.iter().map(|(n, _)| *n)).chain([AT]);
        let listed: Vec<&str> = known.clone().collect();
        let near = closest(name, known).map_or(String::new(), |near| format!(" Did you mean `{near}`?"));
        Err(format!("unknown function `{name}`.{near} Functions: {}", listed.join(", ")))
    }
}

fn argument_of(node: &Node) -> &Node {
    match node {
        Node::Reduce(_, a, _) | Node::At(a, _) => a,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x = t² on a fine grid from 0 to 2, y = 1 up to t = 1 and 3 after it.
    fn table() -> Table {
        let n = 4000;
        let mut t: Vec<f64> = (0..=n).map(|k| 2.0 * f64::from(k) / f64::from(n)).collect();
        t.insert(n as usize / 2 + 1, 1.0);
        let x = t.iter().map(|t| t * t).collect();
        let jump = n as usize / 2;
        let y = (0..t.len()).map(|k| if k <= jump { 1.0 } else { 3.0 }).collect();
        Table {
            header: ["time", "a.x", "a.y", "der(x)"].map(str::to_owned).to_vec(),
            columns: vec![t.clone(), x, y, t],
            ..Table::default()
        }
    }

    #[test]
    fn values_are_those_of_calculus() {
        let table = table();
        for (text, expected) in [
            ("max(a.x)", 4.0),
            ("min(a.x)", 0.0),
            ("final(a.x) + initial(a.y)", 5.0),
            // ∫t² = 8/3, ∫t⁴ = 32/5, over 2.
            ("integral(a.x)", 8.0 / 3.0),
            ("mean(a.x)", 4.0 / 3.0),
            ("rms(a.x)", 3.2f64.sqrt()),
            ("std(a.x)", (3.2 - 16.0 / 9.0f64).sqrt()),
            ("mean(a.y)", 2.0),
            ("rms(a.y)", 5f64.sqrt()),
            ("mean(a.x, 1, 2)", 7.0 / 3.0),
            ("max(a.x, 0.5, 1.5)", 2.25),
            ("at(a.x, 0.5)", 0.25),
            ("at(a.y, 1)", 3.0),
            ("at(a.x, 2)", 4.0),
            ("range(a.x - 2*time)", 1.0),
            ("time_of_min(a.x - 2*time)", 1.0),
            ("time_of_max(a.x)", 2.0),
            ("duration(a.x > 1)", 1.0),
            // A part ends before the jump at its end: 1 up to there, not a line to 3.
            ("integral(a.y, 0, 1)", 1.0),
            ("integral(a.y, 1, 2)", 3.0),
            ("max(a.y, 0, 1)", 1.0),
            ("final(a.y, 0, 1)", 1.0),
            ("initial(a.y, 1, 2)", 3.0),
            ("max(a.y, 0.5, 1.5)", 3.0),
            ("duration(a.y > 2, 0.5, 1.5)", 0.5),
            ("-2^2 + 3*max(a.x)/4", -1.0),
            ("max(abs(-`a.x`))", 4.0),
            ("final('der(x)')", 2.0),
            ("sqrt(max(a.x)) ** 2", 4.0),
            ("2e-1 * (1 + 1)", 0.4),
        ] {
            let value = Expression::parse(text).unwrap_or_else(|e| panic!("{text}: {e}")).evaluate(&table);
            assert!((value - expected).abs() < 1e-3, "{text}: {value}, expected {expected}");
        }
        assert!(Expression::parse("at(a.x, 3)").unwrap().evaluate(&table).is_nan());
        assert!(Expression::parse("max(a.x, 1, 3)").unwrap().evaluate(&table).is_nan());
        assert!(Expression::parse("max(a.z)").unwrap().evaluate(&table).is_nan());
    }

    /// Rows far apart: lines between them, and what holds from one to the next.
    #[test]
    fn parts_begin_and_end_between_rows() {
        let table = Table {
            header: ["time", "x", "y"].map(str::to_owned).to_vec(),
            columns: vec![vec![0.0, 1.0, 1.0, 2.0, 2.0], vec![0.0, 1.0, 3.0, 3.0, 5.0], vec![f64::NAN; 5]],
            ..Table::default()
        };
        for (text, expected) in [
            ("integral(x, 0, 1)", 0.5),
            ("integral(x, 1, 2)", 3.0),
            ("integral(x, 0.5, 1)", 0.375),
            ("integral(x)", 3.5),
            ("max(x, 0, 1)", 1.0),
            ("max(x, 1, 1)", 3.0),
            // At the end of the run everything counts.
            ("max(x, 0, 2)", 5.0),
            ("final(x, 0, 2)", 5.0),
            // A row says what holds up to the next one: at 0.5 it does not.
            ("duration(x > 0.6, 0.5, 2)", 1.0),
            ("duration(x >= 0, 0.25, 0.5)", 0.25),
        ] {
            let value = Expression::parse(text).unwrap().evaluate(&table);
            assert!((value - expected).abs() < 1e-12, "{text}: {value}, expected {expected}");
        }
        // Nothing is 0, not −0; and of what is not a number nobody knows how long it is above 3.
        assert!(Expression::parse("duration(x > 9)").unwrap().evaluate(&table).is_sign_positive());
        assert!(Expression::parse("duration(y > 3)").unwrap().evaluate(&table).is_nan());
    }

    #[test]
    fn mistakes_are_told_with_what_would_be_right() {
        for (text, said) in [
            ("", "found the end; expected a number"),
            ("a.x", "write `max(a.x)`"),
            ("maxx(a.x)", "Did you mean `max`?"),
            ("max(a.x", "found the end; expected `)`"),
            ("max(a.x))", "unexpected `)`"),
            ("max(3)", "needs a variable"),
            ("max(a.x, 1)", "`max(variable, from, to)`"),
            ("max(a.x, 2, 1)", "there is nothing"),
            ("max(a.x, 2, 0.5 + 0.5)", "there is nothing"),
            ("at(a.x)", "`at(variable, time)`"),
            ("at(a.x, a.y)", "one number"),
            ("2^3^4", "ambiguous"),
            ("max(a.x) $ 2", "unexpected `$`"),
            ("1.2.3", "not a number"),
            ("max('a.x)", "missing '"),
            ("abs(1, 2)", "one argument"),
            ("max(a.x) max(a.x)", "expected an operator"),
        ] {
            let error = Expression::parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
        assert!(Expression::parse(&"(".repeat(1000)).unwrap_err().contains("deep"));
        // A sum is as deep as it has terms: one of 30 000 took the stack, and the process with it.
        for (unit, count) in [("max(a.x)+", 30_000), ("-", 30_000), ("(", 30_000)] {
            let error = Expression::parse(&format!("{}max(a.x)", unit.repeat(count))).unwrap_err();
            assert!(error.contains("more than 2000 names"), "{error}");
        }
        let long = ["max(a.x)"; 300].join(" + ");
        assert!((Expression::parse(&long).unwrap().evaluate(&table()) - 1200.0).abs() < 1e-6);
    }

    #[test]
    fn what_it_uses_and_when_is_known() {
        let found = Expression::parse("max(a.x - b.y[1,2].z) + at(a.x, 9) + mean(a.x, 1, 12)").unwrap();
        assert_eq!(found.variables().into_iter().collect::<Vec<_>>(), ["a.x", "b.y[1,2].z"]);
        assert_eq!(found.times_outside(0.0, 10.0), [12.0]);
        let computed = Expression::parse("at(a.x, 2 * 6) + at(a.x, final(time) - 1)").unwrap();
        assert_eq!(computed.times_outside(0.0, 10.0), [12.0]);
    }
}
