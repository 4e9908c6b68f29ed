//! What the compiler refuses. Each refused program follows one that compiles and differs from it in the
//! refused line alone, or in what that line names: so it is refused for that. Nightly compilers also check the
//! codes of the errors.
//!
//! # The id of another entity
//!
//! ```
//! use keyloom_typed_example::kitchen::{Database, IngredientId};
//!
//! async fn read(db: &Database, id: &IngredientId) {
//!     let _ = db.ingredient().get(id).await;
//! }
//! ```
//!
//! ```compile_fail,E0308
//! use keyloom_typed_example::kitchen::{Database, IngredientId};
//!
//! async fn read(db: &Database, id: &IngredientId) {
//!     let _ = db.recipe().get(id).await;
//! }
//! ```
//!
//! # A reference to another entity
//!
//! ```
//! use keyloom_typed_example::kitchen::{IngredientPatch, CategoryId};
//!
//! fn move_to(category: &CategoryId) -> IngredientPatch {
//!     IngredientPatch::new().set_category(category)
//! }
//! ```
//!
//! ```compile_fail,E0277
//! use keyloom_typed_example::kitchen::{IngredientPatch, RecipeId};
//!
//! fn move_to(category: &RecipeId) -> IngredientPatch {
//!     IngredientPatch::new().set_category(category)
//! }
//! ```
//!
//! # A query that is not declared
//!
//! ```
//! use keyloom_typed_example::kitchen::Database;
//!
//! fn query(db: &Database) {
//!     let _ = db.recipe().list_by_name();
//! }
//! ```
//!
//! ```compile_fail,E0599
//! use keyloom_typed_example::kitchen::Database;
//!
//! fn query(db: &Database) {
//!     let _ = db.recipe().list_by_servings();
//! }
//! ```
//!
//! # A filter of another list, and a total of a list that cannot be counted
//!
//! ```
//! use keyloom_typed_example::tasks::{Database, TaskOpenList};
//!
//! async fn query(db: &Database) {
//!     let _ = db.task().list_open().filter(TaskOpenList::tag("room", "kitchen")).total().await;
//! }
//! ```
//!
//! ```compile_fail,E0308
//! use keyloom_typed_example::tasks::{Database, TaskOpenList};
//!
//! async fn query(db: &Database) {
//!     let _ = db.task().list_all().filter(TaskOpenList::tag("room", "kitchen")).total().await;
//! }
//! ```
//!
//! ```
//! use keyloom_typed_example::kitchen::Database;
//!
//! async fn query(db: &Database) {
//!     let _ = db.recipe().list_by_name().read().await;
//! }
//! ```
//!
//! ```compile_fail,E0277
//! use keyloom_typed_example::kitchen::Database;
//!
//! async fn query(db: &Database) {
//!     let _ = db.recipe().list_by_name().total().await;
//! }
//! ```
//!
//! # The cursor of another query
//!
//! ```
//! use keyloom_typed::Error;
//! use keyloom_typed_example::tasks::Database;
//!
//! async fn pages(db: &Database) -> Result<(), Error> {
//!     if let Some(next) = db.task().list_open().read().await?.next {
//!         db.task().list_open().after(next).read().await?;
//!     }
//!     Ok(())
//! }
//! ```
//!
//! ```compile_fail,E0308
//! use keyloom_typed::Error;
//! use keyloom_typed_example::tasks::Database;
//!
//! async fn pages(db: &Database) -> Result<(), Error> {
//!     if let Some(next) = db.task().list_open().read().await?.next {
//!         db.task().list_all().after(next).read().await?;
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # A value that a query requires
//!
//! ```
//! use keyloom_typed_example::comments::Database;
//!
//! fn query(db: &Database) {
//!     let _ = db.comment().list_by_product("42");
//! }
//! ```
//!
//! ```compile_fail,E0061
//! use keyloom_typed_example::comments::Database;
//!
//! fn query(db: &Database) {
//!     let _ = db.comment().list_by_product();
//! }
//! ```
//!
//! # A required field that is removed, and a version of something new
//!
//! ```
//! use keyloom_typed_example::kitchen::{MenuItemPatch, RecipePatch};
//!
//! let patch = MenuItemPatch::new().clear_servings();
//! ```
//!
//! ```compile_fail,E0599
//! use keyloom_typed_example::kitchen::{MenuItemPatch, RecipePatch};
//!
//! let patch = RecipePatch::new().clear_servings();
//! ```
//!
//! ```
//! use keyloom_typed::Version;
//! use keyloom_typed_example::tasks::{Task, TaskId};
//!
//! let change = Task::delete(&TaskId::new("7")).if_version(&Version::new("1"));
//! ```
//!
//! ```compile_fail,E0599
//! use keyloom_typed::Version;
//! use keyloom_typed_example::tasks::{NewTask, Task};
//!
//! let change = Task::create(NewTask::new("cook")).if_version(&Version::new("1"));
//! ```
