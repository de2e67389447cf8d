//! Four kernels of strangers: the first advice leads to the line that is at fault.

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
    for (name, rule, text) in STORIES {
        let all = advice(&folder("stories").join(format!("{name}.toml")));
        let [advice] = all.as_slice() else { panic!("{name} has one launch") };
        println!("{name}: {advice:#?}");
        let first = advice.items.first().unwrap();
        assert_eq!(first.rule, rule, "{name}");
        let line = first.places.iter().find_map(|place| place.text.as_ref());
        assert!(line.is_some_and(|line| line.contains(text)), "{name}: {:?}", first.places);
    }
}
