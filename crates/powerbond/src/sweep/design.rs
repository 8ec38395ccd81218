//! Which points a sweep visits: a grid, a list, or samples that fill the ranges of all parameters.

use super::domain::Domain;
use super::random::Stream;
use super::sobol;
use super::value::Value;

/// How points are chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Design {
    /// Every combination; the last parameter changes first.
    Grid,
    /// The first values of all parameters, then the second ones, …; a single value stays.
    List {
        /// How many.
        runs: u64,
    },
    /// One value from each of as many equally likely parts as there are runs, in random order.
    LatinHypercube {
        /// The part of each run, parameter by parameter.
        orders: Vec<Vec<usize>>,
        seed: u64,
    },
    /// A sequence of low discrepancy, shifted at random (as bits) unless that was not wanted.
    Sobol { runs: u64, seed: Option<u64> },
    /// Independent random values.
    MonteCarlo { runs: u64, seed: u64 },
}

impl Design {
    /// For parameters with these names.
    pub(super) fn latin_hypercube<'a>(runs: u64, seed: u64, names: impl Iterator<Item = &'a str>) -> Self {
        let orders =
            names.map(|name| Stream::new(seed, &format!("order of {name}")).permutation(runs as usize));
        Design::LatinHypercube { orders: orders.collect(), seed }
    }

    /// How many points there are; none if a number does not hold it.
    pub(super) fn points(&self, parameters: &[(&str, &Domain)]) -> Option<u64> {
        match self {
            Design::Grid => {
                let counts =
                    parameters.iter().map(|(_, domain)| domain.values().map_or(0, <[Value]>::len) as u64);
                counts.into_iter().try_fold(1u64, |product, n| product.checked_mul(n))
            }
            Design::List { runs } | Design::Sobol { runs, .. } | Design::MonteCarlo { runs, .. } => {
                Some(*runs)
            }
            Design::LatinHypercube { orders, .. } => Some(orders.first().map_or(0, Vec::len) as u64),
        }
    }

    /// The values of all parameters at a point.
    pub(super) fn point(&self, index: u64, parameters: &[(&str, &Domain)]) -> Vec<Value> {
        let all = || parameters.iter().enumerate();
        match self {
            Design::Grid => {
                let mut rest = index;
                let mut values: Vec<Value> = parameters
                    .iter()
                    .rev()
                    .map(|(_, domain)| {
                        let list = domain.values().unwrap_or_default();
                        let n = (list.len() as u64).max(1);
                        let place = rest % n;
                        rest /= n;
                        list[place as usize].clone()
                    })
                    .collect();
                values.reverse();
                values
            }
            Design::List { .. } => {
                let value = |domain: &Domain| {
                    let list = domain.values().unwrap_or_default();
                    list[(index as usize).min(list.len() - 1)].clone()
                };
                parameters.iter().map(|(_, domain)| value(domain)).collect()
            }
            Design::LatinHypercube { orders, seed } => all()
                .map(|(p, (name, domain))| {
                    let order = &orders[p];
                    let inside = Stream::new(*seed, name).uniform(index);
                    domain.quantile((order[index as usize] as f64 + inside) / order.len() as f64)
                })
                .collect(),
            Design::Sobol { seed, .. } => all()
                .map(|(p, (name, domain))| {
                    let u = match seed {
                        // The middle of one of 2³² equal parts: none of them is 0.
                        Some(seed) => {
                            let shift = Stream::new(*seed, name).bits(0) >> 32;
                            (u64::from(sobol::coordinate(p, index)) ^ shift) as f64 + 0.5
                        }
                        // The sequence as it is. Its first point has all zeros, and is left out.
                        None => f64::from(sobol::coordinate(p, index + 1)),
                    };
                    domain.quantile(u / sobol::MAX_POINTS as f64)
                })
                .collect(),
            Design::MonteCarlo { seed, .. } => all()
                .map(|(_, (name, domain))| domain.quantile(Stream::new(*seed, name).uniform(index)))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::distribution::Distribution;

    fn numbers(list: &[f64]) -> Domain {
        Domain::Values(list.iter().map(|x| Value::Number(*x)).collect())
    }

    fn all(design: &Design, domains: &[Domain]) -> Vec<Vec<f64>> {
        let names = ["a", "b", "c"];
        let parameters: Vec<(&str, &Domain)> = names.into_iter().zip(domains).collect();
        let points = design.points(&parameters).unwrap();
        (0..points)
            .map(|k| design.point(k, &parameters).iter().map(|v| v.number().unwrap()).collect())
            .collect()
    }

    #[test]
    fn a_grid_has_every_combination_and_a_list_goes_along() {
        let domains = [numbers(&[1.0, 2.0]), numbers(&[5.0]), numbers(&[7.0, 8.0, 9.0])];
        let grid = all(&Design::Grid, &domains);
        assert_eq!(grid.len(), 6);
        assert_eq!(grid[1], [1.0, 5.0, 8.0]);
        assert_eq!(grid[5], [2.0, 5.0, 9.0]);
        let list = all(&Design::List { runs: 2 }, &domains[..2]);
        assert_eq!(list, [[1.0, 5.0], [2.0, 5.0]]);
    }

    /// By definition, one value of a Latin hypercube is in each of n equal parts.
    #[test]
    fn a_latin_hypercube_has_one_value_in_every_part() {
        let unit = Domain::Distribution(Distribution::Uniform { min: 0.0, max: 1.0 });
        let design = Design::latin_hypercube(50, 3, ["a", "b"].into_iter());
        let points = all(&design, &[unit.clone(), unit]);
        for p in 0..2 {
            let mut parts: Vec<usize> = points.iter().map(|point| (50.0 * point[p]) as usize).collect();
            parts.sort_unstable();
            assert!(parts.into_iter().eq(0..50));
        }
        assert!(points.iter().any(|point| (point[0] - point[1]).abs() > 0.3));
    }

    /// From `scipy.stats.qmc.Sobol(d=3, scramble=False).random(8)`, without its first point: dyadic fractions, bit by bit.
    #[test]
    fn the_plain_sequence_is_that_of_other_tools() {
        let unit = Domain::Distribution(Distribution::Uniform { min: 0.0, max: 1.0 });
        let points = all(&Design::Sobol { runs: 7, seed: None }, &[unit.clone(), unit.clone(), unit]);
        #[rustfmt::skip]
        let expected = [
            [0.5, 0.5, 0.5], [0.75, 0.25, 0.25], [0.25, 0.75, 0.75], [0.375, 0.375, 0.625],
            [0.875, 0.875, 0.125], [0.625, 0.125, 0.875], [0.125, 0.625, 0.375],
        ];
        assert_eq!(points, expected);
    }

    /// The mean of n points of Monte Carlo is off by about 0.29/√n, that of a low-discrepancy sequence by about 1/n.
    #[test]
    fn samples_fill_the_range_and_more_runs_keep_the_first_ones() {
        let unit = Domain::Distribution(Distribution::Uniform { min: 0.0, max: 1.0 });
        let domains = [unit.clone(), unit.clone(), unit];
        let n = 1024;
        for (design, more, bound) in [
            (
                Design::MonteCarlo { runs: n, seed: 5 },
                Design::MonteCarlo { runs: 2 * n, seed: 5 },
                4.0 * 0.29 / (n as f64).sqrt(),
            ),
            (
                Design::Sobol { runs: n, seed: Some(1) },
                Design::Sobol { runs: 2 * n, seed: Some(1) },
                2.0 / n as f64,
            ),
        ] {
            let points = all(&design, &domains);
            for p in 0..3 {
                let mean = points.iter().map(|point| point[p]).sum::<f64>() / n as f64;
                assert!((mean - 0.5).abs() < bound, "{design:?}: {mean}");
            }
            assert_eq!(all(&more, &domains)[..n as usize], points);
        }
    }
}
