//! One wire of a picture: its lines, where they branch, and what is written at their ends.

use super::nets::Net;
use std::collections::BTreeMap;

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

/// An end of a wire.
#[derive(Clone, Copy)]
pub struct End {
    pub layer: usize,
    pub x: f64,
    pub y: f64,
}

/// Lines from every source over a track, a row below or above the boxes where needed, and a track to every target.
pub fn wire(
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
            texts.push(([end.x + 4.0, end.y - 7.0], true, format!("×{gain}")));
        }
    }
    for (end, (_, _, gain, offset)) in targets.iter().zip(&net.targets) {
        let mut text = if *gain == 1.0 { String::new() } else { format!("×{}", short(*gain)) };
        if *offset != 0.0 {
            text += &format!("{}{}", if *offset > 0.0 { "+" } else { "" }, short(*offset));
        }
        if !text.is_empty() {
            texts.push(([end.x - 10.0, end.y - 7.0], false, text));
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
pub fn apart(wires: &mut [Wire]) {
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
