//! Textures of launch files: samples, depths to compare with, and levels.

use gpucast_forecast::{Alone, Failure, LaunchOptions};
use gpucast_model::GpuLibrary;

use crate::common::{execute, floats, launch_file};

/// Thread `t` reads sample `t` of pixel (1, 0), or compares 0.5 with texel `t`, or reads the first
/// texel at level `t`/2.
const KERNELS: &str = ".version 8.0\n.target sm_80\n.address_size 64
.global .texref pixels;
.visible .entry samples(.param .u64 out) {
    .reg .b64 %d<3>; .reg .f32 %f<4>; .reg .b32 %r<3>;
    ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, 1; mov.u32 %r2, 0;
    mad.wide.u32 %d1, %r0, 4, %d0;
    tex.2dms.v4.f32.s32 {%f0, %f1, %f2, %f3}, [pixels, {%r0, %r1, %r2, %r2}];
    st.global.f32 [%d1], %f0; ret; }
.visible .entry depths(.param .u64 out) {
    .reg .b64 %d<3>; .reg .f32 %f<6>; .reg .b32 %r<3>;
    ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mad.wide.u32 %d1, %r0, 4, %d0;
    cvt.rn.f32.u32 %f4, %r0; mov.f32 %f5, 0f3F000000;
    tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [pixels, {%f4}], %f5;
    st.global.f32 [%d1], %f0; ret; }
.visible .entry levels(.param .u64 out) {
    .reg .b64 %d<3>; .reg .f32 %f<6>; .reg .b32 %r<3>;
    ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mad.wide.u32 %d1, %r0, 4, %d0;
    cvt.rn.f32.u32 %f4, %r0; mul.f32 %f4, %f4, 0f3F000000; mov.f32 %f5, 0f3DCCCCCD;
    tex.level.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [pixels, {%f5}], %f4;
    st.global.f32 [%d1], %f0; ret; }
";

fn run(kernel: &str, texture: &str) -> Result<Vec<f32>, Failure> {
    let text = format!(
        "[buffers.texels]\ntype = \"f32\"\nlen = 8\ninit = {{ values = [0.25, 0.5, 0.75, 1, 2, 3, 4, 5] }}\n\
         [buffers.out]\ntype = \"f32\"\nlen = 4\n\
         [textures.pixels]\nbuffer = \"texels\"\ntype = \"f32\"\n{texture}\n\
         [[launch]]\nkernel = \"{kernel}\"\ngrid = [1, 1, 1]\nblock = [4, 1, 1]\nargs = [\"out\"]\n"
    );
    let kernel = launch_file(KERNELS, &text, &LaunchOptions::default())?;
    Ok(floats(&execute(&kernel, &Alone)?, "out")[..4].to_vec())
}

#[test]
fn a_texture_may_have_samples_or_depths() {
    assert_eq!(run("samples", "width = 2\nsamples = 4").unwrap(), [2.0, 3.0, 4.0, 5.0]);
    // Sample 2 and later ones are the second.
    assert_eq!(run("samples", "width = 4\nsamples = 2").unwrap(), [0.75, 1.0, 1.0, 1.0]);
    for (compare, expected) in [
        ("less", [0.0, 0.0, 1.0, 1.0]),
        ("less-equal", [0.0, 1.0, 1.0, 1.0]),
        ("not-equal", [1.0, 0.0, 1.0, 1.0]),
        ("never", [0.0; 4]),
    ] {
        let texture = format!("width = 4\ncompare = \"{compare}\"");
        assert_eq!(run("depths", &texture).unwrap(), expected, "{compare}");
    }
}

/// Levels of 4, 2 and 1 texels lie one behind the other: 0.25, then 2, then 4 are the first ones.
#[test]
fn a_texture_may_have_levels() {
    for (keys, expected) in [
        ("levels = 3", [0.25, 2.0, 2.0, 4.0]),
        ("levels = 3\nmip_filter = \"linear\"", [0.25, 1.125, 2.0, 3.0]),
        ("levels = 2\nmip_filter = \"linear\"", [0.25, 1.125, 2.0, 2.0]),
        ("levels = 3\nmip_bias = 0.5", [2.0, 2.0, 4.0, 4.0]),
        ("levels = 3\nmip_filter = \"linear\"\nmip_clamp = [0.5, 1.25]", [1.125, 1.125, 2.0, 2.5]),
        ("", [0.25; 4]),
    ] {
        let texture = format!("width = 4\nnormalized_coordinates = true\n{keys}");
        assert_eq!(run("levels", &texture).unwrap(), expected, "{keys}");
    }
}

/// Lanes ask for levels 0, 0.5, 1 and 1.5, whose texels are in a sector each.
#[test]
fn sectors_of_every_level_that_lanes_touch_are_counted() {
    let sectors = |keys: &str| {
        let text = format!(
            "[buffers.texels]\ntype = \"f32\"\nlen = 112\ninit = \"iota\"\n\
             [buffers.out]\ntype = \"f32\"\nlen = 4\n\
             [textures.pixels]\nbuffer = \"texels\"\ntype = \"f32\"\nwidth = 64\nlevels = 3\n\
             normalized_coordinates = true\n{keys}\n\
             [[launch]]\nkernel = \"levels\"\ngrid = [1, 1, 1]\nblock = [4, 1, 1]\nargs = [\"out\"]\n"
        );
        let kernel = launch_file(KERNELS, &text, &LaunchOptions::default()).unwrap();
        let gpu = GpuLibrary::builtin().unwrap().get("a100-sxm-40gb").unwrap();
        let metrics = &kernel.count(&gpu).unwrap()[0].profile.metrics;
        ["texture_requests", "texture_sectors", "l2_tex_read_transactions"]
            .map(|name| metrics[name].value.as_f64())
    };
    for (keys, expected) in [
        ("mip_clamp = [0, 0]", 1.0),
        ("", 3.0),
        ("mip_clamp = [1, 2]", 2.0),
        ("mip_clamp = [0.25, 0.25]", 1.0),
        ("mip_filter = \"linear\"\nmip_clamp = [0.25, 0.25]", 2.0),
        ("mip_filter = \"linear\"\nmip_clamp = [1, 1]", 1.0),
        ("mip_filter = \"linear\"", 3.0),
    ] {
        assert_eq!(sectors(keys), [1.0, expected, expected], "{keys}");
    }
}

/// A warp reads 32 texels of 4 bytes of one surface, and stores those of every second column of
/// another. Reductions change the texels that it has read.
#[test]
fn sectors_of_surfaces_are_counted_by_direction() {
    let kernels = ".version 8.0\n.target sm_80\n.address_size 64
.global .surfref read; .global .surfref written;
.visible .entry copy() {
    .reg .b32 %r<4>;
    mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2; shl.b32 %r2, %r0, 3;
    suld.b.1d.b32.trap {%r3}, [read, {%r1}];
    sust.b.1d.b32.trap [written, {%r2}], {%r3};
    sured.b.add.1d.u32.trap [read, {%r1}], %r3; ret; }
";
    let text = "[buffers.a]\ntype = \"u32\"\nlen = 32\ninit = \"iota\"\n\
                [buffers.b]\ntype = \"u32\"\nlen = 64\n\
                [textures.read]\nbuffer = \"a\"\ntype = \"u32\"\nwidth = 32\nsurface = true\n\
                [textures.written]\nbuffer = \"b\"\ntype = \"u32\"\nwidth = 64\nsurface = true\n\
                [[launch]]\nkernel = \"copy\"\ngrid = [1, 1, 1]\nblock = [32, 1, 1]\nargs = []\n";
    let kernel = launch_file(kernels, text, &LaunchOptions::default()).unwrap();
    let gpu = GpuLibrary::builtin().unwrap().get("a100-sxm-40gb").unwrap();
    let metrics = &kernel.count(&gpu).unwrap()[0].profile.metrics;
    let found = [
        "texture_requests",
        "texture_sectors",
        "surface_load_sectors",
        "surface_store_sectors",
        "surface_reduction_sectors",
    ]
    .map(|name| metrics[name].value.as_f64());
    assert_eq!(found, [0.0, 0.0, 4.0, 8.0, 4.0]);
}

#[test]
fn what_no_texture_has_is_refused() {
    for (texture, expected) in [
        ("width = 2\nsamples = 33", "from 1 to 32 samples"),
        ("width = 1\ndepth = 2\nsamples = 2", "from 1 to 32 samples"),
        ("width = 3\nsamples = 4", "the texels need 48 bytes"),
        ("width = 2\nlinear = true\nsamples = 2", "linear memory has no `samples`"),
        ("width = 2\nchannels = 2\ncompare = \"less\"", "one channel"),
        ("width = 2\nsurface = true\ncompare = \"less\"", "a surface has no `compare`"),
        ("width = 4\nlevels = 4", "4 x 1 x 1 texels has from 1 to 3 levels"),
        ("width = 4\nlevels = 0", "4 x 1 x 1 texels has from 1 to 3 levels"),
        ("width = 4\nlevels = 4000000000", "4 x 1 x 1 texels has from 1 to 3 levels"),
        ("width = 4\nlevels = 2", "several levels needs normalised coordinates"),
        ("width = 8\nlevels = 2\nnormalized_coordinates = true", "the texels need 48 bytes"),
        ("width = 4\nlevels = 2\npitch = 16", "a texture of several levels has no `pitch`"),
        ("width = 4\nmip_bias = 1", "a texture of one level has no `mip_bias`"),
        ("width = 4\nmip_filter = \"linear\"", "a texture of one level has no `mip_filter`"),
        ("width = 4\nmip_clamp = [0, 1]", "a texture of one level has no `mip_clamp`"),
        ("width = 4\nlevels = 2\nmip_clamp = [1, 0]", "the least level must not be beyond"),
        ("width = 4\nlevels = 2\nmip_bias = nan", "the bias must be finite"),
        ("width = 2\nlevels = 2\nsamples = 2", "of several samples has 1"),
        ("width = 4\nlinear = true\nlevels = 2", "linear memory has no `levels`"),
        ("width = 4\nsurface = true\nlevels = 2", "a surface has no `levels`"),
        ("width = 4294967295\nheight = 4294967295\ndepth = 4294967295", "each extent"),
    ] {
        let refused = run("samples", texture).unwrap_err().to_string();
        assert!(refused.contains(expected), "{texture}: {refused}");
    }
}
