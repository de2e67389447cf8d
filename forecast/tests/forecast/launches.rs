//! What launch files and options can say of launches.

use gpucast_forecast::input::plan::LoadCaching;
use gpucast_forecast::{Alone, Argument, Failure, Kernel, LaunchOptions};
use gpucast_model::GpuLibrary;

use crate::common::{execute, floats, launch_file};

const HEAD: &str = ".version 7.8\n.target sm_80\n.address_size 64\n";

/// Writes `coefficients[i] + shift` to `out[i]`.
const SYMBOLS: &str = "
.const .align 4 .f32 coefficients[4];
.global .align 4 .u32 _ZN5model5shiftE = 7;
.visible .entry apply(.param .u64 out) {
    .reg .b64 %d<3>; .reg .f32 %f<2>; .reg .b32 %r<2>;
    ld.param.u64 %d0, [out];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %d1, %r0, 4;
    mov.u64 %d2, coefficients;
    add.s64 %d2, %d2, %d1;
    ld.const.f32 %f0, [%d2];
    ld.global.u32 %r1, [_ZN5model5shiftE];
    cvt.rn.f32.u32 %f1, %r1;
    add.f32 %f0, %f0, %f1;
    add.s64 %d0, %d0, %d1;
    st.global.f32 [%d0], %f0;
    ret;
}
.visible .entry _Z5thirdPf(.param .u64 out) { ret; }
";

const OUT: &str = "[buffers.out]\ntype = \"f32\"\nlen = 8\n";

fn launch(kernel: &str, argument: &str) -> String {
    format!(
        "[[launch]]\nkernel = \"{kernel}\"\ngrid = [1, 1, 1]\nblock = [4, 1, 1]\n\
         args = [\"{argument}\"]\n"
    )
}

fn symbols(text: &str) -> Result<Vec<f32>, Failure> {
    let text = format!("{OUT}{text}{}", launch("apply", "out"));
    let kernel = launch_file(&format!("{HEAD}{SYMBOLS}"), &text, &LaunchOptions::default())?;
    Ok(floats(&execute(&kernel, &Alone)?, "out")[..4].to_vec())
}

/// A launch that finds a warm L2 reads nothing from memory, whether its input has an `init` or not.
/// What it writes is written all the same.
#[test]
fn a_warm_l2_holds_buffers_with_and_without_first_contents() {
    let copy = "
.visible .entry copy(.param .u64 from, .param .u64 to) {
    .reg .b64 %d<4>; .reg .f32 %f<2>; .reg .b32 %r<2>;
    ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to];
    mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 4; add.s64 %d0, %d0, %d2; add.s64 %d1, %d1, %d2;
    ld.global.f32 %f0, [%d0]; st.global.f32 [%d1], %f0; ret; }";
    let gpu = GpuLibrary::builtin().unwrap().get("h100-sxm").unwrap();
    let traffic = |l2: &str, init: &str| {
        let text = format!(
            "l2 = \"{l2}\"\n[buffers.from]\ntype = \"f32\"\nlen = 128\n{init}\
             [buffers.to]\ntype = \"f32\"\nlen = 128\n[[launch]]\nkernel = \"copy\"\n\
             grid = [1, 1, 1]\nblock = [128, 1, 1]\nargs = [\"from\", \"to\"]\n"
        );
        let ptx = format!("{HEAD}{copy}");
        let kernel = launch_file(&ptx, &text, &LaunchOptions::default()).unwrap();
        let profile = kernel.count(&gpu).unwrap().remove(0).profile;
        ["dram_read_transactions", "dram_write_transactions"]
            .map(|name| profile.metrics[name].value.as_f64())
    };
    for init in ["", "init = \"zero\"\n", "init = { constant = 1.5 }\n"] {
        assert_eq!(traffic("keep", init), [16.0, 16.0], "{init}");
        assert_eq!(traffic("warm", init), [0.0, 16.0], "{init}");
    }
}

#[test]
fn variables_keep_their_initialisers_unless_a_symbol_fills_them() {
    assert_eq!(symbols("").unwrap(), [7.0; 4]);
    let values = "[symbols.coefficients]\ntype = \"f32\"\ninit = { values = [1, 2, 3, 4] }\n";
    assert_eq!(symbols(values).unwrap(), [8.0, 9.0, 10.0, 11.0]);
    // Fewer values leave the rest as it was, and C++ names need no mangling.
    let both = "[symbols.coefficients]\ntype = \"f32\"\ninit = { values = [1, 2] }\n\
                [symbols.\"model::shift\"]\ntype = \"u32\"\ninit = { constant = 20 }\n";
    assert_eq!(symbols(both).unwrap(), [21.0, 22.0, 20.0, 20.0]);
}

#[test]
fn a_symbol_that_is_no_variable_or_too_long_is_refused() {
    let message = |text: &str| symbols(text).unwrap_err().to_string();
    let unknown = message("[symbols.coeficients]\ntype = \"f32\"\ninit = \"zero\"\n");
    assert!(unknown.contains("did you mean `coefficients`?"), "{unknown}");
    let long = "[symbols.coefficients]\ntype = \"f32\"\nlen = 5\ninit = \"zero\"\n";
    assert!(message(long).contains("16 bytes"), "{}", message(long));
}

#[test]
fn a_pointer_goes_so_many_bytes_into_a_buffer() {
    let ptx = format!("{HEAD}{SYMBOLS}");
    let text = format!("{OUT}{}", launch("apply", "out+16"));
    let kernel = launch_file(&ptx, &text, &LaunchOptions::default()).unwrap();
    let out = floats(&execute(&kernel, &Alone).unwrap(), "out");
    assert_eq!(out, [0.0, 0.0, 0.0, 0.0, 7.0, 7.0, 7.0, 7.0]);

    let options = LaunchOptions {
        kernel: Some("apply".to_owned()),
        grid: Some([1; 3]),
        block: Some([4, 1, 1]),
        arg: vec![Argument::notation("ptr:arg1+8"), Argument::f32_buffer(6).into()],
        ..LaunchOptions::default()
    };
    // The second argument only makes the buffer, and the kernel takes one: the launch is refused.
    let kernel = Kernel::from_ptx("k.ptx", &ptx, &options).unwrap();
    let refused = execute(&kernel, &Alone).map(drop).unwrap_err().to_string();
    assert!(refused.contains("buffer arg1+8"), "{refused}");
}

#[test]
fn typed_arguments_plan_what_the_notation_plans() {
    let typed = LaunchOptions::new("apply", [1; 3], [4, 1, 1])
        .argument(-3_i32)
        .argument(1.5_f64)
        .argument(Argument::f32_buffer(6).uniform(-1.0, 1.0, 7))
        .argument(Argument::u32_buffer(4).constant(9))
        .argument(Argument::bytes([0x00, 0xff]));
    let notation = [
        "s32:-3",
        "f64:1.5",
        "buf:f32[6]=uniform(-1.0,1.0,7)",
        "buf:u32[4]=constant(9)",
        "bytes:0x00ff",
    ];
    let texts: Vec<String> = typed.arg.iter().map(Argument::to_string).collect();
    assert_eq!(texts, notation);
    let written = LaunchOptions { arg: notation.map(Argument::notation).to_vec(), ..typed.clone() };
    let ptx = format!("{HEAD}{SYMBOLS}");
    let plan = |options: &LaunchOptions| {
        Kernel::from_ptx("k.ptx", &ptx, options).map(|kernel| kernel.plan().clone())
    };
    assert_eq!(plan(&typed).unwrap(), plan(&written).unwrap());

    let wrong = typed.argument(Argument::u32_buffer(4).constant(-1));
    let refused = plan(&wrong).map(drop).unwrap_err().to_string();
    assert!(refused.contains("-1 is not a value of type u32"), "{refused}");
}

#[test]
fn launches_name_kernels_as_people_do_and_an_option_selects_among_them() {
    let ptx = format!("{HEAD}{SYMBOLS}");
    let text = format!("{OUT}{}{}", launch("apply", "out"), launch("third", "out"));
    let kernels = |options: &LaunchOptions| {
        let kernel = launch_file(&ptx, &text, options)?;
        let launches = kernel.plan().launches.iter();
        Ok::<_, Failure>(launches.map(|launch| launch.kernel.clone()).collect::<Vec<_>>())
    };
    assert_eq!(kernels(&LaunchOptions::default()).unwrap(), ["apply", "_Z5thirdPf"]);
    let only = |name: &str| LaunchOptions { kernel: Some(name.to_owned()), ..Default::default() };
    assert_eq!(kernels(&only("third(float*)")).unwrap(), ["_Z5thirdPf"]);
    let unknown = kernels(&only("fourth")).unwrap_err();
    assert!(unknown.to_string().contains("no launch is of a kernel `fourth`"), "{unknown}");
}

/// Loads the same word twice, in a row.
const TWICE: &str = "
.visible .entry twice(.param .u64 in, .param .u64 out) {
    .reg .b64 %d<2>; .reg .b32 %r<3>;
    ld.param.u64 %d0, [in];
    ld.param.u64 %d1, [out];
    ld.global.u32 %r0, [%d0];
    bar.sync 0;
    ld.global.u32 %r1, [%d0];
    add.u32 %r2, %r0, %r1;
    st.global.u32 [%d1], %r2;
    ret;
}
";

fn l2_reads(gpu: &str, load_caching: &str, dlcm: Option<LoadCaching>) -> f64 {
    let text = format!(
        "{load_caching}\n[buffers.in]\ntype = \"u32\"\nlen = 1\n[buffers.out]\ntype = \"u32\"\n\
         len = 1\n[[launch]]\nkernel = \"twice\"\ngrid = [1, 1, 1]\nblock = [32, 1, 1]\n\
         args = [\"in\", \"out\"]\n"
    );
    let options = LaunchOptions { dlcm, ..LaunchOptions::default() };
    let kernel = launch_file(&format!("{HEAD}{TWICE}"), &text, &options).unwrap();
    let gpu = GpuLibrary::builtin().unwrap().get(gpu).unwrap();
    let counted = kernel.count(&gpu).unwrap();
    counted[0].profile.metrics["l2_read_transactions"].value.as_f64()
}

#[test]
fn loads_compiled_for_the_l2_alone_go_there_each_time() {
    // A line of Fermi's L1 is four sectors; past the L1 each load asks for one.
    assert_eq!(l2_reads("gtx-480", "", None), 4.0);
    assert_eq!(l2_reads("gtx-480", "load_caching = \"cg\"", None), 2.0);
    // The option wins.
    assert_eq!(l2_reads("gtx-480", "load_caching = \"cg\"", Some(LoadCaching::Ca)), 4.0);
    // Maxwell keeps global loads in its L1 only if it is asked to.
    let maxwell = |dlcm| l2_reads("gtx-titan-x", "", dlcm);
    assert_eq!((maxwell(None), maxwell(Some(LoadCaching::Ca))), (2.0, 1.0));
}

/// Reads a word, keeps 32 more in a local array, and reads the same word again.
fn with_local_array() -> String {
    let words = |text: &str| {
        (0..32).map(|word| text.replace("AT", &format!("%d3+{}", 4 * word))).collect::<String>()
    };
    format!(
        "{HEAD}.visible .entry kernel(.param .u64 out) {{
            .local .align 16 .b8 array[128];
            .reg .b64 %d<4>; .reg .b32 %r<4>;
            ld.param.u64 %d0, [out];
            mov.u32 %r0, %tid.x;
            mul.wide.u32 %d1, %r0, 4;
            add.s64 %d0, %d0, %d1;
            mov.u64 %d3, array;
            ld.global.u32 %r1, [%d0];
            {}{}
            ld.global.u32 %r2, [%d0];
            add.u32 %r1, %r1, %r2;
            st.global.u32 [%d0], %r1;
            ret;
        }}",
        words("st.local.u32 [AT], %r1;\n"),
        words("ld.local.u32 %r2, [AT]; add.u32 %r1, %r1, %r2;\n"),
    )
}

#[test]
fn local_arrays_that_are_registers_displace_nothing_from_caches() {
    let text = "[buffers.out]\ntype = \"u32\"\nlen = 256\n\
                [[launch]]\nkernel = \"kernel\"\ngrid = [1, 1, 1]\nblock = [256, 1, 1]\n\
                args = [\"out\"]\n";
    let kernel = launch_file(&with_local_array(), text, &LaunchOptions::default()).unwrap();
    let gpu = GpuLibrary::builtin().unwrap().get("gtx-480").unwrap();
    let profile = &kernel.count(&gpu).unwrap()[0].profile;
    let count = |metric: &str| profile.metrics[metric].value.as_f64();
    // The array has twice the size of the L1.
    assert_eq!(count("l2_read_transactions"), 32.0);
    assert_eq!(count("local_load_requests"), 0.0);
}
