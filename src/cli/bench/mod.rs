//! `pliant bench`: how fast this machine is. Records are one JSON array; fields that do not apply are null.

mod cg;
mod contact;
mod copy;
mod detection;
mod device;
mod elastic_step;
mod floor;
mod matrices;
mod measure;
mod model;
mod spmv;
mod step;
mod step_figures;
mod update;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use super::{ComputeArgs, Failure};
use crate::gpu::{Device, DeviceRequest};
use crate::output::{OutputFile, check_writable};
use crate::scene::{BackendChoice, builtin_scenes};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:\n  \
                  pliant bench                                     steps of a falling bunny\n  \
                  pliant bench step gallery --threads 1,2          a scene, with one thread and with two\n  \
                  pliant bench copy spmv --json records.json       memory and matrix products\n  \
                  pliant bench step --help                         the options of one measurement")]
pub struct BenchArgs {
    #[command(subcommand)]
    command: Option<BenchCommand>,
    /// What to measure, and scenes for step and detection [default: step]
    #[arg(value_name = "NAME|SCENE", value_parser = Word::parse, long_help = Word::help())]
    words: Vec<Word>,
    #[command(flatten)]
    matrices: matrices::MatrixArgs,
    #[command(flatten)]
    step: step::StepArgs,
    #[command(flatten)]
    cg: cg::CgArgs,
    /// Cells along the longest side of the bodies that are measured unless others are named: the bunny of step, the
    /// beams of the rest
    #[arg(long, value_name = "N", conflicts_with_all = ["mesh", "matrix", "scene"], value_parser = clap::value_parser!(u32).range(8..=256))]
    size: Option<u32>,
    #[command(flatten)]
    machine: MachineArgs,
}

#[derive(Subcommand)]
enum BenchCommand {
    /// Compare the solvers for contact on a scene
    Contact(contact::ContactArgs),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// The bandwidth of the memory: what the other figures are held against
    Copy,
    /// Products of a sparse matrix with a vector, in every storage
    Spmv,
    /// Jacobi conjugate gradients, an iteration
    Cg,
    /// The element pass: rotations, stresses, corner forces
    Rotation,
    /// The whole matrix update: element pass and gather
    Update,
    /// Whole steps of scenes, with the share of every stage
    Step,
    /// Pairs that may meet and pairs that cross, found on the host and with the device's help
    Detection,
    /// Fit the performance model to this machine, and compare what it predicts with what is measured
    Model,
}

impl Name {
    fn measure(self, args: &BenchArgs) -> Result<Vec<Record>, Failure> {
        match self {
            Self::Copy => copy::bench(args),
            Self::Spmv => spmv::bench(args),
            Self::Cg => cg::bench(args),
            Self::Rotation => update::bench(args, update::Work::Rotation),
            Self::Update => update::bench(args, update::Work::Update),
            Self::Step => step::bench(args),
            Self::Detection => detection::bench(args),
            Self::Model => model::bench(args),
        }
    }

    fn takes_threads(self) -> bool {
        self == Self::Step
    }

    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// A word of the command line.
#[derive(Clone, Debug)]
enum Word {
    Name(Name),
    Scene(String),
}

impl Word {
    fn parse(text: &str) -> Result<Self, String> {
        if let Ok(name) = Name::from_str(text, false) {
            return Ok(Self::Name(name));
        }
        if Path::new(text).is_file() || builtin_scenes().any(|entry| entry.name == text) {
            return Ok(Self::Scene(text.to_owned()));
        }
        let names: Vec<String> = Name::value_variants().iter().map(|name| name.name()).collect();
        Err(format!("it is neither something to measure ({}) nor a scene file nor a scene of the gallery", names.join(", ")))
    }

    fn help() -> String {
        let mut text = String::from("What to measure, and scenes for step and detection [default: step]\n\nWhat can be measured:");
        for value in Name::value_variants().iter().filter_map(ValueEnum::to_possible_value) {
            let about = value.get_help().map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("\n- {}: {about}", value.get_name()));
        }
        text
    }
}

/// Options that some measurements alone take.
const OPTIONS: [(&str, &[Name]); 12] = {
    use Name::{Cg, Detection, Model, Rotation, Spmv, Step, Update};
    [
        ("--mesh", &[Spmv, Cg, Rotation, Update, Model]),
        ("--matrix", &[Spmv, Cg, Model]),
        ("--size", &[Spmv, Cg, Rotation, Update, Step, Model]),
        ("--iterations", &[Cg]),
        ("--devices", &[Cg]),
        ("--scene", &[Step, Detection]),
        ("--set", &[Step, Detection]),
        ("--steps", &[Step, Detection]),
        ("--warm-up", &[Step]),
        ("--check", &[Step]),
        ("--detection", &[Step]),
        ("--predict", &[Step]),
    ]
};

/// The help of one measurement, with the options that it takes, where `words` ask for it: `bench step --help`.
pub fn help_of(words: impl Iterator<Item = String>) -> Option<clap::Command> {
    let words: Vec<String> = words.collect();
    let rest = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["help", "bench", ..] => &words[2..],
        ["bench", ..] if words.iter().any(|word| word == "--help" || word == "-h") => &words[1..],
        _ => return None,
    };
    let named: Vec<Name> = rest.iter().filter_map(|word| Name::from_str(word, false).ok()).collect();
    let [name] = named[..] else { return None };
    let takes =
        |id: &str| OPTIONS.iter().find(|(option, _)| option[2..].replace('-', "_") == id).is_none_or(|(_, takers)| takers.contains(&name));
    let about = name.to_possible_value().and_then(|value| value.get_help().cloned()).unwrap_or_default();
    let title = format!("pliant bench {}", name.name());
    let scenes = if takes("scene") { " [SCENE]..." } else { "" };
    let mut command = super::command();
    command.build();
    let bench = command.find_subcommand("bench")?.clone();
    let hide = |arg: clap::Arg| if arg.get_id() == "words" || !takes(arg.get_id().as_str()) { arg.hide(true) } else { arg };
    let bench = bench.about(about.clone()).long_about(about).after_help("").override_usage(format!("{title} [OPTIONS]{scenes}"));
    Some(bench.mut_args(hide).mut_subcommands(|part| part.hide(true)).bin_name(title))
}

impl BenchArgs {
    fn names(&self) -> Vec<Name> {
        let names = self.words.iter().filter_map(|word| if let Word::Name(name) = word { Some(*name) } else { None });
        let names: Vec<Name> = names.collect();
        if names.is_empty() { vec![Name::Step] } else { names }
    }

    /// The scenes that are named, as words or by `--scene`.
    fn scenes(&self) -> Vec<&str> {
        let words = self.words.iter().filter_map(|word| if let Word::Scene(scene) = word { Some(scene.as_str()) } else { None });
        words.chain(self.step.scene.iter().map(String::as_str)).collect()
    }

    /// Refuses options that nothing of what is measured takes.
    fn check(&self) -> Result<(), Failure> {
        let given = [
            !self.matrices.mesh.is_empty(),
            !self.matrices.matrix.is_empty(),
            self.size.is_some(),
            self.cg.iterations.is_some(),
            self.cg.devices.is_some(),
            !self.scenes().is_empty(),
            !self.step.set.is_empty(),
            self.step.steps.is_some(),
            self.step.warm_up.is_some(),
            self.step.check,
            self.step.detection.is_some(),
            self.step.predict.is_some(),
        ];
        let options = OPTIONS.iter().zip(given).map(|((option, takers), given)| (option, given, takers));
        for (option, given, takers) in options {
            if given && !self.names().iter().any(|name| takers.contains(name)) {
                let takers: Vec<_> = takers.iter().map(|name| name.name()).collect();
                return Err(Failure::Input(format!("{option} is for bench {}; leave it out or name one of these", takers.join(", "))));
            }
        }
        if let Some(name) = self.names().iter().find(|name| self.machine.threads.len() > 1 && !name.takes_threads()) {
            return Err(Failure::Input(format!("bench {} takes one number of threads; several are for bench step", name.name())));
        }
        let names = self.names();
        let on_cpu_only = names.iter().find(|name| matches!(name, Name::Rotation | Name::Update));
        match on_cpu_only {
            Some(name) if self.machine.place.backend() == Some(BackendChoice::Gpu) => {
                Err(Failure::Input(format!("bench {} measures the CPU; leave out --backend gpu", name.name())))
            }
            _ => Ok(()),
        }
    }

    /// The matrices that are asked for.
    fn matrices(&self) -> matrices::MatrixArgs {
        let mut matrices = self.matrices.clone();
        matrices.mesh.extend(self.size.map(|n| [n.div_ceil(5), n.div_ceil(5), n]));
        matrices
    }
}

/// Where and how to measure.
#[derive(Args, Clone, Default)]
struct MachineArgs {
    #[command(flatten)]
    place: ComputeArgs,
    /// Threads of the CPU; the device takes none; several numbers, as 1,2, compare them in bench step [default: one a
    /// core]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Vec<u32>,
    /// Write the records (JSON)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl MachineArgs {
    /// The device, if `--backend gpu` asks for one; single kernels are measured on the CPU else.
    fn device(&self) -> Result<Option<std::sync::Arc<Device>>, Failure> {
        if self.place.backend() != Some(BackendChoice::Gpu) {
            return Ok(None);
        }
        let request = DeviceRequest { adapter: self.place.adapter.clone(), ..DeviceRequest::default() };
        Device::open(&request).map(Some).map_err(|error| Failure::Run(error.to_string()))
    }

    fn threads(&self) -> Option<usize> {
        self.threads.first().map(|n| *n as usize)
    }

    fn pool(&self) -> Result<rayon::ThreadPool, Failure> {
        let threads = self.threads().unwrap_or(0);
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| Failure::Run(error.to_string()))
    }
}

/// One measurement.
#[derive(Debug, Default, Serialize)]
struct Record {
    bench: &'static str,
    case: String,
    /// Method or storage.
    solver: &'static str,
    backend: &'static str,
    adapter: Option<String>,
    precision: &'static str,
    threads: usize,
    size: Size,
    ms: Milliseconds,
    /// Least bytes that are moved, each array once.
    bytes: Option<u64>,
    /// Time of the fastest repetition.
    gb_per_s: Option<f64>,
    /// The better of copy and triad in the same run; what is read and what is written count once each.
    limit_gb_per_s: Option<f64>,
    fraction: Option<f64>,
    /// Part of the stored entries that are not explicit zeros.
    density: Option<f64>,
    /// Work of an iteration on the device.
    dispatches: Option<f64>,
    iterations: Option<f64>,
    steps_per_s: Option<f64>,
    /// Share of every stage of a step, in its order.
    stages: Option<Vec<Stage>>,
    /// Least time of the step on its device, and on the device of the prediction.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    floors: Vec<floor::Floor>,
    note: Option<String>,
    contact: Option<contact::Figures>,
    /// Work and times of each step of a scene.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<step_figures::StepFigures>,
    /// Against the same steps with another number of threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    speed_up: Option<step_figures::SpeedUp>,
    model: Option<model::Prediction>,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Size {
    nodes: usize,
    tets: usize,
    /// 3x3 blocks of the mesh's matrix.
    blocks: usize,
    rows: usize,
    entries: usize,
    constraints: u32,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Milliseconds {
    median: f64,
    min: f64,
    max: f64,
    repetitions: usize,
}

#[derive(Clone, Debug, Serialize)]
struct Stage {
    stage: &'static str,
    /// Mean over the steps.
    ms: f64,
    /// Part of the step.
    share: f64,
    /// On a device: dispatches, each with a barrier, and the least bytes that they move, of a step.
    dispatches: Option<f64>,
    bytes: Option<f64>,
}

impl Record {
    /// With `bytes` a repetition held against `limit` [GB/s]; the fastest repetition counts, as it does for the limit:
    /// others may have shared the memory.
    fn of_bytes(mut self, bytes: u64, limit: f64) -> Self {
        let speed = measure::gb_per_s(bytes, self.ms.min);
        self.bytes = Some(bytes);
        self.gb_per_s = Some(speed);
        self.limit_gb_per_s = Some(limit);
        self.fraction = Some(speed / limit);
        self
    }

    /// A line of the table that `print_head` begins.
    fn print(&self) {
        let number = |value: Option<f64>, digits: usize| value.map_or("-".into(), |value| format!("{value:.digits$}"));
        say!(
            "{:30} {:22} {:4} {:>3} {:>11.4} {:>11.4} {:>11.4} {:>9} {:>9}",
            self.case,
            self.solver,
            self.precision,
            self.threads,
            self.ms.median,
            self.ms.min,
            self.ms.max,
            number(self.gb_per_s, 2),
            number(self.fraction, 3)
        );
    }
}

fn print_head() {
    say!(
        "{:30} {:22} {:4} {:>3} {:>11} {:>11} {:>11} {:>9} {:>9}",
        "case",
        "what",
        "",
        "thr",
        "ms median",
        "min",
        "max",
        "GB/s",
        "of limit"
    );
}

pub fn bench(args: &BenchArgs) -> Result<(), Failure> {
    if let Some(BenchCommand::Contact(args)) = &args.command {
        return contact::bench(args);
    }
    args.check()?;
    let json = args.machine.json.as_deref();
    json.map(check_writable).transpose()?;
    let mut records = vec![];
    for name in args.names() {
        records.extend(name.measure(args)?);
    }
    json.map_or(Ok(()), |path| write(path, &records))
}

fn write(path: &Path, records: &[Record]) -> Result<(), Failure> {
    let mut json = OutputFile::create(path)?;
    let text = serde_json::to_string_pretty(records).map_err(|error| Failure::Run(error.to_string()))?;
    json.write_line(&text)?;
    Ok(json.finish()?)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        bench: BenchArgs,
    }

    #[test]
    fn each_measurement_has_its_own_help() {
        let help = |line: &str| help_of(line.split_whitespace().map(str::to_owned)).map(|mut command| command.render_help().to_string());
        let (step, copy) = (help("bench step --help").unwrap(), help("help bench copy").unwrap());
        assert!(step.contains("--warm-up") && step.contains("Usage: pliant bench step [OPTIONS] [SCENE]..."), "{step}");
        assert!(!step.contains("--iterations") && !copy.contains("--warm-up") && copy.contains("bandwidth"), "{copy}");
        for other in ["bench --help", "bench step", "bench step copy --help", "run step --help"] {
            assert_eq!(help(other), None, "{other}");
        }
        let ids: Vec<String> = Line::command().get_arguments().map(|arg| arg.get_id().to_string()).collect();
        assert!(OPTIONS.iter().all(|(option, _)| ids.contains(&option[2..].replace('-', "_"))), "{ids:?}");
    }

    #[test]
    fn options_belong_to_what_is_measured() {
        let checked = |line: &str| {
            let words = std::iter::once("bench").chain(line.split_whitespace());
            let parsed = Line::try_parse_from(words).map_err(|error| error.to_string())?;
            parsed.bench.check().map_err(|error| format!("{error:?}"))
        };
        for right in [
            "",
            "copy",
            "spmv cg --mesh 2x2x4",
            "step spmv --size 16 --json records.json",
            "--scene rings --steps 3",
            "--scene rings --backend gpu --detection device",
            "detection --scene rings",
            "step --backend gpu --predict 3,2,1,0.5,10,1000,100,10,50",
            "step --backend gpu --predict h200",
            "copy spmv --matrix a.mtx",
            "step gallery rings --threads 1,2 --warm-up 3 --check",
            "gallery",
        ] {
            assert_eq!(checked(right), Ok(()), "{right}");
        }
        for (wrong, named) in [
            ("copy --size 16", "--size"),
            ("--mesh 2x2x4", "--mesh"),
            ("rotation --matrix a.mtx", "--matrix"),
            ("spmv --steps 3", "--steps"),
            ("update cg --backend gpu", "--backend"),
            ("spmv --detection host", "--detection"),
            ("spmv --predict igpu", "--predict"),
            ("--predict 3,2000", "nine positive numbers"),
            ("--detection elsewhere", "elsewhere"),
            ("spmv --size 16 --mesh 2x2x4", "--mesh"),
            ("nothing", "nothing"),
            ("spmv gallery", "--scene"),
            ("detection gallery --threads 1,2", "detection takes one number"),
            ("cg --warm-up 3", "--warm-up"),
        ] {
            assert!(checked(wrong).is_err_and(|error| error.contains(named)), "{wrong}: {:?}", checked(wrong));
        }
    }
}
