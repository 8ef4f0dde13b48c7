"""Search in the query library: words, found in what the headers say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ingest.queries.library import Query

_SHORTEST_PLURAL = 4


def search(queries: Iterable[Query], words: Sequence[str]) -> list[Query]:
    """Return the queries that most of ``words`` occur in, the best first.

    A word is found anywhere in a header, upper or lower case, as singular or plural.
    In the name it counts more than in the title or group, there more than in the
    rest. Of equal queries the order is kept.
    """
    ranked = []
    for query in queries:
        scores = [_score(query, _stem(word.lower())) for word in words]
        found = sum(score > 0 for score in scores)
        ranked.append((found, sum(scores), query))
    most = max((found for found, _, _ in ranked), default=0)
    best = [entry for entry in ranked if entry[0] == most > 0]
    return [query for _, _, query in sorted(best, key=lambda entry: -entry[1])]


def _stem(word: str) -> str:
    return word[:-1] if len(word) > _SHORTEST_PLURAL and word.endswith("s") else word


def _score(query: Query, word: str) -> int:
    """How much a query has to do with a word: 0 if the word is not in its header."""
    if word in query.name:
        return 4
    if word in f"{query.title} {query.group}".lower():
        return 3
    rest = [query.notes]
    rest += [f"{column.name} {column.meaning}" for column in query.columns]
    rest += [f"{entry.name} {entry.meaning}" for entry in query.parameters]
    return 1 if word in "\n".join(rest).lower() else 0
