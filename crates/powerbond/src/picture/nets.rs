//! What hangs together in the picture of a system, in which layer every subsystem stands, and in which order.

use super::Diagram;
use std::collections::BTreeMap;

/// A port of a block: the block's number and the port's.
pub type Place = (usize, usize);

/// One output with all it feeds, or one sum with all that feeds it.
pub struct Net {
    /// Name, place and gain of every source.
    pub sources: Vec<(String, Place, f64)>,
    /// Name, place, gain and offset of every target.
    pub targets: Vec<(String, Place, f64, f64)>,
}

impl Net {
    /// Source and target subsystems of every branch.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.sources
            .iter()
            .flat_map(|(_, (s, _), _)| self.targets.iter().map(move |(_, (t, _), _, _)| (*s, *t)))
    }
}

/// Outputs with all that they feed alone, and sums with all that feed them.
pub fn nets(diagram: &Diagram) -> Vec<Net> {
    let mut outputs: BTreeMap<String, Place> = BTreeMap::new();
    let mut inputs: BTreeMap<String, Place> = BTreeMap::new();
    for (b, block) in diagram.blocks.iter().enumerate() {
        let full = |name: &str| format!("{}.{name}", block.name);
        outputs.extend(block.outputs.iter().enumerate().map(|(n, o)| (full(&o.name), (b, n))));
        inputs.extend(block.inputs.iter().enumerate().map(|(n, i)| (full(&i.name), (b, n))));
    }
    let mut nets: Vec<Net> = Vec::new();
    // Where the net of an output is that feeds its targets alone.
    let mut net_of: BTreeMap<Place, usize> = BTreeMap::new();
    for c in &diagram.connections {
        let Some(&to) = inputs.get(&c.to) else { continue };
        let named = |(name, gain): &(String, f64)| Some((name.clone(), *outputs.get(name)?, *gain));
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
pub fn layers(n: usize, nets: &[Net]) -> Vec<usize> {
    let mut weight: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (s, t) in nets.iter().flat_map(Net::pairs).filter(|(s, t)| s != t) {
        *weight.entry((s, t)).or_default() += 1;
    }
    // To and from what is left, and where that is.
    let (mut gives, mut takes) = (vec![0usize; n], vec![0usize; n]);
    let (mut sources, mut targets) = (vec![Vec::new(); n], vec![Vec::new(); n]);
    for (&(s, t), &w) in &weight {
        gives[s] += w;
        takes[t] += w;
        targets[s].push((t, w));
        sources[t].push((s, w));
    }
    let mut left: Vec<usize> = (0..n).collect();
    let (mut first, mut last) = (Vec::new(), Vec::new());
    while !left.is_empty() {
        let key = |v: usize| gives[v] as i64 - takes[v] as i64;
        let sink = left.iter().copied().find(|&v| gives[v] == 0 && takes[v] > 0);
        let v = sink.unwrap_or_else(|| left.iter().copied().max_by_key(|&v| (key(v), n - v)).unwrap_or(0));
        if sink.is_some() {
            last.push(v)
        } else {
            first.push(v)
        }
        left.retain(|&w| w != v);
        targets[v].iter().for_each(|&(t, w)| takes[t] -= w);
        sources[v].iter().for_each(|&(s, w)| gives[s] -= w);
    }
    first.extend(last.into_iter().rev());
    let (mut layer, mut is_placed) = (vec![0; n], vec![false; n]);
    for v in first {
        let before = sources[v].iter().filter(|(s, _)| is_placed[*s]);
        layer[v] = before.map(|(s, _)| layer[*s] + 1).max().unwrap_or(0);
        is_placed[v] = true;
    }
    layer
}

/// The subsystems of every layer from top to bottom, near to what they are wired with.
pub fn columns(n: usize, layers: &[usize], nets: &[Net]) -> Vec<Vec<usize>> {
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
