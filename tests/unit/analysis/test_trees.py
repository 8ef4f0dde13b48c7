"""What is below others in a tree, against the definition: parent by parent."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ingest.analysis.trees import are_below, outermost


@given(st.data())
def test_what_is_below_others_is_found_one_by_one(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 30))
    order = data.draw(st.permutations(range(count)))
    parent = np.empty(count, np.int32)
    for at, row in enumerate(order):
        parent[row] = data.draw(st.sampled_from([-2, -1, *order[:at]]))
    rows = st.lists(st.integers(0, count - 1), unique=True)
    some, others = (np.array(data.draw(rows), np.int32) for _ in range(2))

    def is_below(row: int) -> bool:
        return row >= 0 and (row in others or is_below(int(parent[row])))

    assert are_below(parent, others, some).tolist() == [*map(is_below, some.tolist())]
    inner = [row for row in others.tolist() if is_below(int(parent[row]))]
    assert outermost(parent, others).tolist() == [
        row for row in others.tolist() if row not in inner
    ]
