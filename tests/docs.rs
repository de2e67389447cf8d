//! The pages of the repository: files that they name exist, and links lead somewhere.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The pages at the top, of the site, and beside the corpus.
fn pages() -> Vec<PathBuf> {
    let docs = root().join("docs");
    let inside = ["evidence", "glossary", "python"].map(|name| docs.join(name));
    let folders = [root(), docs, root().join("corpus")].into_iter().chain(inside);
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    let pages = files.map(|entry| entry.unwrap().path());
    pages.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
}

/// The pieces of a text between one mark and another.
fn between<'a>(text: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(open).skip(1).filter_map(move |rest| Some(rest.split_once(close)?.0))
}

/// The text of a page without its blocks of code, where brackets are no links.
fn prose(page: &Path) -> String {
    let text = fs::read_to_string(page).unwrap();
    let mut is_code = false;
    let is_prose = |line: &&str| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    };
    text.lines().filter(is_prose).collect::<Vec<&str>>().join("\n")
}

#[test]
fn recipes_and_the_map_name_files_that_exist() {
    for (page, heading) in [("CONTRIBUTING.md", "Recipes"), ("ARCHITECTURE.md", "Where to start")] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let (_, section) = text.split_once(&format!("\n## {heading}\n")).unwrap();
        let section = section.split("\n## ").next().unwrap_or_default();
        let names: Vec<&str> = section
            .lines()
            .flat_map(|line| line.split('`').skip(1).step_by(2))
            .filter(|name| name.contains('/') && !name.contains(' '))
            .collect();
        assert!(names.len() > 20, "{names:?}");
        for name in names {
            assert!(root().join(name).exists(), "{page} names {name}, which is not there");
        }
    }
}

#[test]
fn links_between_pages_lead_to_files() {
    let mut links = 0;
    for page in pages() {
        let text = prose(&page);
        let folder = page.parent().unwrap_or(Path::new(""));
        for target in between(&text, "](", ")") {
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") || file.contains(' ') {
                continue;
            }
            links += 1;
            assert!(folder.join(file).exists(), "{}: {target} is not there", page.display());
        }
    }
    assert!(links > 40, "{links} links");
}

/// The place that a heading makes for links: its words in lower case, with dashes between them.
fn anchor(heading: &str) -> String {
    let plain: String = heading.chars().filter(|letter| !"`*[]".contains(*letter)).collect();
    let letters = plain.trim().to_lowercase();
    let kept = letters.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

#[test]
fn links_to_headings_find_them() {
    let mut links = 0;
    for page in pages() {
        let text = prose(&page);
        for target in between(&text, "](", ")") {
            let Some((file, place)) = target.split_once('#') else { continue };
            if target.contains("://") {
                continue;
            }
            links += 1;
            let other = match file {
                "" => page.clone(),
                file => page.parent().unwrap().join(file),
            };
            let text = fs::read_to_string(&other).unwrap();
            let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
            let mut anchors = headings.map(|line| anchor(line.trim_start_matches('#')));
            assert!(
                anchors.any(|anchor| anchor == place),
                "{}: {target} is no heading",
                page.display()
            );
        }
    }
    assert!(links > 3, "{links} links");
}

fn summary() -> String {
    fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap()
}

/// The pages that the site's list has.
fn listed() -> Vec<PathBuf> {
    between(&summary(), "](", ")").map(|target| root().join("docs").join(target)).collect()
}

/// A list that is read at one glance. Pages of a folder are folded below one of its pages.
#[test]
fn the_site_has_at_most_25_pages_that_are_not_folded() {
    let summary = summary();
    let main = summary.lines().filter(|line| line.starts_with("- ["));
    assert!(main.clone().count() <= 25, "{:?}", main.collect::<Vec<_>>());
    let folded = summary.lines().filter(|line| line.starts_with("  - ["));
    for line in folded {
        let folders = ["](evidence/", "](glossary/", "](python/"];
        assert!(folders.iter().any(|folder| line.contains(folder)), "{line}");
    }
}

/// The site has the pages of `docs` and no other files: a link that leaves them would be dead.
#[test]
fn the_site_has_every_page_and_no_link_leaves_it() {
    let docs = root().join("docs");
    let listed = listed();
    for page in pages().into_iter().filter(|page| page.starts_with(&docs)) {
        let is_summary = page.ends_with("SUMMARY.md");
        assert!(is_summary || listed.contains(&page), "SUMMARY.md lacks {}", page.display());
        let text = prose(&page);
        for target in between(&text, "](", ")") {
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") || file.contains(' ') {
                continue;
            }
            let path = page.parent().unwrap().join(file).canonicalize().unwrap();
            let inside = path.starts_with(docs.canonicalize().unwrap());
            assert!(inside, "{}: {target} is not part of the site", page.display());
        }
    }
}

/// The cells of the rows of a page's tables.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let is_row = |line: &&str| line.starts_with("| ") && line.ends_with(" |");
    text.lines()
        .filter(is_row)
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

/// Each test that a cell names, with its file: "`FILE`: `TEST`, `TEST`; `FILE`: `TEST`".
fn named_tests(cell: &str) -> Vec<(&str, &str)> {
    let mut file = "";
    let mut named = Vec::new();
    for word in cell.split('`').skip(1).step_by(2) {
        match word.contains('/') {
            true => file = word,
            false => named.push((file, word)),
        }
    }
    named
}

/// Lines X1 to X20, T1 to T11, S1 to S8 and U1 to U11 in order.
fn lines_of_faults() -> Vec<String> {
    let groups = [('X', 20), ('T', 11), ('S', 8), ('U', 11)];
    let of = |(letter, last)| (1..=last).map(move |number| format!("{letter}{number}"));
    groups.into_iter().flat_map(of).collect()
}

#[test]
fn every_fault_is_held_by_tests_that_exist_or_has_a_reason() {
    let text = fs::read_to_string(root().join("docs/evidence/faults.md")).unwrap();
    let faults: Vec<Vec<&str>> =
        rows(&text).filter(|row| lines_of_faults().iter().any(|line| row[0] == line)).collect();
    let lines: Vec<&str> = faults.iter().map(|row| row[0]).collect();
    assert_eq!(lines, lines_of_faults());
    for row in faults {
        let [line, fault, held, state] = row.as_slice() else { panic!("{row:?}") };
        assert!(!fault.is_empty(), "{line}");
        let tests = named_tests(held);
        let states = ["mended", "in part", "left", "open"];
        assert!(states.iter().any(|known| state.starts_with(known)), "{line}: {state}");
        assert!(!tests.is_empty() || !state.starts_with("mended"), "{line} has no test");
        for (file, test) in tests {
            let source = fs::read_to_string(root().join(file));
            let source = source.unwrap_or_else(|error| panic!("{line}: {file}: {error}"));
            let (before, _) = source
                .split_once(&format!("fn {test}("))
                .unwrap_or_else(|| panic!("{line}: {file} has no {test}"));
            let attributes = before.rsplit('}').next().unwrap_or_default();
            assert!(attributes.contains("#[test]"), "{line}: {test} of {file} is no test");
        }
    }
}

#[test]
fn metrics_that_scripts_ask_for_have_the_names_and_kinds_of_the_list() {
    let docs = root().join("docs");
    let list = fs::read_to_string(docs.join("metrics.md")).unwrap();
    let list: Vec<Vec<&str>> = rows(&list).collect();
    let page = fs::read_to_string(docs.join("evidence/beside-others.md")).unwrap();
    let (_, section) = page.split_once("\n## Metrics that public scripts ask for\n").unwrap();
    let section = section.split("\n## ").next().unwrap_or_default();
    let code = |cell: &str| cell.split('`').nth(1).unwrap_or_default().to_owned();
    let mut lacking = Vec::new();
    let asked: Vec<Vec<&str>> = rows(section).filter(|row| row[0].starts_with('`')).collect();
    for row in &asked {
        let [asked, ours, kind] = row.as_slice() else { panic!("{row:?}") };
        let row = list.iter().find(|row| code(row[0]) == code(ours));
        let row = row.unwrap_or_else(|| panic!("docs/metrics.md has no {ours}"));
        // The list has one roll-up of a counter, from which the others follow.
        let name = code(asked);
        let counter = name.split_once('.').map(|(counter, _)| format!("`{counter}."));
        assert!(row[1].contains(&counter.unwrap_or(format!("`{name}`"))), "{asked} is not {ours}");
        match *kind {
            "n/a" => lacking.push(name),
            kind => assert_eq!(kind, row[4], "{asked}"),
        }
    }
    assert_eq!(asked.len(), 29);
    assert_eq!(lacking, ["smsp__warp_issue_stalled_branch_resolving_per_warp_active.pct"]);
}
