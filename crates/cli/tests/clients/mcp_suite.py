"""The protocol's own SDK as a client of `keyloom mcp`: every tool is called, and the SDK validates each result
against the schema that the tool declares."""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

BINARY, URL = sys.argv[1:3]
MODEL = '[entity.task]\nfields.name = "text"\n'
CALLS = [
    ("describe_model", {}),
    ("describe_model", {"entity": "task", "source": True}),
    ("query", {"entity": "task", "query": "list_task_all", "limit": 2, "parameters": {"total": True}}),
    ("query", {"entity": "task", "query": "tags_task_all"}),
    ("explain", {"entity": "task", "query": "list_task_open", "parameters": {"tag": ["priority:high"]}}),
    ("propose", {"entity": "task", "filter_by": ["done"], "order_by": ["-name"]}),
    ("propose", {"entity": "task", "count_by": ["done"]}),
    ("check_model", {"model": MODEL}),
    ("check_model", {"model": "[entity"}),
    ("diff_model", {"model": MODEL}),
    ("changes_since", {}),
    ("verify", {}),
]


async def main():
    server = StdioServerParameters(command=BINARY, args=["mcp", "--url", URL])
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        tools = {tool.name for tool in (await session.list_tools()).tools}
        assert tools == {name for name, _ in CALLS}, tools
        for name, arguments in CALLS:
            result = (await session.call_tool(name, arguments)).model_dump(by_alias=True)
            assert not result["isError"] and result["structuredContent"], (name, result)
        refused = await session.call_tool("query", {"entity": "task", "query": "nothing"})
        assert refused.model_dump(by_alias=True)["isError"], refused


asyncio.run(main())
