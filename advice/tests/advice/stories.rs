//! Four kernels of strangers: the first advice leads to the line that is at fault.

use std::fmt::Write as _;

use crate::{advice, folder};

/// The rule that must be first, and a part of the line that it must name.
const STORIES: [(&str, &str, &str); 4] = [
    ("convolution", "uncoalesced-access", "image["),
    ("product", "bank-conflicts", "load_matrix_sync"),
    ("reduction", "divergence", "part[i]"),
    ("softmax", "bank-conflicts", "rows[lane]"),
];

#[test]
fn strangers_are_led_to_the_line() {
    let mut wrong = String::new();
    for (name, rule, text) in STORIES {
        let all = advice(&folder("stories").join(format!("{name}.toml")));
        let [advice] = all.as_slice() else { panic!("{name} has one launch") };
        for item in &advice.items {
            println!("{name}: {} {:?} {:?}", item.rule, item.speed_up, item.places);
        }
        let Some(first) = advice.items.first() else {
            writeln!(wrong, "{name}: no advice").unwrap();
            continue;
        };
        let line = first.places.iter().find_map(|place| place.text.as_ref());
        if first.rule != rule || !line.is_some_and(|line| line.contains(text)) {
            writeln!(wrong, "{name}: {} at {:?}", first.rule, first.places).unwrap();
        }
    }
    assert_eq!(wrong, "");
}
