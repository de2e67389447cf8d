//! How alike two orders are.

/// Spearman's rank correlation: 1 for the same order, −1 for the opposite one. Equal values share
/// the mean of their ranks. `None` if fewer than two pairs are given, or all values of one side are
/// equal.
pub fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    let (left, right): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (left, right) = (ranks(&left), ranks(&right));
    let mean = (pairs.len() as f64 + 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    let spread = (product(&left, &left) * product(&right, &right)).sqrt();
    (spread > 0.0).then(|| product(&left, &right) / spread)
}

/// The rank of each value, from 1 on.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    while first < order.len() {
        let same = order[first..].iter().take_while(|&&at| values[at] == values[order[first]]);
        let end = first + same.count().max(1);
        let rank = (first + 1 + end) as f64 / 2.0;
        order[first..end].iter().for_each(|&at| ranks[at] = rank);
        first = end;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert_eq!(ranks(&[]), [0.0; 0]);
    }

    /// The example of the English Wikipedia's page: IQ and hours of television, ρ = −29/165.
    #[test]
    fn the_correlation_is_the_text_books() {
        let pairs = [
            (106.0, 7.0),
            (100.0, 27.0),
            (86.0, 2.0),
            (101.0, 50.0),
            (99.0, 28.0),
            (103.0, 29.0),
            (97.0, 20.0),
            (113.0, 12.0),
            (112.0, 6.0),
            (110.0, 17.0),
        ];
        let correlation = spearman(&pairs).unwrap();
        assert!((correlation + 29.0 / 165.0).abs() < 1e-12, "{correlation}");
        assert_eq!(spearman(&[(1.0, 5.0), (2.0, 5.0)]), None);
        assert_eq!(spearman(&[]), None);
    }
}
