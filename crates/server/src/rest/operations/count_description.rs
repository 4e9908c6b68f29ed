//! How OpenAPI describes a count: its parameters and its response.

use keyloom_model::{Count, Entity, FieldId};
use serde_json::{Map, Value as Json, json};

use super::super::openapi::{
    CountSchema, Form, Parameter, Values, cursor, flag, limit, names, object, one_value, query,
    schema, spoken,
};
use super::ranking::{by_parameter, fields, page_schema, sign_rule};

/// A count, as it is described.
pub(super) struct CountDescription<'d> {
    pub(super) entity: &'d Entity,
    pub(super) count: &'d Count,
}

impl CountDescription<'_> {
    /// The query parameters. The fields of `by` that are not in the path are among them.
    pub(super) fn parameters(&self, open: &[FieldId]) -> Vec<Parameter> {
        let CountDescription { entity, count } = *self;
        let mut all: Vec<Parameter> =
            open.iter().map(|field| by_parameter(entity.field(*field))).collect();
        for field in fields(entity, &count.split) {
            let about = format!("Count only this {}.{}", spoken(&field.name), sign_rule(field));
            all.push(query(&field.name, &about, one_value(field)));
        }
        all.extend(self.split_parameter());
        all.extend(self.window_parameters());
        if self.has_pages() {
            all.extend([limit(100, "Maximum number of counts on a page."), cursor()]);
        }
        all
    }

    fn has_pages(&self) -> bool {
        !self.count.split.is_empty() || self.count.window.is_some()
    }

    fn split_parameter(&self) -> Option<Parameter> {
        let fields = fields(self.entity, &self.count.split);
        let names: Vec<&str> = fields.map(|field| field.name.as_str()).collect();
        let about = format!(
            "Return one count per value: `{}`, or several separated by commas. A field that is filtered \
             by cannot be listed.",
            names.join("`, `")
        );
        let item = json!({ "type": "string", "enum": names });
        let schema = json!({ "type": "array", "items": item, "minItems": 1, "uniqueItems": true });
        let split = Parameter { values: Values::Joined, ..query("split", &about, schema) };
        (!names.is_empty()).then_some(split)
    }

    fn window_parameters(&self) -> Vec<Parameter> {
        let Some(window) = &self.count.window else { return vec![] };
        let (unit, zone) = (window.unit.name(), window.zone.name());
        let about = format!(
            "Return one count per {unit}, in a range such as `2024-02-01..2024-03-01`: from the {unit} of \
             the first time to the last one that begins before the second. Each is a date in {zone} or a \
             time, or left out."
        );
        let schema = json!({ "type": "string", "example": "2024-02-01..2024-03-01" });
        let fill = format!("Include each {unit} without entities. `window` must have both ends.");
        vec![query("window", &about, schema), flag("fill", &fill)]
    }

    /// Schema and example of the response: a number, or a page of them.
    pub(super) fn answer(&self) -> (Json, Json) {
        let of = CountSchema { entity: self.entity, count: self.count };
        let (one, example) = (of.reference(), of.example());
        if !self.has_pages() {
            return (one, example);
        }
        let kept_by = self.kept_by_schema();
        let always: Vec<&str> = match &kept_by[..] {
            [(name, _)] => vec![*name],
            _ => vec![],
        };
        let members = of.members();
        let required: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
        let item = object(&[kept_by, members].concat(), &[always, required].concat());
        (json!({ "oneOf": [one, page_schema(item)] }), example)
    }

    /// The schemas of the members that say what a number is of.
    fn kept_by_schema(&self) -> Vec<(&'static str, Json)> {
        let mut members = vec![];
        if !self.count.split.is_empty() {
            let values = fields(self.entity, &self.count.split)
                .map(|field| (field.name.clone(), schema(&field.of, Form::Shown)));
            let values = values.collect::<Map<String, Json>>();
            let object =
                json!({ "type": "object", "properties": values, "additionalProperties": false });
            members.push(("values", object));
        }
        if let Some(window) = &self.count.window {
            let about = format!("When the {} begins.", window.unit.name());
            let time = json!({ "type": "string", "format": "date-time", "description": about });
            members.push(("window", time));
        }
        members
    }

    /// What is counted, in sentences.
    pub(super) fn details(&self) -> Vec<String> {
        let CountDescription { entity, count } = *self;
        let mut text = format!("The count `{}`", count.name);
        if !count.by.is_empty() {
            text.push_str(&format!(" of one {}", names(entity, &count.by)));
        }
        let mut all = vec![format!("{text}. It is exact.")];
        if !count.sums.is_empty() {
            all.push(format!(
                "`sum` has the exact sum of {}, and `average` the sum divided by the number of entities \
                 that have a value, rounded to 16 digits.",
                names(entity, &count.sums)
            ));
        }
        let extremes: Vec<String> = [("min", "least", &count.min), ("max", "greatest", &count.max)]
            .into_iter()
            .filter(|(_, _, fields)| !fields.is_empty())
            .map(|(name, which, fields)| {
                format!("`{name}` has the {which} value of {}.", names(entity, fields))
            })
            .collect();
        all.extend(extremes);
        let pages: Vec<&str> = [
            (!count.split.is_empty()).then_some("`split`"),
            count.window.as_ref().map(|_| "`window`"),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !pages.is_empty() {
            let pages = pages.join(" and ");
            all.push(format!(
                "Without {pages}, the response is one number; otherwise a page of counts, without those \
                 that are 0."
            ));
        }
        all
    }
}
