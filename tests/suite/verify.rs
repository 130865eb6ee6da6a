//! `pliant verify` as its users call it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use pliant::verify;

fn pliant(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pliant")).arg("verify").args(arguments).current_dir(folder).output().unwrap()
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("pliant-verify-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn every_check_passes_and_has_its_picture() {
    let folder = folder("all");
    let output = pliant(&["--backend", "cpu", "--json", "report.json", "--pictures", "pictures"], &folder);
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0));
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.join("report.json")).unwrap()).unwrap();
    let checks = report["checks"].as_array().unwrap();
    assert_eq!(checks.len(), verify::CHECKS.len());
    for check in checks {
        let name = check["name"].as_str().unwrap();
        assert_eq!(check["verdict"], "passed", "{name}: {check:#}");
        assert!(text.contains(&format!("({name})")), "{name} is not told");
        let picture = std::fs::read(folder.join(format!("pictures/{name}.png"))).unwrap();
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 5000, "{name}: {} bytes", picture.len());
    }
    // Well below two minutes, on a busy machine too.
    assert!(report["seconds"].as_f64().unwrap() < 120.0, "{}", report["seconds"]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn bad_arguments_are_told_before_anything_runs() {
    let folder = folder("bad");
    for (arguments, part) in [
        (&["--only", "torsoin"][..], "did you mean \"torsion\"?"),
        (&["--only", "bending"], "patch"),
        (&["--backend", "tpu"], "tpu"),
        (&["--only", "shear", "--json", "missing/report.json"], "missing"),
    ] {
        let output = pliant(arguments, &folder);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}: {error}");
        assert!(error.contains(part), "{arguments:?}: {error}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Those that take less than a second there; a software adapter has no more to show in the others.
#[test]
fn the_device_passes_too() {
    let folder = folder("device");
    let quick = ["patch", "uniaxial", "shear", "hydrostatic", "free_fall", "momentum", "angular_momentum", "energy", "frequency"];
    let only: Vec<&str> = quick.iter().flat_map(|name| ["--only", name]).collect();
    let output = pliant(&[&["--backend", "gpu"], &only[..]].concat(), &folder);
    println!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_list_in_the_documents_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/verify.md");
    let wanted = verify::reference();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{} is out of date: run the tests once with UPDATE=1", path.display());
}
