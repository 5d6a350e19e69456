"""The contract, read from its OpenAPI document: what operation a request means, and what its body must be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

PATH = Path(__file__).resolve().parents[2] / "docs" / "crm-gateway.openapi.yaml"
METHODS = ("get", "put", "post", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation; `keyed` if it takes an idempotency key, `scoped` if it acts on an entity."""

    name: str
    method: str
    path: str
    pattern: re.Pattern[str]
    body: Draft202012Validator | None
    answer: Draft202012Validator
    keyed: bool
    scoped: bool


class Contract:
    """Every operation of the document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self.operations = {
            operation.name: operation
            for path, item in document["paths"].items()
            for method in METHODS
            if method in item
            for operation in [self._read(path, method, item[method])]
        }
        self.problem = self._validator({"$ref": "#/components/schemas/Problem"})

    def find(self, method: str, path: str) -> tuple[Operation | None, dict[str, str], bool]:
        """The operation, the values in its path, and whether the path exists with another method."""
        known = False
        for operation in self.operations.values():
            if found := operation.pattern.fullmatch(path):
                known = True
                if operation.method == method:
                    return operation, {name: unquote(text) for name, text in found.groupdict().items()}, True
        return None, {}, known

    def _read(self, path: str, method: str, item: Mapping[str, Any]) -> Operation:
        references = [parameter.get("$ref", "") for parameter in item.get("parameters", ())]
        body = item.get("requestBody")
        pattern = re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path)))
        return Operation(
            name=item["operationId"],
            method=method.upper(),
            path=path,
            pattern=pattern,
            body=self._validator(body["content"]["application/json"]["schema"]) if body else None,
            answer=self._validator(item["responses"]["200"]["content"]["application/json"]["schema"]),
            keyed=any(reference.endswith("/Key") for reference in references),
            scoped=any(reference.endswith("/Entity") for reference in references),
        )

    def _validator(self, schema: Mapping[str, Any]) -> Draft202012Validator:
        rooted = {**schema, "components": self._document["components"]}
        return Draft202012Validator(rooted, format_checker=Draft202012Validator.FORMAT_CHECKER)


def load() -> Contract:
    """The contract as it stands in `docs/`."""
    return Contract(yaml.safe_load(PATH.read_text(encoding="utf-8")))
