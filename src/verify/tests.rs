//! The quick checks are green; a program that computes with another stiffness than it says is red.

use super::*;

/// Checks that notice a body which is stiffer than it says.
const OF_STIFFNESS: [&str; 11] = [
    "uniaxial",
    "shear",
    "hydrostatic",
    "finite_strain",
    "cantilever",
    "refinement",
    "torsion",
    "frequency",
    "decay",
    "hertz",
    "derivatives",
];

/// All but the one that takes seconds.
fn quick() -> impl Iterator<Item = &'static Check> {
    CHECKS.iter().filter(|check| check.name != "cpu_gpu")
}

fn outcome(check: &Check, stiffening: f64) -> CheckReport {
    let mut told = vec![];
    let mut progress = |share| told.push(share);
    let options = Options { backend: Some(BackendChoice::Cpu), threads: Some(1), ..Options::default() };
    let result = (check.run)(&mut Bench { options, cancel: CancelToken::default(), stiffening, progress: &mut progress });
    assert!(told.iter().all(|share| (0.0..=1.0).contains(share)) && told.windows(2).all(|w| w[0] <= w[1]), "{}: {told:?}", check.name);
    assert_eq!(told.last(), Some(&1.0), "{}", check.name);
    let report = CheckReport::new(check, "cpu", result, 0.0);
    println!("{}: {:?} {:?}", check.name, report.reason, report.measures);
    // Every number has a finite curve beside it.
    assert!(!report.plot.curves.is_empty(), "{}", check.name);
    let points = report.plot.curves.iter().flat_map(|curve| &curve.points);
    assert!(points.flatten().all(|x| x.is_finite()), "{}", check.name);
    report
}

#[test]
fn the_quick_checks_are_green() {
    for check in quick() {
        let report = outcome(check, 1.0);
        assert_eq!(report.verdict, Verdict::Passed, "{}: {:?} {:#?}", check.name, report.reason, report.measures);
    }
}

#[test]
fn a_body_that_is_stiffer_than_it_says_is_red() {
    for name in OF_STIFFNESS {
        let [check] = select(&[name.to_owned()]).unwrap()[..] else { panic!("{name}") };
        let report = outcome(check, 1.05);
        assert_eq!(report.verdict, Verdict::Failed, "{name}: {:#?}", report.measures);
    }
}

#[test]
fn a_number_is_green_within_its_tolerance_only() {
    let measured = |x: f64| Measure::relative("length", 2.0, x, 0.01, "m");
    assert!(measured(2.019).is_green() && measured(1.981).is_green());
    assert!(!measured(2.021).is_green() && !measured(1.979).is_green() && !measured(f64::NAN).is_green());
    assert!(Measure::error("error", 1e-7, 1e-6, "").is_green() && !Measure::error("error", -2e-6, 1e-6, "").is_green());
    assert!(!Outcome::default().is_green(), "no numbers are no proof");
}

#[test]
fn names_are_unique_and_unknown_ones_are_told() {
    let names: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
    let different: std::collections::BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(different.len(), names.len());
    assert_eq!(select(&[]).unwrap().len(), CHECKS.len());
    // In the order of the list, each once.
    let chosen = select(&["shear".into(), "patch".into(), "shear".into()]).unwrap();
    assert_eq!(chosen.iter().map(|check| check.name).collect::<Vec<_>>(), ["patch", "shear"]);
    let error = select(&["tension".into(), "hertx".into()]).err().unwrap();
    assert!(error.contains("no check \"tension\"") && error.contains("stick_slip"), "{error}");
    assert!(select(&["hertx".into()]).err().unwrap().contains("did you mean \"hertz\"?"));
    assert!(select(&["torsoin".into()]).err().unwrap().contains("did you mean \"torsion\"?"));
}

#[test]
fn a_run_tells_where_it_is_and_can_be_cancelled() {
    let checks = select(&["shear".into(), "free_fall".into(), "momentum".into()]).unwrap();
    let options = Options { backend: Some(BackendChoice::Cpu), threads: Some(1), ..Options::default() };
    let cancel = CancelToken::default();
    let mut events = vec![];
    let report = run(&checks, &options, &cancel, |progress| {
        if let Progress::Ended(0, _) = progress {
            cancel.cancel();
        }
        events.push(progress);
    })
    .unwrap();
    assert!(matches!(events[0], Progress::Begun(0)) && matches!(events[1], Progress::Done(0, share) if share > 0.0));
    assert_eq!((report.passed, report.failed, report.not_run), (1, 0, 2));
    assert_eq!(report.checks[2].reason.as_deref(), Some("cancelled"));
    assert_eq!(report.backend, "cpu");

    let text = report.text();
    for part in ["ok       Simple shear (shear)", "not run  Free fall", "1 of 3 checks passed, 2 not run", env!("CARGO_PKG_VERSION")] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    assert_eq!(json["checks"][0]["verdict"], "passed");
    assert_eq!(json["checks"][1]["verdict"], "not_run");
    assert_eq!(json["checks"][0]["measures"][0]["expected"], 1e-4);
    assert_eq!(json["machine"]["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_check_tells_where_it_ran_if_that_is_not_where_the_run_was() {
    let ran = |name: &str| CheckReport::new(select(&[name.to_owned()]).unwrap()[0], "gpu", Ok(Outcome::default()), 0.0);
    let report =
        |names: &[&str]| Report::new(Machine::examine(), ("gpu", None, "asked for".into()), names.iter().copied().map(ran).collect());
    let text = report(&["shear", "derivatives", "cpu_gpu"]).text();
    for part in [
        "(shear), 0.0 s\n",
        "(derivatives), 0.0 s, backend cpu\n",
        "(cpu_gpu), 0.0 s, backend cpu and gpu\n",
        "computed by the gpu backend, where no other is named: asked for\n",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(report(&["shear"]).text().contains("computed by the gpu backend: asked for\n"));
    let json: serde_json::Value = serde_json::from_str(&report(&["derivatives"]).json().unwrap()).unwrap();
    assert_eq!(json["checks"][0]["backend"], "cpu");
}

/// Whatever is chosen: without a device these run as well.
#[test]
fn what_runs_on_the_cpu_alone_says_so() {
    let alone: Vec<&str> = CHECKS.iter().filter(|check| check.place == Place::Cpu).map(|check| check.name).collect();
    assert_eq!(alone, ["derivatives"]);
    for check in CHECKS {
        let is_told = reference().split("\n## ").any(|part| part.contains(&format!("(`{}`)", check.name)) && part.contains("- Runs on"));
        assert_eq!(is_told, check.place != Place::Chosen, "{}", check.name);
    }
}

#[test]
fn figures_are_short() {
    for (x, text) in
        [(0.0, "0"), (1e-6, "1e-6"), (-1.23456e-9, "-1.2346e-9"), (0.336421, "0.33642"), (1465.2, "1465.2"), (4e7, "4e7"), (100.0, "100")]
    {
        assert_eq!(figure(x), text);
    }
}

#[test]
fn a_plot_lays_out_its_curves_within_its_paper() {
    use plot::{Axis, Mark, Plot, Style};
    let size = [400.0, 300.0];
    let plots = [
        Plot::new(Axis::linear("time", "s"), Axis::linear("height", "m"))
            .with(Style::Expected, "expected", [[0.0, 0.0], [1.0, -5.0]])
            .with(Style::Points, "measured", [[0.5, -2.5]]),
        Plot::new(Axis::linear("case", ""), Axis::logarithmic("error", "")).with(
            Style::Line,
            "error",
            [[0.0, 1e-16], [3.0, 1e-9], [4.0, 0.0]],
        ),
        // One point, and none at all.
        Plot::new(Axis::linear("x", ""), Axis::linear("y", "")).with(Style::Points, "", [[2.0, 3.0]]),
        Plot::default(),
    ];
    for plot in plots {
        let marks = plot.marks(size);
        let places = marks.iter().flat_map(|mark| match mark {
            Mark::Line { points, .. } => points.clone(),
            Mark::Dot { at, .. } | Mark::Text { at, .. } => vec![*at],
        });
        for [x, y] in places {
            assert!((0.0..=size[0]).contains(&x) && (0.0..=size[1]).contains(&y), "{x} {y} of {plot:?}");
        }
        let dots = marks.iter().filter(|mark| matches!(mark, Mark::Dot { .. })).count();
        let points: usize =
            plot.curves.iter().filter(|c| c.style == Style::Points).map(|c| c.points.len() + usize::from(!c.name.is_empty())).sum();
        assert_eq!(dots, points);
    }
    let upwards = Plot::new(Axis::default(), Axis::default()).with(Style::Line, "", [[0.0, 0.0], [1.0, 1.0]]).marks(size);
    let line =
        upwards.iter().rev().find_map(|mark| if let Mark::Line { points, .. } = mark { Some(points.clone()) } else { None }).unwrap();
    assert!(line[1][0] > line[0][0] && line[1][1] < line[0][1], "y grows upwards on paper: {line:?}");
}
