// name: generation-histogram
// title: How many objects of each generation, and how many bytes
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: generation       INTEGER  0, 1 or 2; 3 for large objects, 4 for pinned
// column: name             STRING   the same in words
// column: object_count     INTEGER  objects of the dump in it
// column: shallow_bytes    INTEGER  bytes of those
// column: reachable_count  INTEGER  of those, reached by a strong root
// column: reachable_bytes  INTEGER  bytes of the reached ones
// column: share            FLOAT    of the bytes of all generations, 0 to 1
//
// An object that outlives a collection moves up a generation. Much in gen 2 that no
// root reaches waits for a full collection; what is new and reachable sits in gen 0.
MATCH (:Dump {number: $dump})-[:HAS_GENERATION]->(g:Generation)
WITH sum(g.shallow_bytes) AS all_bytes
MATCH (:Dump {number: $dump})-[:HAS_GENERATION]->(g:Generation)
RETURN
  g.number AS generation,
  g.name AS name,
  g.object_count AS object_count,
  g.shallow_bytes AS shallow_bytes,
  g.reachable_count AS reachable_count,
  g.reachable_bytes AS reachable_bytes,
  CASE WHEN all_bytes = 0 THEN 0.0 ELSE 1.0 * g.shallow_bytes / all_bytes END AS share
ORDER BY generation
LIMIT $limit
