//! `gpucast run`: expectations, JSON, and a reader that goes away.

use std::process::Stdio;

use crate::gpucast::{command, gpucast, json, stdout};

#[test]
fn an_expectation_that_fails_lists_the_first_mismatches() {
    let outcome = gpucast("run wrong-expectation.toml");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (1, ""));
    insta::assert_snapshot!("failed-expectation", outcome.stdout);
    let outcome = gpucast("run wrong-expectation.toml --format json");
    assert_eq!(outcome.status, 1);
    insta::assert_snapshot!("failed-expectation-as-json", outcome.stdout);
}

#[test]
fn a_run_says_what_it_checked() {
    insta::assert_snapshot!("run-sgemm", stdout("run sgemm --size small"));
    let result = json("run sgemm --size small --format json");
    assert_eq!(result["schema"], "gpucast.run/1");
    assert_eq!(result["expectations"][0]["mismatches"], 0);
    assert!(result["launches"][0].get("timing").is_none());
}

#[test]
fn timing_adds_seconds_and_a_rate() {
    let result = json("run sgemm --size small --format json --execution-time");
    let timing = &result["launches"][0]["timing"];
    assert!(timing["execute_s"].as_f64().unwrap() > 0.0);
    assert!(timing["thread_instructions_per_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = command("gpus list --format json")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn what_kernels_print_goes_to_the_standard_error_or_to_a_file() {
    let outcome = gpucast("run talk.ptx --kernel talk --grid 1 --block 3");
    insta::assert_snapshot!("printf-of-a-kernel", outcome.transcript());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("printed");
    let outcome = gpucast(&format!(
        "run talk.ptx --kernel talk --grid 1 --block 3 --print-to {}",
        path.display()
    ));
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    let printed = std::fs::read_to_string(path).unwrap();
    assert_eq!(printed, "thread 0 of 3 here\nthread 1 of 3 here\nthread 2 of 3 here\n");
}

#[test]
fn a_failed_assertion_shows_what_was_printed_before() {
    let outcome = gpucast("run talk.ptx --kernel talk --grid 1 --block 4");
    insta::assert_snapshot!("failed-assertion-of-a-kernel", outcome.transcript());
}

#[test]
fn clusters_are_launched_as_the_command_line_says() {
    let kernel = "run ../../interpreter/tests/kernels/cluster_sm_90.ptx --kernel ring --block 64 \
                  --arg buf:s32[512]=iota --arg buf:s32[512] --arg u32:3";
    let launched = stdout(&format!("{kernel} --grid 8 --cluster 4"));
    assert_eq!(launched, "ran ring: 8 x 1 x 1 blocks of 64 x 1 x 1 threads\n");
    let outcome = gpucast(&format!("{kernel} --grid 6 --cluster 4"));
    insta::assert_snapshot!("partial-cluster", outcome.transcript());
}

/// A tensor map stands in a launch file as the driver's functions take it.
#[test]
fn tensor_maps_are_arguments() {
    let check = "--check memory,race,init,sync";
    insta::assert_snapshot!("tensor-map", stdout(&format!("run tensor-map.toml {check}")));
    let text = std::fs::read_to_string("tests/inputs/tensor-map.toml").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy("tests/inputs/tensor-map.ptx", folder.path().join("tensor-map.ptx")).unwrap();
    let file = folder.path().join("changed.toml");
    let mut refused = Vec::new();
    for (from, to) in [
        ("global_strides = [16]", "global_strides = [24]"),
        ("global_strides = [16]", "global_strides = [16, 16]"),
        ("global_dim = [8, 4]", "global_dim = [8, 5]"),
        ("global_dim = [8, 4]", "global_dim = [6, 4]"),
        ("box_dim = [4, 2], swizzle", "box_dim = [3, 2], swizzle"),
        ("box_dim = [4, 2], swizzle", "box_dim = [16, 2], swizzle"),
        ("buffer = \"a\"", "buffer = \"c\""),
        ("swizzle = \"32B\"", "swizzle = \"96B\""),
        ("swizzle = \"32B\"", "interleave = \"16B\""),
        ("type = \"f32\", ", ""),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        std::fs::write(&file, changed).unwrap();
        let outcome = gpucast(&format!("run {}", file.display()));
        assert_eq!((outcome.status, outcome.stdout.as_str()), (1, ""), "{to}");
        let said = outcome.stderr.replace(&file.display().to_string(), "changed.toml");
        refused.push(format!("{to}\n{said}"));
    }
    insta::assert_snapshot!("broken-tensor-maps", refused.join("\n"));
}

/// Images are copied along their width by a map of `im2col_wide`: the last two pixels of the first
/// image's row, the first one of the next image's, and a halo of two.
#[test]
fn images_are_copied_along_their_width() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = std::fs::read_to_string("tests/inputs/tensor-map.ptx").unwrap();
    let mut along_width = ptx.clone();
    for (from, to) in [
        ("sm_90", "sm_100"),
        ("version 8.0", "version 8.6"),
        (".align 128 .b8 box[64]", ".align 512 .b8 box[320]"),
        ("[bar], 32;", "[bar], 320;"),
        ("tensor.2d.shared::cluster.global.tile", "tensor.3d.shared::cta.global.im2col::w"),
        ("{%column, %row}], [%bar];", "{%zero, %column, %zero}], [%bar], {2, 0};"),
    ] {
        assert!(along_width.contains(from), "{from}");
        along_width = along_width.replace(from, to);
    }
    std::fs::write(folder.path().join("width.ptx"), along_width).unwrap();
    let values: Vec<String> = (32..112).map(|value| value.to_string()).collect();
    let text = format!(
        r#"module = "width.ptx"

[buffers.a]
type = "f32"
len = 128 # two images of one row of four pixels of 16 channels
init = "iota"

[buffers.b]
type = "f32"
len = 80
init = "zero"

[[launch]]
kernel = "copy_box"
grid = [1, 1, 1]
block = [1, 1, 1]
args = [
    {{ tensor_map = {{ buffer = "a", type = "f32", global_dim = [16, 4, 2], swizzle = "64B", im2col_wide = {{ pixel_box_lower_corner_width = 0, pixel_box_upper_corner_width = 0, channels_per_pixel = 16, pixels_per_column = 3 }} }} }},
    {{ tensor_map = {{ buffer = "b", type = "f32", global_dim = [16, 5], box_dim = [16, 5], swizzle = "64B" }} }},
]

[[expect]]
buffer = "b"
values = [{}]
"#,
        values.join(", ")
    );
    let file = folder.path().join("width.toml");
    std::fs::write(&file, &text).unwrap();
    let ran = stdout(&format!("run {} --check memory,race,init,sync", file.display()));
    assert!(ran.contains("ok b: 80 elements agree") && ran.contains("nothing found"), "{ran}");
    // Counts find the same copies, whether by slices or by executing everything.
    let counts = |how: &str| {
        let command = "--gpu h100-sxm --format csv --counting";
        stdout(&format!("profile {} {command} {how}", file.display()))
            .lines()
            .filter(|line| line.contains("dram_") || line.contains("shared_"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert!(counts("full").contains("dram_read"), "{}", counts("full"));
    assert_eq!(counts("auto"), counts("full"));
    for (from, to, expected) in [
        (", pixels_per_column = 3", "", "pixels_per_column is missing; mode \"w128\" has 128"),
        ("corner_width = 0, ch", "corner_width = -4, ch", "the extent of a bounding box of pixels"),
        ("pixels_per_column = 3", "pixels_per_column = 3, mode = \"h\"", "known are w, w128"),
        ("swizzle = \"64B\", im2col", "im2col", "the swizzle mode of a tensor map for im2col::w"),
        ("im2col_wide", "box_dim = [1], im2col_wide", "columns of images have no box_dim"),
        (
            "im2col_wide",
            "im2col = { pixel_box_lower_corner = [0], pixel_box_upper_corner = [0], \
             channels_per_pixel = 16, pixels_per_column = 3 }, im2col_wide",
            "a tensor map has either im2col or im2col_wide",
        ),
        (
            "pixels_per_column = 3",
            "mode = \"w128\"",
            "the mode of the tensor map is 3, but must be 2 to be copied by im2col::w",
        ),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        std::fs::write(&file, changed).unwrap();
        let outcome = gpucast(&format!("run {}", file.display()));
        assert_eq!(outcome.status, 1, "{to}");
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    }
}

/// Kernels that take `const CUtensorMap *`, or structures with several maps in memory, find them in
/// a buffer of the launch file, beside pointers.
#[test]
fn tensor_maps_and_pointers_stand_in_buffers() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = std::fs::read_to_string("tests/inputs/tensor-map.ptx").unwrap();
    let mut by_pointer = ptx.clone();
    for (from, to) in [
        (".param .align 64 .b8 from[128], .param .align 64 .b8 to[128]", ".param .u64 table"),
        // The first word of the table leads to the maps.
        ("mov.b64 %from, from; cvta.param.u64 %from, %from;", "ld.param.u64 %from, [table];"),
        (
            "mov.b64 %to, to; cvta.param.u64 %to, %to;",
            "ld.global.u64 %from, [%from]; add.u64 %to, %from, 128;",
        ),
    ] {
        assert!(by_pointer.contains(from), "{from}");
        by_pointer = by_pointer.replace(from, to);
    }
    std::fs::write(folder.path().join("tensor-map.ptx"), by_pointer).unwrap();
    let text = std::fs::read_to_string("tests/inputs/tensor-map.toml").unwrap();
    let (before, rest) = text.split_once("args = [\n").unwrap();
    let (maps, after) = rest.split_once("\n]\n").unwrap();
    let buffers = format!(
        "[buffers.maps]\ntype = \"u8\"\nlen = 256\ninit = {{ struct = [\n{maps}\n] }}\n\n\
         [buffers.table]\ntype = \"u64\"\nlen = 2\n\
         init = {{ struct = [\"maps\", {{ u32 = 7 }}] }}\n\n"
    );
    let launch = before.replace("[[launch]]", &format!("{buffers}[[launch]]"));
    let whole = format!("{launch}args = [\"table\"]\n{after}");
    let file = folder.path().join("maps.toml");
    std::fs::write(&file, &whole).unwrap();
    let file = file.display().to_string();
    let ran = stdout(&format!("run {file} --check memory,race,init,sync"));
    assert!(ran.contains("ok b: 8 elements agree") && ran.contains("nothing found"), "{ran}");
    // Counts find the same copies, whether by slices or by executing everything.
    let loads = |how: &str| {
        let command = format!("profile {file} --gpu h100-sxm --counting {how} --format csv");
        stdout(&command)
            .lines()
            .filter(|line| line.contains("dram_"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(loads("auto"), loads("full"));
    for (from, to, expected) in [
        ("len = 256", "len = 200", "the members take 256 bytes, and the buffer has 200"),
        ("buffer = \"a\"", "buffer = \"c\"", "there is no buffer `c`"),
        ("[\"maps\", {", "[\"mops\", {", "there is no buffer `mops`"),
        ("[buffers.table]", "[symbols.table]", "a variable is filled before"),
        ("struct = [\"maps\", { u32 = 7 }]", "struct = []", "a structure has at least one member"),
    ] {
        let changed = whole.replacen(from, to, 1);
        assert_ne!(changed, whole, "{from}");
        std::fs::write(&file, changed).unwrap();
        let outcome = gpucast(&format!("run {file}"));
        assert_eq!((outcome.status, outcome.stdout.as_str()), (1, ""), "{to}");
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    }
}

/// The warps of a block that write and read shared memory with no barrier between give other
/// results here than on a GPU. Whoever runs or counts such a kernel hears of it without asking.
#[test]
fn hazards_between_warps_are_noted_without_a_check() {
    // The second use of `s` is not kept from the first read by a barrier.
    let text = |barrier: &str| {
        format!(
            ".version 7.0\n.target sm_70\n.address_size 64\n\
             .visible .entry bcast(.param .u64 out) {{\n\
             .shared .align 4 .b32 s[32]; .reg .b32 %r<9>; .reg .b64 %d<3>; .reg .pred %p;\n\
             ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4;\n\
             add.s64 %d1, %d1, %d2; ld.global.u32 %r7, [%d1];\n\
             shr.u32 %r2, %r1, 5; shl.b32 %r2, %r2, 2; mov.u32 %r3, s; add.u32 %r3, %r3, %r2;\n\
             and.b32 %r4, %r1, 31; setp.eq.u32 %p, %r4, 0;\n\
             @%p st.shared.u32 [%r3], %r7; bar.sync 0;\n\
             ld.shared.u32 %r5, [s]; {barrier}\n\
             @%p st.shared.u32 [%r3], 5; bar.sync 0;\n\
             st.global.u32 [%d1], %r5; ret;\n}}\n"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bcast.ptx");
    let launch = format!("{} --grid 3 --block 64 --arg buf:u32[64]=iota", file.display());
    let of_gpu = "--gpu a100 --counting";
    for (barrier, is_noted) in [("", true), ("bar.sync 0;", false)] {
        std::fs::write(&file, text(barrier)).unwrap();
        for command in [
            format!("run {launch}"),
            format!("profile {launch} {of_gpu} auto"),
            format!("profile {launch} {of_gpu} full"),
            format!("predict {launch} --gpu a100,h100-sxm"),
        ] {
            let said = gpucast(&command).stderr;
            let expected = "[shared-hazard] bcast: no barrier orders a write and a read of s at \
                            line 12 of the PTX and line 11 of the PTX";
            let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(said.matches(expected).count(), usize::from(is_noted), "{command}: {said}");
        }
        let checked = gpucast(&format!("run {launch} --check race"));
        assert!(!checked.stderr.contains("shared-hazard"), "{}", checked.stderr);
        assert_eq!(checked.status == 0, !is_noted);
    }
}

/// A box that is overwritten before its copy's group was waited for shows with `--async late`.
#[test]
fn copies_of_boxes_end_late_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = std::fs::read_to_string("tests/inputs/tensor-map.ptx").unwrap();
    let commit = "cp.async.bulk.commit_group;";
    let early = ptx.replace(commit, &format!("{commit} st.shared.u32 [box], %zero;"));
    assert_ne!(early, ptx);
    std::fs::copy("tests/inputs/tensor-map.toml", folder.path().join("map.toml")).unwrap();
    let run = |text: &str, timing: &str| {
        std::fs::write(folder.path().join("tensor-map.ptx"), text).unwrap();
        gpucast(&format!("run {}/map.toml --async {timing}", folder.path().display())).status
    };
    assert_eq!((run(&ptx, "late"), run(&early, "early"), run(&early, "late")), (0, 0, 1));
}

/// Launch files describe textures and surfaces. A fault of a description names its place and a key.
#[test]
fn textures_are_bound_by_handle_and_by_name() {
    insta::assert_snapshot!("texture", stdout("run texture.toml"));
    insta::assert_snapshot!("texture-profile", stdout("profile texture.toml --gpu a100"));
    let text = std::fs::read_to_string("tests/inputs/texture.toml").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy("tests/inputs/texture.ptx", folder.path().join("texture.ptx")).unwrap();
    let file = folder.path().join("changed.toml");
    let mut refused = Vec::new();
    for (from, to) in [
        ("height = 2", "height = 3"),
        ("height = 2", "height = 0"),
        ("height = 2", "height = 2\npitch = 10"),
        ("height = 2", "height = 2\nlinear = true"),
        ("type = \"f32\"\nwidth", "type = \"u32\"\nwidth"),
        ("type = \"f32\"\nwidth", "type = \"u24\"\nwidth"),
        ("width = 4\n", ""),
        ("normalized_coordinates = true\n", ""),
        ("buffer = \"texels\"", "buffer = \"texel\""),
        ("texture = \"canvas\"", "texture = \"canvass\""),
        ("texture = \"canvas\"", "texture = \"picture\""),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        std::fs::write(&file, changed).unwrap();
        let outcome = gpucast(&format!("run {}", file.display()));
        assert_eq!(outcome.status, 1, "{to}");
        let said = outcome.stderr.replace(&file.display().to_string(), "changed.toml");
        refused.push(format!("{to}\n{said}"));
    }
    insta::assert_snapshot!("broken-textures", refused.join("\n"));
}

/// What one kernel gets wrong does not hide the next.
#[test]
fn several_kernels_run_one_after_the_other() {
    let outcome = gpucast("run wrong-expectation.toml saxpy.toml");
    assert_eq!(outcome.status, 1);
    let (wrong, right) = (gpucast("run wrong-expectation.toml"), gpucast("run saxpy.toml"));
    assert_eq!(outcome.stdout, format!("{}\n{}", wrong.stdout, right.stdout));
    let both = gpucast("run wrong-expectation.toml saxpy.toml --format json");
    let both: serde_json::Value = serde_json::from_str(&both.stdout).unwrap();
    assert_eq!(both["kernels"][1]["document"]["schema"], "gpucast.run/1");
}

#[test]
fn a_dump_of_several_kernels_is_refused() {
    let outcome = gpucast("run saxpy.toml histogram --dump y=y.npy");
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("is about one kernel"), "{}", outcome.stderr);
}
