"""What the references of a Ruby heap are called: variables, constants.

The format has no names of references. Shapes, from Ruby 3.2 on, have those of the
variables of objects and classes, in the order in which they are marked, but variables
that refer to no object are left out. So where an object refers to as many as it has
variables, each has its name; where one or two are missing, each has the names that it
can have: ``@owner or @tags``. After the value of a constant comes the file in which it
was set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.readers.ruby.scan import FIELDS

if TYPE_CHECKING:
    from ingest.arrays.compiled import Longs
    from ingest.heap.values import ObjectValues
    from ingest.readers.ruby.classes import RubyClasses
    from ingest.readers.ruby.records import RubyRecords
    from ingest.readers.shared.id_table import IdTable

CONSTANT, VARIABLE, SUPERCLASS = "(constant)", "(variable)", "<superclass>"
METHOD, INTERNAL, FILE = "(method)", "(internal)", "(file)"
"""What else a class refers to."""


_METHOD_ENTRY = "(imemo ment)"
_STRINGS = ("String", "(string)")
_MOST_CANDIDATES = 3
_MOST_VARIABLES = 1000
_BLOCK_OBJECTS = 1 << 14


class FieldNames:
    """Gives the references of a dump their fields.

    Args:
        records: What the file records; ``ref_field`` is changed.
        start: int64 (N + 1,). Where the references of each object begin.
        table: The addresses of all objects.
        classes: The classes.

    Attributes:
        names: Of fields.
    """

    def __init__(
        self, records: RubyRecords, start: Longs, table: IdTable, classes: RubyClasses
    ) -> None:
        columns = records.columns
        self._records, self._start = records, start
        self._table, self._classes = table, classes
        self.names = list(FIELDS)
        self._rows = {name: row for row, name in enumerate(FIELDS)}
        self._shapes = {
            ident: (parent, edge)
            for ident, parent, edge in zip(
                columns["shape_id"].tolist(),
                columns.pop("parent_id").tolist(),
                columns.pop("edge").tolist(),
                strict=True,
            )
        }

    def _row(self, name: str) -> int:
        if name not in self._rows:
            self._rows[name] = len(self.names)
            self.names.append(name)
        return self._rows[name]

    def _variables(self, shape: int) -> list[str]:
        """The names of the variables of a shape, in their order."""
        found: list[str] = []
        while shape in self._shapes and len(found) < _MOST_VARIABLES:
            parent, edge = self._shapes[shape]
            if edge >= 0:
                found.append(self._records.texts[edge])
            if parent == shape:
                break
            shape = parent
        return found[::-1]

    def _candidates(self, names: list[str], many: int) -> list[str] | None:
        """What each of so many references can be called; ``None`` if that says little.

        Args:
            names: Of all variables; those of no object are among them.
            many: References that are there.
        """
        missing = len(names) - many
        if not 0 <= missing < _MOST_CANDIDATES:
            return None
        return [" or ".join(names[i : i + missing + 1]) for i in range(many)]

    def name_variables(self) -> None:
        """Name the variables of plain objects by their shapes."""
        columns, start = self._records.columns, self._start
        rows, shapes = columns["shaped_row"], columns["shape"]
        plain = ~np.isin(rows, self._classes.row)
        rows, shapes = rows[plain], shapes[plain]
        if not len(rows):
            return
        field = columns["ref_field"]
        many = columns["ref_count"][rows] - 1
        keys = np.stack([shapes, many.astype(np.int64)])
        pairs, group = np.unique(keys, axis=1, return_inverse=True)
        order = np.argsort(group.reshape(-1), kind="stable")
        bounds = np.searchsorted(
            group.reshape(-1)[order], np.arange(pairs.shape[1] + 1)
        )
        for i, (shape, count) in enumerate(pairs.T.tolist()):
            names = None
            if 0 < count <= _MOST_VARIABLES:
                names = self._candidates(self._variables(shape), count)
            if names is None:
                continue
            labels = np.array([self._row(name) for name in names], np.int32)
            own = rows[order[bounds[i] : bounds[i + 1]]]
            for at in range(0, len(own), _BLOCK_OBJECTS):
                first = start[own[at : at + _BLOCK_OBJECTS]]
                first = first[field[first] == 0] + 1
                field[first[:, None] + np.arange(count)] = labels

    def name_parts(self, values: ObjectValues, type_names: list[str]) -> None:
        """Name what classes and modules refer to.

        Args:
            values: Texts of strings, among them names of files.
            type_names: Of the types, by whose rows the columns have them now.
        """
        columns, classes = self._records.columns, self._classes
        shape_of = dict(
            zip(columns["shaped_row"].tolist(), columns["shape"].tolist(), strict=True)
        )
        places = [
            np.arange(self._start[row], self._start[row + 1]) for row in classes.row
        ]
        at = np.concatenate(places) if places else np.empty(0, np.int64)
        targets, _ = self._table.find(columns["ref_id"][at])
        kinds = columns["type_id"][targets]
        internal = np.array([name.startswith("(imemo ") for name in type_names])
        method = np.array([name == _METHOD_ENTRY for name in type_names])[kinds]
        texts: list[str | None] = [None] * len(at)
        is_text = np.array([name in _STRINGS for name in type_names])[kinds]
        is_text &= targets >= 0
        found = values.pick(targets[is_text])
        for i, text in zip(np.flatnonzero(is_text).tolist(), found, strict=True):
            texts[i] = text
        is_part = np.zeros(len(columns["id"]), np.bool_)
        is_part[classes.row] = True
        marks = np.where(internal[kinds] | (targets < 0), self._row(INTERNAL), 0)
        marks[is_part[targets] & (targets >= 0)] = self._row(CONSTANT)
        marks[method & (targets >= 0)] = self._row(METHOD)
        files = self._records.files()
        is_file = [text is not None and _is_file(text, files) for text in texts]
        begin = 0
        for i, place in enumerate(places):
            end = begin + len(place)
            if classes.kind[i] != "ICLASS":
                shape = shape_of.get(classes.row[i], -1)
                self._name_of_class(
                    i, int(place[0]) if len(place) else 0, texts[begin:end],
                    is_file[begin:end], marks[begin:end].tolist(), shape,
                )  # fmt: skip
            begin = end

    def _name_of_class(
        self,
        at: int,
        first: int,
        texts: list[str | None],
        is_file: list[bool],
        marks: list[int],
        shape: int,
    ) -> None:
        """Name the references of a class.

        Args:
            at: The class.
            first: Where its references begin.
            texts: What the strings among its references say.
            is_file: Which of them say the name of a file.
            marks: Fields of those that are no variables; 0 for the others.
            shape: Of the class; -1 for none.
        """
        field, ids = self._records.columns["ref_field"], self._records.columns["ref_id"]
        left: list[int] = []
        i = 0
        while i < len(texts):
            ref = first + i
            if field[ref] == 0:
                pass
            elif int(ids[ref]) == self._classes.superclass[at]:
                field[ref] = self._row(SUPERCLASS)
            elif is_file[i]:
                field[ref] = self._row(FILE)  # its constant is no object, or a number
            elif i + 1 < len(texts) and is_file[i + 1]:
                field[ref], field[ref + 1] = self._row(CONSTANT), self._row(FILE)
                i += 1
            elif marks[i] or texts[i] == self._classes.name(at):
                field[ref] = marks[i] or self._row(INTERNAL)
            else:
                left.append(ref)
            i += 1
        if not left:
            return
        names = self._candidates(self._variables(shape), len(left))
        # Code in C sets constants without a file, most of them of Object.
        other = CONSTANT if self._classes.name(at) == "Object" else VARIABLE
        for i, ref in enumerate(left):
            field[ref] = self._row(other if names is None else names[i])


def _is_file(text: str, files: frozenset[str]) -> bool:
    return text.endswith(".rb") or text.startswith("(eval") or text in files
