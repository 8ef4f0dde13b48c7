// name: across-generations
// title: References from objects of one generation to another
// group: Segments and generations
// needs: generations
// mode: read
// searched: references from generation $holders to generation $held
// param: dump     INTEGER       number of the dump
// param: holders  INTEGER = 0   generation of the referring objects
// param: held     INTEGER = 2   generation of the objects referred to
// param: limit    INTEGER = 20  maximum number of rows
// column: holder_type      STRING   full type name of the referring objects
// column: type             STRING   full type name of the objects referred to
// column: reference_count  INTEGER  strong references between them
// column: holder_count     INTEGER  referring objects
// column: object_count     INTEGER  objects referred to
// column: retained_bytes   INTEGER  sum of the retained sizes of those that a referring object dominates, bytes
//
// From 0 to 2: old objects that new ones refer to, such as a buffer that every
// request reuses. From 2 to 0: new objects that old ones keep alive, which is how a
// cache or a list of listeners grows; each collection of gen 0 has to scan such
// references.
MATCH (a:Object)
WHERE a.dump = $dump AND a.generation = $holders
MATCH (a)-[:INSTANCE_OF]->(ta:Type)
MATCH (a)-[:REFERENCES]->(b:Object)
WHERE b.generation = $held
MATCH (b)-[:INSTANCE_OF]->(tb:Type)
WITH ta, tb, a, b, count(*) AS references,
  CASE WHEN EXISTS { (a)-[:DOMINATES]->(b) } THEN b.retained_bytes ELSE 0 END AS held
WITH ta.name AS holder_type, tb.name AS type, sum(references) AS reference_count,
  count(DISTINCT a) AS holder_count, count(DISTINCT b) AS object_count,
  sum(held) AS retained_bytes
RETURN holder_type, type, reference_count, holder_count, object_count, retained_bytes
ORDER BY retained_bytes DESC, reference_count DESC, holder_type, type
LIMIT $limit
