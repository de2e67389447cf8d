//! Every generator's texts, in every word and usual number, at the least sizes.

use std::collections::BTreeMap;

use gpucast_collection::{
    Allowed, Axis, Choice, Generator, MatchCondition, Request, Target, cuda, generators, ptx,
};

/// The kernels of a generator at the least sizes.
fn small(generator: &Generator) -> Vec<Choice> {
    let mut tags = vec![generator.name.to_owned()];
    tags.extend(
        generator.axes.iter().filter_map(|axis| Some(format!("{}:{}", axis.name, least(axis)?))),
    );
    Request::parse(&tags, MatchCondition::default()).unwrap().choices().unwrap()
}

/// The least size of an axis; strides are no sizes.
fn least(axis: &Axis) -> Option<u64> {
    match axis.allowed {
        Allowed::Size { least, multiple_of, .. } if !axis.name.starts_with("lid_stride") => {
            Some(least.next_multiple_of(multiple_of))
        }
        _ => None,
    }
}

/// Nothing is left out but what cannot be: the reasons are few, and each generator makes something.
#[test]
fn every_text_resolves_for_every_generation() {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for generator in generators::all() {
        let mut made = 0;
        for choice in small(generator) {
            for sm in [20, 35, 52, 61, 70, 75, 80, 90, 100, 121] {
                let target = Target::new(sm);
                match choice.texts(target, "module.ptx") {
                    Ok(texts) => {
                        if let Err(errors) = gpucast_ptx_frontend::load(&texts.ptx) {
                            panic!("{} for {target}: {}", choice.tags(), errors[0].message);
                        }
                        made += 1;
                    }
                    Err(unfit) => {
                        *reasons
                            .entry(unfit.reason.replace(&target.to_string(), "sm_N"))
                            .or_default() += 1;
                    }
                }
            }
        }
        assert!(made > 0, "{} makes nothing", generator.name);
    }
    insta::assert_debug_snapshot!("left-out", reasons);
}

#[test]
fn usual_variants_fit_or_say_why_not() {
    for generator in generators::all() {
        let request = Request::parse(&[generator.name], MatchCondition::default()).unwrap();
        let choices = request.choices().unwrap();
        let fitting =
            choices.iter().filter(|choice| choice.kernel(Target::new(90)).is_ok()).count();
        assert!(fitting * 3 >= choices.len(), "{}: {fitting} of {}", generator.name, choices.len());
    }
}

/// The pattern of the paper: 32 variables, in 64 copies, and none is assigned from one of the last
/// four assignments.
#[test]
fn no_assignment_depends_on_the_last_four() {
    for (name, mnemonic) in [
        ("flops_add_pattern", "add.rn.f32"),
        ("flops_mul_pattern", "mul.rn.f32"),
        ("flops_madd_pattern", "fma.rn.f32"),
    ] {
        let tags = [name, "dtype:float32", "nelements:32768", "m:64"];
        let request = Request::parse(&tags, MatchCondition::default()).unwrap();
        let [choice] = &request.choices().unwrap()[..] else { panic!("{name}") };
        let text = ptx::module(&choice.kernel(Target::new(80)).unwrap(), Target::new(80));
        let body = text.split_once("$LOOP_1:").unwrap().1.split_once("bra").unwrap().0;
        let updates: Vec<Vec<&str>> = body
            .lines()
            .filter_map(|line| line.trim().strip_prefix(mnemonic))
            .map(|operands| operands.trim_matches([' ', ';']).split(", ").collect())
            .collect();
        assert_eq!(updates.len(), 32 * 64, "{name}");
        for (position, update) in updates.iter().enumerate() {
            for earlier in &updates[position.saturating_sub(4)..position] {
                assert!(!update[1..].contains(&earlier[0]), "{name}: {earlier:?}, {update:?}");
            }
        }
    }
}

/// Both languages of one kernel, for readers of the change.
#[test]
fn a_kernel_in_both_languages() {
    for (name, tags) in [
        ("matmul", &["matmul_sq", "dtype:float32", "prefetch:True", "groups_fit:True", "n:64"][..]),
        ("cachebench", &["cachebench", "dtype:float64", "caching:l2", "footprint:16384"]),
        (
            "atomic",
            &["atomic_pattern", "operation:max", "dtype:int32", "space:shared", "address:warp"],
        ),
    ] {
        let request = Request::parse(tags, MatchCondition::default()).unwrap();
        let [choice] = &request.choices().unwrap()[..] else { panic!("{name}") };
        let target = Target::new(80);
        let kernel = choice.kernel(target).unwrap();
        insta::assert_snapshot!(format!("{name}-ptx"), ptx::module(&kernel, target));
        insta::assert_snapshot!(format!("{name}-cuda"), cuda::source(&kernel));
    }
}
