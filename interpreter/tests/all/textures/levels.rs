//! Textures of several levels against a definition of their own: the value of each level by the
//! formulas of the programming guide, then the level or the mean of two that a detail means.

use gpucast_interpreter::texture::{BadTexture, Comparison, Mipmap, Textures};

use super::*;

/// A sequence of numbers without pattern.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        self.0 >> 33
    }

    fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.next() as f32 / (1_u64 << 31) as f32)
    }
}

/// The levels of a texture as lists of texels: layers of slices of rows.
struct Picture {
    extent: [u32; 3],
    layers: u32,
    levels: Vec<Vec<f32>>,
}

impl Picture {
    /// Multiples of 8 below 2^11, so that every weighted sum is exact.
    fn new(extent: [u32; 3], layers: u32, levels: u32) -> Self {
        let mut numbers = Numbers(u64::from(extent[0] + 7 * layers));
        let of_level = |level| {
            let texels: u32 = layers * half(extent, level).iter().product::<u32>();
            (0..texels).map(|_| (numbers.next() % 251) as f32 * 8.0).collect()
        };
        Self { extent, layers, levels: (0..levels).map(of_level).collect() }
    }

    /// The levels lie in reverse order, with gaps.
    fn texture(&self, sampler: Sampler) -> (Texture, Vec<u8>) {
        let mut contents = Vec::new();
        let mut resources = Vec::new();
        for (level, texels) in self.levels.iter().enumerate().rev() {
            contents.extend([0xff; 32]);
            let address = contents.len() as u64;
            let extent = half(self.extent, level as u32);
            resources.insert(0, Resource::dense(address, extent, self.layers, REAL));
            contents.extend(bytes(texels));
        }
        let smaller = resources.split_off(1);
        (Texture { resource: resources[0], smaller, format: REAL, sampler }, contents)
    }

    /// The value at a place of a layer of a level.
    fn at(&self, level: usize, layer: usize, sampler: &Sampler, place: [f32; 3]) -> f64 {
        let extent = half(self.extent, level as u32);
        let count = extent.iter().product::<u32>() as usize;
        let texels = &self.levels[level][layer * count..][..count];
        reference(texels, extent.map(i64::from), sampler, place)
    }

    /// The value at a place of a layer, for a detail.
    fn sample(&self, detail: f64, layer: usize, sampler: &Sampler, place: [f32; 3]) -> f32 {
        let Mipmap { filter, bias, clamp: [least, most] } = sampler.mipmap;
        let last = self.levels.len() - 1;
        let biased = f64::min(f64::max(detail + f64::from(bias), least.into()), most.into());
        let level = biased.max(0.0).min(last as f64);
        let value = |level: usize| self.at(level.min(last), layer, sampler, place);
        if filter == Filter::Nearest {
            return value((level + 0.5).floor() as usize) as f32;
        }
        let (first, share) = (level.floor(), (level.fract() * 256.0).round_ties_even() / 256.0);
        ((1.0 - share) * value(first as usize) + share * value(first as usize + 1)) as f32
    }
}

fn half(extent: [u32; 3], level: u32) -> [u32; 3] {
    extent.map(|mut one| {
        for _ in 0..level {
            one = (one / 2).max(1);
        }
        one
    })
}

/// A kernel whose thread `t` finds ten words in `%f0` to `%f9` and `%r0` to `%r9`, and leaves
/// `%f10`.
fn text(body: &str) -> String {
    let loads: String = (0..10)
        .map(|i| format!("ld.global.b32 %r{i}, [%at+{}]; mov.b32 %f{i}, %r{i};\n", 4 * i))
        .collect();
    module(&format!(
        ".visible .entry k(.param .u64 object, .param .u64 sampler, .param .u64 in, \
         .param .u64 out) {{\n\
         .reg .b32 %tid, %r<16>; .reg .f32 %f<16>; .reg .b64 %o, %s, %in, %out, %at;\n\
         ld.param.u64 %o, [object]; ld.param.u64 %s, [sampler];\n\
         ld.param.u64 %in, [in]; ld.param.u64 %out, [out];\n\
         mov.u32 %tid, %tid.x; mad.wide.u32 %at, %tid, 40, %in;\n\
         {loads}{body}\n\
         mad.wide.u32 %at, %tid, 4, %out; st.global.f32 [%at], %f10; ret; }}\n"
    ))
}

/// What a lane passes: three coordinates, the level, two gradients.
type Words = [f32; 10];

fn run_lanes(
    (mut texture, contents): (Texture, Vec<u8>),
    sampler: Sampler,
    inputs: &[Words],
    body: &str,
    observer: &mut impl Observer,
) -> Result<Vec<f32>, RunError> {
    let text = text(body);
    let module = gpucast_ptx_frontend::load(&text).unwrap_or_else(|all| panic!("{:?}", all[0]));
    let program = Program::new(&module, &text, "k").unwrap();
    assert!(program.unsupported().is_empty(), "{:?}", program.unsupported());
    let mut memory = DeviceMemory::new();
    let address = memory.allocate("texels", contents.len() as u64).unwrap();
    memory.bytes_mut("texels").unwrap().copy_from_slice(&contents);
    let input = memory.allocate("in", inputs.len() as u64 * 40).unwrap();
    memory.bytes_mut("in").unwrap().copy_from_slice(&bytes(inputs.as_flattened()));
    let out = memory.allocate("out", inputs.len() as u64 * 4).unwrap();
    texture.resource.address += address;
    texture.smaller.iter_mut().for_each(|level| level.address += address);
    let object = memory.textures.create(Object::Texture(texture)).unwrap();
    let sampler = memory.textures.create(Object::Sampler(sampler)).unwrap();
    let value = |handle: u64| Argument::Bytes(handle.to_le_bytes().to_vec());
    let launch = Launch {
        grid: [1; 3],
        block: [inputs.len() as u32, 1, 1],
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
    let words = memory.bytes("out").unwrap().chunks_exact(4);
    Ok(words.map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect())
}

fn values(picture: &Picture, sampler: Sampler, inputs: &[Words], body: &str) -> Vec<f32> {
    let scene = picture.texture(sampler);
    run_lanes(scene, Sampler::default(), inputs, body, &mut NoObserver).unwrap()
}

/// `tex` at the coordinates in `%f0` to `%f2`, with the layer in `%r15`.
fn tex(kind: &str, geometry: &str, operands: &str) -> String {
    let place = match geometry {
        "1d" => "{%f0}",
        "2d" => "{%f0, %f1}",
        "3d" | "cube" => "{%f0, %f1, %f2, %f2}",
        "a1d" => "{%r15, %f0}",
        "a2d" => "{%r15, %f0, %f1, %f1}",
        "acube" => "{%r15, %f0, %f1, %f2}",
        other => panic!("{other}"),
    };
    format!(
        "and.b32 %r15, %tid, 1; tex{kind}.{geometry}.v4.f32.f32 {{%f10, %f11, %f12, %f13}}, \
         [%o, {place}]{operands};"
    )
}

/// The face that a direction meets, and the place on it, as the guide's table of faces says.
fn face([x, y, z]: [f64; 3]) -> (usize, [f64; 2]) {
    let largest = x.abs().max(y.abs()).max(z.abs());
    let (face, s, t) = match () {
        () if x == largest => (0, -z, -y),
        () if -x == largest => (1, z, -y),
        () if y == largest => (2, x, z),
        () if -y == largest => (3, x, -z),
        () if z == largest => (4, x, -y),
        () => (5, -x, -y),
    };
    (face, [s, t].map(|coordinate| (coordinate / largest + 1.0) / 2.0))
}

const GEOMETRIES: [(&str, [u32; 3], u32); 7] = [
    ("1d", [11, 1, 1], 1),
    ("2d", [13, 6, 1], 1),
    ("3d", [6, 5, 9], 1),
    ("a1d", [9, 1, 1], 2),
    ("a2d", [5, 8, 1], 2),
    ("cube", [8, 8, 1], 6),
    ("acube", [4, 4, 1], 12),
];

/// Samplers of every pair of filters, with a bias and clamps of their own.
fn samplers(axes: usize) -> Vec<Sampler> {
    let filters = [Filter::Nearest, Filter::Linear];
    let ranges = [[0.0, f32::INFINITY], [0.75, 1.6], [-3.0, 1.0], [2.0, 2.0]];
    let modes = [AddressMode::Wrap, AddressMode::Mirror, AddressMode::Border];
    let mut all = Vec::new();
    for filter in filters {
        for of_levels in filters {
            for (turn, clamp) in ranges.into_iter().enumerate() {
                let mode =
                    |axis| if axis < axes { modes[(axis + turn) % 3] } else { AddressMode::Clamp };
                all.push(Sampler {
                    filter,
                    address: [0, 1, 2].map(mode),
                    normalized: true,
                    border: [512.0, 0.0, 0.0, 0.0],
                    compare: None,
                    mipmap: Mipmap { filter: of_levels, bias: [0.0, 0.4, -0.7, 0.1][turn], clamp },
                });
            }
        }
    }
    all
}

/// The sampler, the layer and the place that a direction or a place in a layer means.
fn meaning(
    geometry: &str,
    sampler: &Sampler,
    lane: usize,
    at: [f32; 3],
) -> (Sampler, usize, [f32; 3]) {
    let layer = if geometry.starts_with('a') { lane % 2 } else { 0 };
    if !geometry.ends_with("cube") {
        let axes = usize::from(geometry.as_bytes()[geometry.len() - 2] - b'0');
        return (*sampler, layer, [0, 1, 2].map(|axis| if axis < axes { at[axis] } else { 0.5 }));
    }
    let (face, [s, t]) = face(at.map(f64::from));
    let on_face = Sampler { address: [AddressMode::Clamp; 3], ..*sampler };
    (on_face, 6 * layer + face, [s as f32, t as f32, 0.5])
}

fn directions_or_places(geometry: &str, numbers: &mut Numbers) -> [f32; 3] {
    match geometry.ends_with("cube") {
        // Quarters and halves, so that places on faces are exact.
        true => {
            let mut at = [0; 3].map(|_| (numbers.next() % 17) as f32 / 8.0 - 1.0);
            let major = (numbers.next() % 3) as usize;
            at[major] = if numbers.next().is_multiple_of(2) { 1.0 } else { -1.0 };
            // One axis alone is the longest.
            [0, 1, 2].map(|axis| if axis == major { at[axis] } else { at[axis] * 0.96875 })
        }
        false => [0; 3].map(|_| numbers.between(-1.5, 2.5)),
    }
}

/// Random details, every pair of filters, biases and clamps, in each geometry.
#[test]
fn a_level_of_detail_follows_the_rule_in_every_geometry() {
    for (geometry, extent, layers) in GEOMETRIES {
        let picture = Picture::new(extent, layers, 3);
        let mut numbers = Numbers(5);
        let axes = extent.iter().filter(|&&one| one > 1).count();
        for sampler in samplers(axes) {
            let inputs: Vec<Words> = (0..96)
                .map(|_| {
                    let [x, y, z] = directions_or_places(geometry, &mut numbers);
                    let detail = numbers.between(-1.5, 4.0);
                    [x, y, z, detail, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
                })
                .collect();
            let expected: Vec<f32> = inputs
                .iter()
                .enumerate()
                .map(|(lane, &[x, y, z, detail, ..])| {
                    let (sampler, layer, place) = meaning(geometry, &sampler, lane, [x, y, z]);
                    picture.sample(detail.into(), layer, &sampler, place)
                })
                .collect();
            let found = values(&picture, sampler, &inputs, &tex(".level", geometry, ", %f3"));
            assert_eq!(found, expected, "{geometry} {sampler:?}");
            // Without a level of its own, a fetch asks for level 0.
            let base: Vec<f32> = inputs
                .iter()
                .enumerate()
                .map(|(lane, &[x, y, z, ..])| {
                    let (sampler, layer, place) = meaning(geometry, &sampler, lane, [x, y, z]);
                    picture.sample(0.0, layer, &sampler, place)
                })
                .collect();
            for kind in ["", ".base"] {
                let found = values(&picture, sampler, &inputs, &tex(kind, geometry, ""));
                assert_eq!(found, base, "{kind} {geometry} {sampler:?}");
            }
        }
    }
}

/// The detail is the logarithm of the longer gradient in texels of level 0.
#[test]
fn gradients_mean_the_level_at_which_the_longer_one_is_a_texel() {
    for (geometry, extent, layers) in &GEOMETRIES[..5] {
        let picture = Picture::new(*extent, *layers, 3);
        let mut numbers = Numbers(17);
        let axes = extent.iter().filter(|&&one| one > 1).count();
        let (dx, dy) = match axes {
            1 => ("{%f4}", "{%f7}"),
            2 => ("{%f4, %f5}", "{%f7, %f8}"),
            _ => ("{%f4, %f5, %f6, %f6}", "{%f7, %f8, %f9, %f9}"),
        };
        for sampler in samplers(axes) {
            let inputs: Vec<Words> = (0..96)
                .map(|_| {
                    // Up to eight texels long.
                    let long = 2_f32.powf(numbers.between(-2.0, 3.0));
                    let mut part =
                        |axis: usize| numbers.between(-1.0, 1.0) * long / extent[axis] as f32;
                    let gradients = [part(0), part(1), part(2), part(0), part(1), part(2)];
                    let [a, b, c, d, e, f] = gradients;
                    let [x, y, z] = [0; 3].map(|_| numbers.between(-1.5, 2.5));
                    [x, y, z, 9.0, a, b, c, d, e, f]
                })
                .collect();
            let expected: Vec<f32> = inputs
                .iter()
                .enumerate()
                .map(|(lane, words)| {
                    let length = |gradient: &[f32]| {
                        let texels = (0..axes)
                            .map(|axis| f64::from(gradient[axis]) * f64::from(extent[axis]));
                        texels.fold(0.0, |length: f64, part| length.hypot(part))
                    };
                    let detail = length(&words[4..7]).max(length(&words[7..10])).log2();
                    let at = [words[0], words[1], words[2]];
                    let (sampler, layer, place) = meaning(geometry, &sampler, lane, at);
                    picture.sample(detail, layer, &sampler, place)
                })
                .collect();
            let body = tex(".grad", geometry, &format!(", {dx}, {dy}"));
            assert_eq!(values(&picture, sampler, &inputs, &body), expected, "{geometry}");
        }
    }
}

/// On a cube, the gradient of a direction is the change of the place on its face.
#[test]
fn gradients_of_directions_are_those_of_places_on_faces() {
    let picture = Picture::new([32, 32, 1], 6, 6);
    let mut numbers = Numbers(23);
    let mipmap = Mipmap { filter: Filter::Linear, ..Mipmap::default() };
    let sampler = Sampler { normalized: true, mipmap, ..Sampler::default() };
    let inputs: Vec<Words> = (0..256)
        .map(|_| {
            let [x, y, z] = directions_or_places("cube", &mut numbers);
            let [a, b, c, d, e, f] = [0; 6].map(|_| numbers.between(-0.3, 0.3));
            [x, y, z, 0.0, a, b, c, d, e, f]
        })
        .collect();
    let body = tex(".grad", "cube", ", {%f4, %f5, %f6, %f6}, {%f7, %f8, %f9, %f9}");
    let found = values(&picture, sampler, &inputs, &body);
    for (words, found) in inputs.iter().zip(found) {
        let at = [words[0], words[1], words[2]].map(f64::from);
        // A small step along the gradient shows how long the whole one is on the face.
        let length = |gradient: &[f32]| {
            let step = 1e-6;
            let moved = |by: f64| [0, 1, 2].map(|axis| at[axis] + by * f64::from(gradient[axis]));
            let [before, after] = [face(moved(-step)).1, face(moved(step)).1];
            let texels = |axis: usize| (after[axis] - before[axis]) / (2.0 * step) * 32.0;
            texels(0).hypot(texels(1))
        };
        let detail = length(&words[4..7]).max(length(&words[7..10])).log2();
        let (layer, [s, t]) = face(at);
        let place = [s as f32, t as f32, 0.5];
        let near = [-1e-4, 1e-4].map(|by| picture.sample(detail + by, layer, &sampler, place));
        let (low, high) = (near[0].min(near[1]), near[0].max(near[1]));
        assert!((low..=high).contains(&found), "{words:?}: {found}, not {low} to {high}");
    }
}

#[test]
fn strange_details_mean_a_level_all_the_same() {
    let picture = Picture::new([4, 1, 1], 1, 3);
    let mipmap = Mipmap { filter: Filter::Linear, ..Mipmap::default() };
    let sampler = Sampler { normalized: true, mipmap, ..Sampler::default() };
    let details = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -0.0];
    let inputs = details.map(|detail| [0.3, 0.0, 0.0, detail, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let found = values(&picture, sampler, &inputs, &tex(".level", "1d", ", %f3"));
    let of = |level: usize, texel: usize| picture.levels[level][texel];
    assert_eq!(found, [of(0, 1), of(2, 0), of(0, 1), of(2, 0), of(0, 1)]);
    // Gradients of no length, of endless length, and of none.
    let gradients = tex(".grad", "1d", ", {%f3}, {%f3}");
    let inputs = [0.0, f32::INFINITY, f32::NAN, 0.5].map(|length| {
        let mut words = [0.3; 10];
        words[3] = length;
        words
    });
    let found = values(&picture, sampler, &inputs, &gradients);
    assert_eq!(found, [of(0, 1), of(2, 0), of(0, 1), of(1, 0)]);
}

/// Numbers of texels come with numbers of levels. The sampler has no part in them.
#[test]
fn whole_numbers_name_a_level_and_its_texels() {
    let picture = Picture::new([8, 4, 1], 1, 4);
    let mipmap = Mipmap { filter: Filter::Linear, bias: 1.0, clamp: [2.0, 2.0] };
    let sampler =
        Sampler { normalized: true, filter: Filter::Linear, mipmap, ..Sampler::default() };
    let lanes = [[5, 3, 0], [3, 1, 1], [1, 0, 2], [0, 0, 3], [9, 9, 1], [0, 0, 7], [2, 2, -1]];
    let inputs = lanes.map(|[x, y, level]: [i32; 3]| {
        let [x, y, level] = [x, y, level].map(|bits| f32::from_bits(bits.cast_unsigned()));
        [x, y, 0.0, level, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    });
    let body = "tex.level.2d.v4.f32.s32 {%f10, %f11, %f12, %f13}, [%o, {%r0, %r1}], %r3;";
    let of = |level: usize, texel: usize| picture.levels[level][texel];
    let expected = [of(0, 29), of(1, 7), of(2, 1), of(3, 0), of(1, 7), of(3, 0), of(0, 18)];
    assert_eq!(values(&picture, sampler, &inputs, body), expected);
}

#[test]
fn a_gather_reads_the_nearest_level() {
    let picture = Picture::new([4, 4, 1], 1, 3);
    for (bias, level) in [(0.0, 0), (0.4, 0), (0.6, 1), (9.0, 2)] {
        let mipmap = Mipmap { filter: Filter::Linear, bias, ..Mipmap::default() };
        let sampler = Sampler { normalized: true, mipmap, ..Sampler::default() };
        let body = "tld4.r.2d.v4.f32.f32 {%f10, %f11, %f12, %f13}, [%o, {%f0, %f1}];";
        // The lower left of the four texels around the middle.
        let texel = [9, 2, 0][level];
        let found = values(&picture, sampler, &[[0.5; 10]], body);
        assert_eq!(found, [picture.levels[level][texel]], "{bias}");
    }
}

#[test]
fn depths_are_compared_before_levels_are_mixed() {
    let mut picture = Picture::new([2, 1, 1], 1, 2);
    picture.levels = vec![vec![4.0, 8.0], vec![20.0]];
    let mipmap = Mipmap { filter: Filter::Linear, ..Mipmap::default() };
    let compare = Some(Comparison::LessEqual);
    let sampler = Sampler { normalized: true, mipmap, compare, ..Sampler::default() };
    let inputs = [[0.75, 10.0, 0.0, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]];
    // 10 is not below the texel of level 0, and below that of level 1.
    let found = values(&picture, sampler, &inputs, &tex(".level", "1d", ", %f3, %f1"));
    assert_eq!(found, [0.25]);
}

#[test]
fn a_sampler_of_its_own_chooses_the_level() {
    let picture = Picture::new([4, 1, 1], 1, 3);
    let own = Sampler { normalized: true, ..Sampler::default() };
    let body = tex("", "1d", "").replace("%o", "%o, %s");
    let biased = Sampler { mipmap: Mipmap { bias: 1.0, ..Mipmap::default() }, ..own };
    let run_with =
        |sampler| run_lanes(picture.texture(own), sampler, &[[0.6; 10]], &body, &mut NoObserver);
    assert_eq!(run_with(own).unwrap(), [picture.levels[0][2]]);
    assert_eq!(run_with(biased).unwrap(), [picture.levels[1][1]]);
    let fault = run_with(Sampler::default()).unwrap_err().to_string();
    assert!(fault.contains("a sampler for a texture of several levels"), "{fault}");
}

#[test]
fn queries_tell_levels_and_their_extents() {
    let picture = Picture::new([13, 6, 3], 1, 4);
    let sampler = Sampler { normalized: true, ..Sampler::default() };
    let (texture, texels) = picture.texture(sampler);
    let scene = Scene::of(texture, texels, (0..5).map(|level| [level, 0, 0]).collect());
    let count = scene.results("", "txq.num_mipmap_levels.b32 %r4, [%o]; txq.width.b32 %r5, [%o];");
    assert_eq!(count[0][..2], [4, 13]);
    let body = "txq.level.width.b32 %r4, [%o], %r0; txq.level.height.b32 %r5, [%o], %r0;\n\
        txq.level.depth.b32 %r6, [%o], %r0;";
    let extents = scene.results("", body);
    // Beyond the last level stands the last one.
    let expected = [[13, 6, 3, 0], [6, 3, 1, 0], [3, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 0]];
    assert_eq!(extents, expected);
    let constant = "txq.level.width.b32 %r4, [%o], 1;";
    assert_eq!(scene.results("", constant)[0][0], 6);
}

/// The accesses to texels that a warp tells of.
fn heard(picture: &Picture, sampler: Sampler, inputs: &[Words]) -> Vec<Accessed> {
    let mut log = Log::default();
    let body = tex(".level", "2d", ", %f3");
    run_lanes(picture.texture(sampler), Sampler::default(), inputs, &body, &mut log).unwrap();
    log.accesses.into_iter().filter(|access| access.space == StateSpace::Tex).collect()
}

/// A texel of each level is a sector of its own here, because levels are 64 texels wide.
#[test]
fn lanes_tell_of_the_texels_of_the_levels_that_they_touch() {
    let picture = Picture::new([64, 8, 1], 1, 4);
    let with = |filter, of_levels| Sampler {
        filter,
        normalized: true,
        mipmap: Mipmap { filter: of_levels, ..Mipmap::default() },
        ..Sampler::default()
    };
    let lane = |detail: f32| [0.5, 0.5, 0.0, detail, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let masks = |sampler, details: &[f32]| {
        let inputs: Vec<Words> = details.iter().map(|&detail| lane(detail)).collect();
        heard(&picture, sampler, &inputs).iter().map(|event| event.mask).collect::<Vec<_>>()
    };
    let nearest = with(Filter::Nearest, Filter::Nearest);
    let mixed = with(Filter::Nearest, Filter::Linear);
    // One texel each, of whatever level.
    assert_eq!(masks(nearest, &[0.0, 1.0, 2.2]), [0b111]);
    // The second lane alone reads two levels.
    assert_eq!(masks(mixed, &[0.0, 1.5, 3.0]), [0b111, 0b010]);
    // The first lane has told of the second level's texel already.
    assert_eq!(masks(mixed, &[2.0, 1.5]), [0b11]);
    // Where nothing of the next level is mixed in, none of it is read.
    assert_eq!(masks(mixed, &[1.0, 0.001, 7.0]), [0b111]);
    // At the middle, four texels in four sectors of level 0, and as many of level 1.
    let linear = with(Filter::Linear, Filter::Linear);
    assert_eq!(masks(linear, &[0.0]).len(), 4);
    assert_eq!(masks(linear, &[0.5]).len(), 8);
}

/// A slice computes the levels that lanes ask for, because they decide addresses.
#[test]
fn a_slice_tells_the_texels_of_the_same_levels() {
    let picture = Picture::new([64, 1, 1], 1, 7);
    let mipmap = Mipmap { filter: Filter::Linear, ..Mipmap::default() };
    let sampler = Sampler { normalized: true, mipmap, ..Sampler::default() };
    let text = module(
        ".visible .entry k(.param .u64 object, .param .u64 out) {\n\
         .reg .b32 %tid, %r<8>; .reg .f32 %f<9>; .reg .b64 %o, %out, %at;\n\
         ld.param.u64 %o, [object]; ld.param.u64 %out, [out];\n\
         mov.u32 %tid, %tid.x; cvt.rn.f32.u32 %f0, %tid; mul.f32 %f1, %f0, 0f3D800000;\n\
         mul.f32 %f2, %f0, 0f3C800000; add.f32 %f3, %f1, 0f3F000000;\n\
         tex.level.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%o, {%f2}], %f1;\n\
         tex.grad.1d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%o, {%f2}], {%f3}, {%f1};\n\
         add.f32 %f4, %f4, %f5; mad.wide.u32 %at, %tid, 4, %out; st.global.f32 [%at], %f4; ret; }\n",
    );
    let module = gpucast_ptx_frontend::load(&text).unwrap();
    let whole = Program::new(&module, &text, "k").unwrap();
    let (of_picture, contents) = picture.texture(sampler);
    let accesses = |holds: bool| {
        let mut memory = DeviceMemory::new();
        let mut buffer = |name, bytes| match holds {
            true => memory.allocate(name, bytes).unwrap(),
            false => memory.reserve(name, bytes).unwrap(),
        };
        let [texels, out] = [("texels", contents.len() as u64), ("out", 256)]
            .map(|(name, bytes)| buffer(name, bytes));
        let mut texture = of_picture.clone();
        texture.resource.address += texels;
        texture.smaller.iter_mut().for_each(|level| level.address += texels);
        let object = memory.textures.create(Object::Texture(texture)).unwrap();
        let object = Argument::Bytes(object.to_le_bytes().to_vec());
        let launch = Launch {
            grid: [1; 3],
            block: [64, 1, 1],
            cluster: None,
            dynamic_shared_bytes: 0,
            arguments: vec![object, Argument::Address(out)],
        };
        let slicer = Slicer::new(&module, &whole);
        let slice = slicer.slice(&slicer.distinct(), &Buffers::default());
        let part = whole.sliced(&module, &text, &slice).unwrap();
        let mut log = Log::default();
        let program = if holds { &whole } else { &part };
        run(program, &launch, &mut memory, &mut log, &Options::default(), &Silent).unwrap();
        log.accesses
    };
    let all = accesses(true);
    assert!(all.iter().filter(|event| event.space == StateSpace::Tex).count() > 4);
    assert_eq!(accesses(false), all);
}

#[test]
fn textures_of_levels_that_no_gpu_reads_are_refused() {
    let sampler = Sampler { normalized: true, ..Sampler::default() };
    let good = Picture::new([8, 4, 1], 2, 4).texture(sampler).0;
    let refused = |change: fn(&mut Texture)| {
        let mut bad = good.clone();
        change(&mut bad);
        Textures::default().create(Object::Texture(bad)).unwrap_err()
    };
    assert!(Textures::default().create(Object::Texture(good.clone())).is_ok());
    assert_eq!(refused(|t| t.sampler.normalized = false), BadTexture::LevelsNotNormalized);
    let last = |t: &mut Texture| t.smaller.push(*t.smaller.last().unwrap());
    assert_eq!(refused(last), BadTexture::Levels { most: 4 });
    assert_eq!(refused(|t| t.resource.is_linear = true), BadTexture::Levels { most: 4 });
    assert_eq!(refused(|t| t.smaller[1].extent[0] = 4), BadTexture::LevelExtent { level: 2 });
    assert_eq!(refused(|t| t.smaller[2].layers = 1), BadTexture::LevelExtent { level: 3 });
    assert!(matches!(refused(|t| t.smaller[0].address += 2), BadTexture::Misaligned { .. }));
    assert_eq!(refused(|t| t.sampler.mipmap.clamp = [1.0, 0.5]), BadTexture::LevelClamp);
    assert_eq!(refused(|t| t.sampler.mipmap.clamp[1] = f32::NAN), BadTexture::LevelClamp);
    assert_eq!(refused(|t| t.sampler.mipmap.bias = f32::INFINITY), BadTexture::LevelClamp);
    let whole = |t: &mut Texture| {
        t.format.channel = Channel::U32;
        t.sampler.mipmap.filter = Filter::Linear;
    };
    assert_eq!(refused(whole), BadTexture::FilteredIntegers);
}
