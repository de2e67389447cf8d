//! `gpucast report`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use scraper::{Html, Selector};

use crate::gpucast::{gpucast, json, stdout};

const ARGUMENTS: &str = "sgemm --size small --machine rules";

fn file(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("gpucast-report-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// Writes a report and returns its text.
#[track_caller]
fn report(arguments: &str, name: &str) -> String {
    let path = file(name);
    assert_eq!(stdout(&format!("report {arguments} -o {}", path.display())), "");
    std::fs::read_to_string(path).unwrap()
}

fn selector(css: &str) -> Selector {
    Selector::parse(css).unwrap()
}

/// Products of integers and their sums go to different units, each at its peak.
#[test]
fn no_unit_works_more_than_its_peak_lets_it() {
    let rows: String = (1..9)
        .map(|at| format!("mad.lo.u32 %r{at}, %r{at}, %r9, %r{at}; xor.b32 %s{at}, %s{at}, %r9;\n"))
        .collect();
    let stores: String = (1..9)
        .map(|at| format!("st.global.u32 [%d2], %r{at}; st.global.u32 [%d2], %s{at};\n"))
        .collect();
    let kernel = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 to) {{\n\
         .reg .b32 %r<10>; .reg .b32 %s<10>; .reg .b32 %i; .reg .pred %p; .reg .b64 %d<3>;\n\
         ld.param.u64 %d1, [to]; mov.u32 %r9, %tid.x; mad.wide.u32 %d2, %r9, 4, %d1;\n\
         mov.u32 %i, 0;\nL:\n{rows}{rows}{rows}{rows}\
         add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 64; @%p bra L;\n{stores}ret; }}\n"
    );
    let path = file("integers.ptx");
    std::fs::write(&path, kernel).unwrap();
    let text = report(
        &format!(
            "{} --grid 1056 --block 256 --arg 'buf:u32[256]' --gpu h100-sxm --machine rules \
             --model sm-simulation",
            path.display()
        ),
        "integers.html",
    );
    let page = Html::parse_document(&text);
    let shares: Vec<f64> = page
        .select(&selector("table.meters td.bar"))
        .map(|cell| cell.text().collect::<String>().trim_end_matches(" %").parse().unwrap())
        .collect();
    assert!(shares.iter().any(|share| *share > 60.0), "{shares:?}");
    assert!(shares.iter().all(|share| *share <= 100.0), "{shares:?}");
}

#[test]
fn a_report_is_well_formed_and_refers_to_nothing_outside() {
    let text = report(&format!("{ARGUMENTS} --gpu gtx-480,gtx-660"), "form.html");
    let page = Html::parse_document(&text);
    assert!(page.errors.is_empty(), "{:?}", page.errors);
    for forbidden in ["link", "img", "iframe", "object", "base", "form", "image", "use"] {
        assert_eq!(page.select(&selector(forbidden)).count(), 0, "{forbidden}");
    }
    let scripts: Vec<_> = page.select(&selector("script")).collect();
    assert_eq!(scripts.len(), 1);
    let script: String = scripts[0].text().collect();
    for outside in ["fetch(", "XMLHttpRequest", "import(", "http:", "https:"] {
        assert!(!script.contains(outside), "{outside}");
    }
    let mut anchors = 0;
    for element in page.select(&selector("*")) {
        for (name, value) in element.value().attrs() {
            assert!(
                !name.starts_with("on") && !["src", "srcset", "action"].contains(&name),
                "{name}"
            );
            if name == "href" {
                let target = value.strip_prefix('#').expect("only places in the page");
                assert_eq!(
                    page.select(&selector(&format!("[id=\"{target}\"]"))).count(),
                    1,
                    "{target}"
                );
                anchors += 1;
            }
        }
    }
    assert!(anchors > 5);
    for style in page.select(&selector("style")) {
        let css: String = style.text().collect();
        assert!(!css.contains("url(") && !css.contains("@import"));
        assert!(css.contains("prefers-color-scheme: dark"));
    }
    // Pictures: two rooflines, quadrant split, breakdown and mix at least, each with its texts.
    let pictures: Vec<_> = page.select(&selector(".picture svg")).collect();
    assert!(pictures.len() >= 5, "{}", pictures.len());
    assert!(pictures.iter().all(|svg| svg.select(&selector("text")).count() > 5));
}

#[test]
fn a_report_holds_every_metric_of_the_profile_and_every_figure_of_the_gpu() {
    let page = Html::parse_document(&report(&format!("{ARGUMENTS} --gpu gtx-660"), "values.html"));
    let row = selector("[id$=\"-metrics\"] tbody tr, #gpus tbody tr");
    let cell = selector("th, td");
    let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for element in page.select(&row) {
        let cells: Vec<String> =
            element.select(&cell).map(|cell| cell.text().collect::<String>()).collect();
        if let [name, rest @ ..] = cells.as_slice() {
            rows.insert(name.clone(), rest.to_vec());
        }
    }
    let profile = json(&format!("profile {ARGUMENTS} --gpu gtx-660 --format json"));
    let metrics = profile["launches"][0]["metrics"].as_object().unwrap();
    assert!(metrics.len() > 60, "{}", metrics.len());
    for (name, metric) in metrics {
        let cells = rows.get(name).unwrap_or_else(|| panic!("{name} is missing"));
        let shown: f64 = cells[0].replace(',', "").parse().unwrap_or_else(|_| panic!("{cells:?}"));
        let value = metric["value"].as_f64().unwrap();
        assert!((shown - value).abs() <= 1e-3 * value.abs(), "{name}: {shown} for {value}");
        assert_eq!(cells[1], metric["unit"].as_str().unwrap(), "{name}");
        assert_eq!(cells[2], metric["kind"].as_str().unwrap(), "{name}");
        assert!(!cells[4].is_empty(), "{name} has no meaning");
    }
    let gpu = json("gpus show gtx-660 --format json");
    let fields = gpu["gpus"][0].as_object().unwrap();
    for (name, field) in fields.iter().filter(|(_, field)| field.is_object()) {
        let cells = rows.get(name).unwrap_or_else(|| panic!("{name} is missing"));
        let source = field["source"].as_object().unwrap().values().next().unwrap();
        assert!(cells[2].contains(source.as_str().unwrap()), "{name}: {cells:?}");
    }
}

#[test]
fn a_report_quotes_the_source_as_it_is_and_names_the_stages() {
    let text = report(&format!("{ARGUMENTS} --gpu gtx-660"), "source.html");
    let page = Html::parse_document(&text);
    let lines: Vec<String> =
        page.select(&selector("td.code")).map(|cell| cell.text().collect()).collect();
    let corpus = stdout("corpus show sgemm --part source");
    // Characters that mean something in HTML survive.
    let quoted = lines.iter().filter(|line| line.contains(['<', '>', '&']));
    let quoted: Vec<&String> = quoted.collect();
    assert!(!quoted.is_empty(), "{lines:?}");
    for line in quoted {
        assert!(corpus.contains(line.trim()), "{line}");
    }
    assert!(text.contains("Barriers part the kernel into"), "sgemm has barriers");
}

#[test]
fn a_report_of_a_published_kernel_has_its_measured_time_and_each_warning() {
    // A report has all models, which read the GPU's own counts.
    let arguments = "vector-add --size small --machine rules --gpu gtx-660 --count-on target";
    let text = report(arguments, "warnings.html");
    let page = Html::parse_document(&text);
    let shown: Vec<String> =
        page.select(&selector(".warnings li")).map(|item| item.text().collect()).collect();
    let predictions = json(&format!("predict {arguments} --format json"));
    let warnings = predictions["predictions"][0]["warnings"].as_array().unwrap();
    assert!(!warnings.is_empty());
    for warning in warnings {
        assert!(shown.iter().any(|item| item.ends_with(warning.as_str().unwrap())), "{warning}");
    }
    for code in predictions["predictions"][0]["warning_codes"].as_array().unwrap() {
        assert!(shown.iter().any(|item| item.starts_with(code.as_str().unwrap())), "{code}");
    }
}

#[test]
fn tables_have_captions_and_scopes_and_numbers_stand_beside_the_code() {
    let text = report("sgemm --size small --machine rules --gpu gtx-660,gtx-480", "tables.html");
    let page = Html::parse_document(&text);
    let tables: Vec<_> = page.select(&selector("table")).collect();
    assert!(tables.len() > 8, "{}", tables.len());
    for table in tables {
        assert_eq!(table.select(&selector("caption")).count(), 1);
        assert!(table.select(&selector("thead th")).all(|head| head.attr("scope") == Some("col")));
    }
    // What is hot is a number and a bar, not only a colour.
    let hot = page.select(&selector("tr.heat-4, tr.heat-3")).next().expect("a hot line");
    let share = hot.select(&selector("td.share")).next().unwrap();
    let percent: f64 = share.text().collect::<String>().parse().unwrap();
    assert!(percent >= 15.0, "{percent}");
    assert!(hot.select(&selector("td.code")).next().is_some());
    // Every GPU has its meters, and no unit exceeds its peak by more than rounding.
    let meters: Vec<_> = page.select(&selector("table.meters td.bar")).collect();
    assert!(meters.len() >= 6, "{}", meters.len());
    for gpu in ["gtx-660", "gtx-480"] {
        let panel = selector(&format!("article[data-gpu=\"{gpu}\"]"));
        assert!(page.select(&panel).count() >= 1, "{gpu}");
    }
    assert!(page.select(&selector("figure.memory .box")).count() >= 4);
    // Occupancy over block size and shared memory at least: registers may be unknown.
    let curves = selector("[aria-label^=\"Occupancy on gtx-660\"] svg");
    assert_eq!(page.select(&curves).count(), 3);
}

#[test]
fn a_report_leads_from_a_library_to_the_line_that_calls_it() {
    let arguments = "library-lines.toml --machine rules --gpu a100-sxm-40gb --count-on target";
    let page = Html::parse_document(&report(arguments, "library.html"));
    let line = page.select(&selector(".costliest")).next().unwrap();
    let line: String = line.text().collect();
    assert!(line.starts_with("Line 3"), "{line}");
    let files: Vec<String> =
        page.select(&selector("tr.file")).map(|row| row.text().collect()).collect();
    assert!(!files.iter().any(|file| file.contains("mma.hpp")), "{files:?}");
    let chains: Vec<String> =
        page.select(&selector(".chains li")).map(|item| item.text().collect()).collect();
    assert!(
        chains.iter().any(|chain| chain.contains("load_matrix_sync at mma.hpp:91")),
        "{chains:?}"
    );
}

/// Each GPU is counted on for itself; the counts of the first are shown.
#[test]
fn a_report_on_gpus_that_count_otherwise_has_predictions_for_each() {
    let text = report(&format!("{ARGUMENTS} --gpu gtx-960,h100-sxm"), "several.html");
    let page = Html::parse_document(&text);
    let cards: Vec<String> =
        page.select(&selector(".card")).map(|card| card.text().collect()).collect();
    assert_eq!(cards.len(), 2, "{cards:?}");
    assert!(cards.iter().all(|card| card.contains("sm-simulation")), "{cards:?}");
    assert!(text.contains("Predictions for h100-sxm rest on counts as on the h100-sxm"));
    assert!(!text.contains("counts them for it"), "no prediction has another GPU's counts");
}

#[test]
fn a_report_does_not_depend_on_the_number_of_threads() {
    let arguments = format!("{ARGUMENTS} --gpu gtx-660");
    let one = report(&format!("{arguments} --threads 1"), "one.html");
    assert!(one == report(&format!("{arguments} --threads 2"), "two.html"));
}

#[test]
fn what_cannot_be_reported_is_refused_with_a_hint() {
    let transcripts = [
        format!("report sgem --gpu gtx-660 -o {}", file("b.html").display()),
        format!("report sgemm --gpu gtx-660 --model oracle -o {}", file("c.html").display()),
        format!("report sgemm --gpu gtx-660 -o {}", file("missing/d.html").display()),
    ]
    .map(|arguments| {
        let folder = file("").display().to_string();
        gpucast(&arguments).transcript().replace(folder.trim_end_matches('/'), "FOLDER")
    });
    insta::assert_snapshot!("report-errors", transcripts.join("\n"));
}

#[test]
fn a_report_names_kernels_as_people_do() {
    let module = file("named.ptx");
    let saxpy = include_str!("../inputs/saxpy.ptx").replace("saxpy(", "_Z5saxpyPfS_f(");
    std::fs::write(&module, saxpy).unwrap();
    let launch = "--grid 4 --block 256 --arg u32:1024 --arg f32:2 --arg buf:f32[1024] \
                  --arg buf:f32[1024] --gpu h100-sxm --machine rules";
    let text = report(&format!("{} {launch}", module.display()), "named.html");
    let page = Html::parse_document(&text);
    let heading = page.select(&selector("h2")).next().unwrap();
    assert_eq!(heading.text().collect::<String>(), "saxpy");
    assert_eq!(page.select(&selector("a.launch")).next().unwrap().inner_html(), "saxpy");
    let sentences = selector("section[data-launch] p, td.reason");
    let told: String = page.select(&sentences).flat_map(|element| element.text()).collect();
    assert!(told.contains("saxpy on h100-sxm") && !told.contains("_Z5saxpy"), "{told}");
}

/// The page begins with the verdict and the changes of `advise`.
#[test]
fn a_report_says_what_to_change() {
    let story = "../../insight/advice/tests/stories/product.toml --machine rules";
    let page = Html::parse_document(&report(&format!("{story} --gpu rtx-3060,h100-sxm"), "a.html"));
    let advice = json(&format!("advise {story} --gpu rtx-3060,h100-sxm --format json"));
    for (at, gpu) in ["rtx-3060", "h100-sxm"].into_iter().enumerate() {
        let changes = selector(&format!(".advice[data-advice=\"{gpu}\"] ol > li"));
        let shown: Vec<String> =
            page.select(&changes).map(|item| item.text().collect::<String>()).collect();
        let items = advice["advice"][at]["items"].as_array().unwrap();
        assert_eq!(shown.len(), items.len(), "{gpu}");
        for (shown, item) in shown.iter().zip(items) {
            assert!(shown.contains(item["rule"].as_str().unwrap()), "{shown}");
            assert!(shown.contains(item["change"].as_str().unwrap()), "{shown}");
        }
    }
}

/// The first screen: the fastest GPU, what bounds the kernel on each, and a picture before anything
/// else. Every answer names its bound as `predict` does.
#[test]
fn a_report_begins_with_a_verdict_and_a_picture() {
    let text = report(&format!("{ARGUMENTS} --gpu gtx-960,h100-sxm"), "verdict.html");
    let page = Html::parse_document(&text);
    let verdict = page.select(&selector("section[data-launch] > p strong")).next().unwrap();
    let verdict: String = verdict.text().collect();
    assert!(verdict.starts_with("The H100 SXM5 80 GB is fastest with"), "{verdict}");
    assert!(verdict.contains("× as fast as the GeForce GTX 960"), "{verdict}");
    let predicted = json(&format!("predict {ARGUMENTS} --gpu gtx-960,h100-sxm --format json"));
    let cards: Vec<String> =
        page.select(&selector(".card")).map(|card| card.text().collect()).collect();
    for (at, card) in cards.iter().enumerate() {
        let bound = predicted["predictions"][at]["bound"].as_str().unwrap();
        assert!(card.contains(&format!("bound by {bound},")), "{card}");
        assert!(verdict.contains(bound), "{verdict}");
    }
    let section = text.split("<section id=\"launch-0\"").nth(1).unwrap();
    let picture = section.find("<svg").unwrap();
    assert!(picture < section.find("<h3").unwrap(), "a picture stands before the first part");
    assert!(section[picture..].contains("Where the time of sgemm goes"));
}

/// The contents stay in view and name each part of the page.
#[test]
fn contents_lead_to_every_part_of_a_report() {
    let page = Html::parse_document(&report(&format!("{ARGUMENTS} --gpu gtx-660"), "way.html"));
    let link = selector("nav.contents a");
    let links: Vec<&str> =
        page.select(&link).filter_map(|link| link.value().attr("href")).collect();
    for heading in page.select(&selector("section h3[id]")) {
        let id = heading.value().attr("id").unwrap();
        assert!(links.contains(&format!("#{id}").as_str()), "{id}: {links:?}");
    }
    let style: String = page.select(&selector("style")).flat_map(|style| style.text()).collect();
    assert!(style.contains(".contents { position: sticky;"));
}

/// A kernel without arithmetic has no point under a roofline.
#[test]
fn a_report_leaves_an_empty_roofline_out_and_says_why() {
    let arguments = "transpose --size small --machine rules --gpu h100-sxm";
    let page = Html::parse_document(&report(arguments, "empty.html"));
    let title = selector(".picture svg > title");
    let titles: Vec<String> = page.select(&title).map(|title| title.text().collect()).collect();
    assert!(!titles.iter().any(|title| title.starts_with("Roofline")), "{titles:?}");
    let notes: Vec<String> =
        page.select(&selector("p.muted")).map(|p| p.text().collect()).collect();
    let why = "The roofline of the h100-sxm is left out: no kernel has a point";
    assert!(notes.iter().any(|note| note.starts_with(why)), "{notes:?}");
}

/// The words of the page are those of the glossary.
#[test]
fn words_of_a_report_are_in_the_glossary() {
    let page = Html::parse_document(&report(&format!("{ARGUMENTS} --gpu gtx-660"), "words.html"));
    let word = selector("#words tbody th");
    let words: Vec<String> = page.select(&word).map(|word| word.text().collect()).collect();
    assert!(words.len() > 10, "{words:?}");
    let glossary = include_str!("../../docs/glossary.md").to_lowercase();
    for word in words.iter().flat_map(|word| word.split(", ")) {
        assert!(glossary.contains(&word.to_lowercase()), "{word}");
    }
}

#[test]
fn a_report_on_several_kernels_has_a_section_for_each() {
    let text = report("sgemm histogram --size small --machine rules --gpu gtx-480", "both.html");
    let page = Html::parse_document(&text);
    let titles: Vec<String> =
        page.select(&selector("section[data-launch] h2")).map(|it| it.text().collect()).collect();
    assert_eq!(titles, ["sgemm", "histogram"]);
    let ids: Vec<&str> =
        page.select(&selector("[id]")).filter_map(|element| element.value().attr("id")).collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(ids.len(), unique.len());
}
