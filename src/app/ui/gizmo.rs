//! Gizmos over the view: arrows, rings and a box, and how far one of them was dragged.

use egui::{Align2, Color32, CornerRadius, Pos2, Rect, Stroke, Ui, vec2};

use super::{UiResponse, theme};
use crate::app::gizmo::{BOX, Handle, Line, Subject};

/// A gizmo as it is drawn, in points of the window.
#[derive(Clone, Debug, PartialEq)]
pub struct GizmoView {
    pub subject: Subject,
    pub lines: Vec<Line>,
    /// The handle that is held, or under the cursor.
    pub hot: Option<Handle>,
    /// The edges of the boxes around the body where it is dragged to, or of the plane.
    pub edges: Vec<[Pos2; 2]>,
    /// How far it was dragged, or what a drag does.
    pub told: Option<String>,
}

const AXES: [Color32; 3] = [Color32::from_rgb(0xf0, 0x5b, 0x5b), Color32::from_rgb(0x63, 0xc9, 0x4f), Color32::from_rgb(0x4d, 0x9b, 0xff)];
/// The handles of a plane.
const PLANE: Color32 = Color32::from_rgb(0xf2, 0xb0, 0x3d);

pub fn gizmo_ui(root: &Ui, view: Rect, gizmo: &GizmoView, answers: &mut UiResponse) {
    let palette = theme::palette(root.ctx());
    let painter = root.painter().with_clip_rect(view);
    // The arcs of a plane cross its arrow in their middle.
    let (kind, of_edges, place) = match gizmo.subject {
        Subject::Body { .. } => ("gizmo", palette.accent, 2),
        Subject::Plane => ("plane", PLANE, 8),
    };
    for edge in &gizmo.edges {
        painter.line_segment(*edge, Stroke::new(1.5, of_edges));
    }
    // Rings lie under arrows, and these under the box.
    for line in gizmo.lines.iter().rev() {
        let (name, at) = match line.handle {
            Handle::Move(axis) => (format!("{kind}.Move_{axis}"), 1),
            Handle::Turn(axis) => (format!("{kind}.Turn_{axis}"), line.points.len() / place),
            Handle::Scale => (format!("{kind}.Scale"), 0),
        };
        answers.place(name, Rect::from_center_size(line.points[at], vec2(1.0, 1.0)));
        let is_hot = gizmo.hot == Some(line.handle);
        let of_axis = |axis: usize| if gizmo.subject == Subject::Plane { PLANE } else { AXES[axis] };
        let (color, width) = match line.handle {
            Handle::Move(axis) => (of_axis(axis), 3.0),
            Handle::Turn(axis) => (of_axis(axis).gamma_multiply(0.75), 2.0),
            Handle::Scale => (palette.text, 2.0),
        };
        let color = if is_hot { palette.accent } else { color };
        let stroke = Stroke::new(if is_hot { width + 1.0 } else { width }, color);
        match (line.handle, &line.points[..]) {
            (Handle::Scale, [middle]) => {
                let place = Rect::from_center_size(*middle, vec2(2.0 * BOX, 2.0 * BOX));
                painter.rect(place, CornerRadius::same(2), palette.card, stroke, egui::StrokeKind::Inside);
            }
            (Handle::Move(_), [from, tip]) => {
                painter.line_segment([*from, *tip], stroke);
                let along = (*tip - *from).normalized() * 10.0;
                let side = vec2(-along.y, along.x) * 0.45;
                let head = vec![*tip + along * 0.6, *tip - along * 0.5 + side, *tip - along * 0.5 - side];
                painter.add(egui::Shape::convex_polygon(head, color, Stroke::NONE));
            }
            (_, points) => {
                painter.add(egui::Shape::line(points.to_vec(), stroke));
            }
        }
    }
    let (Some(told), Some(Line { points, .. })) = (&gizmo.told, gizmo.lines.first()) else { return };
    let galley = painter.layout_no_wrap(told.clone(), theme::figures(13.0), palette.text);
    let card = Rect::from_min_size(points[0] + vec2(18.0, 16.0), galley.size() + vec2(16.0, 8.0));
    painter.rect(card, CornerRadius::same(8), palette.card, Stroke::new(1.0, palette.border), egui::StrokeKind::Inside);
    painter.text(card.center(), Align2::CENTER_CENTER, galley.text(), theme::figures(13.0), palette.text);
}
