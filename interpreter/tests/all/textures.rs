//! Textures and surfaces against definitions of their own: the formulas of the CUDA C++ programming
//! guide's appendix "Texture fetching", written down for whole grids of coordinates, and cases that
//! were computed by hand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

use gpucast_interpreter::texture::{
    AddressMode, Channel, Filter, Format, Object, Resource, Sampler, Surface, Texture,
};
use gpucast_interpreter::{
    AccessKind, Argument, Buffers, DeviceMemory, Launch, NoObserver, Observer, Options, Program,
    RunError, Silent, Slicer, Treatment, run,
};
use gpucast_ptx_frontend::types::StateSpace;

use crate::common::log::{Accessed, Log};
use crate::common::module;

mod depths;
mod levels;

const REAL: Format = Format::new(Channel::F32, 1);

/// A kernel `k` with the parameters `object`, `sampler` and `out`. Thread `t` finds its three words
/// of `in` in `%f0` to `%f2` and `%r0` to `%r2`, and leaves four words in `%r4` to `%r7`.
fn kernel(globals: &str, body: &str) -> String {
    module(&format!(
        "{globals}\n.visible .entry k(.param .u64 object, .param .u64 sampler, .param .u64 in, \
         .param .u64 out) {{\n\
         .reg .b32 %tid, %r<16>; .reg .f32 %f<8>; .reg .b16 %h<8>; .reg .b64 %o, %s, %in, %out, \
         %at, %d<8>; .reg .pred %p, %q;\n\
         ld.param.u64 %o, [object]; ld.param.u64 %s, [sampler];\n\
         ld.param.u64 %in, [in]; ld.param.u64 %out, [out];\n\
         mov.u32 %tid, %tid.x; mad.wide.u32 %at, %tid, 12, %in;\n\
         ld.global.b32 %r0, [%at]; ld.global.b32 %r1, [%at+4]; ld.global.b32 %r2, [%at+8];\n\
         mov.b32 %f0, %r0; mov.b32 %f1, %r1; mov.b32 %f2, %r2;\n\
         mov.b32 %r4, 0; mov.b32 %r5, 0; mov.b32 %r6, 0; mov.b32 %r7, 0;\n\
         {body}\n\
         mad.wide.u32 %at, %tid, 16, %out;\n\
         st.global.b32 [%at], %r4; st.global.b32 [%at+4], %r5;\n\
         st.global.b32 [%at+8], %r6; st.global.b32 [%at+12], %r7; ret; }}\n"
    ))
}

/// What a launch works on.
struct Scene {
    /// Contents of the texels' buffer.
    texels: Vec<u8>,
    /// The object, with addresses that count from the texels' first byte.
    object: Object,
    sampler: Sampler,
    /// Names of variables that the object is bound to.
    names: Vec<&'static str>,
    inputs: Vec<[u32; 3]>,
}

impl Scene {
    fn of(texture: Texture, texels: Vec<u8>, inputs: Vec<[u32; 3]>) -> Self {
        let object = Object::Texture(texture);
        Self { texels, object, sampler: Sampler::default(), names: Vec::new(), inputs }
    }

    /// As [`Self::of`], of a surface.
    fn surface(resource: Resource, format: Format, texels: Vec<u8>, inputs: Vec<[u32; 3]>) -> Self {
        let object = Object::Surface(Surface { resource, format });
        Self { texels, object, sampler: Sampler::default(), names: Vec::new(), inputs }
    }

    fn run(
        &self,
        text: &str,
        observer: &mut impl Observer,
    ) -> Result<(Vec<[u32; 4]>, Vec<u8>), RunError> {
        let module = gpucast_ptx_frontend::load(text)
            .unwrap_or_else(|problems| panic!("{:?}\n{text}", problems[0]));
        let program = Program::new(&module, text, "k").unwrap_or_else(|error| panic!("{error}"));
        assert!(program.unsupported().is_empty(), "{:?}", program.unsupported());
        let mut memory = DeviceMemory::new();
        let address = memory.allocate("texels", self.texels.len() as u64).unwrap();
        memory.bytes_mut("texels").unwrap().copy_from_slice(&self.texels);
        let input = memory.allocate("in", self.inputs.len() as u64 * 12).unwrap();
        let bytes: Vec<u8> =
            self.inputs.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        memory.bytes_mut("in").unwrap().copy_from_slice(&bytes);
        let out = memory.allocate("out", self.inputs.len() as u64 * 16).unwrap();
        let mut object = self.object.clone();
        match &mut object {
            Object::Texture(texture) => {
                let levels = std::iter::once(&mut texture.resource).chain(&mut texture.smaller);
                levels.for_each(|level| level.address += address);
            }
            Object::Surface(surface) => surface.resource.address += address,
            Object::Sampler(_) => {}
        }
        let object = memory.textures.create(object).unwrap();
        let sampler = memory.textures.create(Object::Sampler(self.sampler)).unwrap();
        for name in &self.names {
            memory.textures.bind_name(name, object);
        }
        let value = |handle: u64| Argument::Bytes(handle.to_le_bytes().to_vec());
        let launch = Launch {
            grid: [1; 3],
            block: [self.inputs.len() as u32, 1, 1],
            cluster: None,
            dynamic_shared_bytes: 0,
            arguments: vec![
                value(object),
                value(sampler),
                Argument::Address(input),
                Argument::Address(out),
            ],
        };
        run(&program, &launch, &mut memory, observer, &Options::default(), &Silent)?;
        let words: Vec<u32> = memory
            .bytes("out")
            .unwrap()
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect();
        let results = words.chunks_exact(4).map(|four| four.try_into().unwrap()).collect();
        Ok((results, memory.bytes("texels").unwrap().to_vec()))
    }

    fn results(&self, globals: &str, body: &str) -> Vec<[u32; 4]> {
        self.outcome(globals, body).0
    }

    fn outcome(&self, globals: &str, body: &str) -> (Vec<[u32; 4]>, Vec<u8>) {
        self.run(&kernel(globals, body), &mut NoObserver)
            .unwrap_or_else(|error| panic!("{error}\n{body}"))
    }

    fn fault(&self, body: &str) -> String {
        match self.run(&kernel("", body), &mut NoObserver) {
            Err(RunError::Fault(fault)) => fault.to_string(),
            other => panic!("no fault but {other:?}\n{body}"),
        }
    }
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn reals(places: &[[f32; 3]]) -> Vec<[u32; 3]> {
    places.iter().map(|place| place.map(f32::to_bits)).collect()
}

fn first(results: &[[u32; 4]]) -> Vec<f32> {
    results.iter().map(|result| f32::from_bits(result[0])).collect()
}

fn sampled(extent: [u32; 3], sampler: Sampler) -> Texture {
    Texture::new(Resource::dense(0, extent, 1, REAL), REAL, sampler)
}

const LINEAR_1D: &str = "tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%o, {%f0}]; mov.b32 %r4, %f4;\n\
    mov.b32 %r5, %f5; mov.b32 %r6, %f6; mov.b32 %r7, %f7;";

#[test]
fn linear_memory_is_fetched_by_index_and_is_zero_outside() {
    let texture = Texture::new(Resource::linear(0, 3, REAL), REAL, Sampler::default());
    let inputs = [0, 2, 1, 3, u32::MAX].map(|index| [index, 0, 0]);
    let scene = Scene::of(texture, bytes(&[1.5, 2.5, 3.5]), inputs.to_vec());
    let body = "tex.1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [%o, {%r0}]; mov.b32 %r4, %f4;\n\
        mov.b32 %r5, %f5; mov.b32 %r7, %f7;";
    let results = scene.results("", body);
    assert_eq!(first(&results), [1.5, 3.5, 2.5, 0.0, 0.0]);
    // Absent channels are 0, 0 and 1.
    assert_eq!(results[0], [1.5_f32.to_bits(), 0, 0, 1_f32.to_bits()]);
}

#[test]
fn linear_filtering_has_fractions_of_eight_bits() {
    let sampler = Sampler { filter: Filter::Linear, ..Sampler::default() };
    let places = [0.5, 1.0, 0.75, 0.0, 3.9, 1.0 + 1.0 / 1024.0, 1.0 + 3.0 / 1024.0, 2.5];
    let inputs = reals(&places.map(|x| [x, 0.0, 0.0]));
    let scene = Scene::of(sampled([4, 1, 1], sampler), bytes(&[0.0, 256.0, 512.0, 768.0]), inputs);
    // 0.5 and 2.5 are the middles of texels 0 and 2. 1 lies between texels 0 and 1. The edges are
    // clamped. A fraction of 1/1024 more is a quarter of 1/256, and 3/1024 are three quarters.
    let expected = [0.0, 128.0, 64.0, 0.0, 768.0, 128.0, 129.0, 512.0];
    assert_eq!(first(&scene.results("", LINEAR_1D)), expected);
}

#[test]
fn bilinear_filtering_weighs_four_texels() {
    let sampler = Sampler { filter: Filter::Linear, ..Sampler::default() };
    let inputs = reals(&[[1.0, 1.0, 0.0], [0.75, 1.25, 0.0], [1.5, 0.5, 0.0]]);
    let scene = Scene::of(sampled([2, 2, 1], sampler), bytes(&[0.0, 8.0, 16.0, 24.0]), inputs);
    let body = "tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%o, {%f0, %f1}]; mov.b32 %r4, %f4;";
    // (0 + 8 + 16 + 24)/4; a quarter along x (2) and three quarters along y (12); texel 1.
    assert_eq!(first(&scene.results("", body)), [12.0, 14.0, 8.0]);
}

/// One axis of the reference: texel numbers and weights at a coordinate, by the guide's formulas on
/// an endless row of texels that each mode unrolls in its own way.
fn unrolled(mode: AddressMode, index: i64, size: i64) -> Option<i64> {
    let mut at = index;
    match mode {
        AddressMode::Clamp => {
            while at < 0 {
                at += 1;
            }
            while at >= size {
                at -= 1;
            }
        }
        AddressMode::Border => return (0..size).contains(&at).then_some(at),
        AddressMode::Wrap => {
            while at < 0 {
                at += size;
            }
            while at >= size {
                at -= size;
            }
        }
        AddressMode::Mirror => loop {
            if at < 0 {
                at = -1 - at;
            } else if at >= size {
                at = 2 * size - 1 - at;
            } else {
                break;
            }
        },
    }
    Some(at)
}

/// The value at a place, as the guide's formulas say.
fn reference(texels: &[f32], extent: [i64; 3], sampler: &Sampler, place: [f32; 3]) -> f64 {
    let scaled: Vec<f64> = (0..3)
        .map(|axis| match sampler.normalized {
            true => f64::from(place[axis]) * extent[axis] as f64,
            false => f64::from(place[axis]),
        })
        .collect();
    let texel = |at: [i64; 3]| {
        let mut place = [0; 3];
        for axis in 0..3 {
            match unrolled(sampler.address[axis], at[axis], extent[axis]) {
                Some(index) => place[axis] = index,
                None => return f64::from(sampler.border[0]),
            }
        }
        let [x, y, z] = place;
        f64::from(texels[(x + extent[0] * (y + extent[1] * z)) as usize])
    };
    if sampler.filter == Filter::Nearest {
        return texel([0, 1, 2].map(|axis| scaled[axis].floor() as i64));
    }
    let begin = [0, 1, 2].map(|axis| (scaled[axis] - 0.5).floor());
    let fraction = [0, 1, 2]
        .map(|axis: usize| ((scaled[axis] - 0.5 - begin[axis]) * 256.0).round_ties_even() / 256.0);
    let [i, j, k] = begin.map(|begin| begin as i64);
    let [a, b, c] = fraction;
    let plane = |k: i64| {
        (1.0 - a) * (1.0 - b) * texel([i, j, k])
            + a * (1.0 - b) * texel([i + 1, j, k])
            + (1.0 - a) * b * texel([i, j + 1, k])
            + a * b * texel([i + 1, j + 1, k])
    };
    (1.0 - c) * plane(k) + c * plane(k + 1)
}

#[test]
fn every_filter_and_address_mode_follows_the_formulas_in_three_dimensions() {
    let extent = [5, 3, 2];
    // Multiples of 8 below 2^11: every weighted sum is exact.
    let texels: Vec<f32> = (0..30).map(|i| ((i * 37) % 251) as f32 * 8.0).collect();
    let modes = [AddressMode::Wrap, AddressMode::Mirror, AddressMode::Clamp, AddressMode::Border];
    let places: Vec<[f32; 3]> = (0..64)
        .map(|i| {
            // Multiples of 1/64 of the texture from -2 to 2; no fraction is half of 1/256.
            let at = |step: i32, i: i32| ((i * step) % 256 - 128) as f32 / 64.0;
            [at(37, i), at(91, i + 3), at(53, i + 11)]
        })
        .collect();
    let body = "tex.3d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%o, {%f0, %f1, %f2, %f2}];\n\
        mov.b32 %r4, %f4;";
    for filter in [Filter::Nearest, Filter::Linear] {
        for (turn, &x_mode) in modes.iter().enumerate() {
            for normalized in [true, false] {
                let address = [x_mode, modes[(turn + 1) % 4], modes[(turn + 3) % 4]];
                let address = match normalized {
                    true => address,
                    false => [AddressMode::Clamp, AddressMode::Border, AddressMode::Clamp],
                };
                let border = [64.0, 0.0, 0.0, 0.0];
                let sampler = Sampler { filter, address, normalized, border, ..Sampler::default() };
                let scene = Scene::of(sampled(extent, sampler), bytes(&texels), reals(&places));
                let extent = extent.map(i64::from);
                let expected: Vec<f32> = places
                    .iter()
                    .map(|&place| reference(&texels, extent, &sampler, place) as f32)
                    .collect();
                assert_eq!(first(&scene.results("", body)), expected, "{sampler:?}");
            }
        }
    }
}

#[test]
fn texels_of_every_format_become_their_values() {
    let cases: [(Format, &[u8], [u32; 4]); 7] = [
        (Format::new(Channel::U8, 4), &[1, 2, 254, 255], [1, 2, 254, 255]),
        (Format::new(Channel::S8, 2), &[0xff, 0x80], [u32::MAX, (-128_i32) as u32, 0, 1]),
        (Format::new(Channel::U16, 2), &[0x34, 0x12, 0xff, 0xff], [0x1234, 0xffff, 0, 1]),
        (Format::new(Channel::S16, 1), &[0xfe, 0xff], [(-2_i32) as u32, 0, 0, 1]),
        (
            Format::new(Channel::F16, 2),
            &[0x00, 0x3c, 0x00, 0xc0],
            [1_f32, -2.0, 0.0, 1.0].map(f32::to_bits),
        ),
        (
            Format { normalized: true, ..Format::new(Channel::U8, 4) },
            &[0, 51, 102, 255],
            [0_f32, 0.2, 0.4, 1.0].map(f32::to_bits),
        ),
        (
            Format { normalized: true, ..Format::new(Channel::S16, 2) },
            &[0x01, 0x80, 0x00, 0x80],
            [-1_f32, -1.0, 0.0, 1.0].map(f32::to_bits),
        ),
    ];
    for (format, texel, expected) in cases {
        let resource = Resource::dense(0, [1; 3], 1, format);
        let texture = Texture::new(resource, format, Sampler::default());
        let scene = Scene::of(texture, texel.to_vec(), vec![[0; 3]]);
        let body = "tex.2d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [%o, {%r0, %r1}];";
        assert_eq!(scene.results("", body), [expected], "{format:?}");
    }
}

/// Codes of sRGB are read as light. A code is what its light is encoded as, by the other formula of
/// the standard. The fourth channel is no colour, and filters mix light and not codes.
#[test]
fn colours_of_srgb_are_read_as_light() {
    let format = Format { normalized: true, srgb: true, ..Format::new(Channel::U8, 4) };
    let texture = |width, sampler| {
        let resource = Resource::dense(0, [width, 1, 1], 1, format);
        Texture::new(resource, format, sampler)
    };
    let codes: Vec<u8> = (0..=255).flat_map(|code| [code, 255 - code, code, code]).collect();
    let places = (0..256).map(|x| [x, 0, 0]).collect();
    let scene = Scene::of(texture(256, Sampler::default()), codes, places);
    let body = "tex.1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [%o, {%r0}];\n\
        mov.b32 %r4, %f4; mov.b32 %r5, %f5; mov.b32 %r6, %f6; mov.b32 %r7, %f7;";
    let encoded = |light: f32| {
        let light = f64::from(light);
        let share = match light <= 0.003_130_8 {
            true => 12.92 * light,
            false => 1.055 * light.powf(1.0 / 2.4) - 0.055,
        };
        255.0 * share
    };
    for (code, texel) in (0..).zip(scene.results("", body)) {
        let [red, green, blue, alpha] = texel.map(f32::from_bits);
        for (light, code) in [(red, code), (green, 255 - code), (blue, code)] {
            assert!((encoded(light) - f64::from(code)).abs() < 1e-3, "{code} is {light}");
        }
        assert_eq!(alpha.to_bits(), (code as f32 / 255.0).to_bits());
    }
    let linear = Sampler { filter: Filter::Linear, ..Sampler::default() };
    let scene =
        Scene::of(texture(2, linear), vec![0, 0, 0, 0, 255, 255, 255, 255], reals(&[[1.0; 3]]));
    let body = "tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%o, {%f0}]; mov.b32 %r4, %f4;";
    assert_eq!(first(&scene.results("", body)), [0.5], "half of the light");
}

#[test]
fn results_may_be_halves_and_pairs_of_them() {
    let format = Format::new(Channel::F32, 4);
    let resource = Resource::dense(0, [1; 3], 1, format);
    let texture = Texture::new(resource, format, Sampler::default());
    let scene = Scene::of(texture, bytes(&[1.0, -2.0, 0.5, 65504.0]), vec![[0; 3]]);
    let halves = "tex.1d.v4.f16.s32 {%h0, %h1, %h2, %h3}, [%o, {%r0}];\n\
        cvt.u32.u16 %r4, %h0; cvt.u32.u16 %r5, %h1; cvt.u32.u16 %r6, %h2; cvt.u32.u16 %r7, %h3;";
    assert_eq!(scene.results("", halves), [[0x3c00, 0xc000, 0x3800, 0x7bff]]);
    let pairs = "tex.1d.v2.f16x2.s32 {%r4, %r5}|%p, [%o, {%r0}]; selp.u32 %r6, 9, 0, %p;";
    assert_eq!(scene.results("", pairs), [[0xc000_3c00, 0x7bff_3800, 9, 0]]);
}

#[test]
fn layers_are_clamped_and_cubes_have_six_faces() {
    let layered = Texture::new(Resource::dense(0, [2, 1, 1], 3, REAL), REAL, Sampler::default());
    let texels = bytes(&[0.0, 1.0, 10.0, 11.0, 20.0, 21.0]);
    let inputs = vec![[0, 1, 0], [1, 0, 0], [2, 1, 0], [9, 0, 0]];
    let body = "tex.a1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [%o, {%r0, %r1}]; mov.b32 %r4, %f4;";
    let results = Scene::of(layered, texels, inputs).results("", body);
    assert_eq!(first(&results), [1.0, 10.0, 21.0, 20.0]);

    let cube = Texture::new(
        Resource::dense(0, [1, 1, 1], 6, REAL),
        REAL,
        Sampler { normalized: true, ..Sampler::default() },
    );
    let faces = bytes(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let directions = [
        [2.0, 1.0, -1.0],
        [-3.0, 0.0, 0.0],
        [0.0, 1.0, 0.5],
        [0.1, -1.0, 0.0],
        [0.0, 0.0, 4.0],
        [1.0, 1.0, -2.0],
    ];
    let body = "tex.cube.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%o, {%f0, %f1, %f2, %f2}];\n\
        mov.b32 %r4, %f4;";
    let results = Scene::of(cube, faces, reals(&directions)).results("", body);
    assert_eq!(first(&results), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn levels_and_gradients_of_one_level_change_nothing_and_offsets_move() {
    let sampler = Sampler::default();
    let scene = Scene::of(
        sampled([4, 1, 1], sampler),
        bytes(&[0.0, 1.0, 2.0, 3.0]),
        reals(&[[1.5, 7.0, 0.0]]),
    );
    let results = "{%f4, %f5, %f6, %f7}";
    for (text, expected) in [
        (format!("tex.level.1d.v4.f32.f32 {results}, [%o, {{%f0}}], %f1;"), 1.0),
        (format!("tex.grad.1d.v4.f32.f32 {results}, [%o, {{%f0}}], {{%f1}}, {{%f1}};"), 1.0),
        (format!("tex.base.1d.v4.f32.f32 {results}, [%o, {{%f0}}];"), 1.0),
        (format!("mov.u32 %r8, 2; tex.1d.v4.f32.f32 {results}, [%o, {{%f0}}], {{%r8}};"), 3.0),
        (format!("mov.u32 %r8, -5; tex.1d.v4.f32.f32 {results}, [%o, {{%f0}}], {{%r8}};"), 0.0),
    ] {
        let body = format!("{text} mov.b32 %r4, %f4;");
        assert_eq!(first(&scene.results("", &body)), [expected], "{text}");
    }
}

#[test]
fn a_gather_takes_one_channel_of_four_texels_from_the_lower_left_on() {
    let format = Format::new(Channel::U32, 2);
    let resource = Resource::dense(0, [2, 2, 1], 1, format);
    let texture = Texture::new(resource, format, Sampler::default());
    let texels = words(&[0, 100, 1, 101, 2, 102, 3, 103]);
    let scene = Scene::of(texture, texels, reals(&[[1.0, 1.0, 0.0]]));
    let gather = |channel| {
        let body =
            format!("tld4.{channel}.2d.v4.u32.f32 {{%r4, %r5, %r6, %r7}}, [%o, {{%f0, %f1}}];");
        scene.results("", &body)[0]
    };
    assert_eq!(gather("r"), [2, 3, 1, 0]);
    assert_eq!(gather("g"), [102, 103, 101, 100]);
}

#[test]
fn a_named_reference_and_a_sampler_of_its_own_are_found() {
    let mut scene =
        Scene::of(sampled([2, 1, 1], Sampler::default()), bytes(&[1.0, 3.0]), reals(&[[1.0; 3]]));
    scene.names = vec!["colours"];
    let globals = ".global .texref colours;";
    let named = LINEAR_1D.replace("%o", "colours");
    assert_eq!(first(&scene.results(globals, &named)), [3.0]);
    // Its address in a register stands for it, too.
    let by_address = format!("mov.u64 %o, colours; {LINEAR_1D}");
    assert_eq!(first(&scene.results(globals, &by_address)), [3.0]);
    scene.sampler.filter = Filter::Linear;
    let independent = LINEAR_1D.replace("%o", "%o, %s");
    assert_eq!(first(&scene.results("", &independent)), [2.0]);
}

#[test]
fn queries_tell_what_the_host_has_made() {
    let format = Format::new(Channel::F16, 2);
    let address = [AddressMode::Wrap, AddressMode::Clamp, AddressMode::Border];
    let sampler =
        Sampler { filter: Filter::Linear, address, normalized: true, ..Sampler::default() };
    let resource = Resource::dense(0, [7, 5, 3], 2, format);
    let texture = Texture::new(resource, format, sampler);
    let scene = Scene::of(texture, vec![0; 7 * 5 * 3 * 2 * 4], vec![[0; 3]]);
    for (fact, expected) in [
        ("width", 7),
        ("height", 5),
        ("depth", 3),
        ("array_size", 2),
        ("normalized_coords", 1),
        ("channel_data_type", 0x10dd),
        ("channel_order", 0x10b2),
        ("num_mipmap_levels", 1),
        ("filter_mode", 1),
        ("addr_mode_0", 0),
        ("addr_mode_1", 3),
        ("addr_mode_2", 4),
    ] {
        let results = scene.results("", &format!("txq.{fact}.b32 %r4, [%o];"));
        assert_eq!(results[0][0], expected, "{fact}");
    }
    let surface = Scene::surface(resource, format, vec![0; 7 * 5 * 3 * 2 * 4], vec![[0; 3]]);
    assert_eq!(surface.results("", "suq.height.b32 %r4, [%o];")[0][0], 5);
    assert!(surface.fault("txq.filter_mode.b32 %r4, [%o];").contains("the handle of a query"));
    let types = "istypep.texref %p, %o; selp.u32 %r4, 1, 0, %p;\n\
        istypep.samplerref %p, %s; selp.u32 %r5, 1, 0, %p;\n\
        istypep.surfref %p, %o; selp.u32 %r6, 1, 0, %p;";
    assert_eq!(scene.results("", types), [[1, 1, 0, 0]]);
    assert_eq!(surface.results("", types), [[0, 1, 1, 0]]);
}

#[test]
fn surfaces_are_read_and_written_by_bytes() {
    let format = Format::new(Channel::U32, 1);
    let resource = Resource::dense(0, [4, 2, 1], 1, format);
    let texels = words(&[1, 2, 3, 4, 5, 6, 7, 8]);
    let inputs = vec![[4, 1, 0], [12, 0, 0], [16, 0, 0], [0, 9, 0]];
    let scene = Scene::surface(resource, format, texels, inputs);
    let load = |outside| format!("suld.b.2d.b32.{outside} {{%r4}}, [%o, {{%r0, %r1}}];");
    let firsts =
        |results: Vec<[u32; 4]>| results.iter().map(|result| result[0]).collect::<Vec<_>>();
    assert_eq!(firsts(scene.results("", &load("zero"))), [6, 4, 0, 0]);
    assert_eq!(firsts(scene.results("", &load("clamp"))), [6, 4, 4, 5]);
    assert!(scene.fault(&load("trap")).contains("a coordinate of a surface access with .trap"));
    let store = "add.u32 %r8, %tid, 100; sust.b.2d.b32.zero [%o, {%r0, %r1}], {%r8};";
    let written = words(&[1, 2, 3, 101, 5, 100, 7, 8]);
    assert_eq!(scene.outcome("", store).1, written);
    let misaligned = "mov.u32 %r0, 2; suld.b.2d.b32.zero {%r4}, [%o, {%r0, %r1}];";
    assert!(scene.fault(misaligned).contains("misaligned"));
    let vector =
        "mov.u32 %r0, 8; mov.u32 %r1, 1; suld.b.2d.v2.b32.trap {%r4, %r5}, [%o, {%r0, %r1}];";
    assert_eq!(scene.results("", vector)[0], [7, 8, 0, 0]);
    let wide = "mov.u32 %r0, 8; mov.u32 %r1, 1; suld.b.2d.b64.trap %d0, [%o, {%r0, %r1}];\n\
        mov.b64 {%r4, %r5}, %d0;";
    assert_eq!(scene.results("", wide)[0], [7, 8, 0, 0]);
}

#[test]
fn a_formatted_store_converts_and_counts_texels() {
    let format = Format::new(Channel::F16, 2);
    let resource = Resource::dense(0, [3, 1, 1], 1, format);
    let scene = Scene::surface(resource, format, vec![0; 12], vec![[1, 0, 0]]);
    let body = "mov.f32 %f4, 0f3F800000; mov.f32 %f5, 0fC0000000; mov.b32 %r8, %f4;\n\
        mov.b32 %r9, %f5; sust.p.1d.v2.b32.trap [%o, {%r0}], {%r8, %r9};";
    assert_eq!(scene.outcome("", body).1, [0, 0, 0, 0, 0, 0x3c, 0, 0xc0, 0, 0, 0, 0]);
}

#[test]
fn reductions_of_surfaces_combine_all_lanes() {
    let format = Format::new(Channel::S32, 1);
    let resource = Resource::dense(0, [2, 1, 1], 1, format);
    let inputs: Vec<[u32; 3]> = (0..64_u32).map(|i| [4, i.wrapping_sub(40), 0]).collect();
    let scene = Scene::surface(resource, format, words(&[7, 5]), inputs);
    let after = |body: &str| scene.outcome("", body).1;
    let sum = 5 + (0..64).sum::<i32>() - 64 * 40;
    assert_eq!(after("sured.b.add.1d.u32.trap [%o, {%r0}], %r1;"), words(&[7, sum as u32]));
    let least = (-40_i32) as u32;
    assert_eq!(after("sured.b.min.1d.s32.trap [%o, {%r0}], %r1;"), words(&[7, least]));
    assert_eq!(after("sured.b.min.1d.u32.trap [%o, {%r0}], %r1;"), words(&[7, 0]));
    // A texel, not a byte; the format is signed.
    let texel = "mov.u32 %r0, 1; sured.p.max.1d.b32.trap [%o, {%r0}], %r1;";
    assert_eq!(after(texel), words(&[7, 23]));
    assert_eq!(after("sured.b.add.1d.u32.zero [%o, {%r2}], 1;"), words(&[71, 5]));
}

#[test]
fn an_unknown_handle_is_a_fault_that_names_it() {
    let scene = Scene::of(sampled([2, 1, 1], Sampler::default()), bytes(&[1.0, 3.0]), vec![[0; 3]]);
    let body = format!("mov.u64 %o, 77; {LINEAR_1D}");
    let fault = scene.fault(&body);
    assert!(fault.contains("the handle of a texture") && fault.contains("is 77"), "{fault}");
    assert!(
        scene.fault("suld.b.1d.b32.trap %r4, [%o, {%r0}];").contains("the handle of a surface")
    );
    let independent = LINEAR_1D.replace("%o", "%o, %o");
    assert!(scene.fault(&independent).contains("the handle of a sampler"));
}

#[test]
fn the_recorder_hears_of_the_texels_and_of_no_sector_twice() {
    let heard = |sampler: Sampler, inputs: Vec<[u32; 3]>| {
        let texels = bytes(&[0.0; 64]);
        let scene = Scene::of(sampled([16, 4, 1], sampler), texels, inputs);
        let body = "tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%o, {%f0, %f1}];";
        let mut log = Log::default();
        scene.run(&kernel("", body), &mut log).unwrap();
        let is_texel = |one: &&Accessed| one.space == StateSpace::Tex;
        log.accesses.iter().filter(is_texel).cloned().collect::<Vec<_>>()
    };
    let nearest = heard(Sampler::default(), reals(&[[1.0, 1.0, 0.0], [9.0, 3.0, 0.0]]));
    let [one] = nearest.as_slice() else { panic!("{nearest:?}") };
    assert_eq!((one.kind, one.bytes_per_lane, one.mask), (AccessKind::Load, 4, 3));
    let linear = Sampler { filter: Filter::Linear, ..Sampler::default() };
    // Texels 7 and 8 of rows 0 and 1 are in four sectors; 1 and 2 are in two.
    assert_eq!(heard(linear, reals(&[[8.0, 1.0, 0.0]])).len(), 4);
    assert_eq!(heard(linear, reals(&[[2.0, 1.0, 0.0]])).len(), 2);
}

/// The squared distance of points of four features from a centre, as a clustering program reads
/// its features: through a texture of linear memory, feature by feature.
#[test]
fn a_clustering_step_reads_its_features_through_a_texture() {
    let points = 64;
    let features: Vec<f32> = (0..points * 4).map(|i| ((i * 29) % 101) as f32 / 4.0).collect();
    let resource = Resource::linear(0, features.len() as u32, REAL);
    let texture = Texture::new(resource, REAL, Sampler::default());
    let mut scene = Scene::of(texture, bytes(&features), vec![[0; 3]; points]);
    scene.names = vec!["features"];
    let body = format!(
        "mov.f32 %f3, 0f00000000; mov.u32 %r8, 0; mov.u32 %r9, %tid;\n\
         NEXT: tex.1d.v4.f32.s32 {{%f4, %f5, %f6, %f7}}, [features, {{%r9}}];\n\
         sub.f32 %f4, %f4, 0f40A00000; fma.rn.f32 %f3, %f4, %f4, %f3;\n\
         add.u32 %r9, %r9, {points}; add.u32 %r8, %r8, 1; setp.lt.u32 %p, %r8, 4; @%p bra NEXT;\n\
         mov.b32 %r4, %f3;"
    );
    let expected: Vec<f32> = (0..points)
        .map(|point| (0..4).map(|f| (features[f * points + point] - 5.0).powi(2)).sum())
        .collect();
    assert_eq!(first(&scene.results(".global .texref features;", &body)), expected);
}

/// A slice checks and tells the same addresses as the whole, and computes no value.
#[test]
fn a_slice_tells_the_same_texels() {
    let text = module(
        ".visible .entry k(.param .u64 object, .param .u64 surface, .param .u64 out) {\n\
         .reg .b32 %tid, %r<8>; .reg .f32 %f<8>; .reg .b64 %o, %s, %out, %at;\n\
         ld.param.u64 %o, [object]; ld.param.u64 %s, [surface]; ld.param.u64 %out, [out];\n\
         mov.u32 %tid, %tid.x; mul.lo.u32 %r0, %tid, 4; cvt.rn.f32.u32 %f0, %tid;\n\
         tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%o, {%f0}];\n\
         suld.b.1d.b32.zero {%r1}, [%s, {%r0}]; mov.b32 %f5, %r1; add.f32 %f1, %f1, %f5;\n\
         mov.b32 %r2, %f1; sust.b.1d.b32.clamp [%s, {%r0}], {%r2};\n\
         mad.wide.u32 %at, %tid, 4, %out; st.global.f32 [%at], %f1; ret; }\n",
    );
    let module = gpucast_ptx_frontend::load(&text).unwrap();
    let whole = Program::new(&module, &text, "k").unwrap();
    let filter = Sampler { filter: Filter::Linear, ..Sampler::default() };
    let accesses = |holds: bool| {
        let mut memory = DeviceMemory::new();
        let mut buffer = |name, bytes| match holds {
            true => memory.allocate(name, bytes).unwrap(),
            false => memory.reserve(name, bytes).unwrap(),
        };
        let [texels, places, out] = ["texels", "places", "out"].map(|name| buffer(name, 256));
        let mut texture = sampled([64, 1, 1], filter);
        texture.resource.address = texels;
        let resource = Resource::dense(places, [40, 1, 1], 1, REAL);
        let surface = Surface { resource, format: REAL };
        let object = memory.textures.create(Object::Texture(texture)).unwrap();
        let surface = memory.textures.create(Object::Surface(surface)).unwrap();
        let value = |handle: u64| Argument::Bytes(handle.to_le_bytes().to_vec());
        let launch = Launch {
            grid: [1; 3],
            block: [64, 1, 1],
            cluster: None,
            dynamic_shared_bytes: 0,
            arguments: vec![value(object), value(surface), Argument::Address(out)],
        };
        let slicer = Slicer::new(&module, &whole);
        let slice = slicer.slice(&slicer.distinct(), &Buffers::default());
        let computed =
            slice.treatments.iter().filter(|treatment| **treatment == Treatment::AddressOnly);
        assert_eq!(computed.count(), 4, "{:?}", slice.treatments);
        let part = whole.sliced(&module, &text, &slice).unwrap();
        let mut log = Log::default();
        let program = if holds { &whole } else { &part };
        run(program, &launch, &mut memory, &mut log, &Options::default(), &Silent).unwrap();
        log.accesses
    };
    let all = accesses(true);
    assert_eq!(all.iter().filter(|event| event.space == StateSpace::Tex).count(), 6);
    assert_eq!(accesses(false), all);
}
