"""A registry maps a dotted kind such as `comms.send_message` to its one implementation."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from workflows.errors import DuplicateKind

T = TypeVar("T")


class Registry(Generic[T]):
    """Filled by decorators while Django starts; read-only afterwards."""

    def __init__(self, label: str) -> None:
        self.label = label
        self._items: dict[str, T] = {}

    def register(self, kind: str) -> Callable[[type[T]], type[T]]:
        """Class decorator: instantiates the class under `kind`. A second claim is a programming error."""

        def decorate(cls: type[T]) -> type[T]:
            if kind in self._items:
                raise DuplicateKind(f"{self.label} {kind} is registered twice")
            cls.kind = kind  # type: ignore[attr-defined]
            self._items[kind] = cls()
            return cls

        return decorate

    def get(self, kind: str) -> T | None:
        """The implementation, or None where nobody claimed the kind."""
        return self._items.get(kind)

    def __getitem__(self, kind: str) -> T:
        return self._items[kind]

    def __contains__(self, kind: object) -> bool:
        return kind in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._items))

    def items(self) -> list[tuple[str, T]]:
        """All pairs, by kind."""
        return sorted(self._items.items())


def import_submodules(package: str) -> list[str]:
    """Import every module below a package, so that its plug-ins register; their names."""
    root = importlib.import_module(package)
    names = [module.name for module in pkgutil.walk_packages(root.__path__, f"{package}.")]
    for name in names:
        importlib.import_module(name)
    return names
