//! Windows of counts.

use crate::declared::DeclaredCount;
use crate::error::{Code, Report, Reporter};
use crate::model::{UTC, Window, WindowUnit, Zone};
use crate::source::Word;

use super::scope::{Scope, Usage};

/// Parameters of requests for windows. Fields of `by` and `split` are parameters too.
const PARAMETERS: [&str; 2] = ["window", "fill"];

/// The windows of a count, if it declares them.
pub(crate) fn of_count(
    declared: &DeclaredCount,
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Option<Window> {
    let name = &declared.name;
    let Some(unit) = &declared.window else {
        for word in [&declared.of, &declared.zone].into_iter().flatten() {
            let reason = format!("the count `{}` has no windows", name.text);
            let help = "declare `window = \"day\"`, or leave this out";
            reporter.push(Report::new(Code::BadWindow, word.span, reason).help(help));
        }
        return None;
    };
    let fields = declared.by.iter().chain(&declared.split);
    for word in fields.filter(|word| PARAMETERS.contains(&word.text.as_str())) {
        let reason = format!("`{}` is a parameter of requests for windows", word.text);
        let help = "give the field another name";
        reporter.push(Report::new(Code::BadWindow, word.span, reason).help(help));
    }
    let of = match &declared.of {
        Some(of) => scope.find_for(Usage::Window, of, reporter),
        None => {
            let reason =
                format!("the count `{}` does not say which time its windows are of", name.text);
            let help = "name a field of the type time: `of = \"created\"`";
            reporter.push(Report::new(Code::BadWindow, unit.span, reason).help(help));
            None
        }
    };
    let zone = zone(declared.zone.as_ref(), reporter);
    let unit = named_unit(unit, reporter);
    Some(Window { of: of?, unit: unit?, zone: zone? })
}

fn named_unit(word: &Word, reporter: &mut Reporter<'_>) -> Option<WindowUnit> {
    let found = WindowUnit::ALL.into_iter().find(|unit| unit.name() == word.text);
    if found.is_none() {
        let units = WindowUnit::ALL.map(WindowUnit::name);
        let reason = format!("`{}` is not a window", word.text);
        let help = reporter.suggest(&word.text, "windows are", units);
        reporter.push(Report { code: Code::BadWindow, span: word.span, reason, help });
    }
    found
}

fn zone(declared: Option<&Word>, reporter: &mut Reporter<'_>) -> Option<Zone> {
    let Some(word) = declared else { return Zone::find(UTC) };
    let found = Zone::find(&word.text);
    if found.is_none() {
        let reason = format!("there is no time zone `{}`", word.text);
        let near = crate::suggest::nearest(&word.text, &Zone::names().collect::<Vec<_>>());
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                "zones have names such as `Europe/Berlin`, `America/New_York` and `UTC`".to_owned()
            }
        };
        reporter.push(Report::new(Code::BadWindow, word.span, reason).help(help));
    }
    found
}
