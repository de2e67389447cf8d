//! Kernels of strangers: the first advice leads to the line that is at fault, or there is none.

use std::fmt::Write as _;

use crate::{advice, folder};

/// The rule that must be first, and a part of the line that it must name, behind its file's name.
const STORIES: [(&str, &str, &str); 4] = [
    ("convolution", "uncoalesced-access", "image["),
    // The conflicts are in a header of CUDA; the call is the user's.
    ("product", "bank-conflicts", "product.cu: wmma::load_matrix_sync(x"),
    ("reduction", "divergence", "log1pf"),
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
        let line = first.places.first().map_or(String::new(), |place| {
            format!("{}: {}", place.file, place.text.as_deref().unwrap_or_default())
        });
        if first.rule != rule || !line.contains(text) {
            writeln!(wrong, "{name}: {} at {:?}", first.rule, first.places).unwrap();
        }
    }
    assert_eq!(wrong, "");
}

/// Threads side by side store words side by side, and some store nothing.
#[test]
fn words_of_lanes_that_take_no_part_are_no_gaps_to_close() {
    for advice in advice(&folder("stories").join("paths.toml")) {
        let rules: Vec<&str> = advice.items.iter().map(|item| item.rule).collect();
        assert!(!rules.contains(&"uncoalesced-access"), "{rules:?}");
    }
}
