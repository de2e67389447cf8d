//! `gpucast explain`: words of the documentation.

use crate::gpucast::{gpucast, json, stdout};

/// One word of each kind: a code, a metric by both names, a rule, a finding, a field, a term.
#[test]
fn words_of_every_kind_are_explained() {
    let mut transcript = String::new();
    for word in ["estimated-registers", "gld_efficiency", "missing-lanes", "sm_count", "warp"] {
        transcript +=
            &format!("$ gpucast explain {word}\n{}\n", stdout(&format!("explain {word}")));
    }
    insta::assert_snapshot!(transcript);
}

#[test]
fn every_code_of_an_answer_is_explained() {
    let answers = json("predict sgemm --size small --gpu a100 --machine rules --format json");
    let predictions = answers["predictions"].as_array().unwrap();
    let codes = predictions.iter().flat_map(|one| one["warning_codes"].as_array().unwrap());
    let advice = json("advise sgemm --size small --gpu a100 --machine rules --format json");
    let rules = advice["advice"][0]["items"].as_array().unwrap().iter().map(|item| &item["rule"]);
    let words: Vec<&str> = codes.chain(rules).map(|word| word.as_str().unwrap()).collect();
    assert!(!words.is_empty());
    for word in words {
        let explained = json(&format!("explain {word} --format json"));
        assert_ne!(explained["meanings"].as_array().unwrap().len(), 0, "{word}");
    }
}

#[test]
fn a_word_that_nobody_explains_has_neighbours() {
    let outcome = gpucast("explain gld_eficiency");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (1, ""));
    assert!(outcome.stderr.contains("`gld_efficiency`"), "{}", outcome.stderr);
}

#[test]
fn pages_are_printed_as_they_are() {
    assert_eq!(stdout("explain --page codes"), include_str!("../../docs/codes.md"));
}
