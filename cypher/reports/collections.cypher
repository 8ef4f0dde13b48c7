// name: collections
// title: Empty and sparse collections
// group: Objects and references
// needs: fields
// mode: read
// param: dump     INTEGER       number of the dump
// param: pattern STRING = "(java\.util|kotlin|androidx?|dart:core)\b[\w.:]*(Map|List|Queue|Deque|Vector|Array)" types
// param: nodes STRING = "root first head header" fields that refer to the first node of a list or tree
// param: limit    INTEGER = 20  maximum number of rows
// column: type              STRING   full type name
// column: collection_count  INTEGER  reachable collections of the type
// column: empty_count       INTEGER  of those, collections with no element
// column: empty_bytes       INTEGER  sum of the retained sizes of the empty ones, bytes
// column: slot_count        INTEGER  length of their arrays of objects
// column: used_count        INTEGER  slots that refer to an object
// column: fill_percent      INTEGER  used slots of 100; null without arrays
// column: wasted_bytes      INTEGER  empty_bytes, and bytes of unused slots in the others
// column: largest_address   STRING   address of the one that wastes most
//
// Collections that are created for every object but rarely filled, and those that
// were created too large. Create them when the first element is added, give them a
// smaller initial size, or trim them. Sets that wrap a map are counted as that map.
// Of a hash map the used slots are its buckets, which may have several keys each: see
// colliding-keys. sparse-arrays has the arrays of all other types.
MATCH (t:Type)
WHERE t.dump = $dump AND t.instance_count > 0 AND t.name =~ $pattern
MATCH (c:Object)-[:INSTANCE_OF]->(t)
WHERE c.root_distance IS NOT NULL
CALL (c) {
  MATCH (c)-[:REFERENCES]->(a:Object)-[:INSTANCE_OF]->(at:Type)
  WHERE a.length > 0 AND (at.name ENDS WITH '[]' OR at.name = 'dart:core::_List')
    AND NOT at.name IN ['boolean[]', 'byte[]', 'char[]', 'double[]', 'float[]',
      'int[]', 'long[]', 'short[]']
  WITH DISTINCT a, COUNT { (a)-[:REFERENCES|WEAKLY_REFERENCES]->() } AS used
  RETURN coalesce(sum(a.length), 0) AS slots, coalesce(sum(used), 0) AS used,
    coalesce(sum(a.shallow_bytes / a.length * (a.length - used)), 0) AS unused_bytes
}
WITH t, c, slots, used, unused_bytes,
  used = 0 AND NOT EXISTS {
    MATCH (c)-[r:REFERENCES]->()
    WHERE r.field IN split($nodes, ' ')
  } AS empty
WITH t, c, slots, used, empty,
  CASE WHEN empty THEN c.retained_bytes ELSE unused_bytes END AS wasted
ORDER BY wasted DESC, c.key
WITH t,
  count(c) AS collection_count,
  sum(CASE WHEN empty THEN 1 ELSE 0 END) AS empty_count,
  sum(CASE WHEN empty THEN c.retained_bytes ELSE 0 END) AS empty_bytes,
  sum(slots) AS slot_count,
  sum(used) AS used_count,
  sum(wasted) AS wasted_bytes,
  collect(c.address)[0] AS largest_address
RETURN
  t.name AS type,
  collection_count,
  empty_count,
  empty_bytes,
  slot_count,
  used_count,
  CASE WHEN slot_count > 0 THEN 100 * used_count / slot_count END AS fill_percent,
  wasted_bytes,
  largest_address
ORDER BY wasted_bytes DESC, collection_count DESC, t.key
LIMIT $limit
