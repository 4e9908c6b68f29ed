//! A draft as the text of a model file.

use std::fmt::{Display, Write};

use keyloom_model::{
    CaseMode, Direction, Format, IdSource, Limits, OnDelete, Presence, TriggeringChange,
};

use super::draft::{
    Draft, DraftEntity, DraftField, DraftHandler, DraftRanking, DraftSequence, DraftTest,
    DraftType, DraftUnique, DraftWindow,
};

impl Draft {
    /// Returns the text of the model file.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Top-level keys come before the first table.
        for DraftHandler { entity, change, target } in &self.handlers {
            line(&mut text, &format!("on.{entity}.{}", change_word(*change)), &quoted(target));
        }
        for (entity, earlier) in self.earlier_names() {
            line(&mut text, &format!("renamed.{entity}"), &quoted(earlier));
        }
        for entity in &self.entities {
            write_entity(&mut text, entity);
        }
        text
    }
}

impl DraftType {
    /// Returns the type as it is written in a field, without its range.
    fn word(&self) -> String {
        match self {
            DraftType::Text(_) => "text".to_owned(),
            DraftType::Int(_) => "int".to_owned(),
            DraftType::Number(_) => "number".to_owned(),
            DraftType::Bool => "bool".to_owned(),
            DraftType::Time => "time".to_owned(),
            DraftType::Bytes(_) => "bytes".to_owned(),
            DraftType::Any => "any".to_owned(),
            DraftType::Tags => "tags".to_owned(),
            DraftType::Enum(members) => format!("enum({})", members.join(", ")),
            DraftType::Ref(entity, OnDelete::Refuse) => format!("ref {entity}"),
            DraftType::Ref(entity, OnDelete::Cascade) => format!("ref {entity} cascade"),
            DraftType::Ref(entity, OnDelete::Clear) => format!("ref {entity} clear"),
            DraftType::Ref(entity, OnDelete::Keep) => format!("ref {entity} keep"),
            DraftType::List(of, _) => format!("list of {}", of.word()),
            DraftType::Map(of, _) => format!("map of {}", of.word()),
        }
    }

    fn range(&self) -> String {
        match self {
            DraftType::Text(limits)
            | DraftType::Bytes(limits)
            | DraftType::List(_, limits)
            | DraftType::Map(_, limits) => range(limits),
            DraftType::Int(limits) => range(limits),
            DraftType::Number(limits) => range(limits),
            DraftType::Bool
            | DraftType::Time
            | DraftType::Any
            | DraftType::Tags
            | DraftType::Enum(_)
            | DraftType::Ref(..) => String::new(),
        }
    }
}

/// ` 1..5`, or nothing.
fn range<T: Display>(limits: &Limits<T>) -> String {
    let bound = |bound: &Option<T>| bound.as_ref().map_or(String::new(), ToString::to_string);
    match (&limits.low, &limits.high) {
        (None, None) => String::new(),
        (low, high) => format!(" {}..{}", bound(low), bound(high)),
    }
}

fn write_entity(text: &mut String, entity: &DraftEntity) {
    let name = &entity.name;
    let _ = writeln!(text, "[entity.{name}]");
    let own = [("path", &entity.path), ("tenant", &entity.tenant), ("expires", &entity.expires)];
    for (key, value) in own {
        if let Some(value) = value {
            line(text, key, &quoted(value));
        }
    }
    if entity.id_source == IdSource::Given {
        line(text, "id", "\"given\"");
    }
    if let Some(parent) = &entity.parent {
        line(text, "parent", &quoted(&parent.entity));
        if parent.on_delete == OnDelete::Cascade {
            line(text, "on_parent_delete", "\"cascade\"");
        }
    }
    // Has an effect on shared stores alone. An edit of the entity must not change it.
    if entity.name.len().is_multiple_of(2) {
        line(text, "reference_shards", "2");
    }
    shards(text, entity.shards);
    names(text, "read_only", &entity.read_only);
    names(text, "filters", &entity.filters);
    names(text, "search.words.fields", &entity.searched);
    for field in &entity.fields {
        line(text, &format!("fields.{}", field.name), &format!("\"{}\"", spec(field)));
    }
    write_sequence(text, entity);
    for format in &entity.formats {
        match &format.by {
            None => line(text, &format!("format.{}", format.field), &quoted(format.format.name())),
            Some((by, formats)) => {
                let one = |(member, format): &(String, Format)| {
                    format!("{} = {}", quoted(member), quoted(format.name()))
                };
                let formats: Vec<String> = formats.iter().map(one).collect();
                let key = format!("format.{}.{by}", format.field);
                line(text, &key, &format!("{{ {} }}", formats.join(", ")));
            }
        }
    }
    for (field, earlier) in entity.earlier_names() {
        line(text, &format!("renamed.{field}"), &quoted(earlier));
    }
    let removed: Vec<String> = entity.removed_names().cloned().collect();
    names(text, "removed", &removed);
    if !entity.uniques.is_empty() {
        let entries: Vec<String> = entity.uniques.iter().map(unique).collect();
        line(text, "unique", &format!("[{}]", entries.join(", ")));
    }
    write_queries(text, entity);
    text.push('\n');
}

fn write_sequence(text: &mut String, entity: &DraftEntity) {
    let parent = entity.parent.as_ref().map(|parent| quoted(&parent.entity));
    let by = match entity.sequence {
        DraftSequence::None => return,
        DraftSequence::All => None,
        DraftSequence::ByParent => parent,
    };
    line(text, "fields.serial", "\"int?\"");
    line(text, "sequence.serial", &format!("[{}]", by.unwrap_or_default()));
}

fn write_queries(text: &mut String, entity: &DraftEntity) {
    let name = &entity.name;
    for list in &entity.lists {
        let _ = writeln!(text, "[entity.{name}.list.{}]", list.name);
        if let Some(path) = &list.path {
            line(text, "path", &quoted(path));
        }
        let sign = |direction: Direction| match direction {
            Direction::Ascending => "",
            Direction::Descending => "-",
        };
        let order: Vec<String> =
            list.order.iter().map(|(field, way)| format!("{}{field}", sign(*way))).collect();
        names(text, "by", &list.by);
        names(text, "order", &order);
        names(text, "facets", &list.facets);
        if !list.by.is_empty() {
            shards(text, list.shards);
        }
        filter(text, &list.filter);
    }
    for count in &entity.counts {
        let _ = writeln!(text, "[entity.{name}.count.{}]", count.name);
        names(text, "by", &count.by);
        names(text, "split", &count.split);
        names(text, "sum", &count.sums);
        names(text, "min", &count.min);
        names(text, "max", &count.max);
        if let Some(DraftWindow { unit, of, zone }) = &count.window {
            let _ = writeln!(text, "window = \"{unit}\"\nof = \"{of}\"\nzone = \"{zone}\"");
        }
        shards(text, count.shards);
        filter(text, &count.filter);
    }
    for board in &entity.boards {
        let _ = writeln!(text, "[entity.{name}.board.{}]", board.name);
        match &board.ranking {
            DraftRanking::Of(field) => line(text, "of", &quoted(field)),
            DraftRanking::Rank(field) => line(text, "rank", &quoted(field)),
        }
        names(text, "by", &board.by);
        filter(text, &board.filter);
    }
    write_combinations(text, entity);
}

fn write_combinations(text: &mut String, entity: &DraftEntity) {
    for field in &entity.fields {
        let own = entity.combinations.iter().filter(|entry| entry.field == field.name);
        let combined: Vec<String> = own.map(|entry| array(&entry.keys)).collect();
        if !combined.is_empty() {
            let _ = writeln!(text, "[entity.{}.tags.{}]", entity.name, field.name);
            line(text, "combine", &format!("[{}]", combined.join(", ")));
        }
    }
}

fn spec(field: &DraftField) -> String {
    let mark = match field.presence {
        Presence::Required => "",
        Presence::Optional => "?",
    };
    let default = field.default.as_ref().map_or(String::new(), |default| format!(" = {default}"));
    format!("{}{mark}{}{default}", field.of.word(), field.of.range())
}

fn unique(unique: &DraftUnique) -> String {
    let within = unique.within.as_ref();
    let within = within.map_or(String::new(), |field| format!(", within = {}", quoted(field)));
    let fold = match unique.case {
        CaseMode::Exact => "",
        CaseMode::Folded => ", fold_case = true",
    };
    if within.is_empty() && fold.is_empty() {
        return if unique.fields.len() == 1 {
            quoted(&unique.fields[0])
        } else {
            array(&unique.fields)
        };
    }
    format!("{{ fields = {}{within}{fold} }}", array(&unique.fields))
}

fn shards(text: &mut String, shards: u32) {
    if shards > 1 {
        line(text, "shards", &shards.to_string());
    }
}

fn filter(text: &mut String, tests: &[DraftTest]) {
    if !tests.is_empty() {
        let tests = tests.iter().map(|test| format!("{} = {}", test.field, test.value));
        let tests: Vec<String> = tests.collect();
        line(text, "where", &format!("{{ {} }}", tests.join(", ")));
    }
}

fn names(text: &mut String, key: &str, fields: &[String]) {
    match fields {
        [] => {}
        [field] => line(text, key, &quoted(field)),
        fields => line(text, key, &array(fields)),
    }
}

fn line(text: &mut String, key: &str, value: &str) {
    let _ = writeln!(text, "{key} = {value}");
}

fn array(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("[{}]", words.join(", "))
}

/// Quotes a TOML string.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn change_word(change: TriggeringChange) -> &'static str {
    match change {
        TriggeringChange::Insert => "insert",
        TriggeringChange::Update => "update",
        TriggeringChange::Delete => "delete",
    }
}
