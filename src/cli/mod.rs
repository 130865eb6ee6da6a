//! The command line: a thin shell on `scene` and `sim`.
//!
//! Exit status: 0 done; 1 the run failed; 2 bad arguments or bad input. Results go to stdout, everything else to
//! stderr.

/// A line to stdout. Who reads it may have seen enough (`| head`): the work goes on, and files are written.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}

/// A line to stderr that `--quiet` leaves out.
macro_rules! tell {
    ($($text:tt)*) => {
        if crate::cli::voice::is_heard() {
            eprintln!($($text)*);
        }
    };
}

mod bench;
mod check;
mod device_select;
mod export;
mod figures;
mod film;
mod info;
mod interrupt;
mod mesh;
mod results;
mod run;
mod thumbnails;
mod verify;
mod voice;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::gpu::DeviceError;
use crate::output::OutputError;
use crate::scene::{BackendChoice, SceneError, builtin_scenes, did_you_mean};
use crate::sim::{SaveError, SessionError, SimulationError};

#[derive(Parser)]
#[command(
    version,
    about = "An interactive laboratory for elastically deformable solids",
    after_help = "Without a command the window opens. SCENE is a scene file, a mesh (OBJ, OFF, PLY, STL, glTF, Gmsh, VTK, TetGen, MEDIT) or a scene of the gallery: \
                  gallery, bunny, armadillo, cantilever, incline, attached, spin; or an experiment with contact and materials: throw, rings, rings_stiff, \
                  pyramid, bunnies, bearing, cubes, wedge, strings, mixed, rigid_stack, rigid_house_of_cards, armadillo_cylinders, squeeze, \
                  stretch, twist, inversion, dent, creases.\n\n\
                  Examples:\n  \
                  pliant                                   the gallery in a window\n  \
                  pliant model.stl                         a mesh of your own, dropped onto a floor\n  \
                  pliant run bunny --out bunny.mp4         a film, without a window\n  \
                  pliant check scene.toml model.stl        what is wrong, and what would mend it\n\n\
                  `pliant help COMMAND` tells more, with examples."
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// What to open in the window [default: gallery]
    scene: Option<String>,
    #[command(flatten)]
    place: ComputeArgs,
    /// Write a line to FILE for each thing that happens in the window
    #[arg(long, value_name = "FILE")]
    log_events: Option<PathBuf>,
    #[command(flatten)]
    voice: voice::VoiceArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Compute a scene without a window
    Run(Box<run::RunArgs>),
    /// Make results from a recording, without computing again
    Export(Box<export::ExportArgs>),
    /// Say whether scenes and meshes are sound, and what would mend them
    Check(check::CheckArgs),
    /// Fill a surface with tets, and say how good they are
    Mesh(mesh::MeshArgs),
    /// Measure how fast this machine is
    Bench(Box<bench::BenchArgs>),
    /// Hold this program against known answers, on this machine
    Verify(verify::VerifyArgs),
    /// Describe this program and the graphics adapters it could use, or the materials that it knows
    Info(info::InfoArgs),
    /// Write what completes its commands in a shell:
    /// `pliant completions bash > ~/.local/share/bash-completion/completions/pliant`
    Completions { shell: clap_complete::Shell },
    /// Draw the pictures of the gallery, which are inside the program
    #[command(hide = true)]
    Thumbnails(thumbnails::ThumbnailArgs),
    /// Write its manual page: `pliant man | man -l -`
    Man,
}

/// Where to compute.
#[derive(Args, Clone, Default)]
struct ComputeArgs {
    /// Where to compute [default: what the scene says, else auto: the GPU where it is faster]
    #[arg(long, value_name = "BACKEND", value_parser = ["auto", "gpu", "cpu"])]
    backend: Option<String>,
    /// Graphics adapter whose name contains this (see `pliant info`)
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,
}

impl ComputeArgs {
    fn backend(&self) -> Option<BackendChoice> {
        self.backend.as_deref().and_then(BackendChoice::from_name)
    }
}

/// Why the program ends without success.
#[derive(Debug)]
enum Failure {
    /// Bad arguments or bad input.
    Input(String),
    /// A scene with mistakes.
    Scene(SceneError),
    /// The run failed.
    Run(String),
}

impl Failure {
    /// Says it on stderr.
    fn tell(&self) {
        match self {
            Self::Run(message) | Self::Input(message) => eprintln!("error: {message}"),
            Self::Scene(error) => eprintln!("{}", error.excerpts(voice::has_colors())),
        }
    }
}

impl From<SceneError> for Failure {
    fn from(error: SceneError) -> Self {
        Self::Scene(error)
    }
}

/// Failures of resuming a saved state.
impl From<SaveError> for Failure {
    fn from(error: SaveError) -> Self {
        match error {
            SaveError::Step(_) => Self::Run(error.to_string()),
            _ => Self::Input(error.to_string()),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        if error.is_refusal() { Self::Input(error.to_string()) } else { Self::Run(error.to_string()) }
    }
}

impl From<SimulationError> for Failure {
    fn from(error: SimulationError) -> Self {
        match error {
            SimulationError::Device(DeviceError::Lost(_) | DeviceError::Refused(_)) => Self::Run(error.to_string()),
            _ => Self::Input(error.to_string()),
        }
    }
}

/// The command line with all its options, for those who describe it.
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// Runs the program.
pub fn main() -> ExitCode {
    if let Some(mut help) = bench::help_of(std::env::args().skip(1)) {
        help.print_help().unwrap_or_default();
        return ExitCode::SUCCESS;
    }
    // Clap itself ends with status 2 on bad arguments, and 0 after --help.
    let cli = Cli::try_parse().unwrap_or_else(|error| match misspelt_command(std::env::args().skip(1)) {
        Some(sentence) => {
            eprintln!("error: {sentence}");
            std::process::exit(2);
        }
        None => error.exit(),
    });
    if cli.may_open_vulkan() {
        device_select::leave_out();
    }
    cli.voice.settle();
    match run_command(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.tell();
            ExitCode::from(if matches!(failure, Failure::Run(_)) { 1 } else { 2 })
        }
    }
}

fn run_command(cli: &Cli) -> Result<(), Failure> {
    if let Some(sentence) = cli.misplaced().or_else(|| cli.misspelt()) {
        return Err(Failure::Input(sentence));
    }
    match &cli.command {
        None => window(cli),
        Some(Command::Run(args)) => run::run(args),
        Some(Command::Export(args)) => export::export(args),
        Some(Command::Check(args)) => check::check(args),
        Some(Command::Mesh(args)) => mesh::mesh(args),
        Some(Command::Bench(args)) => bench::bench(args),
        Some(Command::Verify(args)) => verify::verify(args),
        Some(Command::Info(args)) => info::info(*args),
        Some(Command::Completions { shell }) => {
            clap_complete::generate(*shell, &mut command(), "pliant", &mut std::io::stdout());
            Ok(())
        }
        Some(Command::Thumbnails(args)) => thumbnails::thumbnails(args),
        Some(Command::Man) => manual(),
    }
}

impl Cli {
    fn may_open_vulkan(&self) -> bool {
        !matches!(self.command, Some(Command::Check(_) | Command::Mesh(_) | Command::Completions { .. } | Command::Man))
    }

    /// What is said before a command and belongs to the window, as a sentence.
    fn misplaced(&self) -> Option<String> {
        self.command.as_ref()?;
        let before = match self {
            Self { scene: Some(scene), .. } => return Some(format!("\"{scene}\" stands before the command; name the scene behind it")),
            Self { place: ComputeArgs { backend: Some(_), .. }, .. } => "--backend",
            Self { place: ComputeArgs { adapter: Some(_), .. }, .. } => "--adapter",
            Self { log_events: Some(_), .. } => "--log-events",
            _ => return None,
        };
        Some(format!("{before} stands before the command, where it is for the window; give it behind the command if that knows it"))
    }

    /// What is meant where a single word, which would be a scene, is near to a command or a scene.
    fn misspelt(&self) -> Option<String> {
        misspelt_command(self.scene.iter().cloned()).filter(|sentence| sentence.ends_with('?'))
    }
}

/// What is meant where the first word is neither a command nor something to open.
fn misspelt_command(mut words: impl Iterator<Item = String>) -> Option<String> {
    let word = words.next().filter(|word| !word.starts_with('-') && !std::path::Path::new(word).exists())?;
    let command = command();
    let commands = command.get_subcommands().map(clap::Command::get_name).chain(["help"]);
    let names: Vec<&str> = commands.chain(builtin_scenes().map(|entry| entry.name)).collect();
    let is_known = names.contains(&word.as_str()) || word.contains(['.', '/']);
    (!is_known).then(|| format!("there is no command, file or scene \"{word}\"{}", did_you_mean(&word, &names)))
}

/// The manual: the program, then each of its commands.
fn manual() -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Run(format!("cannot write the manual: {error}"));
    let mut command = command();
    command.build();
    let out = &mut std::io::stdout();
    clap_mangen::Man::new(command.clone()).render(out).map_err(failed)?;
    for part in command.get_subcommands().filter(|part| part.get_name() != "help" && !part.is_hide_set()) {
        clap_mangen::Man::new(part.clone()).render(out).map_err(failed)?;
    }
    Ok(())
}

#[cfg(not(feature = "window"))]
fn window(_: &Cli) -> Result<(), Failure> {
    Err(Failure::Input("this program was built without a window (the Cargo feature `window`); `pliant --help` lists what it can do".into()))
}

#[cfg(feature = "window")]
fn window(cli: &Cli) -> Result<(), Failure> {
    use crate::app::{AppOptions, SceneSource};
    let scene = match &cli.scene {
        None => SceneSource::Default,
        Some(name) => {
            // A scene that is wrong from the start is told here; one opened later is told in the window.
            crate::scene::Scene::load(name, &[])?;
            let path = std::path::Path::new(name);
            let in_gallery = !path.is_file() && builtin_scenes().any(|entry| entry.name == name);
            if in_gallery { SceneSource::Gallery(name.clone()) } else { SceneSource::Path(path.to_owned()) }
        }
    };
    let Cli { place, log_events, .. } = cli;
    let options = AppOptions { scene, backend: place.backend(), adapter: place.adapter.clone(), log_events: log_events.clone() };
    crate::app::run(options).map_err(|error| Failure::Run(format!("{error:#}")))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_scene_or_a_command_but_not_both() {
        assert_eq!(Cli::try_parse_from(["pliant", "bunny"]).unwrap().scene.as_deref(), Some("bunny"));
        let run = Cli::try_parse_from(["pliant", "run", "bunny", "--steps", "3", "--set", "a=1", "--set", "b=2"]).unwrap();
        assert!(matches!(run.command, Some(Command::Run(_))) && run.scene.is_none());
        assert!(Cli::try_parse_from(["pliant", "run", "--drop", "a.obj"]).is_ok());
        assert!(Cli::try_parse_from(["pliant", "run", "bunny"]).is_ok(), "the scene says how long");
        assert!(Cli::try_parse_from(["pliant", "run", "--replay", "x"]).is_ok(), "the session says which scene");
        assert!(Cli::try_parse_from(["pliant", "run", "bunny", "--steps", "1", "--replay", "x"]).is_ok());
        assert!(Cli::try_parse_from(["pliant", "mesh", "a.obj", "-o", "a.msh", "--method", "voxel", "--tets", "1000"]).is_ok());
        let misplaced = |words: &[&str]| Cli::try_parse_from(words).unwrap().misplaced();
        assert!(misplaced(&["pliant", "--adapter", "x", "run", "bunny"]).unwrap().starts_with("--adapter stands before"));
        assert_eq!(misplaced(&["pliant", "-q", "run", "bunny"]), None);
        assert_eq!(misplaced(&["pliant", "run", "bunny", "-v", "--adapter", "x"]), None);
        for wrong in [
            vec!["pliant", "run", "--seconds", "1"],
            vec!["pliant", "run", "bunny", "-q", "-v"],
            vec!["pliant", "run", "bunny", "--drop", "a.obj"],
            vec!["pliant", "run", "bunny", "--steps", "1", "--seconds", "1"],
            vec!["pliant", "run", "--drop", "a.obj", "--replay", "x"],
            vec!["pliant", "run", "bunny", "--steps", "1", "--size", "10x10"],
            vec!["pliant", "run", "bunny", "--steps", "1", "--dt", "-1"],
            vec!["pliant", "run", "bunny", "--steps", "1", "--backend", "tpu"],
            vec!["pliant", "mesh", "a.obj"],
            vec!["pliant", "mesh", "a.obj", "-o", "a.msh", "--resolution", "7"],
            vec!["pliant", "mesh", "a.obj", "-o", "a.msh", "--resolution", "20", "--tets", "1000"],
            vec!["pliant", "mesh", "a.obj", "-o", "a.msh", "--method", "magic"],
        ] {
            assert!(Cli::try_parse_from(&wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn misspelt_commands_are_told() {
        let told = |words: &[&str]| misspelt_command(words.iter().map(|word| (*word).to_owned()));
        assert!(told(&["runn", "x.toml"]).unwrap().ends_with("did you mean \"run\"?"));
        assert!(told(&["galery", "--backend", "cpu"]).unwrap().ends_with("did you mean \"gallery\"?"));
        assert!(told(&["zzzzzz"]).unwrap().ends_with("\"zzzzzz\""));
        // A single word is read as a scene.
        let lone = |word: &str| Cli::try_parse_from(["pliant", word]).unwrap().misspelt();
        for (word, meant) in [("runn", "run"), ("chek", "check"), ("hlp", "help"), ("bunnny", "bunny")] {
            assert_eq!(lone(word), Some(format!("there is no command, file or scene \"{word}\"; did you mean \"{meant}\"?")));
        }
        // All scenes are listed where none is near.
        for word in ["gallery", "zzzzzz", "a/bunnny.toml"] {
            assert_eq!(lone(word), None);
        }
        for known in [["run", "--steps"], ["gallery", "x"], ["a/b.toml", "x"], ["--adapter", "x"]] {
            assert_eq!(told(&known), None);
        }
    }

    /// Lines of help that begin with the name of the program are commands, up to what explains them.
    #[test]
    fn examples_of_the_help_are_commands() {
        let mut command = Cli::command();
        command.build();
        let mut n_examples = 0;
        let parts: Vec<clap::Command> = command.get_subcommands().cloned().chain([command.clone()]).collect();
        for mut part in parts {
            let help = part.render_long_help().to_string();
            let has_some = part.is_hide_set() || ["completions", "man", "help"].contains(&part.get_name());
            let examples = help.lines().filter_map(|line| line.strip_prefix("  pliant"));
            let examples: Vec<&str> = examples.map(|line| line.split("   ").next().unwrap()).collect();
            assert!(has_some || !examples.is_empty(), "{help}");
            for example in examples {
                let words = std::iter::once("pliant").chain(example.split_whitespace());
                // Help that is asked for is told as an error.
                let failed = Cli::try_parse_from(words).err().filter(|error| error.kind() != clap::error::ErrorKind::DisplayHelp);
                assert!(failed.is_none(), "pliant{example}: {failed:?}");
                n_examples += 1;
            }
        }
        assert!(n_examples > 15);
    }

    #[test]
    fn the_help_names_the_whole_gallery() {
        let help = Cli::command().render_long_help().to_string();
        let words: Vec<&str> = help.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        assert!(builtin_scenes().all(|entry| words.contains(&entry.name)), "{help}");
    }
}
