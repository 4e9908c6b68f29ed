"""boto3, unmodified, against the endpoint whose URL is the first argument."""

import sys
import unittest
from decimal import Decimal

import boto3
from boto3.dynamodb.conditions import Attr, Key
from botocore.config import Config
from botocore.exceptions import ClientError

URL = sys.argv.pop(1)
OPTIONS = dict(
    endpoint_url=URL,
    region_name="us-east-1",
    aws_access_key_id="made",
    aws_secret_access_key="up",
    config=Config(retries={"max_attempts": 1}),
)
client = boto3.client("dynamodb", **OPTIONS)
resource = boto3.resource("dynamodb", **OPTIONS)


def make(name, key, indexes=(), **more):
    """Creates a table with text keys; an index is a name, its key and its projection."""

    def schema(names):
        return [{"AttributeName": n, "KeyType": k} for n, k in zip(names, ("HASH", "RANGE"))]

    names = dict.fromkeys(list(key) + [n for _, part, _ in indexes for n in part])
    if indexes:
        more["GlobalSecondaryIndexes"] = [
            {"IndexName": i, "KeySchema": schema(part), "Projection": kept} for i, part, kept in indexes
        ]
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=schema(key),
        AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in names],
        **more,
    )
    client.get_waiter("table_exists").wait(TableName=name)
    return resource.Table(name)


ALL = {"ProjectionType": "ALL"}


class Recipes(unittest.TestCase):
    """A recipe book: categories and ingredients in one table, with unique names."""

    @classmethod
    def setUpClass(cls):
        keys = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["id", "name"]}
        cls.table = make(
            "recipes",
            ("PK", "SK"),
            [("GSI1", ("GSI1PK", "GSI1SK"), ALL), ("GSI2", ("GSI2PK", "GSI2SK"), keys)],
        )
        cls.category("1", "vegetables")
        for number, name in enumerate(("tomatoes", "leeks", "mushrooms"), 1):
            cls.ingredient(str(number), name)

    @classmethod
    def category(cls, number, name):
        client.transact_write_items(
            TransactItems=[
                cls.put(f"CATEGORY#{number}", f"CATEGORY#{number}", id=number, name=name),
                cls.put(f"CATEGORYNAME#{name}", f"CATEGORYNAME#{name}", id=number, name=name),
            ]
        )

    @classmethod
    def ingredient(cls, number, name):
        more = {
            "GSI1PK": f"INGREDIENT#{number}",
            "GSI1SK": f"INGREDIENT#{number}",
            "GSI2PK": f"INGREDIENTNAME#{name}",
            "GSI2SK": f"INGREDIENTNAME#{name}",
        }
        client.transact_write_items(
            TransactItems=[
                cls.put("CATEGORY#1", f"INGREDIENT#{number}", id=number, name=name, categoryId="1", **more),
                cls.put(f"INGREDIENTNAME#{name}", f"INGREDIENTNAME#{name}", id=number, name=name),
            ]
        )

    @staticmethod
    def put(pk, sk, **values):
        item = {"PK": pk, "SK": sk, **values}
        return {
            "Put": {
                "TableName": "recipes",
                "Item": {name: {"S": value} for name, value in item.items()},
                "ConditionExpression": "attribute_not_exists(PK)",
            }
        }

    def test_names_are_unique(self):
        with self.assertRaises(client.exceptions.TransactionCanceledException) as caught:
            self.ingredient("9", "tomatoes")
        reasons = [reason["Code"] for reason in caught.exception.response["CancellationReasons"]]
        self.assertEqual(reasons, ["None", "ConditionalCheckFailed"])
        self.assertNotIn("Item", self.table.get_item(Key={"PK": "CATEGORY#1", "SK": "INGREDIENT#9"}))

    def test_a_category_with_its_ingredients_in_one_read(self):
        found = self.table.query(KeyConditionExpression=Key("PK").eq("CATEGORY#1"))["Items"]
        names = [item["name"] for item in found]
        self.assertEqual(names, ["vegetables", "tomatoes", "leeks", "mushrooms"])
        under = Key("PK").eq("CATEGORY#1") & Key("SK").begins_with("INGREDIENT#")
        self.assertEqual(self.table.query(KeyConditionExpression=under)["Count"], 3)

    def test_an_ingredient_by_id_and_by_name(self):
        by_id = self.table.query(IndexName="GSI1", KeyConditionExpression=Key("GSI1PK").eq("INGREDIENT#2"))
        self.assertEqual(by_id["Items"][0]["name"], "leeks")
        by_name = self.table.query(
            IndexName="GSI2",
            KeyConditionExpression=Key("GSI2PK").eq("INGREDIENTNAME#mushrooms"),
            ProjectionExpression="id, #n",
            ExpressionAttributeNames={"#n": "name"},
        )
        self.assertEqual(by_name["Items"], [{"id": "3", "name": "mushrooms"}])


class Tagging(unittest.TestCase):
    """Item tagging: tasks and their tags as an adjacency list with a sparse index."""

    @classmethod
    def setUpClass(cls):
        cls.table = make("tagging", ("pk", "sk"), [("siKey1-sk-index", ("siKey1", "sk"), ALL)])
        with cls.table.batch_writer() as batch:
            for number in range(30):
                task = f"task#{number:03}"
                tags = {"project": "alpha" if number % 2 else "beta", "priority": str(number % 3)}
                batch.put_item({"pk": task, "sk": task, "siKey1": "task", "name": task, "tags": tags})
                for name, value in tags.items():
                    batch.put_item({"pk": f"tag#{name}", "sk": f"{value}#{task}"})

    def test_all_tasks_come_by_the_sparse_index_page_by_page(self):
        seen, start = [], {}
        while True:
            page = self.table.query(
                IndexName="siKey1-sk-index", KeyConditionExpression=Key("siKey1").eq("task"), Limit=7, **start
            )
            seen += [item["sk"] for item in page["Items"]]
            if "LastEvaluatedKey" not in page:
                break
            self.assertEqual(set(page["LastEvaluatedKey"]), {"pk", "sk", "siKey1"})
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
        self.assertEqual(seen, [f"task#{number:03}" for number in range(30)])

    def test_tasks_with_a_tag_and_then_in_a_batch(self):
        tagged = Key("pk").eq("tag#project") & Key("sk").begins_with("alpha#")
        ids = [item["sk"].split("#", 1)[1] for item in self.table.query(KeyConditionExpression=tagged)["Items"]]
        self.assertEqual(len(ids), 15)
        keys = [{"pk": task, "sk": task} for task in ids]
        got = resource.batch_get_item(RequestItems={"tagging": {"Keys": keys}})
        self.assertEqual({item["tags"]["project"] for item in got["Responses"]["tagging"]}, {"alpha"})
        self.assertEqual(got["UnprocessedKeys"], {})


class Comments(unittest.TestCase):
    """Product comments: four indexes by language and rating, newest first."""

    @classmethod
    def setUpClass(cls):
        indexes = [(f"gsi{n}", (f"gsi{n}pk", "cd"), ALL) for n in range(1, 5)]
        cls.table = make("comments", ("pk", "sk"), indexes)
        for number in range(45):
            language, rating = ("en", "de", "fr")[number % 3], str(number % 5 + 1)
            cls.table.put_item(
                Item={
                    "pk": f"COMMENT#{number}",
                    "sk": "PRODUCT#42",
                    "cd": f"2020-11-09 12:{number:02}",
                    "rating": rating,
                    "gsi1pk": f"42/{language}/{rating}",
                    "gsi2pk": f"42/{language}/~",
                    "gsi3pk": f"42/~/{rating}",
                    "gsi4pk": "42/~/~",
                }
            )

    def page(self, index, value, **more):
        key = Key(f"gsi{index}pk").eq(value)
        return self.table.query(
            IndexName=f"gsi{index}", KeyConditionExpression=key, ScanIndexForward=False, **more
        )

    def test_each_index_answers_its_question(self):
        for index, value, count in ((1, "42/en/1", 3), (2, "42/de/~", 15), (3, "42/~/5", 9), (4, "42/~/~", 45)):
            found = self.page(index, value)
            dates = [item["cd"] for item in found["Items"]]
            self.assertEqual((len(dates), dates), (count, sorted(dates, reverse=True)))

    def test_the_eleventh_says_whether_there_is_a_next_page(self):
        first = self.page(4, "42/~/~", Limit=11)
        self.assertEqual((first["Count"], first["Items"][0]["cd"]), (11, "2020-11-09 12:44"))
        second = self.page(4, "42/~/~", Limit=11, ExclusiveStartKey=first["LastEvaluatedKey"])
        self.assertEqual(second["Items"][0]["cd"], "2020-11-09 12:33")

    def test_a_filter_saves_no_reads(self):
        found = self.page(4, "42/~/~", FilterExpression=Attr("rating").is_in(["1", "5"]), Limit=20)
        self.assertEqual((found["Count"], found["ScannedCount"]), (8, 20))


class Manhunt(unittest.TestCase):
    """On-call paging: contacts and searches, with every query of the published design."""

    @classmethod
    def setUpClass(cls):
        indexes = [("GSI1", ("GSI1PK", "GSI1SK"), ALL), ("GSI2", ("GSI2PK", "GSI1SK"), ALL)]
        cls.table = make("manhunt", ("PK", "SK"), indexes)
        rows = [
            {"PK": "c1", "SK": "contact", "GSI1PK": "d1", "GSI1SK": "Zoe"},
            {"PK": "c2", "SK": "contact", "GSI1PK": "d1", "GSI1SK": "Adam"},
            {"PK": "c1", "SK": "contactMethod#1"},
            {"PK": "c1", "SK": "contactMethod#2"},
        ]
        for number, (status, date) in enumerate(
            (("active", "2019-03-01"), ("done", "2019-01-01"), ("active", "2019-02-01")), 1
        ):
            rows.append(
                {"PK": f"s{number}", "SK": "search", "GSI1PK": "c1", "GSI1SK": date, "GSI2PK": f"{status}#c1"}
            )
            rows.append({"PK": f"s{number}", "SK": "searchAttempt#1"})
        for row in rows:
            cls.table.put_item(Item=row)

    def ids(self, condition, index=None):
        more = {"IndexName": index} if index else {}
        found = self.table.query(KeyConditionExpression=condition, **more)["Items"]
        return [f"{item['PK']}/{item['SK']}" for item in found]

    def test_every_query_of_the_document(self):
        pk, gsi1, gsi2, date = Key("PK"), Key("GSI1PK"), Key("GSI2PK"), Key("GSI1SK")
        searches = ["s2/search", "s3/search", "s1/search"]
        cases = [
            (pk.eq("s1") & Key("SK").eq("search"), None, ["s1/search"]),
            (pk.eq("s1"), None, ["s1/search", "s1/searchAttempt#1"]),
            (pk.eq("c1") & Key("SK").eq("contact"), None, ["c1/contact"]),
            (pk.eq("c1"), None, ["c1/contact", "c1/contactMethod#1", "c1/contactMethod#2"]),
            (gsi1.eq("d1"), "GSI1", ["c2/contact", "c1/contact"]),
            (gsi1.eq("c1"), "GSI1", searches),
            (gsi1.eq("c1") & date.lt("2019-03-01"), "GSI1", searches[:2]),
            (gsi1.eq("c1") & date.gt("2019-01-01"), "GSI1", searches[1:]),
            (gsi2.eq("active#c1"), "GSI2", ["s3/search", "s1/search"]),
            (gsi2.eq("active#c1") & date.lt("2019-03-01"), "GSI2", ["s3/search"]),
        ]
        for condition, index, expected in cases:
            self.assertEqual(self.ids(condition, index), expected)


class Service(unittest.TestCase):
    """Features that no single design covers."""

    def test_values_of_every_type_come_back(self):
        table = make("types", ("id",))
        item = {
            "id": "1",
            "n": Decimal("1.5"),
            "big": Decimal("12345678901234567890123456789012345678"),
            "b": b"\x00\xff",
            "t": True,
            "none": None,
            "l": ["a", Decimal(1), [None]],
            "m": {"é": {"deep": "ü€😀"}},
            "ss": {"a", "b"},
            "ns": {Decimal(1), Decimal("2.5")},
            "bs": {b"x"},
        }
        table.put_item(Item=item)
        self.assertEqual(table.get_item(Key={"id": "1"}, ConsistentRead=True)["Item"], item)

    def test_updates_conditions_and_capacity(self):
        table = make("updates", ("id",))
        answer = table.update_item(
            Key={"id": "1"},
            UpdateExpression="SET n = if_not_exists(n, :z) + :one, l = list_append(if_not_exists(l, :e), :l)",
            ExpressionAttributeValues={":z": 0, ":one": 1, ":e": [], ":l": ["x"]},
            ReturnValues="ALL_NEW",
            ReturnConsumedCapacity="TOTAL",
        )
        self.assertEqual(answer["Attributes"], {"id": "1", "n": 1, "l": ["x"]})
        self.assertEqual(answer["ConsumedCapacity"], {"TableName": "updates", "CapacityUnits": 1.0})
        with self.assertRaises(ClientError) as caught:
            table.delete_item(
                Key={"id": "1"},
                ConditionExpression=Attr("n").gt(5),
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        response = caught.exception.response
        self.assertEqual(response["Error"]["Code"], "ConditionalCheckFailedException")
        self.assertEqual(response["Item"]["n"], {"N": "1"})
        with self.assertRaises(client.exceptions.ResourceNotFoundException):
            client.get_item(TableName="nowhere", Key={"id": {"S": "1"}})

    def test_scans_in_segments_and_paginators(self):
        table = make("scans", ("id",))
        with table.batch_writer() as batch:
            for number in range(60):
                batch.put_item({"id": str(number)})
        seen = []
        for segment in range(4):
            paginator = client.get_paginator("scan")
            pages = paginator.paginate(
                TableName="scans", Segment=segment, TotalSegments=4, PaginationConfig={"PageSize": 7}
            )
            seen += [item["id"]["S"] for page in pages for item in page["Items"]]
        self.assertEqual(sorted(seen, key=int), [str(number) for number in range(60)])

    def test_streams(self):
        spec = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
        table = make("streamed", ("id",), StreamSpecification=spec)
        streams = boto3.client("dynamodbstreams", **OPTIONS)
        arn = table.latest_stream_arn
        shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
        start = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
        table.put_item(Item={"id": "1", "n": 1})
        table.put_item(Item={"id": "1", "n": 2})
        table.delete_item(Key={"id": "1"})
        records = streams.get_records(ShardIterator=start["ShardIterator"])["Records"]
        self.assertEqual([record["eventName"] for record in records], ["INSERT", "MODIFY", "REMOVE"])
        self.assertEqual(records[1]["dynamodb"]["OldImage"]["n"], {"N": "1"})

    def test_tables_are_changed_tagged_and_dropped(self):
        table = make("changing", ("id",), Tags=[{"Key": "team", "Value": "core"}])
        arn = table.table_arn
        client.tag_resource(ResourceArn=arn, Tags=[{"Key": "stage", "Value": "test"}])
        client.untag_resource(ResourceArn=arn, TagKeys=["team"])
        self.assertEqual(client.list_tags_of_resource(ResourceArn=arn)["Tags"], [{"Key": "stage", "Value": "test"}])
        client.update_time_to_live(
            TableName="changing", TimeToLiveSpecification={"AttributeName": "end", "Enabled": True}
        )
        ttl = client.describe_time_to_live(TableName="changing")["TimeToLiveDescription"]
        self.assertEqual(ttl, {"AttributeName": "end", "TimeToLiveStatus": "ENABLED"})
        client.update_table(
            TableName="changing",
            AttributeDefinitions=[{"AttributeName": "x", "AttributeType": "N"}],
            GlobalSecondaryIndexUpdates=[
                {
                    "Create": {
                        "IndexName": "by_x",
                        "KeySchema": [{"AttributeName": "x", "KeyType": "HASH"}],
                        "Projection": ALL,
                    }
                }
            ],
        )
        table.reload()
        self.assertEqual(table.global_secondary_indexes[0]["IndexName"], "by_x")
        table.delete()
        table.wait_until_not_exists()
        self.assertNotIn("changing", client.list_tables()["TableNames"])

    def test_a_hundred_tables_are_made_and_dropped(self):
        for number in range(100):
            make(f"many{number}", ("id",))
        pages = client.get_paginator("list_tables").paginate()
        names = [name for page in pages for name in page["TableNames"] if name.startswith("many")]
        self.assertEqual(len(names), 100)
        for name in names:
            client.delete_table(TableName=name)



class Legacy(unittest.TestCase):
    """The parameters that expressions replaced, as older programs send them."""

    @classmethod
    def setUpClass(cls):
        cls.table = make("legacy", ("pk", "sk"))
        for number in range(6):
            cls.table.put_item(Item={"pk": "a", "sk": str(number), "n": number, "tags": {"x", f"t{number}"}})

    @staticmethod
    def compared(operator, *arguments):
        return {"ComparisonOperator": operator, "AttributeValueList": list(arguments)}

    def test_a_query_with_key_conditions_and_a_filter(self):
        found = self.table.query(
            KeyConditions={"pk": self.compared("EQ", "a"), "sk": self.compared("BETWEEN", "1", "4")},
            QueryFilter={"n": self.compared("GE", 2), "tags": self.compared("NOT_CONTAINS", "t3")},
            AttributesToGet=["n"],
        )
        self.assertEqual((found["Items"], found["ScannedCount"]), ([{"n": 2}, {"n": 4}], 4))

    def test_a_scan_with_conditions_of_which_one_is_enough(self):
        found = self.table.scan(
            ScanFilter={"n": self.compared("IN", 0, 7), "tags": self.compared("CONTAINS", "t5")},
            ConditionalOperator="OR",
            Select="COUNT",
        )
        self.assertEqual(found["Count"], 2)

    def test_updates_under_expectations(self):
        key = {"pk": "b", "sk": "1"}
        with self.assertRaises(client.exceptions.ConditionalCheckFailedException):
            self.table.update_item(Key=key, AttributeUpdates={"n": {"Value": 1}}, Expected={"n": {"Value": 0}})
        self.table.put_item(Item=key, Expected={"pk": {"Exists": False}})
        new = self.table.update_item(
            Key=key,
            AttributeUpdates={
                "n": {"Action": "ADD", "Value": 2},
                "list": {"Action": "ADD", "Value": ["x"]},
                "tags": {"Action": "PUT", "Value": {"x", "y"}},
            },
            Expected={"n": self.compared("NULL")},
            ReturnValues="ALL_NEW",
        )
        self.assertEqual(new["Attributes"], {**key, "n": 2, "list": ["x"], "tags": {"x", "y"}})
        self.table.update_item(
            Key=key, AttributeUpdates={"tags": {"Action": "DELETE", "Value": {"x"}}, "list": {"Action": "DELETE"}}
        )
        found = self.table.get_item(Key=key, AttributesToGet=["tags", "list"])
        self.assertEqual(found["Item"], {"tags": {"y"}})
        self.table.delete_item(Key=key, Expected={"n": self.compared("LT", 3), "tags": self.compared("NOT_NULL")})
        self.assertNotIn("Item", self.table.get_item(Key=key))

    def test_expressions_are_not_mixed_in(self):
        with self.assertRaises(ClientError) as caught:
            self.table.get_item(Key={"pk": "a", "sk": "1"}, AttributesToGet=["n"], ProjectionExpression="n")
        self.assertEqual(
            caught.exception.response["Error"]["Message"],
            "Can not use both expression and non-expression parameters in the same request: Non-expression parameters:"
            " {AttributesToGet} Expression parameters: {ProjectionExpression}",
        )


if __name__ == "__main__":
    unittest.main(verbosity=1)
