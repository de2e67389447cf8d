use super::*;
use crate::collection::NameBase;

/// The numbers of ten launches of two kernels, one after the other, that are profiled.
fn taken(settings: ProfilerSettings) -> Vec<usize> {
    let mut profiler = Profiler::new(settings).unwrap();
    let symbols = ["_ZN2ns4gemmIfEEvPf", "scale"];
    (0..10)
        .filter(|launch| matches!(profiler.look_at(symbols[launch % 2], None), Look::Counted))
        .collect()
}

#[test]
fn launches_are_chosen_by_name_and_by_number() {
    let all = ProfilerSettings::default();
    assert_eq!(taken(all.clone()), (0..10).collect::<Vec<_>>());
    let kernel = |text: &str| ProfilerSettings { kernel: Some(text.to_owned()), ..all.clone() };
    assert_eq!(taken(kernel("gemm")), [0, 2, 4, 6, 8]);
    assert_eq!(taken(kernel("regex:^sc")), [1, 3, 5, 7, 9]);
    assert_eq!(taken(kernel("gem")), [0; 0], "a name is a whole name");
    let demangled = ProfilerSettings { base: NameBase::Demangled, ..kernel("regex:ns::.*float") };
    assert_eq!(taken(demangled), [0, 2, 4, 6, 8]);
    // Skipping counts chosen kernels; skipping before a match counts all.
    let some = ProfilerSettings { skip: 1, most: Some(2), ..kernel("scale") };
    assert_eq!(taken(some), [3, 5]);
    let later = ProfilerSettings { skip_before_match: 5, most: Some(1), ..kernel("scale") };
    assert_eq!(taken(later), [5]);
}

#[test]
fn launches_are_chosen_by_their_invocation() {
    let ids = |texts: &[&str]| ProfilerSettings {
        kernel_ids: texts.iter().map(ToString::to_string).collect(),
        ..ProfilerSettings::default()
    };
    assert_eq!(taken(ids(&["::gemm:2"])), [2]);
    assert_eq!(taken(ids(&["1::regex:.:1", ":7:scale:4|5"])), [0, 1, 7, 9]);
    assert_eq!(taken(ids(&["2::gemm:"])), [0; 0]);
    assert!(KernelId::parse("gemm").is_err());
    assert!(Pattern::parse("regex:(").is_err());
}

#[test]
fn profiling_waits_for_the_program() {
    let settings = ProfilerSettings { waits_for_start: true, ..ProfilerSettings::default() };
    let mut profiler = Profiler::new(settings).unwrap();
    assert!(matches!(profiler.look_at("k", None), Look::Passed));
    profiler.set_on(true);
    assert!(matches!(profiler.look_at("k", None), Look::Counted));
    profiler.set_on(false);
    assert!(matches!(profiler.look_at("k", None), Look::Passed));
}

#[test]
fn names_of_functions_have_neither_namespaces_nor_arguments() {
    let names = KernelNames::of("_ZN2ns4gemmIfEEvPf");
    assert_eq!((names.function.as_str(), names.mangled.as_str()), ("gemm", "_ZN2ns4gemmIfEEvPf"));
    assert_eq!(names.demangled, "void ns::gemm<float>(float*)");
    // A template of a template in an anonymous namespace.
    let names = KernelNames::of("_ZN12_GLOBAL__N_11gIN1a1dIiEEEEvv");
    assert_eq!(names.based(NameBase::Function), "g");
    assert_eq!(KernelNames::of("plain").based(NameBase::Demangled), "plain");
}
