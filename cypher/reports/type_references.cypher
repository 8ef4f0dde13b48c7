// name: type-references
// title: Which types refer to which, and how often
// mode: read
// param: dump   INTEGER       number of the dump
// param: type   STRING = ""   only references from or to this type (full name); all if empty
// param: limit  INTEGER = 20  most rows to return
// column: from_type        STRING   full name
// column: to_type          STRING   full name
// column: reference_count  INTEGER  references from instances of the one to the other
//
// The heap as a small graph: draw it in Neo4j Browser with REFERENCES_TYPE. Weak
// references and garbage count too. A pair that you did not expect, or a count far
// above the number of instances, is where to look. Go on with owners-of-type.
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
