// name: single-type-chains
// title: Linked lists: long chains of objects of one type
// group: Leaks
// mode: read
// searched: chains of at least $min_length objects whose head retains at least $min_bytes bytes
// param: dump        INTEGER         number of the dump
// param: min_bytes   INTEGER = 1024  smallest retained size of the head of a chain, bytes
// param: min_length  INTEGER = 3     shortest chain to list
// param: limit       INTEGER = 20    maximum number of rows
// column: type            STRING   full type name of the head
// column: address         STRING   address of the head
// column: length          INTEGER  objects from the head to the deepest of its type
// column: member_count    INTEGER  objects of its type below it without a gap, including itself
// column: retained_bytes  INTEGER  retained size of the head, bytes
//
// A chain follows the dominator tree as long as the short type name stays the same;
// the dominator of its head has another type. In a linked list length and
// member_count are equal; in a tree of nodes member_count is larger. A list whose
// members all refer to a common object, such as the head of a ring, has no chain in
// the dominator tree. A list that only grows is a queue that is never emptied: use
// shortest-root-path for its head. Every object that retains at least min_bytes is
// examined.
MATCH (h:Object)
WHERE h.dump = $dump AND h.retained_bytes >= $min_bytes
MATCH (i:Dump|Object)-[:DOMINATES]->(h)
WHERE i:Dump OR i.type_name <> h.type_name
WITH h, h.type_name AS caption
MATCH p = (h)-[:DOMINATES*1..1000000]->(n:Object)
WHERE all(m IN nodes(p) WHERE m.type_name = caption)
WITH h, n, min(length(p)) AS depth
WITH h, max(depth) + 1 AS length, count(n) + 1 AS member_count
WHERE length >= $min_length
WITH h, length, member_count
ORDER BY length DESC, h.key
LIMIT $limit
OPTIONAL MATCH (h)-[:INSTANCE_OF]->(t:Type)
RETURN
  coalesce(t.name, h.type_name) AS type,
  h.address AS address,
  length,
  member_count,
  h.retained_bytes AS retained_bytes
ORDER BY length DESC, h.key
LIMIT $limit
