//! Which actions of IAM the requests of the remote store need.
//!
//! A transaction needs the actions of the writes and reads in it: the service has none of its own.

/// What a server does that needs an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Reading and writing tables that exist.
    Data,
    /// Reading the stream of a table.
    Stream,
    /// Creating tables, and adding what they lack for a model.
    Setup,
    /// Nothing that a server or a command does.
    Unused,
}

/// A request of the remote store, the actions that it needs, and what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// The operation of the service.
    pub operation: &'static str,
    /// The actions, without their prefix `dynamodb:`.
    pub needs: &'static [&'static str],
    /// Who needs it.
    pub purpose: Purpose,
}

/// Every request that the remote store sends.
pub const ACTIONS: &[Action] = &[
    Action { operation: "BatchGetItem", needs: &["BatchGetItem"], purpose: Purpose::Data },
    Action { operation: "DeleteItem", needs: &["DeleteItem"], purpose: Purpose::Data },
    Action { operation: "DescribeTable", needs: &["DescribeTable"], purpose: Purpose::Data },
    Action {
        operation: "DescribeTimeToLive",
        needs: &["DescribeTimeToLive"],
        purpose: Purpose::Data,
    },
    Action { operation: "GetItem", needs: &["GetItem"], purpose: Purpose::Data },
    Action { operation: "PutItem", needs: &["PutItem"], purpose: Purpose::Data },
    Action { operation: "Query", needs: &["Query"], purpose: Purpose::Data },
    Action { operation: "Scan", needs: &["Scan"], purpose: Purpose::Data },
    Action { operation: "TransactGetItems", needs: &["GetItem"], purpose: Purpose::Data },
    Action {
        operation: "TransactWriteItems",
        needs: &["ConditionCheckItem", "DeleteItem", "PutItem", "UpdateItem"],
        purpose: Purpose::Data,
    },
    Action { operation: "UpdateItem", needs: &["UpdateItem"], purpose: Purpose::Data },
    Action { operation: "DescribeStream", needs: &["DescribeStream"], purpose: Purpose::Stream },
    Action { operation: "GetRecords", needs: &["GetRecords"], purpose: Purpose::Stream },
    Action {
        operation: "GetShardIterator",
        needs: &["GetShardIterator"],
        purpose: Purpose::Stream,
    },
    Action { operation: "CreateTable", needs: &["CreateTable"], purpose: Purpose::Setup },
    Action { operation: "UpdateTable", needs: &["UpdateTable"], purpose: Purpose::Setup },
    Action { operation: "UpdateTimeToLive", needs: &["UpdateTimeToLive"], purpose: Purpose::Setup },
    Action { operation: "BatchWriteItem", needs: &["BatchWriteItem"], purpose: Purpose::Unused },
    Action { operation: "DeleteTable", needs: &["DeleteTable"], purpose: Purpose::Unused },
    Action { operation: "ListTables", needs: &["ListTables"], purpose: Purpose::Unused },
];

#[cfg(all(test, feature = "remote"))]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// Requests are sent through clients of the SDK: their methods are the operations.
    #[test]
    fn the_table_has_every_request_of_the_remote_store() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/remote");
        let mut sent = BTreeSet::new();
        for file in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            for client in [".connection.tables.", ".connection.streams."] {
                let calls = text.split(client).skip(1);
                sent.extend(calls.map(|call| camel(call.split('(').next().unwrap())));
            }
        }
        // `keyloom backup --service` is the operator's, not a server's.
        assert!(sent.remove("CreateBackup"));
        let known: BTreeSet<String> =
            ACTIONS.iter().map(|action| action.operation.to_owned()).collect();
        assert_eq!(known, sent);
        assert_eq!(ACTIONS.len(), known.len(), "each once");
    }

    fn camel(snake: &str) -> String {
        let word = |word: &str| word[..1].to_uppercase() + &word[1..];
        snake.split('_').map(word).collect()
    }
}
