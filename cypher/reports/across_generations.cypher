// name: across-generations
// title: Objects of one generation that another one refers to
// mode: read
// param: dump     INTEGER       number of the dump
// param: holders  INTEGER = 0   generation of those that hold
// param: held     INTEGER = 2   generation of what they hold
// param: limit    INTEGER = 20  most rows to return
// column: holder_type      STRING   full name of the holders' type
// column: type             STRING   full name of the held ones' type
// column: reference_count  INTEGER  strong references between them
// column: holder_count     INTEGER  objects that hold
// column: object_count     INTEGER  objects that are held
// column: retained_bytes   INTEGER  retained by those that one of the holders dominates
//
// From 0 to 2: old objects that new ones keep, such as a buffer that every request
// takes again. From 2 to 0: new objects that old ones keep, which is how a cache or a
// list of listeners grows; each collection of gen 0 has to look at such references.
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
