//! Tets of [TetGen](https://wias-berlin.de/software/tetgen), a program of its own: its border is the surface, triangle
//! by triangle.
//!
//! TetGen is under the AGPL; the program is called, with files, and nothing of it is linked. TetGen is not part of
//! Pliant.

use std::fmt::Write as _;
use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::fineness::{Fineness, RESOLUTIONS, check_resolution};
use crate::cancel::CancelToken;
use crate::mesh::{MeshData, MeshError, SurfaceMesh, TetMesh, doctor, open_mesh};

/// The program, as the search path knows it.
const PROGRAM: &str = "tetgen";

/// Between two questions whether the program has ended or shall end.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Fills a closed surface that does not cross itself. Tets are at most as large as cells of this fineness would make
/// them, and smaller where the surface is finer.
pub fn tetrahedralise(surface: &SurfaceMesh, fineness: Fineness, cancel: &CancelToken) -> Result<TetMesh, MeshError> {
    fill(surface, fineness, PROGRAM, cancel)
}

fn fill(surface: &SurfaceMesh, fineness: Fineness, program: &str, cancel: &CancelToken) -> Result<TetMesh, MeshError> {
    surface.check()?;
    let found = doctor::diagnose(surface);
    if found.boundary_edges > 0 {
        return Err(MeshError::Open { boundary_edges: found.boundary_edges });
    }
    if !found.is_solid() {
        return Err(MeshError::NoVolume { volume: found.signed_volume });
    }
    let largest = match fineness {
        Fineness::Cells(resolution) => {
            check_resolution(resolution)?;
            (found.bounds.extent().max() / f64::from(resolution)).powi(3) / 6.0
        }
        // On average tets have about half of the largest volume.
        Fineness::Tets(tets) => {
            let finest = found.bounds.extent().max() / f64::from(*RESOLUTIONS.end());
            (2.0 * found.signed_volume / tets as f64).max(finest.powi(3) / 6.0)
        }
    };
    let folder = Folder::new().map_err(|error| failed(format!("no folder for its files can be made ({error})")))?;
    let input = folder.0.join("surface.poly");
    std::fs::write(&input, poly(surface)).map_err(|error| failed(format!("its input cannot be written ({error})")))?;
    // Q: no words; F: no file of faces; p: a surface is given; Y: it stays as it is; q: the radius around a tet is at
    // most this many times its shortest edge, where the surface allows; a: the largest volume.
    run(program, &[&format!("-QFpYq1.4a{largest}"), "surface.poly"], &folder, cancel)?;
    let read = open_mesh(&folder.0.join("surface.1.node")).map_err(|error| failed(error.to_string()))?;
    match read.data {
        MeshData::Tets(tets) => Ok(doctor::mend_tets(tets)),
        MeshData::Surface(_) => Err(MeshError::NoTets),
    }
}

/// Runs the program in a folder. What it says goes to files there: nobody empties a pipe while it runs.
fn run(program: &str, arguments: &[&str], folder: &Folder, cancel: &CancelToken) -> Result<(), MeshError> {
    let said = ["stdout", "stderr"].map(|name| folder.0.join(name));
    let file = |path| File::create(path).map(Stdio::from).map_err(|error| failed(format!("its words cannot be kept ({error})")));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&folder.0).stdin(Stdio::null()).stdout(file(&said[0])?).stderr(file(&said[1])?);
    let child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => MeshError::NoTetGen,
        _ => failed(format!("it cannot be started ({error})")),
    })?;
    let status = wait(child, cancel)?;
    if status.success() {
        return Ok(());
    }
    let said = said.map(|path| std::fs::read(path).unwrap_or_default()).concat();
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it says nothing");
    Err(failed(format!("{line} ({status})")))
}

/// Waits for the end of the program, or ends it.
fn wait(mut child: Child, cancel: &CancelToken) -> Result<ExitStatus, MeshError> {
    loop {
        if let Some(status) = child.try_wait().map_err(|error| failed(format!("its end cannot be awaited ({error})")))? {
            return Ok(status);
        }
        if let Err(cancelled) = cancel.check() {
            // Both fail only for a program that has ended already.
            child.kill().and_then(|()| child.wait().map(drop)).unwrap_or_default();
            return Err(cancelled.into());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn failed(reason: String) -> MeshError {
    MeshError::TetGen { reason: reason.chars().take(300).collect() }
}

/// The surface as TetGen's piecewise linear complex: nodes, a facet for each triangle, no holes and no regions.
fn poly(surface: &SurfaceMesh) -> String {
    let mut text = format!("{} 3 0 0\n", surface.positions.len());
    // A String takes everything.
    for (i, p) in surface.positions.iter().enumerate() {
        writeln!(text, "{i} {} {} {}", p.x, p.y, p.z).unwrap_or_default();
    }
    writeln!(text, "{} 0", surface.triangles.len()).unwrap_or_default();
    for [a, b, c] in &surface.triangles {
        writeln!(text, "1\n3 {a} {b} {c}").unwrap_or_default();
    }
    text + "0\n0\n"
}

/// A folder of its own for one call, removed at the end of the call.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Self> {
        static CALLS: AtomicU32 = AtomicU32::new(0);
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("pliant-tetgen-{}-{call}", std::process::id()));
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed stays among the system's temporary files.
        std::fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;
    use crate::mesh::shapes;

    #[test]
    fn what_cannot_be_filled_is_told_before_the_program_is_called() {
        let mut open = shapes::icosphere(1.0, 1);
        open.triangles.pop();
        assert_eq!(fill(&open, Fineness::Cells(8), "/no/such/tetgen", &CancelToken::default()), Err(MeshError::Open { boundary_edges: 3 }));
        let ball = shapes::icosphere(1.0, 1);
        assert!(matches!(fill(&ball, Fineness::Cells(4), "/no/such/tetgen", &CancelToken::default()), Err(MeshError::Resolution { .. })));
        let missing = fill(&ball, Fineness::Cells(8), "/no/such/tetgen", &CancelToken::default()).unwrap_err();
        assert_eq!(missing, MeshError::NoTetGen);
        assert!(missing.to_string().contains("apt install tetgen") && missing.to_string().contains("AGPL"), "{missing}");
    }

    /// A stand-in for TetGen: it takes a complex and flags, and leaves nodes and tets beside it, or a sentence and a
    /// status.
    #[cfg(unix)]
    #[test]
    fn what_the_program_leaves_is_read() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new().unwrap();
        let script = |name: &str, lines: &str| {
            let path = folder.0.join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path.display().to_string()
        };
        let seen = folder.0.join("seen");
        let good = script(
            "good",
            &format!(
                "echo \"$@\" > {seen}; cat \"$2\" >> {seen}\n\
                 printf '4 3 0 0\\n0 0 0 0\\n1 1 0 0\\n2 0 1 0\\n3 0 0 1\\n' > surface.1.node\nprintf '1 4 0\\n0 0 1 2 3\\n' > surface.1.ele",
                seen = seen.display()
            ),
        );
        let cube = shapes::surface_box(Vec3::repeat(2.0));
        let mesh = fill(&cube, Fineness::Cells(8), &good, &CancelToken::default()).unwrap();
        assert!(mesh.tets.len() == 1 && (mesh.total_volume() - 1.0 / 6.0).abs() < 1e-12);
        let seen = std::fs::read_to_string(seen).unwrap();
        let lines: Vec<&str> = seen.lines().collect();
        assert_eq!(lines[..2], [format!("-QFpYq1.4a{} surface.poly", 0.25f64.powi(3) / 6.0).as_str(), "8 3 0 0"]);
        assert_eq!((lines[10], lines.len(), &lines[lines.len() - 2..]), ("12 0", 2 + 8 + 1 + 24 + 2, &["0", "0"][..]));
        for (lines, told) in [("echo two facets cross; exit 3", "two facets cross (exit status: 3)"), ("exit 0", "cannot be read")] {
            let error = fill(&cube, Fineness::Tets(1000), &script("bad", lines), &CancelToken::default()).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
    #[cfg(unix)]
    #[test]
    fn a_program_that_is_cancelled_ends_and_leaves_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new().unwrap();
        let (program, place) = (folder.0.join("slow"), folder.0.join("place"));
        std::fs::write(&program, format!("#!/bin/sh\npwd > {}.new\nmv {0}.new {0}\nexec sleep 600\n", place.display())).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let (cancel, program) = (CancelToken::default(), program.display().to_string());
        let result = std::thread::scope(|scope| {
            let filling = scope.spawn(|| fill(&shapes::surface_box(Vec3::repeat(2.0)), Fineness::Cells(8), &program, &cancel));
            while !place.exists() {
                std::thread::sleep(POLL_INTERVAL);
            }
            cancel.cancel();
            filling.join().unwrap()
        });
        assert_eq!(result, Err(MeshError::Cancelled));
        let files = std::fs::read_to_string(&place).unwrap();
        assert!(!std::path::Path::new(files.trim()).exists(), "its files are still in {files}");
    }
}
