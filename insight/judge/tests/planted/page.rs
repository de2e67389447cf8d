//! The page that shows what became of each candidate.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use gpucast_judge::Verdict;

use crate::Candidate;

type Outcomes<'a> = (&'a [Candidate], &'a [(Verdict, String)]);

/// Compares the committed page with this run, or writes it with `GPUCAST_UPDATE=1`.
pub(crate) fn check(faults: Outcomes<'_>, honest: Outcomes<'_>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/judge.md");
    let page = page(faults, honest);
    if std::env::var_os("GPUCAST_UPDATE").is_some() {
        fs::write(&path, page).unwrap();
        return;
    }
    let committed = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        committed == page,
        "docs/evidence/judge.md is not what this run gives: GPUCAST_UPDATE=1"
    );
}

fn page(faults: Outcomes<'_>, honest: Outcomes<'_>) -> String {
    let is_refused = |verdict: Verdict| matches!(verdict, Verdict::Wrong | Verdict::Unsafe);
    let refused =
        |(_, of): Outcomes<'_>| of.iter().filter(|(verdict, _)| is_refused(*verdict)).count();
    let (all, of_honest) = (faults.0.len(), honest.0.len());
    let mut text = format!(
        "# The judge on planted faults\n\n\
         The test `planted` of `gpucast-judge` writes this page. Each candidate is PTX of one of five \
         tasks,\nbeside a reference of the same task, at the given size and odd sizes near it. It is \
         refused if the\nverdict is `wrong` or `unsafe`.\n\n\
         | | refused | not refused |\n|---|---|---|\n\
         | {all} with a planted fault | {} | {} |\n| {of_honest} honest | {} | {} |\n",
        refused(faults),
        all - refused(faults),
        refused(honest),
        of_honest - refused(honest),
    );
    text += "\nThe kinds were chosen by who wrote the judge. They say that it looks for these, and \
             nothing of how\noften others do them.\n";
    text += "\n## Planted faults\n\n| kind | task | candidate | verdict | evidence |\n|---|---|---|---|---|\n";
    text += &rows(faults);
    text += "\n## Honest candidates\n\n| kind | task | candidate | verdict | evidence |\n|---|---|---|---|---|\n";
    text += &rows(honest);
    text
}

/// A row for each candidate, those of a kind together.
fn rows((candidates, verdicts): Outcomes<'_>) -> String {
    let mut kinds: BTreeMap<&str, String> = BTreeMap::new();
    for (candidate, (verdict, codes)) in candidates.iter().zip(verdicts) {
        let Candidate { task, name, kind, .. } = candidate;
        let verdict = match verdict {
            Verdict::Wrong | Verdict::Unsafe => verdict.name(),
            Verdict::Slower | Verdict::Faster | Verdict::Unsure => "right",
        };
        *kinds.entry(kind).or_default() +=
            &format!("| {kind} | {} | {name} | {verdict} | {codes} |\n", task.name);
    }
    kinds.into_values().collect()
}
