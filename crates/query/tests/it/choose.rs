//! Which declared query is chosen, compared with a rule that looks at one condition at a time.

use keyloom_model::{Entity, FieldId, ListId, Model, UniqueId};
use keyloom_query::{Candidates, Chosen, ChosenList, Comparison, Condition};
use keyloom_value::Value;
use proptest::prelude::*;

const MODEL: &str = r#"
[entity.task]
fields.owner = "text"
fields.state = "enum(open, done)"
fields.size = "int"
fields.due = "int"
fields.code = "text"
unique = ["code", { fields = ["size"], within = "owner" }]
list.all = { order = ["due"] }
list.of_owner = { by = ["owner"], order = ["state", "due"], facets = ["state", "size"] }
list.of_state = { by = ["owner", "state"], order = ["size"] }
"#;

fn model() -> Model {
    keyloom_model::check(MODEL).expect("the model is right")
}

fn comparison() -> impl Strategy<Value = Comparison> {
    use Comparison::{AtLeast, AtMost, Equal, Less, More};
    prop_oneof![4 => Just(Equal), 1 => proptest::sample::select(vec![Less, AtMost, More, AtLeast])]
}

/// Whether a list takes all conditions, one by one.
fn takes(entity: &Entity, list: ListId, conditions: &[Condition]) -> bool {
    let list = entity.list(list);
    let of = |field: FieldId| conditions.iter().filter(move |one| one.field == field);
    let has_by = list.by.iter().all(|field| {
        of(*field).count() == 1 && of(*field).all(|one| one.comparison == Comparison::Equal)
    });
    has_by
        && conditions.iter().all(|one| {
            list.by.contains(&one.field)
                || list.order.iter().any(|order| order.field == one.field)
                || (list.facets.contains(&one.field) && one.comparison == Comparison::Equal)
        })
}

/// Every condition that a chosen list uses, in whichever role.
fn used(chosen: &ChosenList) -> Vec<Condition> {
    let equal = |field: FieldId, value: &Value| Condition {
        field,
        comparison: Comparison::Equal,
        value: value.clone(),
    };
    let by = chosen.by.iter().map(|(field, value)| equal(*field, value));
    let facets = chosen.facets.iter();
    let facets = facets.flat_map(|(field, all)| all.iter().map(|value| equal(*field, value)));
    by.chain(facets).chain(chosen.bounds.iter().cloned()).collect()
}

proptest! {
    #[test]
    fn chosen_list_reads_least_and_uses_every_condition_once(
        given in proptest::collection::vec((0..5_usize, comparison(), 0..3_i64), 0..6),
        has_tags: bool,
    ) {
        let model = model();
        let entity = model.entity(model.find("task").expect("it is declared"));
        let names = ["owner", "state", "size", "due", "code"];
        let condition = |(name, comparison, value): (usize, Comparison, i64)| Condition {
            field: entity.find_field(names[name]).expect("it is declared"),
            comparison,
            value: Value::from(value),
        };
        let conditions: Vec<Condition> = given.into_iter().map(condition).collect();
        let lists: Vec<ListId> = entity.lists().map(|(id, _)| id).collect();
        let uniques: Vec<UniqueId> = entity.uniques().map(|(id, _)| id).collect();
        let candidates = Candidates { entity, lists: &lists, uniques: &uniques };
        let able: Vec<&ListId> =
            lists.iter().filter(|list| takes(entity, **list, &conditions)).collect();
        let chosen = candidates.choose_list(&conditions);
        let most = able.iter().map(|list| entity.list(**list).by.len()).max();
        prop_assert_eq!(chosen.as_ref().map(|chosen| chosen.by.len()), most);
        if let Some(chosen) = &chosen {
            prop_assert!(able.contains(&&chosen.list));
            let mut left = used(chosen);
            for condition in &conditions {
                let at = left.iter().position(|one| one == condition);
                prop_assert!(at.is_some(), "{condition:?} is lost");
                left.swap_remove(at.unwrap_or_default());
            }
            prop_assert_eq!(left, vec![]);
            // Bounds of a field need the values of the fields before it in the order.
            let order = &entity.list(chosen.list).order;
            let at = |field: FieldId| order.iter().position(|order| order.field == field);
            let last = chosen.bounds.iter().filter_map(|bound| at(bound.field)).max();
            let facets = chosen.facets.iter().filter_map(|(field, _)| at(*field));
            prop_assert!(facets.into_iter().all(|facet| last.is_none_or(|last| last <= facet)));
        }
        // A unique answers if its fields are given, each once, and nothing else.
        let is_unique = |fields: &[&str]| {
            let given: Vec<&str> =
                conditions.iter().map(|one| entity.field(one.field).name.as_str()).collect();
            let is_each = fields.iter().all(|field| given.contains(field));
            let is_equal = conditions.iter().all(|one| one.comparison == Comparison::Equal);
            given.len() == fields.len() && is_each && is_equal && !has_tags
        };
        match candidates.choose(&conditions, has_tags) {
            Some(Chosen::Unique(values)) => {
                prop_assert!(is_unique(&["code"]) || is_unique(&["owner", "size"]));
                prop_assert_eq!(values.len(), conditions.len());
            }
            other => {
                prop_assert!(!is_unique(&["code"]) && !is_unique(&["owner", "size"]));
                prop_assert_eq!(other, chosen.map(Chosen::List));
            }
        }
    }
}
