//! Quantiles of Student's distribution.

/// The 97.5 % quantile for any number of degrees of freedom from 1 on, to 0.5 % from 2 on
/// (Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.5; below 5, the logarithms of
/// the quantiles of whole numbers are joined by lines over the reciprocal).
pub(crate) fn student(freedom: f64) -> f64 {
    const EXACT: [f64; 5] = [12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582];
    let n = freedom.max(1.0);
    if n < 5.0 {
        let below = (n as usize).clamp(1, 4);
        let [from, to] = [EXACT[below - 1], EXACT[below]].map(f64::ln);
        let (first, last) = (1.0 / below as f64, 1.0 / (below + 1) as f64);
        return (from + (to - from) * (first - 1.0 / n) / (first - last)).exp();
    }
    let x = NORMAL;
    let first = (x.powi(3) + x) / 4.0;
    let second = (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / 96.0;
    let third = (3.0 * x.powi(7) + 19.0 * x.powi(5) + 17.0 * x.powi(3) - 15.0 * x) / 384.0;
    let fourth = (79.0 * x.powi(9) + 776.0 * x.powi(7) + 1482.0 * x.powi(5)
        - 1920.0 * x.powi(3)
        - 945.0 * x)
        / 92160.0;
    x + first / n + second / n.powi(2) + third / n.powi(3) + fourth / n.powi(4)
}

/// The 97.5 % quantile of the standard normal distribution.
const NORMAL: f64 = 1.959_964;

#[cfg(test)]
mod tests {
    use super::*;

    /// Of tables: NIST, "Engineering Statistics Handbook", 1.3.6.7.2. Those of fractions are the
    /// inverse of the incomplete beta function.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, expected) in [
            (1.0, 12.706),
            (2.0, 4.303),
            (2.25, 3.8755),
            (2.5, 3.5747_f64),
            (3.0, 3.182),
            (3.5, 2.9401),
            (4.5, 2.6589),
            (5.0, 2.571),
            (7.0, 2.365),
            (10.0, 2.228),
            (30.0, 2.042),
            (100.0, 1.984),
        ] {
            let quantile = student(freedom);
            assert!((quantile / expected - 1.0).abs() < 5e-3, "{freedom}: {quantile}");
        }
    }
}
