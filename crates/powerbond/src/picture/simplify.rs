//! Fewer points, same line: what is less than a fraction of a pixel away from it is left out.

/// Pixels by which a line may be off.
const TOLERANCE: f64 = 0.3;
/// Within so many pixels of x a line shows as the range of its points.
const COLUMN: f64 = 0.5;

/// The points of a line that are needed to draw it, in pixels.
pub(super) fn simplify(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let points = columns(points);
    let mut keep = vec![false; points.len()];
    let mut open = Vec::new();
    if let [_, .., _] = points[..] {
        keep[0] = true;
        keep[points.len() - 1] = true;
        open.push((0, points.len() - 1));
    } else {
        keep.fill(true);
    }
    // Douglas and Peucker: the farthest point from a chord stays, if it is too far, and divides it.
    while let Some((first, last)) = open.pop() {
        let (mut worst, mut place) = (TOLERANCE, None);
        for k in first + 1..last {
            let off = distance(points[k], points[first], points[last]);
            if off > worst {
                (worst, place) = (off, Some(k));
            }
        }
        if let Some(k) = place {
            keep[k] = true;
            open.extend([(first, k), (k, last)]);
        }
    }
    points.into_iter().zip(keep).filter(|(_, keep)| *keep).map(|(point, _)| point).collect()
}

/// First, lowest, highest and last point of each column, in their order.
fn columns(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept = Vec::new();
    let column = |k: usize| (points[k].0 / COLUMN).floor();
    let mut first = 0;
    while first < points.len() {
        let last = first
            + points[first..].iter().take_while(|p| (p.0 / COLUMN).floor() == column(first)).count()
            - 1;
        let (mut low, mut high) = (first, first);
        for k in first..=last {
            if points[k].1 < points[low].1 {
                low = k;
            }
            if points[k].1 > points[high].1 {
                high = k;
            }
        }
        let mut list = [first, low, high, last];
        list.sort_unstable();
        let mut before = None;
        for k in list {
            if before != Some(k) {
                kept.push(points[k]);
            }
            before = Some(k);
        }
        first = last + 1;
    }
    kept
}

/// How far `p` is from the line between `a` and `b`.
fn distance(p: (f64, f64), a: (f64, f64), b: (f64, f64)) -> f64 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = dx.hypot(dy);
    if length == 0.0 {
        return (p.0 - a.0).hypot(p.1 - a.1);
    }
    ((p.0 - a.0) * dy - (p.1 - a.1) * dx).abs() / length
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A straight line needs its ends; a spike between them stays; a dense oscillation keeps its range.
    #[test]
    fn what_can_be_seen_stays() {
        let line: Vec<(f64, f64)> = (0..1000).map(|k| (f64::from(k) * 0.5, f64::from(k))).collect();
        assert_eq!(simplify(&line), [line[0], line[999]]);
        let mut spike = line.clone();
        spike[500].1 = 900.0;
        assert!(simplify(&spike).contains(&spike[500]));
        let dense: Vec<(f64, f64)> =
            (0..100_000).map(|k| (f64::from(k) * 5e-3, (f64::from(k)).sin())).collect();
        let thin = simplify(&dense);
        assert!(thin.len() <= 4100, "{}", thin.len());
        let far = |p: &(f64, f64)| thin.iter().map(|q| (p.0 - q.0).hypot(p.1 - q.1)).fold(9e9, f64::min);
        assert!(dense.iter().all(|p| far(p) < 2.5));
        assert_eq!(simplify(&[]), []);
        assert_eq!(simplify(&[(1.0, 2.0)]), [(1.0, 2.0)]);
    }
}
