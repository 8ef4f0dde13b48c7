// name: sparse-arrays
// title: Arrays with unused slots, by what owns them
// group: Objects and references
// needs: fields
// mode: read
// searched: arrays of at least $min_length slots of which at most $max_fill are in use
// param: dump        INTEGER         number of the dump
// param: min_length  INTEGER = 2     smallest length of an array
// param: max_fill    FLOAT   = 0.25  largest part of the slots in use
// param: pattern STRING = "(?!(boolean|byte|char|double|float|int|long|short)\[]).*\[]|dart:core::_List" arrays
// param: limit       INTEGER = 20    maximum number of rows
// column: owner_type    STRING   type of the object that alone keeps the arrays alive
// column: array_type    STRING   full type name of the arrays
// column: array_count   INTEGER  reachable arrays of which at most max_fill is in use
// column: empty_count   INTEGER  of those, arrays with no object at all
// column: slot_count    INTEGER  their slots
// column: used_count    INTEGER  slots that refer to an object
// column: wasted_bytes  INTEGER  bytes of the other slots
// column: largest_address  STRING   address of the one with most unused slots
//
// Tables and lists that were created too large, or that had more elements once. Give
// collections a smaller initial size, create them when they are first needed, and
// trim those that do not grow any more. The owner is the immediate dominator, which
// is the collection, for ArrayList or HashMap and their kin in any language; it is
// null for arrays that several objects share. A slot takes the size of the array
// divided by its length.
MATCH (t:Type)
WHERE t.dump = $dump AND t.instance_count > 0 AND t.name =~ $pattern
MATCH (a:Object)-[:INSTANCE_OF]->(t)
WHERE a.length >= $min_length AND a.root_distance IS NOT NULL
WITH t, a, COUNT { (a)-[:REFERENCES|WEAKLY_REFERENCES]->() } AS used
WHERE used <= $max_fill * a.length
OPTIONAL MATCH (owner:Object)-[:DOMINATES]->(a)
OPTIONAL MATCH (owner)-[:INSTANCE_OF]->(ot:Type)
WITH ot.name AS owner_type, t.name AS array_type, a, used,
  a.shallow_bytes / a.length * (a.length - used) AS wasted
ORDER BY wasted DESC, a.key
RETURN
  owner_type,
  array_type,
  count(a) AS array_count,
  sum(CASE WHEN used = 0 THEN 1 ELSE 0 END) AS empty_count,
  sum(a.length) AS slot_count,
  sum(used) AS used_count,
  sum(wasted) AS wasted_bytes,
  collect(a.address)[0] AS largest_address
ORDER BY wasted_bytes DESC, array_count DESC, owner_type, array_type
LIMIT $limit
