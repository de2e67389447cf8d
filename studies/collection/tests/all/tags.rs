//! Tags choose what Stevens and Klöckner 2020 say that they choose.

use std::collections::BTreeSet;

use gpucast_collection::{Choice, MatchCondition, Request, Target, Value};

fn choices(tags: &[&str]) -> Vec<Choice> {
    Request::parse(tags, MatchCondition::default()).unwrap().choices().unwrap()
}

fn generators(tags: &[&str], condition: MatchCondition) -> Vec<&'static str> {
    let found = Request::parse(tags, condition).unwrap().generators().unwrap();
    found.into_iter().map(|generator| generator.name).collect()
}

fn numbers(choices: &[Choice], axis: &str) -> Vec<u64> {
    choices.iter().map(|choice| choice.variant.number(axis).unwrap()).collect()
}

/// Section 2.2, step 2: "four measurement kernels will be generated".
#[test]
fn the_matrix_products_of_section_2_2_are_four() {
    let found = choices(&[
        "matmul_sq",
        "dtype:float32",
        "prefetch:True",
        "lsize_0:16",
        "lsize_1:16",
        "groups_fit:True",
        "n:2048,2560,3072,3584",
    ]);
    assert!(found.iter().all(|choice| choice.generator.name == "matmul_sq"));
    assert_eq!(numbers(&found, "n"), [2048, 2560, 3072, 3584]);
    let names: BTreeSet<String> = found.iter().map(Choice::file_name).collect();
    assert_eq!(names.len(), found.len(), "{names:?}");
    for (choice, n) in found.iter().zip([2048, 2560, 3072, 3584]) {
        let kernel = choice.kernel(Target::new(80)).unwrap();
        assert_eq!((kernel.grid, kernel.block), ([n / 16, n / 16, 1], [16, 16, 1]));
    }
}

/// The end of section 2.2: four numbers of elements by four of iterations.
#[test]
fn the_multiply_adds_of_section_2_2_are_the_product_of_their_values() {
    let found = choices(&[
        "flops_madd_pattern",
        "dtype:float32",
        "lsize_0:16",
        "lsize_1:16",
        "groups_fit:True",
        "lid_stride_0:1",
        "lid_stride_1:2048",
        "nelements:524288,786432,1048576,1310720",
        "m:1024,1152,1280,1408",
    ]);
    let pairs: BTreeSet<(u64, u64)> =
        numbers(&found, "nelements").into_iter().zip(numbers(&found, "m")).collect();
    assert_eq!((found.len(), pairs.len()), (16, 16));
    for choice in &found {
        let kernel = choice.kernel(Target::new(52)).unwrap();
        let threads: u64 =
            kernel.grid.iter().chain(&kernel.block).map(|&extent| u64::from(extent)).product();
        assert_eq!(threads, choice.variant.number("nelements").unwrap());
    }
}

/// Section 7.1: one generator has `matmul_sq`, none has `finite_diff` besides, and two have one of
/// both.
#[test]
fn conditions_choose_the_generators_of_section_7_1() {
    let both = ["matmul_sq", "finite_diff"];
    assert_eq!(generators(&["matmul_sq"], MatchCondition::Superset), ["matmul_sq"]);
    assert!(generators(&both, MatchCondition::Superset).is_empty());
    assert_eq!(generators(&both, MatchCondition::Intersection), both);
    // The generator's own tags, all of them and no other one.
    let own = ["matmul_sq", "matmul", "application"];
    assert_eq!(generators(&own, MatchCondition::Identical), ["matmul_sq"]);
    assert!(generators(&own[..2], MatchCondition::Identical).is_empty());
    let more = ["matmul_sq", "matmul", "application", "flops"];
    assert_eq!(generators(&more, MatchCondition::Subset), ["matmul_sq"]);
    assert!(generators(&own[..2], MatchCondition::Subset).is_empty());
}

/// Section 7.1: without tags, the argument `prefetch` is True and False, and `dtype` float32 and
/// float64.
#[test]
fn an_argument_without_a_tag_takes_all_its_values() {
    let found = choices(&["matmul_sq", "groups_fit:True", "n:512"]);
    let values: BTreeSet<(&str, &str)> = found
        .iter()
        .map(|variant| {
            (variant.variant.word("dtype").unwrap(), variant.variant.word("prefetch").unwrap())
        })
        .collect();
    let expected =
        [("float32", "False"), ("float32", "True"), ("float64", "False"), ("float64", "True")];
    assert_eq!(values, BTreeSet::from(expected));
    assert_eq!(found.len(), 4);
}

#[test]
fn a_tag_holds_for_the_generators_that_allow_it() {
    let tags = ["matmul_sq", "finite_diff", "lsize:18", "n:1792"];
    let request = Request::parse(&tags, MatchCondition::Intersection).unwrap();
    let found = request.choices().unwrap();
    let stencils: Vec<&Choice> =
        found.iter().filter(|variant| variant.generator.name == "finite_diff").collect();
    assert!(found.len() > stencils.len() && !stencils.is_empty());
    for stencil in stencils {
        assert!(stencil.variant.values.contains(&("lsize", Value::Number(18))));
    }
}

#[test]
fn tags_that_choose_nothing_are_answered_with_what_there_is() {
    for (tags, message, hint) in [
        (&["matmul_sk"][..], "no generator has the tag `matmul_sk`", "did you mean `matmul_sq`?"),
        (
            &["matmul_sq", "dtyp:float32"],
            "matmul_sq has no argument `dtyp`",
            "did you mean `dtype`?",
        ),
        (&["matmul_sq", "dtype:float33"], "does not allow the value `float33`", "float32, float64"),
        (&["matmul_sq", "n:7"], "does not allow the value `7`", "16 or more"),
        (&["flops_add_pattern", "m:100"], "the value `100`", "multiples of 64 from 64 on"),
        (&["matmul_sq", "finite_diff"], "no generator fits", "--match intersection"),
    ] {
        let request = Request::parse(tags, MatchCondition::default()).unwrap();
        let error = request.choices().unwrap_err();
        assert!(error.message.contains(message), "{tags:?}: {error}");
        assert!(error.hint.contains(hint), "{tags:?}: {}", error.hint);
    }
    for tag in [":16", "n:", "n:16,,32"] {
        assert!(Request::parse(&[tag], MatchCondition::default()).is_err(), "{tag}");
    }
}
