//! `search`: texts whose words every list can be filtered by.

use crate::declared::DeclaredSearch;
use crate::error::{Code, Report, Reporter};
use crate::model::{FieldId, FieldType, LANGUAGES, Language, Search};
use crate::source::Word;

use super::choice::Choices;
use super::name::check_name;
use super::scope::{Scope, Usage};

const LANGUAGE: Choices<'_, Language> = Choices { key: "`language`", words: LANGUAGES };

pub(crate) fn searches(
    declared: &[DeclaredSearch],
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Vec<Search> {
    declared.iter().map(|declared| search(declared, scope, reporter)).collect()
}

fn search(declared: &DeclaredSearch, scope: &Scope, reporter: &mut Reporter<'_>) -> Search {
    check_name(&declared.name, "a search", reporter);
    let language = declared.language.as_ref();
    Search {
        name: declared.name.text.clone(),
        fields: texts(&declared.fields, scope, reporter),
        language: language.and_then(|word| LANGUAGE.find(word, reporter)),
        has_prefixes: declared.has_prefixes,
    }
}

fn texts(names: &[Word], scope: &Scope, reporter: &mut Reporter<'_>) -> Vec<FieldId> {
    let fields = scope.find_all(Usage::Search, names, reporter);
    for id in &fields {
        let field = scope.field(*id);
        let FieldType::List(of, _) = &field.of else { continue };
        let name = names.iter().find(|name| name.text == field.name);
        if let Some(name) = name.filter(|_| !matches!(**of, FieldType::Text(_))) {
            let found = of.name();
            let reason =
                format!("`{}` cannot be in `search`: it is a list of `{found}`", name.text);
            let help = "`search` takes texts and lists of texts";
            reporter.push(Report::new(Code::BadUse, name.span, reason).help(help));
        }
    }
    fields
}
