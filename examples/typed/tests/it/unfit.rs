//! A stored value that the generated type does not have is an error that names it.

use std::sync::Arc;

use keyloom::{Change, Db, Item, SystemClock};
use keyloom_store::MemoryStore;
use keyloom_typed::{Error, Unfit};
use keyloom_typed_example::issue_tracker::{Database, MODEL, PersonId, ProjectId};
use pollster::block_on;

#[test]
fn a_value_of_a_later_model_is_an_error() {
    let later = MODEL.replace("enum(open, doing, done)", "enum(open, doing, done, blocked)");
    let later = later.replace("[entity.person]", "[entity.person]\nfields.age = \"int?\"");
    let result: Result<(), Error> = block_on(async {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let db = Db::open(&later, store).await?;
        let project = Item::from([("id", "web"), ("name", "Web")]);
        let issue = Item::from([("project", "web"), ("title", "a"), ("status", "blocked")]);
        let person = Item::from([("id", "ann"), ("name", "Ann")]);
        let changes = [("project", project), ("issue", issue), ("person", person)];
        let changes = changes.map(|(entity, item)| Change::create_item(entity, item));
        let done = db.transact(changes.to_vec()).await?;
        let id = done[1].as_ref().map(|record| record.id().to_owned());
        let typed = Database::from(db);
        // A field that the type does not have is ignored.
        assert_eq!(
            typed.person().get(&PersonId::new("ann")).await?.expect("it exists").name,
            "Ann"
        );
        let read = typed.issue().list_of_project(&ProjectId::new("web")).read().await;
        let Err(Error::Unfit(unfit)) = read else { panic!("{read:?}") };
        let (entity, field) = ("issue".to_owned(), "status".to_owned());
        let expected = "a value of `IssueStatus`";
        assert_eq!(unfit, Unfit { entity, id, field, expected });
        assert!(unfit.to_string().contains("generate the module from the model in force"));
        Ok(())
    });
    result.unwrap();
}
