//! The system as a picture: subsystems, connections between them, and bonds as wide as the energy that went through.

use super::escape;
use serde_json::Value;
use std::collections::BTreeMap;
use std::f64::consts::TAU;

/// More subsystems than this are no picture any more.
const MOST: usize = 40;
const BOX: (f64, f64) = (190.0, 54.0);

/// A figure of the system of a run; a sentence where it would show nothing.
pub fn svg(summary: &Value) -> String {
    let list = |key: &str| summary[key].as_array().cloned().unwrap_or_default();
    let subsystems = list("subsystems");
    let names: Vec<&str> = subsystems.iter().filter_map(|s| s["name"].as_str()).collect();
    if names.is_empty() || names.len() > MOST {
        return format!("<p>{} subsystems: too many for a picture.</p>", names.len());
    }
    let place = |name: &str| names.iter().position(|n| *n == name);
    let centers = layout(names.len());
    let (width, height) = centers.iter().fold((0.0f64, 0.0f64), |(w, h), (x, y)| (w.max(*x), h.max(*y)));
    let (width, height) = (width + BOX.0 / 2.0 + 20.0, height + BOX.1 / 2.0 + 40.0);
    let mut out = format!(
        "<svg id=\"system\" viewBox=\"0 0 {width:.0} {height:.0}\" style=\"max-width:{width:.0}px\" role=\"img\" \
         aria-label=\"Subsystems, connections and bonds\">\n<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" \
         refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto-start-reverse\"><path d=\"M0 0 8 4 0 8z\" class=\"tip\"/>\
         </marker></defs>\n"
    );
    let mut labels = String::new();
    bonds(&list("bonds"), &place, &centers, &mut out, &mut labels);
    connections(&summary["config"]["connections"], &place, &centers, &mut out);
    for (subsystem, (x, y)) in subsystems.iter().zip(&centers) {
        let text = |key: &str| subsystem[key].as_str().unwrap_or("");
        out += &format!(
            "<g class=\"box\"><title>{}: {}</title><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{}\" height=\"{}\" rx=\"8\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" class=\"name\">{}</text><text x=\"{x:.1}\" y=\"{:.1}\" class=\"kind\">{}</text></g>\n",
            escape(text("name")),
            escape(text("kind")),
            x - BOX.0 / 2.0,
            y - BOX.1 / 2.0,
            BOX.0,
            BOX.1,
            y - 3.0,
            escape(&shortened(text("name"), 20)),
            y + 15.0,
            escape(&shortened(text("kind"), 30)),
        );
    }
    out + &labels + "</svg>"
}

/// Centers of the boxes: in a row up to two, then on an ellipse.
fn layout(n: usize) -> Vec<(f64, f64)> {
    if n <= 2 {
        return (0..n).map(|i| (120.0 + 500.0 * i as f64, 90.0)).collect();
    }
    let radius = (n as f64 * 34.0).max(130.0);
    let (rx, ry) = (radius * 1.9, radius);
    let (cx, cy) = (rx + BOX.0 / 2.0 + 20.0, ry + BOX.1 / 2.0 + 20.0);
    let angle = |i: usize| TAU * (i as f64 / n as f64) - TAU / 4.0;
    (0..n).map(|i| (cx + rx * angle(i).cos(), cy + ry * angle(i).sin())).collect()
}

fn bonds(
    bonds: &[Value],
    place: &dyn Fn(&str) -> Option<usize>,
    centers: &[(f64, f64)],
    out: &mut String,
    labels: &mut String,
) {
    let exchanged = |b: &Value| b["exchanged"].as_f64().unwrap_or(0.0);
    let most = bonds.iter().map(exchanged).fold(f64::MIN_POSITIVE, f64::max);
    let mut between: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    for bond in bonds {
        let name = bond["name"].as_str().unwrap_or("");
        let ports = bond["ports"].as_array().cloned().unwrap_or_default();
        let subsystem = |p: &Value| {
            let name = p["subsystem"].as_str().or(p["name"].as_str())?;
            place(name).or_else(|| place(name.trim_end_matches(|c: char| c.is_ascii_digit())))
        };
        let mut ends: Vec<usize> = ports.iter().filter_map(subsystem).collect();
        ends.sort_unstable();
        ends.dedup();
        if ends.len() < 2 {
            continue;
        }
        let nth = between.entry(ends.clone()).or_default();
        let shift = *nth as f64;
        *nth += 1;
        let share = bond["residual_share"].as_f64().map(f64::abs);
        let class = match share {
            Some(s) if s < 0.01 => "good",
            Some(s) if s < 0.05 => "fair",
            _ => "poor",
        };
        let width = 4.0 + 14.0 * (exchanged(bond) / most).sqrt();
        let mean = |part: fn(&(f64, f64)) -> f64| {
            ends.iter().map(|&e| part(&centers[e])).sum::<f64>() / ends.len() as f64
        };
        let (mx, my) = (mean(|c| c.0), mean(|c| c.1) + 22.0 * shift);
        let percent = share.map_or("?".to_owned(), crate::number::percent);
        *out += &format!(
            "<g class=\"bond {class}\"><title>bond {}: {:.4} J exchanged, {} of it residual</title>",
            escape(name),
            exchanged(bond),
            percent
        );
        let mut path = String::new();
        for &e in &ends {
            let (x, y) = centers[e];
            path += &format!("M{x:.1} {y:.1} L{mx:.1} {my:.1} ");
        }
        *out += &format!("<path d=\"{}\" stroke-width=\"{width:.1}\"/></g>\n", path.trim_end());
        *labels += &format!(
            "<text x=\"{mx:.1}\" y=\"{:.1}\" class=\"bondname\">{} ({percent})</text>\n",
            my - width / 2.0 - 6.0,
            escape(&shortened(name, 24)),
        );
    }
}

fn connections(
    list: &Value,
    place: &dyn Fn(&str) -> Option<usize>,
    centers: &[(f64, f64)],
    out: &mut String,
) {
    let owner = |name: &str| name.split_once('.').and_then(|(subsystem, _)| place(subsystem));
    let mut pairs: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
    for connection in list.as_array().into_iter().flatten() {
        let to = connection["to"].as_str().unwrap_or("");
        for source in connection["from"].as_array().into_iter().flatten() {
            let from = source["output"].as_str().unwrap_or("");
            if let (Some(a), Some(b)) = (owner(from), owner(to)) {
                pairs.entry((a, b)).or_default().push(format!("{from} → {to}"));
            }
        }
    }
    for ((a, b), texts) in pairs {
        let ((x0, y0), (x1, y1)) = (centers[a], centers[b]);
        let title = escape(&texts.join("\n"));
        let (dx, dy) = (x1 - x0, y1 - y0);
        let length = dx.hypot(dy).max(1.0);
        // Bent to the left of its direction, so that both ways are seen.
        let (nx, ny) = (dy / length, -dx / length);
        let (cx, cy) = ((x0 + x1) / 2.0 + 70.0 * nx, (y0 + y1) / 2.0 + 70.0 * ny);
        let (sx, sy) = edge((x0, y0), (cx, cy));
        let (ex, ey) = edge((x1, y1), (cx, cy));
        *out += &format!(
            "<g class=\"connection\"><title>{title}</title><path d=\"M{sx:.1} {sy:.1} Q{cx:.1} {cy:.1} {ex:.1} {ey:.1}\" \
             marker-end=\"url(#arrow)\"/>"
        );
        if centers.len() <= 3 {
            let label = match &texts[..] {
                [one] => one.split_once(" → ").map_or("", |(from, _)| from).to_owned(),
                many => format!("{} connections", many.len()),
            };
            let (tx, ty) = ((x0 + x1) / 2.0 + 54.0 * nx, (y0 + y1) / 2.0 + 54.0 * ny);
            let lift = if ny > 0.0 { 10.0 } else { -2.0 };
            *out += &format!(
                "<text x=\"{tx:.1}\" y=\"{:.1}\" class=\"wire\">{}</text>",
                ty + lift,
                escape(&shortened(&label, 34))
            );
        }
        *out += "</g>\n";
    }
}

/// Where the line from the center of a box to `toward` leaves the box.
fn edge((x, y): (f64, f64), toward: (f64, f64)) -> (f64, f64) {
    let (dx, dy) = (toward.0 - x, toward.1 - y);
    let scale = |d: f64, half: f64| if d == 0.0 { f64::INFINITY } else { half / d.abs() };
    let s = scale(dx, BOX.0 / 2.0 + 3.0).min(scale(dy, BOX.1 / 2.0 + 3.0)).min(1.0);
    (x + s * dx, y + s * dy)
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}
