// name: big-drops
// title: Big drops in retained size along the dominator tree
// group: Leaks
// mode: read
// searched: objects that retain at least $min_drop_bytes bytes
// param: dump            INTEGER         number of the dump
// param: min_drop_bytes  INTEGER = 4096  smallest drop to list, bytes
// param: limit           INTEGER = 20    maximum number of rows
// column: type                   STRING   full type name
// column: address                STRING   hexadecimal, as a debugger prints it
// column: retained_bytes         INTEGER  retained size, bytes: freed if the object is freed
// column: child_count            INTEGER  number of objects that it immediately dominates
// column: largest_child_type     STRING   type of the child with the largest retained size, or null
// column: largest_child_address  STRING   its address
// column: largest_child_bytes    INTEGER  its retained size, bytes; 0 if there is no child
// column: drop_bytes             INTEGER  retained size of the object minus that of its largest child, bytes
//
// The drop is what an object retains beyond its largest child: its own bytes and all
// other children. A big array of plain data drops by its own size, a collection by
// its contents. Drops do not nest as retained sizes do, so this list shows the
// accumulation points and not the objects above them. Every object that retains at
// least min_drop_bytes is examined, found through the index on retained bytes.
MATCH (o:Object)
WHERE o.dump = $dump AND o.retained_bytes >= $min_drop_bytes
  AND o.root_distance IS NOT NULL
CALL (o) {
  MATCH (o)-[:DOMINATES]->(c:Object)
  RETURN count(c) AS child_count, coalesce(max(c.retained_bytes), 0) AS largest_bytes
}
WITH o, child_count, largest_bytes, o.retained_bytes - largest_bytes AS drop_bytes
WHERE drop_bytes >= $min_drop_bytes
WITH o, child_count, largest_bytes, drop_bytes
ORDER BY drop_bytes DESC, o.key
LIMIT $limit
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
CALL (o) {
  OPTIONAL MATCH (o)-[:DOMINATES]->(c:Object)
  WITH c
  ORDER BY c.retained_bytes DESC, c.key
  LIMIT 1
  OPTIONAL MATCH (c)-[:INSTANCE_OF]->(s:Type)
  RETURN c, coalesce(s.name, c.type_name) AS child_type
}
RETURN
  coalesce(t.name, o.type_name) AS type,
  o.address AS address,
  o.retained_bytes AS retained_bytes,
  child_count,
  child_type AS largest_child_type,
  c.address AS largest_child_address,
  largest_bytes AS largest_child_bytes,
  drop_bytes
ORDER BY drop_bytes DESC, o.key
LIMIT $limit
