"""Random valid and invalid requests to our endpoint and to third-party servers: expressions, the
parameters that they replaced, and PartiQL statements.

    oracles.py CASES SEED OURS NAME=URL NAME=URL ...

If all other servers respond alike and ours does not, that is a difference. The run fails unless it is
listed below, with the reason. Requests on which the other servers disagree are ignored. Bodies are
compared as values, errors by code; other tests cover error messages.
"""

import http.client
import json
import random
import sys
import time
from urllib.parse import urlparse

from statements import Statements

# Known differences: our error message, and why it is correct.
KNOWN = [
    # The service refuses these before it reads an item, so before a condition can fail.
    "This attribute is part of the key",
    "Incorrect operand type for operator or function",
    "The BETWEEN operator requires",
    "The BETWEEN condition was provided a range where the lower bound is greater",
    "The first operand must be distinct from the remaining operands",
    "Key attributes must be scalars",
    # So are these, without expressions.
    "AttributeValue type",
    "AttributeValues inside AttributeValueList must be of same type",
    "ConditionalOperator can only be used when",
    "ConditionalOperator cannot be used without",
    "at 'conditionalOperator' failed to satisfy constraint",
    # The service refuses REMOVE and ADD below a path that does not exist.
    "The document path provided in the update expression is invalid for update",
    # It refuses these before it reads an item too: an empty set, and a list that is also a map
    # (dynalite's and ScyllaDB's tests of the service).
    "set  may not be empty",
    "Two document paths conflict with each other",
    "Two document paths overlap with each other",
    # In PartiQL, keys have the type of the schema in all statements (floci's tests), and ranges of
    # sort keys do not overlap: `IN [1, 1]` is refused (dynamodb-conformance).
    "Key attribute's data type should match its data type in table's schema",
    "Overlapping conditions with range keys are not supported in where clause",
    # `m.a, l.a` would be two attributes `a` of one item (DynamoDB local).
    "Duplicate identifiers in select clause",
]
# A SELECT of a batch or a transaction with a key of another type: refused by ours, as GetItem refuses it
# on the service; others find nothing.
KEY_ELEMENT = "The provided key element does not match the schema"
# Others cannot parse these statements, which the service accepts.
NOT_PARSED = ["Unknown operator: (", "UPDATE requires a WHERE clause", "Expected ',' but got '['"]
# Others notice two actions on one item only when they come to the second.
ITEM_TWICE = "Transaction request cannot include multiple operations on one item"
# In a transaction, other servers report an invalid expression, or none of an invalid value, as the
# cancellation reason of its action. Reports about the service disagree; ours refuses the request.
IN_TRANSACTIONS = ("Invalid ", "ExpressionAttributeValues contains invalid value: ")
# On the service, NOT_CONTAINS does not hold for a missing attribute (ScyllaDB's tests).
NOT_CONTAINS = '"NOT_CONTAINS"'

TEXTS = ["a", "b", "", "é", "x" * 30]
NUMBERS = ["0", "1", "1.0", "-2", "10e-1", "1e130", "abc", "3.5"]


class Server:
    def __init__(self, name, url):
        self.name = name
        self.address = urlparse(url)
        self.connection = None

    def ask(self, operation, body):
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
            "X-Amz-Date": "20260101T000000Z",
            "Authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request,"
            " SignedHeaders=host, Signature=b",
        }
        for _ in range(2):
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPConnection(
                        self.address.hostname, self.address.port, timeout=20
                    )
                self.connection.request("POST", "/", json.dumps(body), headers)
                response = self.connection.getresponse()
                text = response.read()
                return response.status, json.loads(text) if text else {}
            except (http.client.HTTPException, OSError):
                self.connection = None
        return 0, {"__type": "#NoAnswer"}


def outcome(operation, request, status, body):
    """The part of a response to compare."""
    statement = request.get("Statement", "")
    # Others ignore the order in an index.
    is_ordered = "ORDER BY" in statement and ".\"gsi\"" not in statement
    if status != 200:
        return body.get("__type", "").split("#")[-1]
    if "NextToken" in body:
        # Its form is the server's own, and the documented key beside it is missing in others.
        body["NextToken"] = "..."
        body.pop("LastEvaluatedKey", None)
    for part in ("TableDescription", "Table", "ItemCollectionMetrics"):
        body.pop(part, None)
    if operation in ("Scan", "ExecuteStatement") and "Items" in body and not is_ordered:
        # Servers scan in different orders.
        body["Items"] = sorted(body["Items"], key=lambda item: json.dumps(item, sort_keys=True))
    return canonical(body)


def canonical(value):
    if isinstance(value, dict):
        if len(value) == 1:
            (kind, content), = value.items()
            if kind in ("SS", "NS", "BS") and isinstance(content, list):
                return {kind: sorted(content)}
        return {name: canonical(member) for name, member in value.items()}
    if isinstance(value, list):
        return [canonical(element) for element in value]
    return value


class Requests(Statements):
    """Generates random requests on a few items of one table, most of them valid."""

    def __init__(self, seed, table):
        self.random = random.Random(seed)
        self.table = table

    def pick(self, *choices):
        return self.random.choice(choices)

    def maybe(self, part):
        return self.random.random() < part

    def scalar(self):
        kind = self.pick("S", "S", "N", "N", "B", "BOOL", "NULL")
        return {
            "S": lambda: {"S": self.pick(*TEXTS)},
            "N": lambda: {"N": self.pick(*NUMBERS) if self.maybe(0.3) else str(self.random.randrange(9))},
            "B": lambda: {"B": self.pick("", "AQID", "/w==")},
            "BOOL": lambda: {"BOOL": self.maybe(0.5)},
            "NULL": lambda: {"NULL": True},
        }[kind]()

    def value(self, depth=2):
        if depth == 0 or self.maybe(0.6):
            return self.scalar()
        kind = self.pick("L", "M", "SS", "NS")
        if kind == "L":
            return {"L": [self.value(depth - 1) for _ in range(self.random.randrange(3))]}
        if kind == "M":
            return {"M": {name: self.value(depth - 1) for name in self.random.sample("abc", self.random.randrange(3))}}
        if kind == "SS":
            return {"SS": self.random.sample(["a", "b", "c"], self.random.randrange(0 if self.maybe(0.1) else 1, 4))}
        return {"NS": self.random.sample(["1", "2", "3"], self.random.randrange(1, 4))}

    def key(self):
        key = {"pk": {"S": self.pick("a", "b")}, "sk": {"N": str(self.random.randrange(4))}}
        if self.maybe(0.06):
            key[self.pick("pk", "sk", "n")] = self.scalar()
        if self.maybe(0.03):
            key.pop(self.pick("pk", "sk"), None)
        return key

    def item(self):
        item = self.key()
        for name in self.random.sample(["n", "s", "m", "l", "tags", "o"], self.random.randrange(4)):
            item[name] = self.value()
        if self.maybe(0.6):
            item["gk"] = {"S": self.pick("x", "y")}
        if self.maybe(0.5):
            item["n"] = {"N": str(self.random.randrange(5))}
        return item

    def path(self):
        path = self.pick("n", "s", "m", "l", "o", "pk")
        if self.maybe(0.3):
            path += self.pick(".a", ".b", "[0]", "[1]", ".a.b")
        return path

    def operand(self, values):
        if self.maybe(0.5):
            return self.path()
        if self.maybe(0.15):
            return f"size({self.path()})"
        name = f":v{len(values)}"
        values[name] = self.scalar() if self.maybe(0.8) else self.value()
        return name

    def condition(self, values, depth=2):
        if depth and self.maybe(0.4):
            inner = [self.condition(values, depth - 1) for _ in range(2)]
            joined = self.pick(" AND ", " OR ").join(inner)
            return self.pick(f"({joined})", f"NOT ({joined})", joined)
        return self.pick(
            lambda: f"{self.operand(values)} {self.pick('=', '<>', '<', '<=', '>', '>=')} {self.operand(values)}",
            lambda: f"attribute_exists({self.path()})",
            lambda: f"attribute_not_exists({self.path()})",
            lambda: f"begins_with({self.path()}, {self.operand(values)})",
            lambda: f"contains({self.path()}, {self.operand(values)})",
            lambda: f"{self.path()} BETWEEN {self.operand(values)} AND {self.operand(values)}",
            lambda: f"{self.path()} IN ({self.operand(values)}, {self.operand(values)})",
        )()

    def update(self, values):
        def value(*choices):
            name = f":v{len(values)}"
            values[name] = self.pick(*choices)() if choices else self.value()
            return name

        def number():
            return {"N": str(self.random.randrange(9))}

        sections = []
        if self.maybe(0.7):
            right = self.pick(
                lambda: value(),
                lambda: self.path(),
                lambda: f"{self.path()} + {value(number)}",
                lambda: f"if_not_exists({self.path()}, {value()})",
                lambda: f"list_append({self.path()}, {value(lambda: {'L': [number()]})})",
                lambda: f"if_not_exists({self.path()}, {value(number)}) - {value(number)}",
            )()
            sections.append(f"SET {self.path()} = {right}")
        if self.maybe(0.3):
            sections.append(f"REMOVE {self.path()}")
        if self.maybe(0.3):
            sections.append(f"ADD {self.path()} {value(number, lambda: {'SS': ['a', 'z']}, self.scalar)}")
        if self.maybe(0.2):
            sections.append(f"DELETE {self.path()} {value(lambda: {'SS': ['a']}, self.scalar)}")
        return " ".join(sections) or "SET o = n"

    def comparison(self):
        """A condition of the form that expressions replaced, most of them valid."""
        operator = self.pick(
            "EQ", "NE", "LT", "LE", "GT", "GE", "NULL", "NOT_NULL", "CONTAINS", "NOT_CONTAINS", "BEGINS_WITH", "IN", "BETWEEN"
        )
        count = {"NULL": 0, "NOT_NULL": 0, "IN": self.random.randrange(1, 4), "BETWEEN": 2}.get(operator, 1)
        if self.maybe(0.04):
            count = self.random.randrange(4)
        arguments = [self.pick({"N": str(self.random.randrange(5))}, {"S": self.pick("a", "b")})] * count
        if self.maybe(0.2):
            arguments = [self.scalar() if self.maybe(0.7) else self.value() for _ in range(count)]
        return {"ComparisonOperator": operator, "AttributeValueList": arguments}

    def expectation(self):
        return self.pick(
            lambda: {"Exists": False},
            lambda: {"Value": self.scalar()},
            lambda: {"Value": self.scalar(), "Exists": self.maybe(0.8)},
            self.comparison, self.comparison, self.comparison,
        )()

    def comparisons(self, make, names=("n", "s", "m", "l", "tags", "o")):
        return {name: make() for name in self.random.sample(names, self.random.randrange(1, 3))}

    def joined(self, body, conditions):
        if len(conditions) > 1 and self.maybe(0.5) or self.maybe(0.02):
            body["ConditionalOperator"] = self.pick("AND", "OR", "OR", "AND", "XOR" if self.maybe(0.1) else "AND")
        return body

    def with_expected(self, body):
        if self.maybe(0.5):
            body["Expected"] = self.comparisons(self.expectation)
            self.joined(body, body["Expected"])
        if self.maybe(0.02):
            body["ConditionExpression"] = "attribute_exists(pk)"
        return body

    def attribute_updates(self):
        def update():
            return self.pick(
                lambda: {"Value": self.value()},
                lambda: {"Action": "PUT", "Value": self.value()},
                lambda: {"Action": "ADD", "Value": {"N": str(self.random.randrange(9))}},
                lambda: {"Action": "ADD", "Value": self.pick({"SS": ["a", "z"]}, {"NS": ["1"]}, {"L": [{"N": "1"}]})},
                lambda: {"Action": "DELETE"},
                lambda: {"Action": "DELETE", "Value": self.pick({"SS": ["a"]}, {"NS": ["1"]})},
                lambda: {"Action": self.pick("PUT", "ADD", "DELETE"), "Value": self.scalar()},
            )()
        return self.comparisons(update)

    def attributes_to_get(self, body):
        if self.maybe(0.4):
            body["AttributesToGet"] = self.random.sample(["pk", "sk", "n", "s", "m", "l", "a.b"], self.random.randrange(1, 3))
            if self.maybe(0.03):
                body["AttributesToGet"] *= 2
        return body

    def legacy_put(self):
        return "PutItem", self.with_expected({"TableName": self.table, "Item": self.item(), "ReturnValues": "ALL_OLD"})

    def legacy_update(self):
        body = {"TableName": self.table, "Key": self.key(), "AttributeUpdates": self.attribute_updates()}
        body["ReturnValues"] = self.pick("NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW")
        return "UpdateItem", self.with_expected(body)

    def legacy_delete(self):
        return "DeleteItem", self.with_expected({"TableName": self.table, "Key": self.key(), "ReturnValues": "ALL_OLD"})

    def legacy_get(self):
        if self.maybe(0.5):
            return "GetItem", self.attributes_to_get({"TableName": self.table, "Key": self.key()})
        return "BatchGetItem", {"RequestItems": {self.table: self.attributes_to_get({"Keys": [self.key()]})}}

    def legacy_query(self):
        def compared(operator, *arguments):
            return {"ComparisonOperator": operator, "AttributeValueList": list(arguments)}

        body = {"TableName": self.table, "ScanIndexForward": self.maybe(0.5)}
        keys = {"pk": compared("EQ", {"S": self.pick("a", "b")})}
        if self.maybe(0.4):
            body["IndexName"] = "gsi"
            keys = {"gk": compared("EQ", {"S": self.pick("x", "y")})}
        sort = "n" if "IndexName" in body else "sk"
        number = {"N": str(self.random.randrange(4))}
        if self.maybe(0.5):
            keys[sort] = self.pick(
                compared(self.pick("EQ", "LT", "LE", "GT", "GE"), number),
                compared("BETWEEN", {"N": "1"}, {"N": "3"}),
                self.comparison() if self.maybe(0.2) else compared("EQ", number),
            )
        body["KeyConditions"] = keys
        if self.maybe(0.3):
            body["QueryFilter"] = self.comparisons(self.comparison, ("s", "m", "l", "tags", "o"))
            self.joined(body, body["QueryFilter"])
        if self.maybe(0.4):
            body["Limit"] = self.random.randrange(1, 4)
        if self.maybe(0.2):
            body["Select"] = "COUNT"
            return "Query", body
        return "Query", self.attributes_to_get(body)

    def legacy_scan(self):
        body = {"TableName": self.table}
        if self.maybe(0.7):
            body["ScanFilter"] = self.comparisons(self.comparison, ("pk", "sk", "n", "s", "m", "l", "tags", "o"))
            self.joined(body, body["ScanFilter"])
        return "Scan", self.attributes_to_get(body)

    def with_condition(self, body):
        values = body.get("ExpressionAttributeValues", {})
        if self.maybe(0.5):
            body["ConditionExpression"] = self.condition(values)
        if values:
            body["ExpressionAttributeValues"] = values
        if self.maybe(0.04):
            body["ExpressionAttributeNames"] = {"#x": "x"}
        return body

    def put(self):
        body = self.with_condition({"TableName": self.table, "Item": self.item()})
        if self.maybe(0.3):
            body["ReturnValues"] = self.pick("ALL_OLD", "NONE", "ALL_OLD", "ALL_NEW", "BAD")
        return "PutItem", body

    def update_item(self):
        values = {}
        body = {"TableName": self.table, "Key": self.key(), "UpdateExpression": self.update(values)}
        if values:
            body["ExpressionAttributeValues"] = values
        body["ReturnValues"] = self.pick("NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW")
        return "UpdateItem", self.with_condition(body)

    def delete(self):
        return "DeleteItem", self.with_condition({"TableName": self.table, "Key": self.key(), "ReturnValues": "ALL_OLD"})

    def get(self):
        body = {"TableName": self.table, "Key": self.key()}
        if self.maybe(0.4):
            body["ProjectionExpression"] = ", ".join(self.path() for _ in range(self.random.randrange(1, 3)))
        return "GetItem", body

    def query(self):
        values = {":p": {"S": self.pick("a", "b")}}
        body = {"TableName": self.table, "ScanIndexForward": self.maybe(0.5)}
        key = "pk = :p"
        if self.maybe(0.4):
            body["IndexName"] = "gsi"
            values[":p"] = {"S": self.pick("x", "y")}
            key = "gk = :p"
        sort = "n" if "IndexName" in body else "sk"
        if self.maybe(0.5):
            values[":s"] = {"N": str(self.random.randrange(4))} if self.maybe(0.9) else self.scalar()
            key += f" AND {sort} {self.pick('=', '<', '<=', '>', '>=')} :s"
        if self.maybe(0.04):
            key = self.pick("pk > :p", "n = :p", "pk = :p AND pk = :p", "pk = :p OR pk = :p")
        body["KeyConditionExpression"] = key
        if self.maybe(0.3):
            body["FilterExpression"] = self.condition(values)
        if self.maybe(0.4):
            body["Limit"] = self.random.randrange(0, 4)
        if self.maybe(0.2):
            body["Select"] = "COUNT"
        body["ExpressionAttributeValues"] = values
        return "Query", body

    def scan(self):
        values = {}
        body = {"TableName": self.table}
        if self.maybe(0.6):
            body["FilterExpression"] = self.condition(values)
        if values:
            body["ExpressionAttributeValues"] = values
        return "Scan", body

    def transaction(self):
        actions = []
        for _ in range(self.random.randrange(1, 4)):
            kind, (operation, body) = self.pick(("Put", self.put()), ("Update", self.update_item()), ("Delete", self.delete()))
            body.pop("ReturnValues", None)
            actions.append({kind: body})
        return "TransactWriteItems", {"TransactItems": actions}

    def batch(self):
        if self.maybe(0.5):
            writes = [self.pick({"PutRequest": {"Item": self.item()}}, {"DeleteRequest": {"Key": self.key()}}) for _ in range(2)]
            return "BatchWriteItem", {"RequestItems": {self.table: writes}}
        return "BatchGetItem", {"RequestItems": {self.table: {"Keys": [self.key()]}}}

    def next(self):
        operation, body = self.pick(
            self.put, self.put, self.update_item, self.update_item, self.delete, self.get, self.query,
            self.query, self.scan, self.transaction, self.batch, self.legacy_put, self.legacy_update, self.legacy_update,
            self.legacy_delete, self.legacy_get, self.legacy_query, self.legacy_query, self.legacy_scan,
            self.partiql_select, self.partiql_select, self.partiql_select, self.partiql_change, self.partiql_change,
            self.partiql_change, self.partiql_batch, self.partiql_transaction,
        )()
        if self.maybe(0.01):
            body["TableName"] = self.pick("none", "x")
        return operation, body


def make_table(server, table):
    body = {
        "TableName": table,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind}
            for name, kind in (("pk", "S"), ("sk", "N"), ("gk", "S"), ("n", "N"))
        ],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "gsi",
                "KeySchema": [{"AttributeName": "gk", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    }
    for _ in range(300):
        status, answer = server.ask("CreateTable", body)
        if status:
            break
        time.sleep(0.1)
    assert status == 200, (server.name, answer)
    for _ in range(200):
        _, answer = server.ask("DescribeTable", {"TableName": table})
        if answer.get("Table", {}).get("TableStatus") == "ACTIVE":
            return
    raise AssertionError(f"{server.name} never made the table")


def only_removes(body):
    """Whether an update in a request only removes: the service then creates no item, other servers do."""
    if isinstance(body, list):
        return any(only_removes(part) for part in body)
    if not isinstance(body, dict):
        return False
    words = body.get("UpdateExpression", "").upper().split()
    if "UpdateExpression" in body and "SET" not in words and "ADD" not in words:
        return True
    updates = body.get("AttributeUpdates")
    if isinstance(updates, dict) and all(update.get("Action") == "DELETE" for update in updates.values()):
        return True
    return any(only_removes(part) for part in body.values())


def known(operation, body, answer, other):
    if NOT_CONTAINS in json.dumps(body) or only_removes(body):
        return True
    if any(part in json.dumps(other) for part in NOT_PARSED):
        return True
    if KEY_ELEMENT in json.dumps(answer) and operation in ("BatchExecuteStatement", "ExecuteTransaction"):
        return True
    message = answer.get("message", "")
    if message == ITEM_TWICE and "CancellationReasons" in other:
        return True
    if operation == "TransactWriteItems" and message.startswith(IN_TRANSACTIONS):
        return True
    return any(part in json.dumps(answer) for part in KNOWN)


def resync(servers, table):
    """Deletes items that servers store differently; all later responses would differ."""
    status, page = servers[0].ask("Scan", {"TableName": table})
    assert status == 200, page
    for server in servers[1:]:
        server.ask("DeleteTable", {"TableName": table})
        make_table(server, table)
        for item in page["Items"]:
            server.ask("PutItem", {"TableName": table, "Item": item})


def main():
    cases, seed, ours = int(sys.argv[1]), int(sys.argv[2]), Server("ours", sys.argv[3])
    foreign = [Server(*argument.split("=", 1)) for argument in sys.argv[4:]]
    servers = [ours, *foreign]
    table = "oracle"
    for server in servers:
        make_table(server, table)
    requests = Requests(seed, table)
    differences, compared, refused, statements = [], 0, 0, 0
    for number in range(cases):
        operation, body = requests.next()
        answers = [server.ask(operation, body) for server in servers]
        outcomes = [outcome(operation, body, *answer) for answer in answers]
        if only_removes(body) or any(other != outcomes[0] for other in outcomes[1:]):
            resync(servers, table)
        if any(other != outcomes[1] for other in outcomes[2:]):
            continue
        compared += 1
        refused += isinstance(outcomes[0], str)
        statements += "Statement" in operation or operation == "ExecuteTransaction"
        if outcomes[0] != outcomes[1] and not known(operation, body, answers[0][1], answers[1][1]):
            differences.append((number, operation, body, answers[0][1], answers[1][1]))
    for number, operation, body, mine, theirs in differences[:15]:
        print(f"request {number}: {operation} {json.dumps(body)}\n  ours:   {mine}\n  others: {theirs}")
    names = ", ".join(server.name for server in foreign)
    print(f"seed {seed}: {cases} requests, {compared} answered alike by {names}, {refused} of them refusals, {statements} PartiQL")
    print(f"{compared - len(differences)} passed, {len(differences)} failed")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
