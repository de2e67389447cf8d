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

/// The half-width of an interval of this confidence, from 0 to 1, in standard errors, for a whole
/// number of degrees of freedom; `None` for a confidence or a number that has none (Abramowitz and
/// Stegun, 26.7.3 and 26.7.4: finite sums in the angle whose tangent is t/√n).
#[must_use]
pub fn two_sided(confidence: f64, freedom: u64) -> Option<f64> {
    if !(0.0..1.0).contains(&confidence) || freedom == 0 {
        return None;
    }
    // The probability grows with the angle.
    let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
    for _ in 0..MOST_HALVINGS {
        let angle = f64::midpoint(low, high);
        if angle <= low || angle >= high {
            break;
        }
        if within(angle, freedom) < confidence { low = angle } else { high = angle }
    }
    Some(low.tan() * (freedom as f64).sqrt())
}

/// Halvings after which an interval between neighbouring numbers is left.
const MOST_HALVINGS: usize = 1100;

/// The probability of a |t| whose angle is smaller.
fn within(angle: f64, freedom: u64) -> f64 {
    let (sine, cosine) = angle.sin_cos();
    let is_odd = freedom % 2 == 1;
    let (mut sum, mut power) = (0.0, if is_odd { cosine } else { 1.0 });
    let mut at = if is_odd { 3 } else { 2 };
    while at <= freedom && power > f64::EPSILON * sum {
        sum += power;
        power *= cosine * cosine * (at - 1) as f64 / at as f64;
        at += 2;
    }
    if is_odd { std::f64::consts::FRAC_2_PI * (angle + sine * sum) } else { sine * sum }
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

    /// The same tables, at 80, 95, 99 and 99.8 %; one degree of freedom is Cauchy's distribution,
    /// and two have a closed form.
    #[test]
    fn sums_give_the_quantiles_of_the_tables() {
        for (freedom, expected) in [
            (3, [1.638, 3.182, 5.841, 10.215]),
            (4, [1.533, 2.776, 4.604, 7.173]),
            (9, [1.383, 2.262, 3.250, 4.297]),
            (30, [1.310, 2.042, 2.750, 3.385]),
            (100, [1.290, 1.984, 2.626, 3.174]),
            (1_000_000, [1.282, 1.960, 2.576, 3.090]),
        ] {
            for (confidence, expected) in [0.8, 0.95, 0.99, 0.998].into_iter().zip(expected) {
                let found = two_sided(confidence, freedom).unwrap();
                assert!((found - expected).abs() < 6e-4, "{freedom} {confidence}: {found}");
            }
        }
        for confidence in [0.0, 0.1, 0.5, 0.95, 0.999_999] {
            let cauchy = (std::f64::consts::FRAC_PI_2 * confidence).tan();
            let of_two = confidence * (2.0 / (1.0 - confidence * confidence)).sqrt();
            for (freedom, expected) in [(1, cauchy), (2, of_two)] {
                let found = two_sided(confidence, freedom).unwrap();
                assert!((found - expected).abs() <= 1e-9 * expected, "{confidence}: {found}");
            }
        }
        assert_eq!((two_sided(1.0, 3), two_sided(-0.1, 3), two_sided(0.95, 0)), (None, None, None));
    }
}
