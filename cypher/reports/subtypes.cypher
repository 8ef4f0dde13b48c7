// name: subtypes
// title: Types that extend a type, directly or not, with their instances
// group: Types
// needs: supertypes
// mode: read
// param: dump   INTEGER        number of the dump
// param: type   STRING         full type name, as the runtime spells it
// param: limit  INTEGER = 100  maximum number of rows
// column: type             STRING        full type name
// column: extends          LIST<STRING>  types that it directly extends
// column: instance_count   INTEGER       instances in the dump
// column: shallow_bytes    INTEGER       their shallow size, bytes
// column: reachable_count  INTEGER       instances that a root reaches
// column: reachable_bytes  INTEGER       their shallow size, bytes
// column: retained_bytes   INTEGER       freed if all instances of the type are freed, bytes
//
// The type itself is one of the rows. Instances count for their own type only, so the
// sum of a column is that of all of them; retained_bytes of one type may be part of
// another's. A class that the dump does not list as a type, such as one without
// instances in some formats, is left out, and its subtypes extend what it extends.
// Continue with owners-of-type.
MATCH (base:Type)
WHERE base.dump = $dump AND base.name = $type AND EXISTS { (base)-[:EXTENDS]-() }
MATCH (base)<-[:EXTENDS*0..2147483647]-(t:Type)
WITH DISTINCT t
ORDER BY t.retained_bytes DESC, t.key
LIMIT $limit
OPTIONAL MATCH (t)-[:EXTENDS]->(above:Type)
WITH t, above
ORDER BY above.name
WITH t, collect(above.name) AS extends
RETURN
  t.name AS type,
  extends,
  t.instance_count AS instance_count,
  t.shallow_bytes AS shallow_bytes,
  t.reachable_count AS reachable_count,
  t.reachable_bytes AS reachable_bytes,
  t.retained_bytes AS retained_bytes
ORDER BY retained_bytes DESC, t.key
LIMIT $limit
