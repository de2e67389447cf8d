//! Every picture of the gallery, read back from its SVG with nothing of the crate but the font
//! files: texts lie on the canvas and do not cover each other; data lies where the axes' numbers
//! say.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail as tests do; clippy.toml only allows it inside #[test]"
)]

#[path = "support/gallery.rs"]
mod gallery;
#[path = "support/true_type.rs"]
mod true_type;

use std::collections::BTreeMap;

use gpucast_plot::{Scene, Theme, png, svg};
use roxmltree::{Document, Node};

/// A text with the corners of its box.
struct TextBox {
    content: String,
    corners: [(f64, f64); 4],
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).unwrap_or("0").parse().unwrap()
}

/// The width of a text by the font's own table, in ems.
fn advance(text: &str, bold: bool) -> f64 {
    let regular = include_bytes!("../fonts/Inter-Regular.ttf").as_slice();
    let semi_bold = include_bytes!("../fonts/Inter-SemiBold.ttf").as_slice();
    true_type::width(if bold { semi_bold } else { regular }, text)
}

fn boxes(document: &Document<'_>) -> Vec<TextBox> {
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts
        .map(|node| {
            let content = node.text().unwrap().to_owned();
            let size = number(node, "font-size");
            let width = advance(&content, node.has_attribute("font-weight")) * size;
            if let Some(stated) = node.attribute("textLength") {
                let stated: f64 = stated.parse().unwrap();
                assert!((stated - width).abs() < 0.01, "{content}: {stated} against {width}");
            }
            let (x, y) = (number(node, "x"), number(node, "y"));
            let left = match node.attribute("text-anchor") {
                None => 0.0,
                Some("middle") => -width / 2.0,
                Some("end") => -width,
                Some(other) => panic!("{other}"),
            };
            // rotate(a x y), clockwise.
            let angle = node.attribute("transform").map_or(0.0, |transform| {
                let inner = transform.strip_prefix("rotate(").unwrap().strip_suffix(')').unwrap();
                let parts: Vec<f64> = inner.split(' ').map(|part| part.parse().unwrap()).collect();
                assert_eq!((parts[1], parts[2]), (x, y));
                parts[0].to_radians()
            });
            // Digits and capitals are 0.73 em high in Inter; commas reach 0.15 em down.
            let corners = [
                (left, -0.73 * size),
                (left + width, -0.73 * size),
                (left + width, 0.15 * size),
                (left, 0.15 * size),
            ]
            .map(|(dx, dy)| {
                let (sine, cosine) = angle.sin_cos();
                (x + dx * cosine - dy * sine, y + dx * sine + dy * cosine)
            });
            TextBox { content, corners }
        })
        .collect()
}

/// Whether two convex quadrilaterals have an area in common: a corner or the middle of one lies in
/// the other, or two sides cross.
fn overlap(a: &[(f64, f64); 4], b: &[(f64, f64); 4]) -> bool {
    let cross = |o: (f64, f64), p: (f64, f64), q: (f64, f64)| {
        (p.0 - o.0) * (q.1 - o.1) - (p.1 - o.1) * (q.0 - o.0)
    };
    let inside = |point: (f64, f64), quad: &[(f64, f64); 4]| {
        let signs: Vec<f64> =
            (0..4).map(|side| cross(quad[side], quad[(side + 1) % 4], point)).collect();
        signs.iter().all(|s| *s > 1e-9) || signs.iter().all(|s| *s < -1e-9)
    };
    let middle = |quad: &[(f64, f64); 4]| {
        let sum = quad.iter().fold((0.0, 0.0), |sum, c| (sum.0 + c.0, sum.1 + c.1));
        (sum.0 / 4.0, sum.1 / 4.0)
    };
    let crossing = |p: (f64, f64), q: (f64, f64), r: (f64, f64), s: (f64, f64)| {
        cross(p, q, r) * cross(p, q, s) < -1e-9 && cross(r, s, p) * cross(r, s, q) < -1e-9
    };
    a.iter().chain([&middle(a)]).any(|point| inside(*point, b))
        || b.iter().chain([&middle(b)]).any(|point| inside(*point, a))
        || (0..4).any(|i| (0..4).any(|j| crossing(a[i], a[(i + 1) % 4], b[j], b[(j + 1) % 4])))
}

fn each(check: impl Fn(&str, &Scene, &Document<'_>)) {
    for (name, scene) in gallery::scenes() {
        let scene = scene.unwrap();
        for theme in [Theme::Light, Theme::Dark] {
            let text = svg::write(&scene, theme).unwrap();
            check(name, &scene, &Document::parse(&text).unwrap());
        }
    }
}

#[test]
fn the_checker_sees_overlaps() {
    let square = |x: f64, y: f64| [(x, y), (x + 2.0, y), (x + 2.0, y + 2.0), (x, y + 2.0)];
    assert!(overlap(&square(0.0, 0.0), &square(1.0, 1.0)));
    assert!(overlap(&square(0.0, 0.0), &square(0.0, 0.0)));
    assert!(!overlap(&square(0.0, 0.0), &square(2.0, 0.0)));
    let bar = [(-1.0, 0.9), (3.0, 0.9), (3.0, 1.1), (-1.0, 1.1)];
    assert!(overlap(&square(0.0, 0.0), &bar), "sides cross although no corner lies inside");
}

#[test]
fn no_two_texts_overlap() {
    each(|name, _, document| {
        let boxes = boxes(document);
        assert!(boxes.len() > 10, "{name}");
        for (at, text) in boxes.iter().enumerate() {
            for other in &boxes[..at] {
                assert!(
                    !overlap(&text.corners, &other.corners),
                    "{name}: `{}` lies over `{}`",
                    text.content,
                    other.content
                );
            }
        }
    });
}

#[test]
fn every_text_lies_on_the_canvas_and_is_large_enough_to_read() {
    each(|name, scene, document| {
        for text in boxes(document) {
            for (x, y) in text.corners {
                let inside = (0.0..=scene.width).contains(&x) && (0.0..=scene.height).contains(&y);
                assert!(inside, "{name}: `{}` at {x}, {y}", text.content);
            }
        }
        for node in document.descendants().filter(|node| node.has_tag_name("text")) {
            assert!(number(node, "font-size") >= 11.0, "{name}");
        }
    });
}

#[test]
fn pictures_refer_to_nothing_outside() {
    each(|name, _, document| {
        for node in document.descendants() {
            for attribute in node.attributes() {
                let (key, value) = (attribute.name(), attribute.value());
                assert!(!key.contains("href") && !value.contains("url("), "{name}: {key}={value}");
            }
            assert!(
                !["script", "image", "style", "use"].contains(&node.tag_name().name()),
                "{name}"
            );
        }
    });
}

#[test]
fn two_drawings_of_a_picture_are_the_same_bytes() {
    for ((name, first), (_, second)) in gallery::scenes().into_iter().zip(gallery::scenes()) {
        let (first, second) = (first.unwrap(), second.unwrap());
        assert_eq!(svg::write(&first, Theme::Light), svg::write(&second, Theme::Light), "{name}");
        assert_eq!(png::write(&first, Theme::Dark), png::write(&second, Theme::Dark), "{name}");
    }
}

#[test]
fn a_png_decodes_to_twice_the_canvas_with_paper_at_its_corners_and_ink_on_it() {
    for (name, scene) in gallery::scenes() {
        let scene = scene.unwrap();
        let bytes = png::write(&scene, Theme::Light).unwrap();
        let pixels = tiny_skia::Pixmap::decode_png(&bytes).unwrap();
        let expected = ((2.0 * scene.width) as u32, (2.0 * scene.height) as u32);
        assert_eq!((pixels.width(), pixels.height()), expected, "{name}");
        let rgb = |pixel: &tiny_skia::PremultipliedColorU8| {
            assert_eq!(pixel.alpha(), 255, "{name}: paper is opaque");
            [pixel.red(), pixel.green(), pixel.blue()]
        };
        let pixels: Vec<[u8; 3]> = pixels.pixels().iter().map(rgb).collect();
        assert_eq!(pixels.first(), Some(&[255; 3]), "{name}");
        assert_eq!(pixels.last(), Some(&[255; 3]), "{name}");
        let dark = pixels.iter().filter(|pixel| pixel.iter().all(|byte| *byte < 100)).count();
        // Texts alone are more than a thousand dark pixels.
        assert!(dark > 1000, "{name}: {dark}");
    }
}

/// The axis' transform, found again from its numbers: pixels are a + b·f(value).
fn transform(points: Vec<(f64, f64)>, f: impl Fn(f64) -> f64) -> impl Fn(f64) -> f64 {
    let [(first, at_first), .., (last, at_last)] = points[..] else { panic!("two numbers") };
    let slope = (at_last - at_first) / (f(last) - f(first));
    for (value, pixel) in points.iter().copied() {
        let expected = at_first + slope * (f(value) - f(first));
        assert!((expected - pixel).abs() < 0.6, "{value} at {pixel}, not {expected}");
    }
    move |value| at_first + slope * (f(value) - f(first))
}

/// The muted numbers at an axis: value and pixel.
fn axis_numbers(document: &Document<'_>, horizontal: bool) -> Vec<(f64, f64)> {
    let anchor = if horizontal { "middle" } else { "end" };
    let texts = document.descendants().filter(|node| {
        node.has_tag_name("text")
            && node.attribute("text-anchor") == Some(anchor)
            && node.attribute("fill") == Some("#57606A")
    });
    let mut by_line: BTreeMap<i64, Vec<(f64, f64)>> = BTreeMap::new();
    for node in texts {
        let text = node.text().unwrap().replace(',', "").replace('−', "-");
        if let Ok(value) = text.parse() {
            let (x, y) = (number(node, "x"), number(node, "y"));
            // The middle of digits is 0.36 em above the base line.
            let (line, pixel) = if horizontal { (y, x) } else { (x, y - 12.0 * 0.36) };
            by_line.entry((line * 100.0) as i64).or_default().push((value, pixel));
        }
    }
    by_line.into_values().max_by_key(Vec::len).unwrap()
}

/// Middles of discs of a colour, in pixels of the canvas.
fn discs(document: &Document<'_>, fill: &str) -> Vec<(f64, f64)> {
    let nodes = document.descendants().filter(|node| node.has_tag_name("circle"));
    nodes
        .filter(|node| node.attribute("fill") == Some(fill))
        .map(|node| (number(node, "cx"), number(node, "cy")))
        .collect()
}

#[test]
fn points_of_a_roofline_lie_where_the_axes_say() {
    let text = svg::write(&gallery::roofline(1).scene().unwrap(), Theme::Light).unwrap();
    let document = Document::parse(&text).unwrap();
    let x = transform(axis_numbers(&document, true), f64::ln);
    let y = transform(axis_numbers(&document, false), f64::ln);
    // The first kernel: 600 Gop/s; 1.9 operations a byte at DRAM, 0.6 at L2, 0.25 at L1.
    for (fill, intensity) in [("#0072B2", 1.9), ("#D55E00", 0.6), ("#009E73", 0.25)] {
        let [(cx, cy)] = discs(&document, fill)[..] else { panic!("one disc of {fill}") };
        assert!(
            (cx - x(intensity)).abs() < 0.6 && (cy - y(600.0)).abs() < 0.6,
            "{fill}: {cx} {cy}"
        );
    }
    // Roofs: the L1 line passes (0.1, 1433.6) and ends at the FMA ceiling.
    let roof = document.descendants().find(|node| {
        node.has_tag_name("polyline")
            && node.attribute("stroke") == Some("#009E73")
            && node.attribute("stroke-width") == Some("2.2")
    });
    let points: Vec<(f64, f64)> = roof
        .unwrap()
        .attribute("points")
        .unwrap()
        .split_whitespace()
        .map(|pair| {
            let (x, y) = pair.split_once(',').unwrap();
            (x.parse::<f64>().unwrap(), y.parse::<f64>().unwrap())
        })
        .collect();
    let (from, to) = (points[0], points[1]);
    assert!((to.0 - x(7833.0 / 14_336.0)).abs() < 0.6 && (to.1 - y(7833.0)).abs() < 0.6);
    let share = (x(0.1) - from.0) / (to.0 - from.0);
    assert!((from.1 + share * (to.1 - from.1) - y(1433.6)).abs() < 0.6);
}

/// A kernel that reads everything once has one intensity at the L2 and at device memory.
#[test]
fn points_at_one_place_are_seen_around_one_another() {
    let mut picture = gallery::roofline(1);
    for place in &mut picture.kernels[0].places {
        place.intensity = 1.9;
    }
    let text = svg::write(&picture.scene().unwrap(), Theme::Light).unwrap();
    let document = Document::parse(&text).unwrap();
    let radius = |fill: &str| {
        let disc = document.descendants().filter(|node| node.attribute("fill") == Some(fill));
        let mut discs = disc.filter(|node| node.has_tag_name("circle"));
        (number(discs.next().unwrap(), "r"), discs.count())
    };
    let [(dram, _), (l2, _), (l1, 0)] = ["#0072B2", "#D55E00", "#009E73"].map(radius) else {
        panic!("one disc for each level")
    };
    // A mark has an edge of paper, so a pixel of difference would not be seen.
    assert!(dram - l2 >= 3.0 && l2 - l1 >= 3.0, "{dram} {l2} {l1}");
}

#[test]
fn points_of_a_quadrant_split_lie_where_the_axes_say() {
    let text = svg::write(&gallery::quadrant_split().scene().unwrap(), Theme::Light).unwrap();
    let document = Document::parse(&text).unwrap();
    let x = transform(axis_numbers(&document, true), |value| value);
    let y = transform(axis_numbers(&document, false), |value| value);
    let near = |(cx, cy): (f64, f64), gbps: f64, gflops: f64| {
        assert!((cx - x(gbps)).abs() < 0.6 && (cy - y(gflops)).abs() < 0.6, "{cx} {cy}");
    };
    // Thesis, figure 4.6: the adjusted point, and the measured peak with the adjustment by 100 %.
    let blue = discs(&document, "#0072B2");
    assert!(blue.iter().any(|&(_, cy)| (cy - y(202.8)).abs() < 0.6), "{blue:?}");
    near(discs(&document, "#1B1F24")[1], 117.56, 1940.8);
    // The predicted diamond lies on the half-line: 202.8 / 24.81 = 8.17 GB/s.
    let diamonds: Vec<(f64, f64)> = document
        .descendants()
        .filter(|node| node.has_tag_name("polygon") && node.attribute("fill") == Some("#D55E00"))
        .map(|node| {
            let corners: Vec<(f64, f64)> = node
                .attribute("points")
                .unwrap()
                .split_whitespace()
                .map(|pair| pair.split_once(',').unwrap())
                .map(|(x, y)| (x.parse::<f64>().unwrap() / 4.0, y.parse::<f64>().unwrap() / 4.0))
                .collect();
            assert_eq!(corners.len(), 4);
            corners.iter().fold((0.0, 0.0), |sum, c| (sum.0 + c.0, sum.1 + c.1))
        })
        .collect();
    near(diamonds[diamonds.len() - 1], 202.8 / 24.81, 202.8);
}

/// All texts of a picture that contain some words.
fn texts_with(scene: &Scene, words: &str) -> Vec<gpucast_plot::scene::Text> {
    scene.texts.iter().filter(|text| text.content.contains(words)).cloned().collect()
}

#[test]
fn names_of_halves_lie_in_them_or_are_left_out() {
    for (picture, memory, compute) in [
        // Angles of the names: lying, along the edge, left out.
        (gallery::quadrant_split(), Some(0.0), Some(0.0)),
        (gallery::half_line(8.0), Some(90.0), Some(0.0)),
        (gallery::half_line(60.0), None, Some(0.0)),
        (gallery::half_line(0.004), Some(0.0), None),
    ] {
        let scene = picture.scene().unwrap();
        for (words, angle) in [("memory-bound GPUs", memory), ("compute-bound GPUs", compute)] {
            let found: Vec<f64> =
                texts_with(&scene, words).iter().map(|label| label.degrees).collect();
            assert_eq!(found, Vec::from_iter(angle), "{words} of {}", picture.intensity);
        }
    }
}

#[test]
fn roofs_that_fall_together_share_a_label() {
    let scene = gallery::level_ceilings().scene().unwrap();
    let labels = texts_with(&scene, "integer");
    assert_eq!(labels.len(), 1);
    assert_eq!(labels[0].content, "FMA, integer multiply-add, integer add 7,833 Gop/s");
}

#[test]
fn a_picture_of_nothing_is_refused_with_the_reason() {
    use gpucast_plot::pictures::errors::Errors;
    use gpucast_plot::pictures::roofline::Roofline;
    let reason = |scene: Result<Scene, gpucast_plot::DrawError>| scene.unwrap_err().to_string();
    let roofline = Roofline::default();
    assert_eq!(
        reason(roofline.scene()),
        "there is nothing to draw: a roofline needs a bandwidth and a throughput"
    );
    let mut split = gallery::quadrant_split();
    split.intensity = f64::INFINITY;
    assert_eq!(
        reason(split.scene()),
        "there is nothing to draw: kernel sgemm has no finite operational intensity"
    );
    let mut errors: Errors = gallery::errors();
    errors.rows[1].measured_ms = 0.0;
    assert_eq!(
        reason(errors.scene()),
        "there is nothing to draw: sor-red-black gtx-660: 0 ms is no time"
    );
}
