//! A plan as SVG: ceilings against declared rates, the hottest keys, and costs.

use keyloom_app::plan::{Ceiling, CostOf, HotKey, Plan};

use super::Planned;
use super::number::{dollars, number, percent};
use super::terminal::{reason, verdict};
use crate::chart::svg::canvas::{Canvas, HEAD, INK, MARGIN, MUTED, Style, color};

/// Where bars start, and how long the longest is.
const BAR_X: f64 = 330.0;
const BAR_WIDTH: f64 = 520.0;
const ROW: f64 = 26.0;
const WARNING: &str = "#d9372c";
const CAUTION: &str = "#e8a33d";
const FINE: &str = "#3d9a5f";
const KEYS_MAX: usize = 12;

pub(super) fn draw(planned: &Planned) -> String {
    let plan = &planned.report.declared;
    let total = plan.total;
    let mut canvas = Canvas::new();
    let title = format!("{}: {} a month", planned.title, dollars(total.dollars_a_month));
    canvas.text(MARGIN, canvas.y + 24.0, Style::Title, INK, &title);
    canvas.y += 46.0;
    let note = format!(
        "{} write units and {} read units a second on DynamoDB, on demand",
        number(total.write_units),
        number(total.read_units)
    );
    canvas.text(MARGIN, canvas.y, Style::Small, MUTED, &note);
    canvas.heading("Ceilings", "the share of the limit of the hottest key that the workload uses");
    bars(&mut canvas, plan, planned.options.headroom);
    if let Some(proposed) = &planned.report.proposed {
        let changes = planned.report.proposals.iter();
        let changes = changes.map(|one| format!("{} {} = {}", one.table, one.key, one.proposed));
        canvas.heading("With the proposed shards", &changes.collect::<Vec<_>>().join(", "));
        bars(&mut canvas, proposed, planned.options.headroom);
    }
    canvas.heading("Hottest keys", "write units a second of one partition, of 1,000");
    hot_keys(&mut canvas, plan);
    canvas.heading("Costs", "dollars a month");
    costs(&mut canvas, plan);
    canvas.finish(&title)
}

/// A bar for each ceiling. The line is the limit, and bars beyond it are cut.
fn bars(canvas: &mut Canvas, plan: &Plan, headroom: f64) {
    let top = canvas.y;
    for ceiling in plan.ceilings.iter().filter(|ceiling| !ceiling.writes.is_at_least) {
        let fill = match verdict(ceiling, headroom) {
            "too low" => WARNING,
            "tight" => CAUTION,
            _ => FINE,
        };
        let note = format!("{} · {}", ceiling_text(ceiling), reason(ceiling));
        let share = (ceiling.used / 1.25).min(1.0);
        bar(
            canvas,
            Bar { name: &ceiling.part, share, fill, value: &percent(ceiling.used), note: &note },
        );
    }
    let limit = BAR_X + BAR_WIDTH / 1.25;
    canvas.line((limit, top), (limit, canvas.y));
    canvas.text(limit - 14.0, canvas.y + 12.0, Style::Small, MUTED, "limit");
    canvas.y += 18.0;
}

fn ceiling_text(ceiling: &Ceiling) -> String {
    let writer = ceiling.writer.as_deref().unwrap_or("all");
    format!("{} of {} {writer}/s", number(ceiling.declared), number(ceiling.writes.per_second))
}

fn hot_keys(canvas: &mut Canvas, plan: &Plan) {
    let mut keys: Vec<&HotKey> = plan.spaces.iter().flat_map(|space| &space.keys).collect();
    keys.retain(|key| key.write_units > 0.0);
    keys.sort_by(|a, b| b.write_units.total_cmp(&a.write_units));
    for key in keys.into_iter().take(KEYS_MAX) {
        let place = key.index.as_deref().unwrap_or("table");
        let (share, note) = ((key.write_units / 1000.0).min(1.0), format!("{place} · {}", key.key));
        let (fill, value) = (color(0).1, number(key.write_units));
        bar(canvas, Bar { name: &key.part, share, fill, value: &value, note: &note });
    }
}

fn costs(canvas: &mut Canvas, plan: &Plan) {
    let most = plan.costs.iter().map(|cost| cost.costs.dollars_a_month).fold(0.0, f64::max);
    for CostOf { work, per_second, costs } in &plan.costs {
        let note = per_second.map_or_else(String::new, |rate| format!("{} a second", number(rate)));
        let value = dollars(costs.dollars_a_month);
        let share = if most > 0.0 { costs.dollars_a_month / most } else { 0.0 };
        bar(canvas, Bar { name: work, share, fill: color(4).1, value: &value, note: &note });
    }
}

struct Bar<'b> {
    name: &'b str,
    /// The length, from 0 to 1.
    share: f64,
    fill: &'b str,
    value: &'b str,
    note: &'b str,
}

fn bar(canvas: &mut Canvas, bar: Bar<'_>) {
    let (y, width) = (canvas.y, (bar.share * BAR_WIDTH).max(2.0));
    canvas.fit((MARGIN, y + 16.0), BAR_X - MARGIN - 10.0, Style::Label, INK, bar.name);
    canvas.rect((BAR_X, y + 3.0), (BAR_WIDTH, ROW - 8.0), HEAD, None);
    canvas.rect((BAR_X, y + 3.0), (width.round(), ROW - 8.0), bar.fill, None);
    let x = BAR_X + BAR_WIDTH + 10.0;
    canvas.text(x, y + 16.0, Style::Label, INK, bar.value);
    let x = x + 80.0;
    canvas.fit((x, y + 16.0), canvas.right() - x, Style::Small, MUTED, bar.note);
    canvas.y += ROW;
}
