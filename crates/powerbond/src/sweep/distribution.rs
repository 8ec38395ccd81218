//! Distributions of parameters, by what makes them of a number that is uniform in (0, 1): the quantile.

/// Where values of a parameter come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// As likely everywhere from `min` to `max`.
    Uniform { min: f64, max: f64 },
    /// Its logarithm is uniform.
    LogUniform { min: f64, max: f64 },
    /// Of Gauss.
    Normal { mean: f64, std: f64 },
    /// The logarithm of which has this mean and standard deviation.
    LogNormal { mean: f64, std: f64 },
    /// Most likely at `mode`, from `min` to `max`.
    Triangular { min: f64, mode: f64, max: f64 },
    /// Of times between events at a constant rate; `mean` is one over it.
    Exponential { mean: f64 },
    /// Of times to failure.
    Weibull { shape: f64, scale: f64 },
}

impl Distribution {
    /// The value below which a share `u` lies, 0 < u < 1.
    pub fn quantile(&self, u: f64) -> f64 {
        match *self {
            Distribution::Uniform { min, max } => min + (max - min) * u,
            Distribution::LogUniform { min, max } => (min.ln() + (max.ln() - min.ln()) * u).exp(),
            Distribution::Normal { mean, std } => mean + std * standard_normal(u),
            Distribution::LogNormal { mean, std } => (mean + std * standard_normal(u)).exp(),
            Distribution::Triangular { min, mode, max } => {
                let (left, right, all) = (mode - min, max - mode, max - min);
                if u * all < left {
                    min + (u * all * left).sqrt()
                } else {
                    max - ((1.0 - u) * all * right).sqrt()
                }
            }
            Distribution::Exponential { mean } => -mean * (-u).ln_1p(),
            Distribution::Weibull { shape, scale } => scale * (-(-u).ln_1p()).powf(1.0 / shape),
        }
    }

    /// Whether values lie between numbers that somebody chose.
    pub fn has_bounds(&self) -> bool {
        matches!(
            self,
            Distribution::Uniform { .. } | Distribution::LogUniform { .. } | Distribution::Triangular { .. }
        )
    }

    /// In words.
    pub fn words(&self) -> String {
        match self {
            Distribution::Uniform { min, max } => format!("uniform from {min} to {max}"),
            Distribution::LogUniform { min, max } => format!("log-uniform from {min} to {max}"),
            Distribution::Normal { mean, std } => format!("normal, mean {mean}, std {std}"),
            Distribution::LogNormal { mean, std } => {
                format!("lognormal, mean {mean}, std {std} of the logarithm")
            }
            Distribution::Triangular { min, mode, max } => {
                format!("triangular from {min} to {max}, mode {mode}")
            }
            Distribution::Exponential { mean } => format!("exponential, mean {mean}"),
            Distribution::Weibull { shape, scale } => format!("weibull, shape {shape}, scale {scale}"),
        }
    }
}

/// The quantile of the normal distribution of mean 0 and standard deviation 1, to 16 digits: M. J. Wichura, "Algorithm AS 241", Applied
/// Statistics 37 (1988) 477.
#[allow(clippy::excessive_precision)]
fn standard_normal(u: f64) -> f64 {
    let polynomial = |c: &[f64], x: f64| c.iter().rev().fold(0.0, |sum, c| sum * x + c);
    let q = u - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180625 - q * q;
        return q * polynomial(&CENTRAL[0], r) / polynomial(&CENTRAL[1], r);
    }
    let r = (-(if q < 0.0 { u } else { 1.0 - u }).ln()).sqrt();
    let x = match r <= 5.0 {
        true => polynomial(&MIDDLE[0], r - 1.6) / polynomial(&MIDDLE[1], r - 1.6),
        false => polynomial(&FAR[0], r - 5.0) / polynomial(&FAR[1], r - 5.0),
    };
    x.copysign(q)
}

/// Φ(x), which `standard_normal` inverts.
#[cfg(test)]
fn normal_share(x: f64) -> f64 {
    // Simpson's rule, fine enough for 12 digits.
    let n = 20_000;
    let h = x / f64::from(n);
    let f = |k: i32| (-0.5 * (h * f64::from(k)).powi(2)).exp();
    let sum: f64 = (0..n).step_by(2).map(|k| f(k) + 4.0 * f(k + 1) + f(k + 2)).sum();
    0.5 + sum * h / 3.0 / (2.0 * std::f64::consts::PI).sqrt()
}

#[rustfmt::skip]
#[allow(clippy::excessive_precision)]
const CENTRAL: [[f64; 8]; 2] = [
    [3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
     4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3],
    [1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3,
     2.1213794301586595867e+4, 3.9307895800092710610e+4, 2.8729085735721942674e+4, 5.2264952788528545610e+3],
];
#[rustfmt::skip]
#[allow(clippy::excessive_precision)]
const MIDDLE: [[f64; 8]; 2] = [
    [1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
     1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4],
    [1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9],
];
#[rustfmt::skip]
#[allow(clippy::excessive_precision)]
const FAR: [[f64; 8]; 2] = [
    [6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7],
    [1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_invert_the_distribution() {
        // Φ by Simpson's rule.
        for x in [-7.5, -5.5, -3.0, -1.5, -0.4, 0.0, 0.2, 1.0, 2.5, 4.0] {
            let back = standard_normal(normal_share(x));
            assert!((back - x).abs() < 1e-9 * (1.0 + (0.5 * x * x).exp() * 1e-5), "{x}: {back}");
        }
        // From `statistics.NormalDist().inv_cdf` of Python, which is exact to the last digits.
        for (u, expected) in
            [(0.975, 1.9599639845400536), (1e-10, -6.361340902404056), (0.3, -0.5244005127080407)]
        {
            let x = standard_normal(u);
            assert!((x - expected).abs() < 1e-14, "{u}: {x}");
        }
    }

    /// Medians and quartiles from the formulas of the distribution functions.
    #[test]
    fn medians_are_those_of_the_formulas() {
        for (distribution, u, expected) in [
            (Distribution::Uniform { min: 2.0, max: 6.0 }, 0.25, 3.0),
            (Distribution::LogUniform { min: 1.0, max: 100.0 }, 0.5, 10.0),
            (Distribution::Normal { mean: 3.0, std: 2.0 }, 0.5, 3.0),
            (Distribution::LogNormal { mean: 1.0, std: 0.3 }, 0.5, 1f64.exp()),
            // F(x) = (x − min)² / (range (mode − min)) left of the mode.
            (Distribution::Triangular { min: 0.0, mode: 2.0, max: 4.0 }, 0.125, 1.0),
            (Distribution::Triangular { min: 0.0, mode: 2.0, max: 4.0 }, 0.875, 3.0),
            (Distribution::Triangular { min: 0.0, mode: 0.0, max: 1.0 }, 0.75, 0.5),
            (Distribution::Exponential { mean: 2.0 }, 0.5, 2.0 * 2f64.ln()),
            (Distribution::Weibull { shape: 2.0, scale: 3.0 }, 0.5, 3.0 * 2f64.ln().sqrt()),
        ] {
            let x = distribution.quantile(u);
            assert!((x - expected).abs() < 1e-12, "{distribution:?} at {u}: {x}, expected {expected}");
        }
    }
}
