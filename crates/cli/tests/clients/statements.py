"""Random PartiQL statements on the table of oracles.py, most of them valid."""


def literal(value):
    """A value as text, or nothing if only a parameter can have it."""
    (kind, content), = value.items()
    if kind == "S":
        return "'" + content.replace("'", "''") + "'"
    if kind == "N":
        return content
    if kind == "BOOL":
        return "true" if content else "false"
    if kind == "NULL":
        return "NULL"
    if kind in ("B", "BS"):
        return None
    if kind in ("SS", "NS"):
        elements = [f"'{element}'" if kind == "SS" else element for element in content]
        return "<<" + ", ".join(elements) + ">>"
    parts = {name: literal(part) for name, part in (content.items() if kind == "M" else enumerate(content))}
    if None in parts.values():
        return None
    if kind == "L":
        return "[" + ", ".join(parts.values()) + "]"
    return "{" + ", ".join(f"'{name}': {part}" for name, part in parts.items()) + "}"


class Statement:
    """A statement in the making, with its parameters in the order of their question marks."""

    def __init__(self, requests):
        self.requests = requests
        self.parameters = []

    def put(self, value):
        text = literal(value)
        if text is None or self.requests.maybe(0.4):
            self.parameters.append(value)
            return "?"
        return text

    def body(self, text):
        body = {"Statement": text}
        if self.parameters:
            body["Parameters"] = self.parameters
        if self.requests.maybe(0.01):
            body["Parameters"] = [*self.parameters, {"S": "a"}]
        return body


class Statements:
    """Methods of Requests that make statements."""

    def partiql_number(self):
        return {"N": str(self.random.randrange(4))}

    def partiql_scalar(self):
        return self.pick(self.partiql_number(), {"S": self.pick("a", "b", "it's", "")}, {"BOOL": True}, self.scalar())

    def partiql_path(self):
        path = self.pick("n", "s", "m", "l", "o", "tags")
        if self.maybe(0.25):
            path += self.pick(".a", ".b", "[0]", "[1]", ".a.b")
        return path

    def partiql_condition(self, statement, depth=1):
        if depth and self.maybe(0.3):
            left, right = self.partiql_condition(statement, depth - 1), self.partiql_condition(statement, depth - 1)
            word = self.pick("AND", "OR")
            return self.pick(f"({left} {word} {right})", f"NOT ({left} {word} {right})")
        path = self.partiql_path()
        choices = [
            lambda: f"{path} {self.pick('=', '<>', '<', '<=', '>', '>=')} {statement.put(self.partiql_scalar())}",
            lambda: f"{path} BETWEEN {statement.put({'N': '1'})} AND {statement.put({'N': '3'})}",
            lambda: f"{path} IN [{statement.put(self.partiql_scalar())}, {statement.put(self.partiql_scalar())}]",
            lambda: f"begins_with({path}, {statement.put({'S': self.pick('a', 'i')})})",
            lambda: f"contains({path}, {statement.put(self.pick({'S': 'a'}, {'N': '1'}))})",
            lambda: f"{path} IS {self.pick('', 'NOT ')}MISSING",
            lambda: f"attribute_type({path}, {statement.put({'S': self.pick('S', 'N', 'L', 'M', 'SS')})})",
            lambda: f"size({path}) {self.pick('=', '>', '<')} {statement.put(self.partiql_number())}",
        ]
        return self.pick(*choices)()

    def partiql_key(self, statement):
        key = f"pk = {statement.put({'S': self.pick('a', 'b')})}"
        if self.maybe(0.03):
            return key
        value = self.partiql_number() if self.maybe(0.97) else self.scalar()
        return f"{key} AND sk = {statement.put(value)}"

    def partiql_columns(self):
        if self.maybe(0.6):
            return "*"
        names = self.random.sample(["pk", "sk", "n", "s", "m", "l", "tags", "o"], self.random.randrange(1, 4))
        return ", ".join(name + (self.pick(".a", "[0]") if name in "ml" and self.maybe(0.3) else "") for name in names)

    def partiql_range(self, statement, partition, sort):
        text = f"{partition} = {statement.put({'S': self.pick('a', 'b') if partition == 'pk' else self.pick('x', 'y')})}"
        number = lambda: statement.put(self.partiql_number())
        return text + self.pick(
            lambda: "",
            lambda: f" AND {sort} {self.pick('=', '<', '<=', '>', '>=')} {number()}",
            lambda: f" AND {sort} BETWEEN {number()} AND {number()}",
            lambda: f" AND {sort} IN [{number()}, {number()}]",
            lambda: f" AND {sort} IN [{number()}]",
            lambda: f" AND {self.partiql_condition(statement)}",
            lambda: f" AND {sort} > {number()} AND {self.partiql_condition(statement)}",
        )()

    def partiql_select(self):
        statement = Statement(self)
        table, partition, sort = f'"{self.table}"', "pk", "sk"
        columns = self.partiql_columns()
        if self.maybe(0.3):
            table, partition, sort = f'"{self.table}"."gsi"', "gk", "n"
        text = f"SELECT {columns} FROM {table}"
        kind = self.random.random()
        if kind < 0.6:
            text += f" WHERE {self.partiql_range(statement, partition, sort)}"
            if self.maybe(0.4):
                text += f" ORDER BY {sort}{self.pick('', ' ASC', ' DESC')}"
        elif kind < 0.7:
            text += f" WHERE {partition} IN [{statement.put({'S': 'a'})}, {statement.put({'S': 'b'})}]"
        elif kind < 0.95:
            text += f" WHERE {self.partiql_condition(statement, 2)}"
        body = statement.body(text)
        if kind < 0.6 and self.maybe(0.2):
            body["Limit"] = self.random.randrange(1, 4)
        return "ExecuteStatement", body

    def partiql_insert(self, statement):
        item = self.item()
        parts = ", ".join(f"'{name}': {statement.put(value)}" for name, value in item.items())
        return f'INSERT INTO "{self.table}" VALUE {{{parts}}}'

    def partiql_set(self, statement):
        path = self.partiql_path()
        right = self.pick(
            lambda: statement.put(self.value()),
            lambda: statement.put(self.partiql_scalar()),
            lambda: f"{self.partiql_path()} {self.pick('+', '-')} {statement.put(self.partiql_number())}",
            lambda: f"list_append({self.partiql_path()}, {statement.put({'L': [self.partiql_number()]})})",
            lambda: self.partiql_path(),
        )()
        return f"SET {path} = {right}"

    def partiql_where(self, statement):
        text = f" WHERE {self.partiql_key(statement)}"
        if self.maybe(0.3):
            text += f" AND {self.partiql_condition(statement)}"
        return text

    def partiql_update(self, statement):
        parts = [self.partiql_set(statement) if self.maybe(0.8) else f"REMOVE {self.partiql_path()}"]
        if self.maybe(0.25):
            parts.append(self.partiql_set(statement) if self.maybe(0.5) else f"REMOVE {self.partiql_path()}")
        return f'UPDATE "{self.table}" {" ".join(parts)}{self.partiql_where(statement)}'

    def partiql_delete(self, statement):
        return f'DELETE FROM "{self.table}"{self.partiql_where(statement)}'

    def partiql_write(self, returning=0.5):
        statement = Statement(self)
        kind = self.pick("insert", "insert", "update", "update", "update", "delete")
        text = {"insert": self.partiql_insert, "update": self.partiql_update, "delete": self.partiql_delete}[kind](statement)
        if kind == "update" and self.maybe(returning):
            text += f" RETURNING {self.pick('ALL', 'MODIFIED')} {self.pick('OLD', 'NEW')} *"
        if kind == "delete" and self.maybe(returning):
            text += " RETURNING ALL OLD *"
        return statement.body(text)

    def partiql_change(self):
        return "ExecuteStatement", self.partiql_write()

    def partiql_get(self):
        statement = Statement(self)
        return statement.body(f'SELECT {self.partiql_columns()} FROM "{self.table}" WHERE {self.partiql_key(statement)}')

    def partiql_batch(self):
        make = self.pick(self.partiql_get, lambda: self.partiql_write(0.2))
        return "BatchExecuteStatement", {"Statements": [make() for _ in range(self.random.randrange(1, 4))]}

    def partiql_transaction(self):
        make = self.pick(self.partiql_get, lambda: self.partiql_write(0.05))
        return "ExecuteTransaction", {"TransactStatements": [make() for _ in range(self.random.randrange(1, 4))]}
