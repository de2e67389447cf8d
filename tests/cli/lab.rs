//! `gpucast lab`: from the hand-out to the grades of a class, with PTX as submissions, which needs
//! no compiler.

use std::fs;
use std::path::{Path, PathBuf};

use crate::gpucast::{command, gpucast, json, outcome, stdout};

/// A file of a task of ours.
fn of_task(task: &str, file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("studies/lab/tasks").join(task).join(file)
}

/// A class in a folder of its own: submissions as PTX.
fn class(of: &[(&str, &str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (student, task, file) in of {
        fs::copy(of_task(task, file), folder.path().join(format!("{student}.ptx"))).unwrap();
    }
    folder
}

#[test]
fn tasks_are_listed() {
    insta::assert_snapshot!(stdout("lab list"));
    let tasks = json("lab list --format json")["tasks"].as_array().unwrap().clone();
    assert_eq!(tasks.len(), 15);
    assert!(tasks[5]["targets"][2].as_str().unwrap().contains("shared_conflict_degree"));
}

#[test]
fn a_task_is_handed_out_once() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    let started = gpucast(&format!("lab start registers '{}'", work.display()));
    assert_eq!(started.status, 0, "{}", started.stderr);
    insta::assert_snapshot!(fs::read_to_string(work.join("README.md")).unwrap());
    for name in ["kernel.cu", "launch.toml", "task.txt"] {
        assert!(work.join(name).is_file(), "{name}");
    }
    assert!(!work.join("solution.cu").exists() && !work.join("reference.ptx").exists());
    fs::write(work.join("kernel.cu"), "mine").unwrap();
    let again = gpucast(&format!("lab start registers '{}'", work.display()));
    assert_eq!(again.status, 1);
    assert!(again.stderr.contains("is there already"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(work.join("kernel.cu")).unwrap(), "mine");
}

#[test]
fn a_check_says_what_is_left_to_do() {
    // Where lines break depends on the length of a file's name: the program runs beside it.
    let check = |task: &str, file: &str| {
        let mut check = command(&format!("lab check {file} --task {task}"));
        check.current_dir(of_task(task, ""));
        outcome(check)
    };
    let slow = check("03-coalescing", "start.ptx");
    assert_eq!(slow.status, 1, "{}", slow.stderr);
    insta::assert_snapshot!("slow", slow.stdout);
    let wrong = check("02-guard", "start.ptx");
    assert_eq!(wrong.status, 1, "{}", wrong.stderr);
    insta::assert_snapshot!("wrong", wrong.stdout);
    let done = check("03-coalescing", "reference.ptx");
    assert_eq!((done.status, done.stderr.as_str()), (0, ""));
    insta::assert_snapshot!("done", done.stdout);
}

#[test]
fn tasks_are_told_in_german() {
    insta::assert_snapshot!("german_list", stdout("lab list --language de"));
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    let started = gpucast(&format!("lab start registers '{}' --language de", work.display()));
    assert_eq!(started.status, 0, "{}", started.stderr);
    insta::assert_snapshot!("german_lesson", fs::read_to_string(work.join("README.md")).unwrap());
    let check = |file: &str| {
        let mut check = command(&format!("lab check {file} --task 03-coalescing --language de"));
        check.current_dir(of_task("03-coalescing", ""));
        outcome(check).stdout
    };
    insta::assert_snapshot!("german_slow", check("start.ptx"));
    insta::assert_snapshot!("german_done", check("reference.ptx"));
}

#[test]
fn a_class_is_graded_in_all_forms() {
    let class = class(&[
        ("anna", "11-scan", "reference.ptx"),
        ("ben", "11-scan", "start.ptx"),
        ("|clara", "11-scan", "reference.ptx"),
    ]);
    fs::write(class.path().join("notes.txt"), "no submission").unwrap();
    let grade = |format: &str| {
        let class = class.path().display();
        gpucast(&format!("lab grade '{class}' --task scan --format {format}"))
    };
    let text = grade("text");
    assert_eq!(text.status, 0, "{}", text.stderr);
    assert!(text.stderr.contains("notes.txt is no submission"), "{}", text.stderr);
    insta::assert_snapshot!("grades", text.stdout);
    insta::assert_snapshot!("grades_csv", grade("csv").stdout);
    insta::assert_snapshot!("grades_markdown", grade("markdown").stdout);
    let json: serde_json::Value = serde_json::from_str(&grade("json").stdout).unwrap();
    let points = |at: usize| json["submissions"][at]["points"].as_u64().unwrap();
    assert_eq!([points(0), points(1), points(2)], [100, 0, 100]);
}

#[test]
fn a_class_is_graded_in_german() {
    let class =
        class(&[("anna", "03-coalescing", "reference.ptx"), ("ben", "03-coalescing", "start.ptx")]);
    fs::write(class.path().join("clara.py"), "").unwrap();
    let grade = |format: &str| {
        let class = class.path().display();
        let options = format!("--task coalescing --language de --format {format}");
        gpucast(&format!("lab grade '{class}' {options}")).stdout
    };
    let here = class.path().display().to_string();
    insta::assert_snapshot!("german_grades", grade("text").replace(&here, "~"));
    insta::assert_snapshot!("german_grades_csv", grade("csv").replace(&here, "~"));
}

/// The PTX of a kernel in Python stands beside it, under the hash of its text.
#[test]
fn kernels_in_python_are_graded_by_the_ptx_of_their_check() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let started = gpucast(&format!("lab start scan '{}' --numba", place("anna").display()));
    assert_eq!(started.status, 0, "{}", started.stderr);
    insta::assert_snapshot!(
        "lesson_in_python",
        fs::read_to_string(place("anna/README.md")).unwrap()
    );
    let launch = fs::read_to_string(place("anna/launch.toml")).unwrap();
    assert!(launch.contains("module = \"kernel.ptx\"") && launch.contains("{ u64 = 0 }"));
    for name in ["ben", "clara"] {
        fs::create_dir(place(name)).unwrap();
        for file in ["task.txt", "kernel.py", "launch.toml"] {
            fs::copy(place("anna").join(file), place(name).join(file)).unwrap();
        }
    }
    let keep = |name: &str, source: &str, ptx: &str| {
        fs::copy(of_task("11-scan", source), place(name).join("kernel.py")).unwrap();
        let ptx = fs::read_to_string(of_task("11-scan", ptx)).unwrap();
        gpucast_lab::python::keep(&place(name).join("kernel.py"), &ptx).unwrap();
    };
    keep("anna", "solution.py", "reference-numba.ptx");
    keep("ben", "start.py", "start-numba.ptx");
    let grade = || gpucast(&format!("lab grade '{}'", folder.path().display()));
    let graded = grade();
    assert_eq!(graded.status, 1, "{}", graded.stdout);
    let lines: Vec<&str> = graded.stdout.lines().collect();
    assert!(lines[1].starts_with("anna        11-scan     100    5/5"), "{}", lines[1]);
    assert!(lines[2].contains(" 0/5 ") && lines[2].contains("race: "), "{}", lines[2]);
    assert!(lines[3].contains("kernel.py has no PTX beside it"), "{}", lines[3]);
    fs::write(place("anna/kernel.py"), "# another one").unwrap();
    assert!(grade().stdout.contains("kernel.py has changed since it was compiled"));
    let vectors = gpucast(&format!("lab start vectors '{}' --numba", place("none").display()));
    assert_eq!(vectors.status, 1);
    assert!(vectors.stderr.contains("04-vectors has no kernel in Python"), "{}", vectors.stderr);
}

/// What the page saves: the points that it claims count for nothing.
#[test]
fn what_students_of_the_page_have_done_is_graded() {
    let folder = tempfile::tempdir().unwrap();
    let version = |file: &str| {
        let text = |name: &str| fs::read_to_string(of_task("11-scan", name)).unwrap();
        serde_json::json!({ "source": text(file), "launch": text("launch.toml"), "cuda": null })
    };
    for (name, file) in [("anna", "solution.ptx"), ("ben", "start.ptx")] {
        let mine = serde_json::json!({ "mine": version(file), "points": 100, "done": true });
        let saved = serde_json::json!({
            "schema": "gpucast.classroom/1",
            "tasks": { "11-scan": mine, "12-histogram": { "hints": 1 } },
        });
        fs::write(folder.path().join(format!("{name}.json")), saved.to_string()).unwrap();
    }
    let graded = gpucast(&format!("lab grade '{}' --format json", folder.path().display()));
    assert_eq!(graded.status, 0, "{}", graded.stderr);
    let graded: serde_json::Value = serde_json::from_str(&graded.stdout).unwrap();
    let all = graded["submissions"].as_array().unwrap();
    let told =
        all.iter().map(|one| (one["name"].as_str().unwrap(), one["points"].as_u64().unwrap()));
    assert_eq!(told.collect::<Vec<_>>(), [("anna", 100), ("ben", 0)]);
    assert!(
        all.iter().all(|one| one["task"] == "11-scan" && one["notes"] == serde_json::json!([]))
    );
}

/// A submission names no folder from which a grader would take an easier task.
#[test]
fn a_submission_names_tasks_of_ours_alone() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("easy");
    assert_eq!(gpucast(&format!("lab new '{}'", own.display())).status, 0);
    let anna = folder.path().join("class/anna");
    fs::create_dir_all(&anna).unwrap();
    fs::copy(of_task("11-scan", "start.ptx"), anna.join("kernel.cu")).unwrap();
    fs::write(anna.join("task.txt"), own.display().to_string()).unwrap();
    // It keeps nobody else from a grade, and neither does one without a name.
    for (name, task) in
        [("ben", Some("11-scan\n")), ("clara", None), ("|d\u{e9}", Some("no\nsuch"))]
    {
        let folder = folder.path().join("class").join(name);
        fs::create_dir(&folder).unwrap();
        fs::copy(of_task("11-scan", "reference.ptx"), folder.join("kernel.cu")).unwrap();
        if let Some(task) = task {
            fs::write(folder.join("task.txt"), task).unwrap();
        }
    }
    let grade = |format: &str| {
        let class = folder.path().join("class");
        gpucast(&format!("lab grade '{}' --format {format}", class.display()))
    };
    let graded = grade("json");
    assert_eq!(graded.status, 1, "{}", graded.stderr);
    let says = "3 of 4 submissions could not be checked";
    assert!(graded.stderr.contains(says), "{}", graded.stderr);
    assert!(graded.stderr.contains("--task coalescing"), "{}", graded.stderr);
    let graded: serde_json::Value = serde_json::from_str(&graded.stdout).unwrap();
    let all = graded["submissions"].as_array().unwrap();
    assert_eq!((&all[1]["name"], &all[1]["points"]), (&"ben".into(), &100.into()));
    for (at, because) in [
        (0, "which is none of ours"),
        (2, "nothing says which task"),
        (3, "|d\u{e9} is of a task `no`, which is none of ours"),
    ] {
        let says = all[at]["not_checked"].as_str().unwrap();
        assert!(says.contains(because), "{says}");
    }
    // A header, its line, and a row for each.
    assert_eq!(grade("markdown").stdout.lines().count(), 6);
}

#[test]
fn a_submission_that_cannot_be_checked_is_named() {
    let class = class(&[("anna", "11-scan", "reference.ptx"), ("clara", "11-scan", "start.ptx")]);
    let bens = class.path().join("ben");
    fs::create_dir(&bens).unwrap();
    fs::copy(of_task("11-scan", "reference.ptx"), bens.join("kernel.cu")).unwrap();
    fs::write(bens.join("launch.toml"), "grid = [1\n").unwrap();
    let grade = |format: &str| {
        let class = class.path().display();
        gpucast(&format!("lab grade '{class}' --task scan --format {format}"))
    };
    let text = grade("text");
    assert_eq!(text.status, 1);
    assert!(text.stderr.contains("1 of 3 submissions could not be checked"), "{}", text.stderr);
    let last = text.stdout.lines().last().unwrap();
    assert_eq!(last, "3 submissions, 1 not checked, 1 done, 50 of 100 points on average");
    let json: serde_json::Value = serde_json::from_str(&grade("json").stdout).unwrap();
    let ben = &json["submissions"][1];
    let because = ben["not_checked"].as_str().unwrap();
    assert!(because.contains("ben/launch.toml:1: "), "{because}");
    assert_eq!((&ben["name"], &ben["points"]), (&"ben".into(), &serde_json::Value::Null));
    for (at, points) in [(0, 100), (2, 0)] {
        assert_eq!(json["submissions"][at]["points"], points);
    }
}

#[test]
fn a_launch_file_may_change_what_its_task_allows() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    fs::copy(of_task("15-registers", "reference.ptx"), file("kernel.cu")).unwrap();
    fs::write(file("task.txt"), "15-registers\n").unwrap();
    let check = || gpucast(&format!("lab check '{}' --format json", folder.path().display()));
    // In the grid of the start code, most of the solution's blocks lie outside of the matrix.
    let launch = fs::read_to_string(of_task("15-registers", "launch.toml")).unwrap();
    fs::write(file("launch.toml"), &launch).unwrap();
    let in_small_blocks: serde_json::Value = serde_json::from_str(&check().stdout).unwrap();
    let own = fs::read_to_string(of_task("15-registers", "solution.toml")).unwrap();
    fs::write(file("launch.toml"), own.replace("k = 50", "k = 60")).unwrap();
    let in_its_own = check();
    assert_eq!(in_its_own.status, 0, "{}{}", in_its_own.stdout, in_its_own.stderr);
    let in_its_own: serde_json::Value = serde_json::from_str(&in_its_own.stdout).unwrap();
    assert_eq!(in_its_own["points"], 100);
    let note = in_its_own["notes"][0].as_str().unwrap();
    assert!(note.ends_with("launch.toml has changes that count for nothing"), "{note}");
    assert_eq!(in_small_blocks["notes"].as_array().unwrap().len(), 0);
    let time = |of: &serde_json::Value| of["time_ms"].as_f64().unwrap();
    assert!(time(&in_small_blocks) > 2.0 * time(&in_its_own));
}

#[test]
fn a_task_of_a_teachers_own_is_handed_out_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    assert_eq!(gpucast(&format!("lab new '{}'", place("sums"))).status, 0);
    fs::copy(of_task("03-coalescing", "reference.ptx"), place("sums/reference.ptx")).unwrap();
    assert_eq!(gpucast(&format!("lab start '{}' '{}'", place("sums"), place("work"))).status, 0);
    fs::copy(of_task("03-coalescing", "reference.ptx"), place("work/kernel.cu")).unwrap();
    let task = place("sums");
    let checked = gpucast(&format!("lab check '{}' --task '{task}'", place("work")));
    assert_eq!(checked.status, 0, "{}{}", checked.stdout, checked.stderr);
    assert!(checked.stdout.starts_with("sums of work: 100 of 100 points"), "{}", checked.stdout);
    // What is wrong with a task is said with its place.
    let path = folder.path().join("sums/task.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("global_load_sectors_per_request", "sectors_per_request"))
        .unwrap();
    let wrong = gpucast(&format!("lab check '{}' --task '{task}'", place("work")));
    assert_eq!(wrong.status, 1);
    let says = "task.toml: no metric is named `sectors_per_request`";
    assert!(wrong.stderr.replace("\n  | ", " ").contains(says), "{}", wrong.stderr);
}

#[test]
fn what_is_not_there_is_said() {
    for (run, says) in [
        ("lab start coalesce", "did you mean `coalescing`?"),
        ("lab check absent", "absent has no kernel.cu"),
        ("lab check saxpy.ptx", "nothing says which task saxpy.ptx belongs to"),
        ("lab grade broken --task 99", "there is no task `99`"),
        ("lab grade absent --task scan", "cannot read absent"),
    ] {
        let outcome = gpucast(run);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (1, ""), "{run}");
        assert!(outcome.stderr.contains(says), "{run}: {}", outcome.stderr);
    }
}

/// Twenty submissions of a class, of which some are right and others wrong in ways that students
/// find.
#[test]
#[cfg(unix)]
fn submissions_in_cuda_get_the_points_that_they_deserve() {
    const CLASSES: [(&str, &[u64]); 3] = [
        ("11-scan", &[100, 0, 50, 0, 10, 0]),
        ("12-histogram", &[100, 50, 0, 16, 0, 0]),
        ("14-product", &[100, 50, 25, 12, 12, 12, 12, 100]),
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("studies/lab/tests/class");
    for (task, deserved) in CLASSES {
        let class = folder.join(task).display().to_string();
        let grade = format!("lab grade {class} --task {task} --format json");
        let Some(graded) = crate::clang::with_clang(&grade) else { return };
        assert_eq!(graded.status, 0, "{task}: {}", graded.stderr);
        let graded: serde_json::Value = serde_json::from_str(&graded.stdout).unwrap();
        let all = graded["submissions"].as_array().unwrap();
        let points: Vec<u64> = all.iter().map(|one| one["points"].as_u64().unwrap()).collect();
        assert_eq!(points, deserved, "{task}");
    }
}
