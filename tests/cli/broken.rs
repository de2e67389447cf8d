//! Broken inputs: each ends with status 1 and says what is wrong, where, and what to do.

use crate::gpucast::gpucast;

#[track_caller]
fn check(name: &str, arguments: &str) {
    let outcome = gpucast(arguments);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (1, ""), "{}", outcome.transcript());
    insta::assert_snapshot!(name, format!("$ gpucast {arguments}\n{}", outcome.stderr));
}

/// Runs a module with the launch of `saxpy.toml`.
fn saxpy(module: &str) -> String {
    format!("run {module} {SHAPE} {} {VECTORS}", "--arg u32:1000 --arg f32:0.5")
}

const SHAPE: &str = "--kernel saxpy --grid 4 --block 256";
const VECTORS: &str = "--arg buf:f32[1000] --arg buf:f32[1000]";

#[test]
fn an_empty_file() {
    check("empty-file", &saxpy("broken/empty.ptx"));
}

#[test]
fn a_truncated_file() {
    check("truncated-file", &saxpy("broken/truncated.ptx"));
}

#[test]
fn binary_noise() {
    check("binary-noise", &saxpy("broken/noise.ptx"));
    check("control-characters", &saxpy("broken/control-characters.ptx"));
}

#[test]
fn an_unknown_instruction() {
    check("unknown-instruction", &saxpy("broken/unknown-instruction.ptx"));
}

#[test]
fn a_wrong_type() {
    check("wrong-type", &saxpy("broken/wrong-type.ptx"));
}

#[test]
fn an_undefined_register() {
    check("undefined-register", &saxpy("broken/undefined-register.ptx"));
}

#[test]
fn several_errors_are_all_reported() {
    check("several-errors", &saxpy("broken/several.ptx"));
}

#[test]
fn a_missing_kernel() {
    check("missing-kernel", "run saxpy.ptx --kernel saxpi --grid 4 --block 256");
    check("missing-kernel-in-a-launch-file", "run broken/missing-kernel.toml");
}

#[test]
fn a_wrong_number_of_arguments() {
    check("argument-count", &format!("run saxpy.ptx {SHAPE} --arg u32:1000"));
}

#[test]
fn an_argument_of_the_wrong_type() {
    check(
        "argument-type",
        &format!("run saxpy.ptx {SHAPE} --arg u32:1000 --arg f64:0.5 {VECTORS}"),
    );
    check(
        "scalar-for-an-address",
        &format!("run saxpy.ptx {SHAPE} --arg u32:1000 --arg f32:0.5 --arg f32:1 --arg f32:1"),
    );
}

#[test]
fn a_buffer_that_is_too_small() {
    check(
        "buffer-too-small",
        &format!(
            "run saxpy.ptx {SHAPE} --arg u32:1000 --arg f32:0.5 --arg buf:f32[999] \
             --arg buf:f32[1000]"
        ),
    );
}

#[test]
fn a_misaligned_access() {
    check("misaligned-access", &saxpy("broken/misaligned.ptx"));
}

#[test]
fn an_endless_loop() {
    let arguments = "--arg u32:5000 --arg f32:0.5";
    check(
        "endless-loop",
        &format!("run broken/endless.ptx {SHAPE} {arguments} {VECTORS} --budget 100000"),
    );
}

#[test]
fn a_cluster_that_cannot_be() {
    let launch = format!("--arg u32:1000 --arg f32:0.5 {VECTORS}");
    check("cluster-of-no-grid", &format!("run saxpy.ptx {SHAPE} --cluster 3 {launch}"));
    check("cluster-too-large", &format!("run saxpy.ptx {SHAPE} --cluster 4,5 {launch}"));
}

#[test]
fn cuda_instead_of_ptx() {
    check("cuda-source", &saxpy("broken/source.cu"));
}

#[test]
fn counts_that_are_no_counts() {
    check("counts-of-another-program", "predict --from-metrics broken/other-table.csv --gpu h100");
    check("counts-of-nothing", "predict --from-metrics broken/empty.ptx --gpu h100");
}

#[test]
fn a_folder_for_a_dump_that_is_not_there() {
    let run = saxpy("broken/endless.ptx");
    // Refused before the kernel, which does not end, is executed.
    check("dump-into-no-folder", &format!("{run} --dump arg2=no/folder/x.npy"));
}

#[test]
fn a_launch_beyond_the_limits() {
    check(
        "block-too-large",
        &format!(
            "run saxpy.ptx --kernel saxpy --grid 4 --block 64,32 --arg u32:1000 --arg f32:0.5 \
             {VECTORS}"
        ),
    );
}

#[test]
fn a_missing_gpu() {
    check("missing-gpu", "predict sgemm --size small --gpu gtx-480,gtx-66");
    check("gpu-that-resembles-none", "predict sgemm --size small --gpu abacus");
    check("gpu-that-cannot-be-counted-on", "profile saxpy.toml --gpu r9-nano");
    check("broken-gpu-file", "predict sgemm --size small --gpu broken/gpu.toml");
}

#[test]
fn a_missing_corpus_kernel_or_file() {
    check("missing-corpus-kernel", "predict sgem --gpu gtx-660");
    check("missing-corpus-target", "run sgemm --size small --arch sm_90");
    check("missing-module", "run no-such-file.ptx --kernel k --grid 1 --block 1");
    check("missing-module-of-a-launch-file", "run broken/missing-module.toml");
    check("missing-buffer-file", "run broken/missing-buffer-file.toml");
}

#[test]
fn a_container_instead_of_text() {
    check("elf-file", "run broken/cubin.elf --kernel k --grid 1 --block 1");
}

#[test]
fn a_broken_metrics_file() {
    check("broken-metrics-file", "predict --from-metrics broken/metrics.toml --gpu gtx-660");
    check("missing-metric", "predict --from-metrics broken/too-few-metrics.toml --gpu gtx-660");
}

#[test]
fn a_reference_gpu_without_a_time() {
    check("no-published-time", "predict vector-add --size small --gpu gtx-660 --reference gtx-480");
}

#[test]
fn an_unwritable_output() {
    check("unwritable-output", "gpus list -o no-such-folder/gpus.txt");
    check("unwritable-dump", "run saxpy.toml --dump y=no-such-folder/y.npy");
}

#[test]
fn the_check_command_lists_every_error_of_every_file() {
    let outcome = gpucast("check saxpy.ptx broken/several.ptx broken/undefined-register.ptx");
    assert_eq!(outcome.status, 1);
    insta::assert_snapshot!("check-several", outcome.transcript());
    let outcome = gpucast("check saxpy.ptx broken/several.ptx broken/noise.ptx --format json");
    assert_eq!(outcome.status, 1);
    insta::assert_snapshot!("check-several-as-json", outcome.transcript());
}
