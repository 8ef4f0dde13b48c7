"""Search in the query library: words, found in what the headers say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ingest.queries.library import Query

_SHORTEST_PLURAL = 4
_IN_NAME, _IN_TITLE, _IN_REST = 4, 3, 1


def search(queries: Iterable[Query], words: Sequence[str]) -> list[Query]:
    """Return the queries that ``words`` occur in, the best first.

    A query is found if its name, title or group has one of the words, or its header
    all of them: upper or lower case, singular or plural. In the name a word counts
    more than in the title or group, there more than in the rest. Of equal queries the
    order is kept, those of fleets last.
    """
    ranked = []
    for query in queries:
        scores = [_score(query, _stem(word.lower())) for word in words]
        if min(scores) > 0 or max(scores) >= _IN_TITLE:
            ranked.append((-sum(scores), query.is_of_fleet, query))
    return [query for *_, query in sorted(ranked, key=lambda entry: entry[:2])]


def _stem(word: str) -> str:
    return word[:-1] if len(word) > _SHORTEST_PLURAL and word.endswith("s") else word


def _score(query: Query, word: str) -> int:
    """How much a query has to do with a word: 0 if the word is not in its header."""
    if word in query.name:
        return _IN_NAME
    if word in f"{query.title} {query.group}".lower():
        return _IN_TITLE
    rest = [query.notes]
    rest += [f"{column.name} {column.meaning}" for column in query.columns]
    rest += [f"{entry.name} {entry.meaning}" for entry in query.parameters]
    return _IN_REST if word in "\n".join(rest).lower() else 0
