//! Where everything stands in the picture of a system: boxes in layers, wires on tracks between them.

use super::nets::{columns, layers, nets};
use super::wire::{End, Wire, apart, wire};
use super::{Block, Diagram};
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
/// Height of title and facts above all.
pub const TITLE: f64 = 44.0;

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

/// The y of port `n` of a box.
pub fn port_y(frame: &Frame, n: usize) -> f64 {
    frame.y + HEAD + ROW * (n as f64 + 0.5)
}

/// Places everything.
pub fn layout(diagram: &Diagram) -> Layout {
    let nets = nets(diagram);
    let n = diagram.blocks.len();
    let layers = layers(n, &nets);
    let columns = columns(n, &layers, &nets);
    let mut frames: Vec<Frame> = diagram.blocks.iter().map(size).collect();

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
    let top = MARGIN + TITLE + TRACK * above.len() as f64;
    let mut x = MARGIN;
    let mut gap_start = Vec::new();
    for (g, column) in columns.iter().enumerate() {
        gap_start.push(x + EXIT * f64::from(u8::from(g > 0)));
        let signals = column.iter().any(|&s| diagram.blocks[s].inputs.iter().any(|i| i.signal));
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

fn size(s: &Block) -> Frame {
    let longest = |names: &mut dyn Iterator<Item = usize>| names.max().unwrap_or(0) as f64 * CHAR;
    let inputs = longest(&mut s.inputs.iter().map(|i| i.name.chars().count()));
    let outputs = longest(&mut s.outputs.iter().map(|o| o.name.chars().count()));
    let through = s.outputs.iter().any(|o| !o.feeds_through.is_empty()) || s.unknown;
    let title = TITLE_CHAR * s.name.chars().count() as f64 + 40.0;
    let kind = CHAR * s.kind.chars().count() as f64;
    let ports = inputs + outputs + if through { 84.0 } else { 40.0 };
    let rows = s.inputs.len().max(s.outputs.len()).max(1);
    Frame {
        width: title.max(kind).max(ports) + 24.0,
        height: HEAD + ROW * rows as f64 + 10.0,
        ..Frame::default()
    }
}
