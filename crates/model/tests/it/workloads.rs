//! Workload files, and shards that are declared in the text of a model.

use keyloom_model::workload::{Draw, Shards, ShardsOf, Workload, declare_shards};
use keyloom_model::{Model, check};
use proptest::prelude::*;

const MODEL: &str = include_str!("../../../../apps/comments/model.toml");
const WORKLOAD: &str = include_str!("../../../../apps/comments/workload.toml");

fn model(text: &str) -> Model {
    check(text).expect("the model is valid")
}

#[test]
fn a_workload_has_rates_draws_and_reads() {
    let model = model(MODEL);
    let workload = Workload::check(WORKLOAD, &model).expect("the workload is valid");
    let comment = model.find("comment").unwrap();
    let product = model.entity(comment).find_field("product").unwrap();
    assert_eq!(workload.writes[0].per_second(), 506.0);
    let expected = Draw::Values { count: 100_000, hottest: 0.2 };
    assert_eq!(workload.draw(comment, product), Some(&expected));
    let names: Vec<String> = workload.reads.iter().map(|reads| reads.query.name(&model)).collect();
    let expected = ["comment.get", "comment.list.by_product", "comment.count.by_product"];
    assert_eq!(names[..3], expected);
    let quoted = WORKLOAD.replace("comment.get  ", "\"comment.get\"  ");
    assert_eq!(Workload::check(&quoted, &model).expect("quotes change nothing"), workload);
}

/// The same declarations as headers, inline tables and dotted keys.
const WRITTEN: [&str; 3] = [
    "[entity.shop]\nid = \"given\"\n[entity.sale]\nparent = \"shop\"\nfields.n = \"int\"\n\
     [entity.sale.list.by_shop]\nby = \"shop\"\n[entity.sale.count.all]\nby = \"shop\"\n\
     [entity.sale.board.best]\nrank = \"n\"\n",
    "[entity.shop]\nid = \"given\"\n[entity.sale]\nparent = \"shop\"\nfields.n = \"int\"\n\
     list.by_shop = { by = \"shop\" } # its sales\ncount.all = { by = \"shop\", shards = 3 }\n\
     board = { best = { rank = \"n\" } }\n",
    "[entity]\nshop.id = \"given\"\nsale.parent = \"shop\"\nsale.fields.n = \"int\"\n\
     sale.list.by_shop.by = \"shop\"\nsale.count.all.by = \"shop\"\nsale.board.best.rank = \"n\"\n",
];

#[test]
fn shards_are_declared_however_the_model_is_written() {
    for text in WRITTEN {
        let model = model(text);
        let (shop, sale) = (model.find("shop").unwrap(), model.find("sale").unwrap());
        let entity = model.entity(sale);
        let all = [
            ShardsOf::References(shop),
            ShardsOf::Entity(sale),
            ShardsOf::List(sale, entity.find_list("by_shop").unwrap()),
            ShardsOf::Count(sale, entity.find_count("all").unwrap()),
            ShardsOf::Board(sale, entity.boards().next().unwrap().0),
        ];
        let shards: Vec<Shards> =
            all.iter().zip(5..).map(|(of, count)| Shards { of: *of, count }).collect();
        let changed = declare_shards(text, &model, &shards);
        let changed = changed.unwrap_or_else(|| panic!("no place in:\n{text}"));
        let checked = check(&changed).expect("it is valid");
        for one in &shards {
            assert_eq!(one.of.count(&checked), one.count, "{changed}");
        }
        let kept = text.lines().filter(|line| line.contains('#'));
        assert!(kept.into_iter().all(|line| changed.contains(line.split('#').nth(1).unwrap())));
    }
}

#[test]
fn more_shards_than_there_can_be_are_not_declared() {
    let model = model(MODEL);
    let of = ShardsOf::Entity(model.find("comment").unwrap());
    let count = of.max() + 1;
    assert_eq!(declare_shards(MODEL, &model, &[Shards { of, count }]), None);
}

proptest! {
    /// No text makes the checker panic; every error is inside of the text.
    #[test]
    fn damaged_workloads_are_reported(
        at in 0..WORKLOAD.len(),
        length in 0..40_usize,
        new in prop::sample::select(vec!["", "{", "}", "[", "]", "=", "\"", "é", "\n", "-1", "nan", "[[a]]", "."]),
    ) {
        let characters: Vec<char> = WORKLOAD.chars().collect();
        let end = (at + length).min(characters.len());
        let at = at.min(end);
        let text: String = characters[..at].iter().copied()
            .chain(new.chars()).chain(characters[end..].iter().copied()).collect();
        if let Err(errors) = Workload::check(&text, &model(MODEL)) {
            prop_assert!(!errors.is_empty());
            let lines = text.split('\n').count();
            prop_assert!(errors.iter().all(|error| error.line() <= lines));
        }
    }
}
