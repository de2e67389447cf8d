//! Tests of kernels that pass, and what is said of those that do not.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

use std::panic::catch_unwind;

use gpucast_test::{Argument, Buffers, Failed, KernelTest, MachineChoice, bf16, f16, kernel_test};
use gpucast_toolchain::Stop;
use gpucast_toolchain::compiler::Installed;

/// Cargo runs these tests in the folder of the package.
const SAXPY: &str = "../../tests/inputs/saxpy.ptx";
const FAULTS: &str = "../../tests/inputs/planted-faults.ptx";

const N: usize = 1000;

/// What the kernel of [`SAXPY`] does.
fn saxpy(buffers: &mut Buffers) {
    let (x, y) = (buffers.get::<f32>("arg2"), buffers.get::<f32>("arg3"));
    let sum: Vec<f32> = x.iter().zip(y).map(|(x, y)| 2.0 * x + y).collect();
    buffers.set("arg3", &sum);
}

/// 2 x + y in four blocks.
fn launched() -> KernelTest<'static> {
    KernelTest::new(SAXPY)
        .grid(4)
        .block(256)
        .argument(1000_u32)
        .argument(2.0_f32)
        .argument(Argument::f32_buffer(N).uniform(-1.0, 1.0, 7))
        .argument(Argument::f32_buffer(N).iota())
        .machine(MachineChoice::Rules)
}

fn failed(test: KernelTest<'_>) -> String {
    test.outcome().map_err(|failed: Failed| failed.to_string()).unwrap_err()
}

#[kernel_test(
    SAXPY,
    name = "saxpy",
    grid = [4, 1],
    block = 256,
    argument = 1000_u32,
    argument = 2.0_f32,
    argument = Argument::f32_buffer(N).uniform(-1.0, 1.0, 7),
    argument = Argument::f32_buffer(N).iota(),
    checks = "memory, race",
    rtol = 1e-6,
    atol = 1e-6,
    gpu = "h100-sxm, gtx-660",
    machine = MachineChoice::Rules,
    limit = "flop_count_sp_fma <= 1000",
    limit = "flop_count_sp_fma >= 1000",
    limit = "time <= 1ms",
)]
fn every_word_is_understood(buffers: &mut Buffers) {
    saxpy(buffers);
}

/// Vectors are buffers, and a slice may be what is expected.
#[kernel_test(
    SAXPY,
    grid = 1,
    block = 32,
    argument = 3_u32,
    argument = 2.0_f32,
    argument = vec![1.0_f32, 2.0, 3.0],
    argument = vec![0.5_f32; 3]
)]
fn elements_are_given_one_by_one(buffers: &mut Buffers) {
    buffers.set("arg3", &[2.5_f32, 4.5, 6.5]);
}

/// Nothing is said of results here.
#[kernel_test(SAXPY, options = |launch| *launch = half_a_block(), checks = "all")]
fn a_launch_comes_as_one() {
    assert_eq!(half_a_block().block, Some([128, 1, 1]));
}

fn half_a_block() -> gpucast_test::LaunchOptions {
    gpucast_test::LaunchOptions::new("saxpy", [1, 1, 1], [128, 1, 1])
        .argument(128_u32)
        .argument(2.0_f32)
        .argument(Argument::f32_buffer(128).zeros())
        .argument(Argument::f32_buffer(128).zeros())
}

#[kernel_test(SAXPY, grid = 4, block = 256, argument = 1_u32)]
#[should_panic(expected = "../../tests/inputs/saxpy.ptx does not pass\nerror: ")]
fn a_wrong_launch_fails() {}

#[kernel_test("../../tests/inputs/saxpy-n.toml", machine = MachineChoice::Rules, limit = "time <= 1ms")]
fn a_launch_file_has_its_own_expectations() {}

#[test]
fn wrong_elements_are_shown_beside_those_that_were_expected() {
    let test = launched().expect(|buffers| {
        saxpy(buffers);
        let mut sum = buffers.get::<f32>("arg3");
        sum[7] += 1.0;
        sum[990..].iter_mut().for_each(|sum| *sum = -*sum);
        buffers.set("arg3", &sum);
    });
    insta::assert_snapshot!(failed(test));
}

/// A function that does nothing says that the kernel does nothing, too.
#[test]
fn buffers_that_a_function_leaves_alone_stay_as_they_are() {
    let text = failed(launched().expect(|_| {}));
    assert!(text.contains("FAILED arg3: "), "{text}");
    assert!(!text.contains("arg2"), "{text}");
}

/// What nobody fills may be anything, unless the function fills it.
#[test]
fn scratch_memory_is_not_compared() {
    let test = |expected: Option<u32>| {
        let test = KernelTest::new(FAULTS).name("past_the_end").grid(1).block(64);
        test.argument(Argument::u32_buffer(65)).expect(move |buffers| {
            if let Some(first) = expected {
                let elements: Vec<u32> = [first].into_iter().chain(0..64).collect();
                buffers.set("arg0", &elements);
            }
        })
    };
    test(None).run();
    test(Some(0)).run();
    assert!(failed(test(Some(9))).contains("arg0[0]: got 0, want 9"));
}

#[test]
fn findings_have_file_line_and_column() {
    let test = KernelTest::new(FAULTS).name("missing_barrier").grid(1).block(64);
    insta::assert_snapshot!(failed(test.argument(Argument::u32_buffer(64)).checks("race")));
}

#[test]
fn limits_are_held_to_on_each_gpu() {
    let test = launched().expect(saxpy).gpu("h100-sxm, gtx-660");
    let test = test
        .limit("global_load_sectors_per_request <= 3.9")
        .limit("inst_executed <= 608")
        .limit("time <= 1us");
    insta::assert_snapshot!(failed(test));
}

#[test]
fn a_limit_that_makes_no_sense_is_refused() {
    for (limit, said) in [
        ("time < 1ms", "`time < 1ms` is no limit\n  help: write it like 'time <= 120us'"),
        ("inst_execute <= 4", "did you mean `inst_executed`"),
    ] {
        let text = failed(launched().limit(limit));
        assert!(text.contains(said), "{text}");
    }
    let text = failed(launched().gpu("h1000"));
    assert!(text.contains("there is no GPU named `h1000`"), "{text}");
    let text = failed(launched().checks("races"));
    assert!(text.contains("there is no check `races`"), "{text}");
}

#[test]
fn buffers_are_named_and_typed() {
    let misuse = |function: fn(&mut Buffers)| {
        let caught = catch_unwind(|| launched().expect(function).outcome());
        caught.unwrap_err().downcast_ref::<String>().unwrap().clone()
    };
    let unknown = misuse(|buffers| buffers.set::<f32>("y", &[]));
    assert_eq!(unknown, "there is no buffer y; there are arg2, arg3");
    let typed = misuse(|buffers| drop(buffers.get::<u32>("arg3")));
    assert_eq!(typed, "buffer arg3 is of f32, and not of u32");
    let long = misuse(|buffers| buffers.set("arg3", &[1.0_f32; 3]));
    assert_eq!(long, "buffer arg3 has 1000 elements, and 3 are given");
}

/// Each type is that of the launch file's name, and its elements are what was put there.
#[test]
fn elements_of_all_types_are_read_and_written() {
    let mut types = 0;
    macro_rules! element {
        ($($rust:ty => $name:literal;)*) => {$({
            let buffer = Argument::notation(concat!("buf:", $name, "[4]=iota"));
            let test = KernelTest::new(FAULTS).name("past_the_end").grid(1).block(1);
            let _ = test.argument(buffer).expect(|buffers| {
                let one = |value: u8| <$rust>::from(value);
                assert_eq!(buffers.get::<$rust>("arg0"), [0, 1, 2, 3].map(one));
                buffers.set("arg0", &[one(3); 4]);
                assert_eq!(buffers.get::<$rust>("arg0"), [one(3); 4]);
                types += 1;
            }).outcome();
        })*};
    }
    element! {
        u8 => "u8"; u16 => "u16"; u32 => "u32"; u64 => "u64"; i16 => "s16"; i32 => "s32";
        i64 => "s64"; f16 => "f16"; bf16 => "bf16"; f32 => "f32"; f64 => "f64";
    }
    assert_eq!(types, 11);
}

#[test]
fn a_kernel_that_stops_early_says_where_and_what_it_printed() {
    let text = failed(KernelTest::new("../../tests/inputs/talk.ptx").grid(1).block(4));
    insta::assert_snapshot!(text);
}

/// CUDA is compiled as by the program.
#[test]
fn cuda_is_compiled_where_there_is_a_compiler() {
    let compilers = Installed::new(None, Stop::never());
    if compilers.present().is_empty() {
        eprintln!("skipped: there is no CUDA compiler");
        return;
    }
    let test = KernelTest::new("../../examples/testing/sums.cu").grid(2).block(256);
    let test =
        test.argument(Argument::f32_buffer(512).constant(1)).argument(Argument::f32_buffer(2));
    test.argument(512_i32).expect(|buffers| buffers.set("arg1", &[256.0_f32; 2])).run();
}
