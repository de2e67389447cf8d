//! Directions into a cube, and the places where they meet its faces (CUDA C++ programming guide,
//! "Cubemap textures").

/// A coordinate on a face: an axis of the direction, and its sign.
type Part = (usize, f32);

/// The two coordinates on each face, then the one that leads to it. Faces are in the order +x, -x,
/// +y, -y, +z, -z.
const FACES: [[Part; 3]; 6] = [
    [(2, -1.0), (1, -1.0), (0, 1.0)],
    [(2, 1.0), (1, -1.0), (0, -1.0)],
    [(0, 1.0), (2, 1.0), (1, 1.0)],
    [(0, 1.0), (2, -1.0), (1, -1.0)],
    [(0, 1.0), (1, -1.0), (2, 1.0)],
    [(0, -1.0), (1, -1.0), (2, -1.0)],
];

/// The face that a direction meets.
fn face([x, y, z]: [f32; 3]) -> usize {
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    if ax >= ay && ax >= az {
        if x >= 0.0 { 0 } else { 1 }
    } else if ay >= az {
        if y >= 0.0 { 2 } else { 3 }
    } else if z >= 0.0 {
        4
    } else {
        5
    }
}

/// A direction or a gradient in the coordinates of a face.
fn turned(face: usize, direction: [f32; 3]) -> [f32; 3] {
    FACES[face].map(|(axis, sign)| sign * direction[axis])
}

/// The face that a direction meets, and where, from 0 to 1.
pub(super) fn place(direction: [f32; 3]) -> (u32, [f32; 3]) {
    let face = face(direction);
    let [s, t, major] = turned(face, direction);
    let on_face = |s: f32| (s / major + 1.0) / 2.0;
    (face as u32, [on_face(s), on_face(t), 0.0])
}

/// The change of the place on the face when the direction changes by a gradient (Vulkan
/// specification, "Cube Map Derivative Transformation").
pub(super) fn gradient(direction: [f32; 3], gradient: [f32; 3]) -> [f64; 3] {
    let face = face(direction);
    let [s, t, major] = turned(face, direction).map(f64::from);
    let [ds, dt, d_major] = turned(face, gradient).map(f64::from);
    let on_face = |s: f64, ds: f64| (major * ds - s * d_major) / (major * major) / 2.0;
    [on_face(s, ds), on_face(t, dt), 0.0]
}
