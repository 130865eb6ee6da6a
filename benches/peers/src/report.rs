//! What is written: one JSON object, and the same as a table.

use serde::Serialize;

use crate::measure::Figures;

/// All in SI units but for `ms`.
#[derive(Serialize)]
pub struct Report {
    pub pliant: String,
    pub rapier: &'static str,
    /// Of Pliant; Rapier has one.
    pub threads: usize,
    /// Distance that Rapier keeps around a soft body [m].
    pub rapier_skin: f64,
    /// How often each engine was timed.
    pub rounds: usize,
    pub scenes: Vec<SceneReport>,
}

#[derive(Serialize)]
pub struct SceneReport {
    pub scene: String,
    pub tets: usize,
    /// Length of a frame [s].
    pub time_step: f64,
    pub frames: usize,
    /// Acceleration of a rigid block on the slope after Coulomb [m/s^2].
    pub slope_acceleration: Option<f64>,
    pub engines: Vec<EngineReport>,
}

#[derive(Serialize)]
pub struct EngineReport {
    pub engine: &'static str,
    pub ms_per_frame: Times,
    /// Mean time of a frame over Pliant's.
    pub ratio: f64,
    /// Deepest over all frames by Pliant's own checker [m].
    pub own_penetration: Option<f64>,
    #[serde(flatten)]
    pub figures: Figures,
}

/// Wall time of a frame [ms], medians over the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Times {
    pub median: f64,
    pub mean: f64,
    pub max: f64,
}

impl Times {
    /// From the frames of each round.
    pub fn of(rounds: &[Vec<f64>]) -> Self {
        let over_rounds = |figure: fn(&[f64]) -> f64| median(&rounds.iter().map(|ms| figure(ms)).collect::<Vec<f64>>());
        Self {
            median: over_rounds(median),
            mean: over_rounds(|ms| ms.iter().sum::<f64>() / ms.len() as f64),
            max: over_rounds(|ms| ms.iter().copied().fold(0.0, f64::max)),
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { 0.5 * (sorted[middle - 1] + sorted[middle]) }
}

impl Report {
    /// The scenes as a Markdown table.
    pub fn table(&self) -> String {
        let mut table = String::from(
            "| scene | engine | ms/frame: median | mean | worst | worst/mean | ratio | penetration [mm] | at the end | top, tip [m] | lean [mm] \
             | kinetic energy [J] | drift [mm/s] | acceleration [m/s^2] |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        );
        for scene in &self.scenes {
            for engine in &scene.engines {
                let (ms, figures) = (&engine.ms_per_frame, &engine.figures);
                let cells = [
                    scene.scene.clone(),
                    engine.engine.into(),
                    format!("{:.2}", ms.median),
                    format!("{:.2}", ms.mean),
                    format!("{:.2}", ms.max),
                    format!("{:.1}", ms.max / ms.mean),
                    format!("{:.1}", engine.ratio),
                    cell(figures.penetration, |m| format!("{:.4}", m * 1e3)),
                    cell(figures.final_penetration, |m| format!("{:.4}", m * 1e3)),
                    cell(figures.top.or(figures.tip), |m| format!("{m:.5}")),
                    cell(figures.lean, |m| format!("{:.1}", m * 1e3)),
                    format!("{:.1e}", figures.kinetic_energy),
                    cell(figures.drift, |v| format!("{:.5}", v * 1e3)),
                    cell(figures.acceleration, |a| format!("{a:.6}")),
                ];
                table += &format!("| {} |\n", cells.join(" | "));
            }
        }
        table
    }
}

fn cell(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".into(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_medians_over_rounds() {
        let times = Times::of(&[vec![1.0, 2.0, 6.0], vec![3.0, 4.0, 5.0], vec![9.0, 9.0, 9.0]]);
        assert_eq!(times, Times { median: 4.0, mean: 4.0, max: 6.0 });
    }
}
