//! The words around tasks and checked submissions, by language. What is wrong with a kernel is told
//! in English.

use gpucast_lab::Language;
use gpucast_lab::check::ALL_POINTS;

/// The words of one language. Numbers come as they are written in it.
pub(super) struct Words {
    /// Of a task, a submission and its points.
    pub(super) title: fn(&str, &str, u32) -> String,
    pub(super) note: &'static str,
    /// Verdicts of sizes, of one width.
    pub(super) right: &'static str,
    pub(super) wrong: &'static str,
    /// Verdicts of targets, of one width, with what stands between them and the target.
    pub(super) met: &'static str,
    pub(super) open: &'static str,
    /// What is measured now: a metric, or a multiple of the solution's time.
    pub(super) now: fn(&str) -> String,
    pub(super) times_now: fn(&str) -> String,
    pub(super) nothing_now: &'static str,
    /// Of the submission's time and the solution's.
    pub(super) times: fn(&str, &str) -> String,
    pub(super) done: &'static str,
    /// Of the sizes that are right, and of all.
    pub(super) right_at: fn(usize, usize) -> String,
    pub(super) targets_later: &'static str,
    /// Of the targets that are open, and of all.
    pub(super) still_open: fn(usize, usize) -> String,
    /// Of the table of grades.
    pub(super) grades: [&'static str; 7],
    /// Why a submission is not done, where no fault says it.
    pub(super) wrong_at: fn(&str) -> String,
    pub(super) not_checked: fn(&str) -> String,
    /// Of all submissions, those not checked, those done, and the mean of points.
    pub(super) summary: fn(usize, usize, usize, f64) -> String,
    /// Of the list of tasks.
    pub(super) header: [&'static str; 3],
    pub(super) right_results: &'static str,
    pub(super) how_to_start: &'static str,
}

const ENGLISH: Words = Words {
    title: |task, name, points| format!("{task} of {name}: {points} of {ALL_POINTS} points"),
    note: "note",
    right: "right",
    wrong: "WRONG",
    met: "met    ",
    open: "OPEN   ",
    now: |value| format!("{value} now."),
    times_now: |value| format!("{value} times now."),
    nothing_now: "nothing to count now.",
    times: |own, solution| format!("predicted time {own}; the solution's {solution}"),
    done: "done",
    right_at: |right, all| format!("right at {right} of {all} sizes"),
    targets_later: "targets are measured when all are right",
    still_open: |open, all| format!("{open} of {all} targets are open"),
    grades: ["submission", "task", "points", "right", "targets", "time_ms", "reason"],
    wrong_at: |size| format!("wrong at {size}"),
    not_checked: |why| format!("not checked: {why}"),
    summary: |all, unread, done, mean| {
        let unread = if unread > 0 { format!(" {unread} not checked,") } else { String::new() };
        format!(
            "{all} submissions,{unread} {done} done, {mean:.0} of {ALL_POINTS} points on average"
        )
    },
    header: ["task", "about", "targets"],
    right_results: "right results",
    how_to_start: "`gpucast lab start TASK FOLDER` writes a task's files.",
};

const GERMAN: Words = Words {
    title: |task, name, points| format!("{task} von {name}: {points} von {ALL_POINTS} Punkten"),
    note: "Anmerkung",
    right: "richtig",
    wrong: "FALSCH ",
    met: "erfüllt  ",
    open: "OFFEN    ",
    now: |value| format!("Jetzt {value}."),
    times_now: |value| format!("Jetzt {value}-mal so lang."),
    nothing_now: "Jetzt gibt es nichts zu zählen.",
    times: |own, solution| format!("vorhergesagte Zeit {own}; die der Lösung {solution}"),
    done: "gelöst",
    right_at: |right, all| format!("richtig bei {right} von {all} Größen"),
    targets_later: "Ziele werden gemessen, sobald alle stimmen",
    still_open: |open, all| format!("{open} von {all} Zielen sind offen"),
    grades: ["Abgabe", "Aufgabe", "Punkte", "richtig", "Ziele", "Zeit_ms", "Grund"],
    wrong_at: |size| format!("falsch bei {size}"),
    not_checked: |why| format!("nicht geprüft: {why}"),
    summary: |all, unread, done, mean| {
        let unread = if unread > 0 { format!(" {unread} nicht geprüft,") } else { String::new() };
        format!(
            "{all} Abgaben,{unread} {done} gelöst, im Mittel {mean:.0} von {ALL_POINTS} Punkten"
        )
    },
    header: ["Aufgabe", "Thema", "Ziele"],
    right_results: "richtige Ergebnisse",
    how_to_start: "`gpucast lab start AUFGABE ORDNER --language de` schreibt die Dateien einer Aufgabe.",
};

/// The words of a language.
pub(super) const fn words(language: Language) -> &'static Words {
    match language {
        Language::English => &ENGLISH,
        Language::German => &GERMAN,
    }
}
