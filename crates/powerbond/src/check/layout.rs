//! Where everything stands in the picture of a system: boxes in layers, wires on tracks between them.

use super::{Check, Source, SubsystemCheck};
use powerbond_core::network::NameIndex;
use std::collections::BTreeMap;

/// Width of a character of the labels.
pub const CHAR: f64 = 6.7;
/// Width of a character of a box's title.
const TITLE_CHAR: f64 = 8.6;
/// Height of a port.
const ROW: f64 = 22.0;
/// Height of a box above its ports.
pub const HEAD: f64 = 46.0;
/// Between boxes of a layer.
const BETWEEN: f64 = 34.0;
/// Between neighbouring tracks.
const TRACK: f64 = 13.0;
/// Room for arrowheads and gains left of a box, more of it for the word `signal`, and room for gains right of a box.
const ENTRY: f64 = 58.0;
const SIGNAL: f64 = 18.0;
const EXIT: f64 = 30.0;
const MARGIN: f64 = 24.0;

/// The drawing, in pixels.
pub struct Layout {
    pub width: f64,
    /// Where the boxes and wires end; a legend may follow.
    pub height: f64,
    pub boxes: Vec<Frame>,
    pub wires: Vec<Wire>,
}

/// A subsystem.
#[derive(Clone, Copy, Default)]
pub struct Frame {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// One output with all it feeds, or one sum with all that feeds it.
pub struct Wire {
    /// `(source, target)` of every branch, by full name.
    pub branches: Vec<(String, String)>,
    /// Straight lines.
    pub lines: Vec<[f64; 4]>,
    /// Where lines branch.
    pub dots: Vec<[f64; 2]>,
    /// Tips of arrows, which point to the right.
    pub tips: Vec<[f64; 2]>,
    /// Texts that end, or begin (true), at a point.
    pub texts: Vec<([f64; 2], bool, String)>,
}

/// The y of port `n` of a box.
pub fn port_y(frame: &Frame, n: usize) -> f64 {
    frame.y + HEAD + ROW * (n as f64 + 0.5)
}

/// An end of a wire.
#[derive(Clone, Copy)]
struct End {
    layer: usize,
    x: f64,
    y: f64,
}

struct Net {
    sources: Vec<(String, (usize, usize), f64)>,
    targets: Vec<(String, (usize, usize), f64, f64)>,
}

/// Places everything.
pub fn layout(check: &Check) -> Layout {
    let nets = nets(check);
    let n = check.subsystems.len();
    let layers = layers(n, &nets);
    let columns = columns(n, &layers, &nets);
    let mut frames: Vec<Frame> = check.subsystems.iter().map(size).collect();

    // Which nets need a track in which gap; gap g is left of layer g.
    let gap_count = columns.len() + 1;
    let mut tracks: Vec<Vec<usize>> = vec![Vec::new(); gap_count];
    let (mut above, mut below) = (Vec::new(), Vec::new());
    for (k, net) in nets.iter().enumerate() {
        let mut gaps: Vec<usize> = Vec::new();
        for (_, (s, _), _) in &net.sources {
            gaps.push(layers[*s] + 1);
        }
        for (_, (t, _), _, _) in &net.targets {
            gaps.push(layers[*t]);
        }
        for (s, t) in net.pairs() {
            match (layers[s], layers[t]) {
                (a, b) if b == a + 1 => {}
                (a, b) if b > a => above.push(k),
                _ => below.push(k),
            }
        }
        gaps.sort_unstable();
        gaps.dedup();
        gaps.into_iter().for_each(|g| tracks[g].push(k));
    }
    above.dedup();
    below.dedup();

    // Boxes: columns from left to right, each centred.
    let tall = |column: &[usize], frames: &[Frame]| {
        column.iter().map(|&s| frames[s].height).sum::<f64>()
            + BETWEEN * column.len().saturating_sub(1) as f64
    };
    let height = columns.iter().map(|c| tall(c, &frames)).fold(0.0, f64::max);
    let top = MARGIN + 44.0 + TRACK * above.len() as f64;
    let mut x = MARGIN;
    let mut gap_start = Vec::new();
    for (g, column) in columns.iter().enumerate() {
        gap_start.push(x + EXIT * f64::from(u8::from(g > 0)));
        let signals = column.iter().any(|&s| check.subsystems[s].inputs.iter().any(|i| i.fed_by == "signal"));
        let entry = match (tracks[g].is_empty(), signals) {
            (_, true) => ENTRY + SIGNAL,
            (false, false) => ENTRY,
            (true, false) => 0.0,
        };
        x = gap_start[g] + TRACK * tracks[g].len() as f64 + entry;
        let width = column.iter().map(|&s| frames[s].width).fold(0.0, f64::max);
        let mut y = top + 0.5 * (height - tall(column, &frames));
        for &s in column {
            frames[s] = Frame { x, y, width, ..frames[s] };
            y += frames[s].height + BETWEEN;
        }
        x += width;
    }
    gap_start.push(x + EXIT);
    let last = tracks[gap_count - 1].len();
    let width = x + if last == 0 { 0.0 } else { EXIT + TRACK * last as f64 } + MARGIN;

    let end = |(s, port): (usize, usize), right: bool| {
        let f = &frames[s];
        End { layer: layers[s], x: if right { f.x + f.width } else { f.x }, y: port_y(f, port) }
    };
    let ends: Vec<(Vec<End>, Vec<End>)> = nets
        .iter()
        .map(|net| {
            let sources = net.sources.iter().map(|(_, place, _)| end(*place, true)).collect();
            let targets = net.targets.iter().map(|(_, place, _, _)| end(*place, false)).collect();
            (sources, targets)
        })
        .collect();
    let mean = |list: &[End]| list.iter().map(|e| e.y).sum::<f64>() / list.len().max(1) as f64;
    // Of wires that go down, the highest source turns last; of those that go up, the lowest: fewer crossings.
    let mut track_x: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for (g, list) in tracks.iter().enumerate() {
        let mut sorted = list.clone();
        sorted.sort_by(|&a, &b| {
            let key = |k: usize| {
                let (sources, targets) = &ends[k];
                let leaves = sources.iter().any(|e| e.layer + 1 == g);
                let arrives = targets.iter().any(|e| e.layer == g);
                let (from, to) = (mean(sources), mean(targets));
                match (leaves, arrives) {
                    (true, true) if to > from => (2, -from),
                    (true, true) => (1, from),
                    (true, false) => (0, -from),
                    _ => (3, -to),
                }
            };
            let (a, b) = (key(a), key(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        for (i, k) in sorted.into_iter().enumerate() {
            track_x.insert((k, g), gap_start[g] + TRACK * (i as f64 + 0.5));
        }
    }
    // Lower sources take the inner rows.
    let by_source = |list: &mut Vec<usize>, sign: f64| {
        list.sort_by(|&a, &b| (sign * mean(&ends[b].0)).total_cmp(&(sign * mean(&ends[a].0))));
    };
    by_source(&mut below, 1.0);
    by_source(&mut above, -1.0);
    let bottom = top + height + 20.0;
    let row_of = |list: &[usize], k: usize, start: f64, step: f64| {
        list.iter().position(|&b| b == k).map(|i| start + step * i as f64)
    };
    let mut wires = nets
        .iter()
        .enumerate()
        .map(|(k, net)| {
            let low = row_of(&below, k, bottom, TRACK);
            let high = row_of(&above, k, top - 20.0, -TRACK);
            wire(net, &ends[k], |g| track_x.get(&(k, g)).copied().unwrap_or(0.0), low, high)
        })
        .collect::<Vec<Wire>>();
    apart(&mut wires);
    Layout { width: width.max(420.0), height: bottom + TRACK * below.len() as f64, boxes: frames, wires }
}

impl Net {
    /// Source and target subsystems of every branch.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.sources
            .iter()
            .flat_map(|(_, (s, _), _)| self.targets.iter().map(move |(_, (t, _), _, _)| (*s, *t)))
    }
}

/// Outputs with all that they feed alone, and sums with all that feed them.
fn nets(check: &Check) -> Vec<Net> {
    let subsystems: NameIndex<&str> = check.subsystems.iter().map(|s| s.name.as_str()).collect();
    let inputs = |s: &SubsystemCheck| s.inputs.iter().map(|i| i.name.clone()).collect();
    let outputs = |s: &SubsystemCheck| s.outputs.iter().map(|o| o.name.clone()).collect();
    let inputs: Vec<NameIndex<String>> = check.subsystems.iter().map(inputs).collect();
    let outputs: Vec<NameIndex<String>> = check.subsystems.iter().map(outputs).collect();
    let place = |name: &str, ports: &[NameIndex<String>]| -> Option<(usize, usize)> {
        let (subsystem, variable) = name.split_once('.')?;
        let s = subsystems.place(subsystem)?;
        Some((s, ports[s].place(variable)?))
    };
    let mut nets: Vec<Net> = Vec::new();
    // Where the net of an output is that feeds its targets alone.
    let mut net_of: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for c in &check.connections {
        let Some(to) = place(&c.to, &inputs) else { continue };
        let named = |s: &Source| Some((s.name.clone(), place(&s.name, &outputs)?, s.gain));
        let sources: Vec<_> = c.from.iter().filter_map(named).collect();
        let only = match &sources[..] {
            [(_, place, _)] => Some(*place),
            _ => None,
        };
        let equal = sources.iter().all(|s| s.2 == sources[0].2);
        // Gains that differ are written where the wires begin.
        let at_target = if equal { sources.first().map_or(1.0, |s| s.2) } else { 1.0 };
        let target = (c.to.clone(), to, at_target, c.offset);
        match only.and_then(|place| net_of.get(&place)) {
            Some(&k) => nets[k].targets.push(target),
            None => {
                net_of.extend(only.map(|place| (place, nets.len())));
                let sources =
                    sources.into_iter().map(|(n, p, g)| (n, p, if equal { 1.0 } else { g })).collect();
                nets.push(Net { sources, targets: vec![target] });
            }
        }
    }
    nets
}

/// Few wires go back: subsystems that give more than they take come first (Eades, Lin, Smyth), then the longest way.
fn layers(n: usize, nets: &[Net]) -> Vec<usize> {
    let mut weight: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (s, t) in nets.iter().flat_map(Net::pairs).filter(|(s, t)| s != t) {
        *weight.entry((s, t)).or_default() += 1;
    }
    let mut left: Vec<usize> = (0..n).collect();
    let (mut first, mut last) = (Vec::new(), Vec::new());
    while !left.is_empty() {
        let sum = |v: usize, out: bool| -> usize {
            let counts = |&(&(s, t), _): &(&(usize, usize), &usize)| {
                let (own, other) = if out { (s, t) } else { (t, s) };
                own == v && left.contains(&other)
            };
            weight.iter().filter(counts).map(|(_, w)| w).sum()
        };
        let key = |v: usize| sum(v, true) as i64 - sum(v, false) as i64;
        let sink = left.iter().copied().find(|&v| sum(v, true) == 0 && sum(v, false) > 0);
        let v = sink.unwrap_or_else(|| left.iter().copied().max_by_key(|&v| (key(v), n - v)).unwrap_or(0));
        if sink.is_some() {
            last.push(v)
        } else {
            first.push(v)
        }
        left.retain(|&w| w != v);
    }
    first.extend(last.into_iter().rev());
    let mut layer = vec![0; n];
    for (i, &v) in first.iter().enumerate() {
        let before = first[..i].iter().filter(|&&u| weight.contains_key(&(u, v)));
        layer[v] = before.map(|&u| layer[u] + 1).max().unwrap_or(0);
    }
    layer
}

/// The subsystems of every layer from top to bottom, near to what they are wired with.
fn columns(n: usize, layers: &[usize], nets: &[Net]) -> Vec<Vec<usize>> {
    let count = layers.iter().max().map_or(0, |m| m + 1);
    let mut columns: Vec<Vec<usize>> =
        (0..count).map(|l| (0..n).filter(|&s| layers[s] == l).collect()).collect();
    for sweep in 0..4 {
        let place = |s: usize, columns: &[Vec<usize>]| {
            let column = &columns[layers[s]];
            let at = column.iter().position(|&v| v == s).unwrap_or(0);
            (at as f64 + 0.5) / column.len() as f64
        };
        let order: Vec<usize> =
            if sweep % 2 == 0 { (0..count).collect() } else { (0..count).rev().collect() };
        for l in order {
            let wish = |s: usize| {
                let near: Vec<f64> = nets
                    .iter()
                    .flat_map(Net::pairs)
                    .filter_map(|(a, b)| if a == s { Some(b) } else { (b == s).then_some(a) })
                    .filter(|&other| layers[other] != l)
                    .map(|other| place(other, &columns))
                    .collect();
                if near.is_empty() {
                    place(s, &columns)
                } else {
                    near.iter().sum::<f64>() / near.len() as f64
                }
            };
            let mut column: Vec<(f64, usize)> = columns[l].iter().map(|&s| (wish(s), s)).collect();
            column.sort_by(|a, b| a.0.total_cmp(&b.0));
            columns[l] = column.into_iter().map(|(_, s)| s).collect();
        }
    }
    columns
}

fn size(s: &SubsystemCheck) -> Frame {
    let longest = |names: &mut dyn Iterator<Item = usize>| names.max().unwrap_or(0) as f64 * CHAR;
    let inputs = longest(&mut s.inputs.iter().map(|i| i.name.chars().count()));
    let outputs = longest(&mut s.outputs.iter().map(|o| o.name.chars().count()));
    let through = s.outputs.iter().any(|o| !o.feeds_through.is_empty()) || s.feed_through == "unknown";
    let title = TITLE_CHAR * s.name.chars().count() as f64 + 40.0;
    let model = CHAR * s.model.chars().count() as f64;
    let ports = inputs + outputs + if through { 84.0 } else { 40.0 };
    let rows = s.inputs.len().max(s.outputs.len()).max(1);
    Frame {
        width: title.max(model).max(ports) + 24.0,
        height: HEAD + ROW * rows as f64 + 10.0,
        ..Frame::default()
    }
}

/// Lines from every source over a track, a row below or above the boxes where needed, and a track to every target.
fn wire(
    net: &Net,
    (sources, targets): &(Vec<End>, Vec<End>),
    track: impl Fn(usize) -> f64,
    low: Option<f64>,
    high: Option<f64>,
) -> Wire {
    let mut lines = Vec::new();
    // What each vertical and each row touches.
    let mut verticals: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    let mut rows: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    for (s, t) in sources.iter().flat_map(|s| targets.iter().map(move |t| (s, t))) {
        let (out, into) = (s.layer + 1, t.layer);
        verticals.entry(out).or_default().push(s.y);
        verticals.entry(into).or_default().push(t.y);
        if out != into {
            let (row, side) = if into > out { (high, 0) } else { (low, 1) };
            if let Some(y) = row {
                for gap in [out, into] {
                    verticals.entry(gap).or_default().push(y);
                    rows[side].push(track(gap));
                }
            }
        }
    }
    sources.iter().for_each(|s| lines.push([s.x, s.y, track(s.layer + 1), s.y]));
    targets.iter().for_each(|t| lines.push([track(t.layer), t.y, t.x, t.y]));
    let mut dots = Vec::new();
    let inner = |list: &[f64]| -> (f64, f64, Vec<f64>) {
        let (min, max) =
            list.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
        let mut between: Vec<f64> = list.iter().copied().filter(|&v| v > min && v < max).collect();
        between.sort_by(f64::total_cmp);
        between.dedup();
        (min, max, between)
    };
    for (&gap, ys) in &verticals {
        let (min, max, between) = inner(ys);
        let x = track(gap);
        if max > min {
            lines.push([x, min, x, max]);
        }
        dots.extend(between.into_iter().map(|y| [x, y]));
        // A source and a target at one height: the wire goes straight on and down or up from there.
        let straight = |y: f64| {
            sources.iter().any(|s| s.layer + 1 == gap && s.y == y)
                && targets.iter().any(|t| t.layer == gap && t.y == y)
        };
        dots.extend([min, max].into_iter().filter(|&y| max > min && straight(y)).map(|y| [x, y]));
    }
    for (xs, y) in rows.iter().zip([high, low]) {
        if let (false, Some(y)) = (xs.is_empty(), y) {
            let (min, max, between) = inner(xs);
            lines.push([min, y, max, y]);
            dots.extend(between.into_iter().map(|x| [x, y]));
        }
    }
    let mut texts = Vec::new();
    for (end, (_, _, gain)) in sources.iter().zip(&net.sources) {
        if *gain != 1.0 {
            texts.push(([end.x + 4.0, end.y - 4.0], true, format!("×{gain}")));
        }
    }
    for (end, (_, _, gain, offset)) in targets.iter().zip(&net.targets) {
        let mut text = if *gain == 1.0 { String::new() } else { format!("×{}", short(*gain)) };
        if *offset != 0.0 {
            text += &format!("{}{}", if *offset > 0.0 { "+" } else { "" }, short(*offset));
        }
        if !text.is_empty() {
            texts.push(([end.x - 10.0, end.y - 4.0], false, text));
        }
    }
    let branches = net.sources.iter().flat_map(|s| net.targets.iter().map(|t| (s.0.clone(), t.0.clone())));
    Wire {
        branches: branches.collect(),
        lines,
        dots,
        tips: targets.iter().map(|t| [t.x, t.y]).collect(),
        texts,
    }
}

/// Texts of several wires that begin at one port stand below each other.
fn apart(wires: &mut [Wire]) {
    let mut taken: Vec<[f64; 2]> = Vec::new();
    for (at, ..) in wires.iter_mut().flat_map(|w| &mut w.texts) {
        while taken.contains(at) {
            at[1] += 16.0;
        }
        taken.push(*at);
    }
}

/// Up to four digits.
fn short(x: f64) -> String {
    let text = format!("{x}");
    if text.len() <= 7 { text } else { format!("{x:.3e}") }
}
