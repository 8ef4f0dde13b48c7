"""Help in panels: commands by what they are for, the own options of a command first.

Options and commands name their panel with typer's ``rich_help_panel``. typer itself
draws panels only with rich, as boxes that leave 22 of 80 columns for descriptions.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from collections.abc import Iterable


class OptionPanel(StrEnum):
    """Panels of options that many commands have, in their order."""

    READING = "Reading dumps"
    SUSPECTS = "Leak suspects"
    MEMORY = "Memory"
    SERVER = "Neo4j server"


class CommandPanel(StrEnum):
    """Panels of commands, in their order."""

    READ = "Read a dump"
    GRAPH = "Graph database"
    COMPARE = "Compare and gate"
    CAPTURE = "Capture"
    MANY = "Many dumps"


class PanelCommand(TyperCommand):
    """A command whose help has its options in panels."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write arguments and options."""
        _write_options(self, ctx, formatter)


class PanelGroup(TyperGroup):
    """A group of commands whose help has these in panels."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write options and commands."""
        _write_options(self, ctx, formatter)
        commands = [one for one in self.commands.values() if not one.hidden]
        width = max(len(one.name or "") for one in commands)
        rows = [
            (
                getattr(one, "rich_help_panel", None) or "Commands",
                # Two columns before the name, between, and at the end of the line.
                (
                    one.name.ljust(width),
                    one.get_short_help_str(formatter.width - 6 - width),
                ),
            )
            for one in commands
            if one.name is not None
        ]
        _write(formatter, rows, ["Commands", *CommandPanel])


def _write_options(
    command: TyperCommand | TyperGroup,
    ctx: Any,  # noqa: ANN401
    formatter: Any,  # noqa: ANN401
) -> None:
    rows = []
    for one in command.get_params(ctx):
        record = one.get_help_record(ctx)
        if record is not None:
            own = "Arguments" if one.param_type_name == "argument" else "Options"
            rows.append((getattr(one, "rich_help_panel", None) or own, record))
    _write(formatter, rows, ["Arguments", "Options", *OptionPanel])


def _write(
    formatter: Any,  # noqa: ANN401
    rows: Iterable[tuple[str, tuple[str, str]]],
    order: Iterable[str],
) -> None:
    """Write each panel that has rows."""
    panels: dict[str, list[tuple[str, str]]] = {name: [] for name in order}
    for panel, row in rows:
        panels[panel].append(row)
    for name, found in panels.items():
        if found:
            with formatter.section(str(name)):
                formatter.write_dl(found)
