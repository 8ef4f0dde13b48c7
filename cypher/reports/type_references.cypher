// name: type-references
// title: References between types
// group: Types
// mode: read
// param: dump   INTEGER       number of the dump
// param: type   STRING = ""   only references from or to this type (full name); all if empty
// param: limit  INTEGER = 20  maximum number of rows
// column: from_type        STRING   full type name of the referrers
// column: to_type          STRING   full type name of the objects referred to
// column: reference_count  INTEGER  references between instances of the two types
//
// The heap as a small graph: draw it in Neo4j Browser with REFERENCES_TYPE. Weak
// references and unreachable objects count too. Look for unexpected pairs, or for
// counts far above the number of instances. Continue with owners-of-type.
MATCH (a:Type)-[r:REFERENCES_TYPE]->(b:Type)
WHERE a.dump = $dump AND ($type = '' OR $type IN [a.name, b.name])
WITH a, b, r
ORDER BY r.reference_count DESC, a.key, b.key
LIMIT $limit
RETURN
  a.name AS from_type,
  b.name AS to_type,
  r.reference_count AS reference_count
ORDER BY reference_count DESC, a.key, b.key
LIMIT $limit
