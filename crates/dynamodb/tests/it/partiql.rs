//! PartiQL: statements, batches and transactions. Most expectations were captured from the service,
//! by dynamodb-conformance and by floci's tests.

mod batches;
mod equivalence;
mod errors;
mod hostile;
mod indexes;
mod pages;
mod printer;
mod stage;
mod statements;
mod transactions;
