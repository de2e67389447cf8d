use super::formula;

/// Derivatives that were made by hand.
#[test]
fn derivatives_are_those_of_the_textbook() {
    for (text, expected) in [
        ("p_x", "1.0"),
        ("3", "0.0"),
        ("f_thread_groups", "0.0"),
        ("p_x * f_thread_groups", "f_thread_groups"),
        ("p_x + p_y * 2", "1.0"),
        ("7 - p_x", "-1.0"),
        ("p_x ** 2", "2.0 * (p_x ** (2.0 - 1.0))"),
        ("p_y / p_x", "-p_y / p_x / p_x"),
        ("exp(p_x * 2)", "2.0 * exp(p_x * 2.0)"),
        ("tanh(p_x)", "1.0 - (tanh(p_x) ** 2.0)"),
        ("log(p_x)", "1 / p_x"),
        ("sqrt(p_x)", "1 / (2.0 * sqrt(p_x))"),
    ] {
        let of = formula(text);
        let x = of.parameters().iter().position(|name| name == "p_x").unwrap_or(9);
        assert_eq!(of.written(&of.root.derivative(x)), expected, "{text}");
    }
}

/// Against central differences, with features and parameters of ordinary size.
#[test]
fn derivatives_are_those_of_differences() {
    let features = [3.0, 0.7, 2.5, 1.3];
    for text in [
        "p_a * f_thread_groups + p_b * f_work_items * f_sub_groups - p_c",
        "(p_a + p_b * f_thread_groups) / (p_c + p_d * f_work_items)",
        "p_a ** p_b * f_thread_groups ** p_c",
        "(p_a * f_thread_groups) ** 3 / p_b ** 2",
        "tanh(p_a * (p_b * f_thread_groups - p_c * f_work_items)) * exp(-p_d * f_sub_groups)",
        "sqrt(p_a ** 2 + p_b ** 2) * log(1 + p_c * f_thread_groups)",
        "overlap(p_a * f_thread_groups + p_b * f_work_items, p_c * f_sub_groups, p_d)",
        "p_d * f_sync_barrier_local + overlap(p_a * f_thread_groups, p_b * f_work_items, p_c)",
        "-(-p_a) / (2 / p_b) - step(p_c - p_d, p_a)",
        "p_a / p_b / p_c * p_d",
    ] {
        let formula = formula(text);
        let count = formula.parameters().len();
        let at: Vec<f64> = (0..count).map(|place| 0.6 + 0.3 * place as f64).collect();
        for (parameter, derivative) in formula.gradient().iter().enumerate() {
            let exact = derivative.evaluate(&at, &features);
            let h = 1e-5;
            let moved = |by: f64| {
                let mut moved = at.clone();
                moved[parameter] += by;
                formula.evaluate(&moved, &features)
            };
            let difference = (moved(h) - moved(-h)) / (2.0 * h);
            let size = exact.abs().max(1.0);
            assert!(
                (exact - difference).abs() < 1e-8 * size,
                "{text} by {}: {exact} {difference}",
                formula.parameters()[parameter]
            );
        }
    }
}
