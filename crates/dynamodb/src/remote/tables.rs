//! Creates, describes, alters and drops tables. The service does this asynchronously; calls here
//! return when it is done.

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::update_table::builders::UpdateTableFluentBuilder as UpdateTable;
use aws_sdk_dynamodb::types::{
    BillingMode, DeleteGlobalSecondaryIndexAction, GlobalSecondaryIndexUpdate,
    TableDescription as SdkTable, TableStatus, TimeToLiveSpecification, TimeToLiveStatus,
};
use keyloom_store::{
    Alteration, Error, Feed, IndexScope, IndexSpec, TableDescription, TableName, TableSpec,
};
use keyloom_value::Name;

use super::codes::{IN_USE, NOT_FOUND};
use super::refusal::{failed, has_code, incomplete, write_failed};
use super::service::Service;
use super::specs::Rules;
use super::table_shape::{
    definitions, global_index, key_schema, local_index, new_global_index, stream, table,
};

/// The most polls for a table to be ready: about five minutes.
const POLLS_MAX: u32 = 120;

const NO_COLUMNS: Error = Error::Unsupported { what: "DynamoDB has no columns" };

impl Service {
    pub(super) async fn list_tables(&self) -> Result<Vec<TableName>, Error> {
        let mut names: Vec<TableName> = Vec::new();
        let mut last = None;
        loop {
            let request = self.connection.tables.list_tables();
            let request = request.set_exclusive_start_table_name(last);
            let sent = self.send_read(|| request.clone().send()).await;
            let page = sent.map_err(|error| failed("ListTables", &error))?;
            last = page.last_evaluated_table_name;
            if last.as_deref().is_some_and(|last| names.iter().any(|name| name.as_str() == last)) {
                return Err(incomplete("ListTables", "an end"));
            }
            for name in page.table_names.unwrap_or_default() {
                names.push(TableName::new(&name)?);
            }
            if last.is_none() {
                names.sort();
                return Ok(names);
            }
        }
    }

    pub(super) async fn describe_table(&self, name: &TableName) -> Result<TableDescription, Error> {
        let mut found = self.sdk_table(name).await?;
        // It cannot be read or written before.
        if found.table_status() == Some(&TableStatus::Creating) {
            self.wait_until_active(name).await?;
            found = self.sdk_table(name).await?;
        }
        let mut described = table(&found)?;
        described.spec.ttl = self.time_to_live(name).await?;
        Ok(described)
    }

    /// Describes a table without its time to live, which takes a second request.
    pub(super) async fn describe_without_ttl(
        &self,
        name: &TableName,
    ) -> Result<TableDescription, Error> {
        table(&self.sdk_table(name).await?)
    }

    pub(super) async fn sdk_table(&self, name: &TableName) -> Result<SdkTable, Error> {
        let request = self.connection.tables.describe_table().table_name(name.as_str());
        let sent = self.send_read(|| request.clone().send()).await;
        let output = sent.map_err(|error| of_table(name, failed("DescribeTable", &error)))?;
        output.table.ok_or_else(|| incomplete("DescribeTable", "the table"))
    }

    pub(super) async fn create_table(&self, spec: TableSpec) -> Result<TableDescription, Error> {
        spec.check()?;
        if !spec.columns.is_empty() {
            return Err(NO_COLUMNS);
        }
        let of_scope = |scope| spec.indexes.iter().filter(move |index| index.scope == scope);
        let locals = non_empty(of_scope(IndexScope::Local), local_index);
        let globals = non_empty(of_scope(IndexScope::Global), global_index);
        let keys = std::iter::once(&spec.key).chain(spec.indexes.iter().map(|index| &index.key));
        let feed = (spec.feed == Feed::Images).then(|| stream(spec.feed)).transpose();
        let request = self.connection.tables.create_table();
        let request = request
            .table_name(spec.name.as_str())
            .billing_mode(BillingMode::PayPerRequest)
            .set_attribute_definitions(Some(built(definitions(keys))?))
            .set_key_schema(Some(built(key_schema(&spec.key))?))
            .set_local_secondary_indexes(built(locals)?)
            .set_global_secondary_indexes(built(globals)?)
            .set_stream_specification(built(feed)?);
        if let Err(error) = self.send_write(|| request.clone().send()).await {
            let error = write_failed("CreateTable", error);
            if !has_code(&error, IN_USE) {
                return Err(error);
            }
            // Another process may have begun to create it a moment ago.
            self.wait_until_active(&spec.name).await?;
            return Err(Error::TableExists { table: spec.name });
        }
        self.wait_until_active(&spec.name).await?;
        if let Some(attribute) = &spec.ttl {
            self.set_ttl(&spec.name, attribute, true).await?;
        }
        self.describe_table(&spec.name).await
    }

    pub(super) async fn alter_table(
        &self,
        name: TableName,
        change: Alteration,
    ) -> Result<TableDescription, Error> {
        self.specs.invalidate(&name);
        self.streams.forget(&name);
        let check = &|specs: keyloom_store::Specs<'_>| change.check(specs, &name);
        self.validate(&Rules { tables: vec![&name], check }).await?;
        match &change {
            Alteration::AddIndex(index) => self.add_index(&name, index).await?,
            Alteration::DropIndex(index) => self.drop_index(&name, index).await?,
            Alteration::AddColumn(_) | Alteration::DropColumn(_) => return Err(NO_COLUMNS),
            Alteration::SetFeed(feed) => self.set_feed(&name, *feed).await?,
            Alteration::SetTtl(attribute) => match (self.time_to_live(&name).await?, attribute) {
                (now, wanted) if now == *wanted => {}
                (Some(now), None) => self.set_ttl(&name, &now, false).await?,
                (_, Some(wanted)) => self.set_ttl(&name, wanted, true).await?,
                (None, None) => {}
            },
        }
        self.wait_until_active(&name).await?;
        self.specs.invalidate(&name);
        self.streams.forget(&name);
        self.describe_table(&name).await
    }

    pub(super) async fn drop_table(&self, name: TableName) -> Result<TableDescription, Error> {
        let before = self.describe_table(&name).await?;
        let request = self.connection.tables.delete_table().table_name(name.as_str());
        let sent = self.send_write(|| request.clone().send()).await;
        sent.map_err(|error| of_table(&name, write_failed("DeleteTable", error)))?;
        self.specs.invalidate(&name);
        self.streams.forget(&name);
        let mut polls = self.backoff_of(POLLS_MAX);
        loop {
            match self.sdk_table(&name).await {
                Err(Error::TableNotFound { .. }) => return Ok(before),
                Err(error) => return Err(error),
                Ok(_) if polls.wait().await => {}
                Ok(_) => return Err(incomplete("DeleteTable", "the end of the table")),
            }
        }
    }

    async fn wait_until_active(&self, name: &TableName) -> Result<(), Error> {
        let mut polls = self.backoff_of(POLLS_MAX);
        loop {
            let now = self.sdk_table(name).await?;
            if now.table_status() == Some(&TableStatus::Active) {
                return Ok(());
            }
            if !polls.wait().await {
                return Err(incomplete("DescribeTable", "that the table is ready"));
            }
        }
    }

    async fn add_index(&self, name: &TableName, index: &IndexSpec) -> Result<(), Error> {
        let added = GlobalSecondaryIndexUpdate::builder().create(built(new_global_index(index))?);
        let definitions = built(definitions(std::iter::once(&index.key)))?;
        self.update_table(name, |request| {
            request
                .set_attribute_definitions(Some(definitions))
                .global_secondary_index_updates(added.build())
        })
        .await
    }

    async fn drop_index(&self, name: &TableName, index: &TableName) -> Result<(), Error> {
        let action = DeleteGlobalSecondaryIndexAction::builder().index_name(index.as_str());
        let dropped = GlobalSecondaryIndexUpdate::builder().delete(built(action.build())?);
        let dropped = dropped.build();
        self.update_table(name, |request| request.global_secondary_index_updates(dropped)).await?;
        let mut polls = self.backoff_of(POLLS_MAX);
        while self
            .describe_without_ttl(name)
            .await?
            .spec
            .indexes
            .iter()
            .any(|known| known.name == *index)
        {
            if !polls.wait().await {
                return Err(incomplete("UpdateTable", "the end of the index"));
            }
        }
        Ok(())
    }

    async fn set_feed(&self, name: &TableName, feed: Feed) -> Result<(), Error> {
        if self.describe_without_ttl(name).await?.spec.feed == feed {
            return Ok(());
        }
        let stream = built(stream(feed))?;
        self.update_table(name, |request| request.stream_specification(stream)).await
    }

    async fn update_table(
        &self,
        name: &TableName,
        change: impl FnOnce(UpdateTable) -> UpdateTable,
    ) -> Result<(), Error> {
        let request = self.connection.tables.update_table().table_name(name.as_str());
        let request = change(request);
        let sent = self.send_write(|| request.clone().send()).await;
        sent.map(drop).map_err(|error| of_table(name, write_failed("UpdateTable", error)))
    }

    async fn set_ttl(&self, name: &TableName, attribute: &Name, is_on: bool) -> Result<(), Error> {
        let specification = TimeToLiveSpecification::builder()
            .attribute_name(attribute.as_str())
            .enabled(is_on)
            .build();
        let request = self.connection.tables.update_time_to_live().table_name(name.as_str());
        let request = request.time_to_live_specification(built(specification)?);
        let sent = self.send_write(|| request.clone().send()).await;
        sent.map(drop).map_err(|error| of_table(name, write_failed("UpdateTimeToLive", error)))
    }

    async fn time_to_live(&self, name: &TableName) -> Result<Option<Name>, Error> {
        let request = self.connection.tables.describe_time_to_live().table_name(name.as_str());
        let sent = self.send_read(|| request.clone().send()).await;
        let output = sent.map_err(|error| of_table(name, failed("DescribeTimeToLive", &error)))?;
        let description = output.time_to_live_description();
        let is_on = description.and_then(|it| it.time_to_live_status()).is_some_and(|status| {
            matches!(status, TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling)
        });
        let attribute = description.and_then(|it| it.attribute_name()).filter(|_| is_on);
        Ok(attribute.map(Name::from))
    }
}

/// Builds the parts of a request; `None` if there are none.
fn non_empty<'a, T, P>(
    parts: impl Iterator<Item = &'a P>,
    one: impl Fn(&P) -> Result<T, BuildError>,
) -> Result<Option<Vec<T>>, BuildError>
where
    P: 'a,
{
    let all = parts.map(one).collect::<Result<Vec<T>, _>>()?;
    Ok(Some(all).filter(|all| !all.is_empty()))
}

/// Maps the SDK's error for a missing member, which validation has ruled out.
fn built<T>(part: Result<T, BuildError>) -> Result<T, Error> {
    part.map_err(|error| incomplete("a request about a table", &error.to_string()))
}

/// Maps the service's "not found" to a missing table.
pub(super) fn of_table(table: &TableName, error: Error) -> Error {
    match has_code(&error, NOT_FOUND) {
        true => Error::TableNotFound { table: table.clone() },
        false => error,
    }
}
