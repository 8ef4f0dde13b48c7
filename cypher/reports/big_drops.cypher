// name: big-drops
// title: Where the dominator tree drops from much to little
// mode: read
// param: dump            INTEGER         number of the dump
// param: min_drop_bytes  INTEGER = 4096  smallest drop to show, bytes
// param: limit           INTEGER = 20    most rows to return
// column: type                   STRING   full name of its type
// column: address                STRING   hexadecimal, as a debugger prints it
// column: retained_bytes         INTEGER  what would be freed if it went, bytes
// column: child_count            INTEGER  objects that it immediately dominates
// column: largest_child_type     STRING   type of the one that retains most, or null
// column: largest_child_address  STRING   its address
// column: largest_child_bytes    INTEGER  what it retains, 0 where there is none
// column: drop_bytes             INTEGER  retained bytes of the object less those of that child
//
// The drop is what an object retains beyond its largest piece: its own bytes and all
// other pieces. A big array of plain data drops by its own size, a collection by its
// contents. Drops do not nest as retained sizes do, so this list shows the places
// and not the holders above them. The range is read from the index by retained
// bytes: every object that retains min_drop_bytes is looked at.
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
